// RUN: metate-opt --metate-fuse-loops %s | FileCheck %s

// Each iteration of the second loop reads what its own iteration of the first one wrote: from a register then.
// CHECK-LABEL: metate.kernel @chain
// CHECK: metate.range (%[[I:.*]]) =
// CHECK:   %[[A:.*]] = memref.load %{{.*}}[%[[I]]]
// CHECK:   %[[B:.*]] = arith.mulf %[[A]], %[[A]]
// CHECK:   memref.store %[[B]]
// CHECK-NOT: memref.load
// CHECK:   %[[C:.*]] = arith.addf %[[B]], %[[A]]
// CHECK:   memref.store %[[C]]
// CHECK-NOT: metate.range
metate.kernel @chain(%x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.mulf %a, %a : f32
    memref.store %b, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %y[%i] : memref<?xf32>
    %b = memref.load %x[%i] : memref<?xf32>
    %c = arith.addf %a, %b : f32
    memref.store %c, %z[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// Neighbours, other boxes, a statement between, places in another order, atomics and branches keep loops apart.
// CHECK-LABEL: metate.kernel @apart
// CHECK-COUNT-12: metate.range
metate.kernel @apart(%x: memref<?xf32>, %y: memref<?xf32>, %p: memref<?x?xf32>, %q: memref<?x?xf32>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    memref.store %a, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.range (%i) = (%c0) to (%n) {
    %k = arith.addi %i, %c1 : index
    %a = memref.load %y[%k] : memref<?xf32>
    memref.store %a, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.range (%i) = (%c0) to (%m) {
    %a = memref.load %x[%i] : memref<?xf32>
    memref.store %a, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.range (%i) = (%c1) to (%m) {
    %a = memref.load %y[%i] : memref<?xf32>
    memref.store %a, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.range (%i, %j) = (%c0, %c0) to (%n, %n) {
    %a = memref.load %p[%i, %j] : memref<?x?xf32>
    memref.store %a, %q[%i, %j] : memref<?x?xf32>
    metate.yield
  }
  metate.range (%i, %j) = (%c0, %c0) to (%n, %n) {
    %a = memref.load %q[%j, %i] : memref<?x?xf32>
    memref.store %a, %p[%i, %j] : memref<?x?xf32>
    metate.yield
  }
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    memref.store %a, %y[%i] : memref<?xf32>
    metate.yield
  }
  %v = memref.load %y[%c0] : memref<?xf32>
  memref.store %v, %x[%c0] : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %y[%i] : memref<?xf32>
    memref.store %a, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %old = memref.atomic_rmw addf %a, %y[%c0] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    memref.store %a, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %y[%i] : memref<?xf32>
    %is = arith.cmpf ogt, %a, %v : f32
    scf.if %is {
      memref.store %a, %x[%i] : memref<?xf32>
    }
    metate.yield
  }
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    memref.store %a, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}
