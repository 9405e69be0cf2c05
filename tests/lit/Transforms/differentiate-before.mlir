// RUN: metate-opt %s "--pass-pipeline=builtin.module(metate-differentiate,metate.kernel(metate-promote-locals,canonicalize,cse))" | FileCheck %s

// What was overwritten is read as it was before the kernel ran: who calls the gradient puts it back.
// CHECK-LABEL: metate.kernel @square
// CHECK-SAME: memref<?xf32> {metate.before = [""], metate.name = "x"}, %[[DX:[a-z0-9]+]]: memref<?xf32>,
// CHECK: metate.range (%[[I:.*]]) =
// CHECK:   %[[A:.*]] = memref.load %{{.*}}[%[[I]]]
// CHECK:   %[[G:.*]] = memref.load %[[DX]][%[[I]]]
// CHECK:   memref.store %{{.*}}, %[[DX]][%[[I]]]
// CHECK:   arith.mulf %[[G]], %[[A]]
metate.kernel @square(%x: memref<?xf32> {metate.name = "x"}, %dx: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.mulf %a, %a : f32
    memref.store %b, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// Turns read what later ones write.
// CHECK-LABEL: metate.kernel @scan_backwards
// CHECK-SAME: metate.before = [""]
metate.kernel @scan_backwards(%x: memref<?xf32> {metate.name = "x"}, %dx: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %k = arith.addi %i, %c1 : index
    %a = memref.load %x[%k] : memref<?xf32>
    %b = arith.mulf %a, %a : f32
    memref.store %b, %x[%i] : memref<?xf32>
  }
  metate.return
}


// What the iteration stores is what it reads next: one read of x, from before.
// CHECK-LABEL: metate.kernel @both
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?xf32> {metate.before = [""]
// CHECK: metate.range (%[[I:.*]]) =
// CHECK:   %[[A:.*]] = memref.load %[[X]][%[[I]]]
// CHECK:   %[[B:.*]] = arith.mulf %[[A]], %[[A]]
// CHECK-NOT: memref.load %[[X]]
// CHECK:   arith.mulf %{{.*}}, %[[B]]
metate.kernel @both(%x: memref<?xf32> {metate.name = "x"}, %dx: memref<?xf32>, %y: memref<?xf32> {metate.name = "y"}, %dy: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  metate.derivative %y[""], %dy[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.mulf %a, %a : f32
    memref.store %b, %x[%i] : memref<?xf32>
    %c = memref.load %x[%i] : memref<?xf32>
    %d = arith.mulf %c, %c : f32
    memref.store %d, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}
