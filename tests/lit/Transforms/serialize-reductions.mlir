// RUN: metate-opt %s --metate-serialize-reductions --canonicalize | FileCheck %s
// RUN: metate-opt %s "--metate-serialize-reductions=reassociate=false" --canonicalize | FileCheck %s --check-prefix=ORDERED

// sums[i] += x[i, j]: added once, if there is anything to add.
// CHECK-LABEL: metate.kernel @rows
// CHECK: %[[SOME:.*]] = arith.cmpi sgt, %arg3, %c0
// CHECK: %[[END:.*]] = arith.select %[[SOME]], %arg2, %c0
// CHECK: metate.range (%[[I:.*]]) = (%c0) to (%[[END]]) {
// CHECK-NEXT: %[[SUM:.*]] = scf.for %[[J:.*]] = %c0 to %arg3 step %c1 iter_args(%[[OLD:.*]] = %{{.*}})
// CHECK-NEXT: %[[VALUE:.*]] = memref.load %arg0[%[[I]], %[[J]]]
// CHECK-NEXT: %[[NEXT:.*]] = arith.addf %[[OLD]], %[[VALUE]] fastmath<reassoc,contract>
// CHECK-NEXT: scf.yield %[[NEXT]]
// CHECK: %[[PLACE:.*]] = arith.addi %[[I]], %c1
// CHECK-NEXT: memref.atomic_rmw addf %[[SUM]], %arg1[%[[PLACE]]]
// ORDERED: arith.addf {{.*}} fastmath<contract>
metate.kernel @rows(%x: memref<?x?xf32>, %sums: memref<?xf32>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  metate.range (%i, %j) = (%c0, %c0) to (%n, %m) {
    %value = memref.load %x[%i, %j] : memref<?x?xf32>
    %next = arith.addi %i, %c1 : index
    %old = memref.atomic_rmw addf %value, %sums[%next] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// Few places, a place that memory names, a place that is read as well, one along the first variable, an old value that is
// wanted: also of what the iteration has added just before.
// CHECK-LABEL: metate.kernel @not
// CHECK-NOT: scf.for
metate.kernel @not(%x: memref<?x?xi32>, %sums: memref<?xi32>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  metate.range (%i, %j) = (%c0, %c0) to (%c8, %m) {
    %value = memref.load %x[%i, %j] : memref<?x?xi32>
    %old = memref.atomic_rmw addi %value, %sums[%i] : (i32, memref<?xi32>) -> i32
    metate.yield
  }
  metate.range (%i, %j) = (%c0, %c0) to (%n, %m) {
    %value = memref.load %x[%i, %c0] : memref<?x?xi32>
    %place = arith.index_cast %value : i32 to index
    %old = memref.atomic_rmw addi %value, %sums[%place] : (i32, memref<?xi32>) -> i32
    metate.yield
  }
  metate.range (%i, %j) = (%c0, %c0) to (%n, %m) {
    %value = memref.load %sums[%j] : memref<?xi32>
    %old = memref.atomic_rmw addi %value, %sums[%i] : (i32, memref<?xi32>) -> i32
    metate.yield
  }
  metate.range (%i, %j) = (%c0, %c0) to (%n, %m) {
    %value = memref.load %x[%i, %j] : memref<?x?xi32>
    %old = memref.atomic_rmw addi %value, %sums[%j] : (i32, memref<?xi32>) -> i32
    metate.yield
  }
  metate.range (%i, %j) = (%c0, %c0) to (%n, %m) {
    %value = memref.load %x[%i, %j] : memref<?x?xi32>
    %old = memref.atomic_rmw addi %value, %sums[%i] : (i32, memref<?xi32>) -> i32
    memref.store %old, %x[%i, %j] : memref<?x?xi32>
    metate.yield
  }
  metate.range (%i, %j) = (%c0, %c0) to (%n, %m) {
    %value = memref.load %x[%i, %j] : memref<?x?xi32>
    %own = memref.atomic_rmw addi %value, %sums[%i] : (i32, memref<?xi32>) -> i32
    %old = memref.atomic_rmw addi %value, %sums[%i] : (i32, memref<?xi32>) -> i32
    memref.store %old, %x[%i, %j] : memref<?x?xi32>
    metate.yield
  }
  metate.return
}
