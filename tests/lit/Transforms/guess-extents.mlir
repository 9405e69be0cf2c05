// RUN: metate-opt %s --metate-guess-extents --split-input-file | FileCheck %s

// Arrays whose last extents are 3 and 3 have a loop of their own, which writes out the small dimensions; one of the two is empty.
// CHECK-LABEL: @turned(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?x?x?xf32>
// CHECK: %[[N:.*]] = memref.dim %[[A]], %[[ZERO:.*]] :
// CHECK: %[[D:.*]] = memref.dim %[[A]], %{{.*}}
// CHECK: arith.cmpi eq, %[[D]], %{{.*}}
// CHECK-COUNT-2: arith.andi
// CHECK: %[[HOLDS:.*]] = arith.andi
// CHECK-NEXT: %[[KNOWN:.*]] = arith.select %[[HOLDS]], %[[N]], %[[ZERO]] : index
// CHECK: metate.range (%[[P:.*]]) = (%[[ZERO]]) to (%[[KNOWN]]) {
// CHECK: memref.load %[[A]][%[[P]], %{{.*}}, %{{.*}}] {metate.extents = array<i64: 3, 3>}
// CHECK-COUNT-9: memref.store {{.*}} {metate.extents = array<i64: 3, 3>}
// CHECK: %[[OTHER:.*]] = arith.select %[[HOLDS]], %[[ZERO]], %[[N]] : index
// CHECK: metate.range (%{{.*}}, %{{.*}}, %{{.*}}) = (%[[ZERO]], %{{.*}}, %{{.*}}) to (%[[OTHER]], %{{.*}}, %{{.*}}) {
// CHECK-NOT: metate.extents
metate.kernel @turned(%a: memref<?x?x?xf32>, %c: memref<?x?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %n = memref.dim %a, %c0 : memref<?x?x?xf32>
  metate.range (%p, %i, %j) = (%c0, %c0, %c0) to (%n, %c3, %c3) {
    %value = memref.load %a[%p, %j, %i] : memref<?x?x?xf32>
    memref.store %value, %c[%p, %i, %j] : memref<?x?x?xf32>
    metate.yield
  }
  metate.return
}

// -----

// Rows of three are no small matrices, views have strides of their own, and what has an effect besides is not copied.
// CHECK-NOT: metate.extents
metate.kernel @rows(%a: memref<?x?xf32>, %v: memref<?x?x?xf32, strided<[?, ?, ?]>>, %s: memref<?x?x?xf32>, %f: f32) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  metate.range (%p, %i) = (%c0, %c0) to (%n, %c3) {
    memref.store %f, %a[%p, %i] : memref<?x?xf32>
    memref.store %f, %v[%p, %i, %c2] : memref<?x?x?xf32, strided<[?, ?, ?]>>
    metate.yield
  }
  metate.range (%p, %i) = (%c0, %c0) to (%n, %c3) {
    memref.store %f, %s[%p, %i, %c2] : memref<?x?x?xf32>
    %old = memref.atomic_rmw addf %f, %s[%p, %i, %c2] : (f32, memref<?x?x?xf32>) -> f32
    metate.yield
  }
  metate.return
}
