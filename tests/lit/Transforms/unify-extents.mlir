// RUN: metate-opt %s --pass-pipeline='builtin.module(metate.kernel(metate-unify-extents))' | FileCheck %s

#n = #metate.dim<"n", 1 to 64 by 8>
#m = #metate.dim<"m", 0 to 9>

// CHECK-LABEL: metate.kernel @same
// CHECK-SAME: (%[[X:.*]]: memref<?x3xf32> {{.*}}, %[[Y:.*]]: memref<?x?xf32>
// CHECK: %[[N:.*]] = memref.dim %[[X]], %{{.*}}
// CHECK: %[[M:.*]] = memref.dim %[[Y]], %{{.*}}
// CHECK: %[[SAME:.*]] = memref.dim %[[X]], %{{.*}}
// CHECK: metate.range (%{{.*}}) = (%{{.*}}) to (%[[N]])
// CHECK: metate.range (%{{.*}}) = (%{{.*}}) to (%[[M]])
// CHECK: metate.range (%{{.*}}) = (%{{.*}}) to (%[[SAME]])
metate.kernel @same(%x: memref<?x3xf32> {metate.shape = [#n, 3]}, %y: memref<?x?xf32> {metate.shape = [#m, #n]}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %a = memref.dim %x, %zero : memref<?x3xf32>
  %b = memref.dim %y, %zero : memref<?x?xf32>
  %c = memref.dim %y, %one : memref<?x?xf32>
  metate.range (%i) = (%zero) to (%a) {
    metate.yield
  }
  metate.range (%i) = (%zero) to (%b) {
    metate.yield
  }
  metate.range (%i) = (%zero) to (%c) {
    metate.yield
  }
  metate.return
}

// Any extent is not another one that may be any.
// CHECK-LABEL: metate.kernel @any
// CHECK: memref.dim %[[X:.*]], %
// CHECK: memref.dim %[[Y:.*]], %
metate.kernel @any(%x: memref<?xf32> {metate.shape = [-1]}, %y: memref<?xf32> {metate.shape = [-1]}) {
  %zero = arith.constant 0 : index
  %a = memref.dim %x, %zero : memref<?xf32>
  %b = memref.dim %y, %zero : memref<?xf32>
  metate.range (%i, %j) = (%zero, %zero) to (%a, %b) {
    metate.yield
  }
  metate.return
}
