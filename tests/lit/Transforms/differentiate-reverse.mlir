// RUN: metate-opt %s "--pass-pipeline=builtin.module(metate-differentiate,metate.kernel(metate-promote-locals,canonicalize,cse))" | FileCheck %s

// A product: both operands are read anew, the target's gradient is taken and set to zero, sums go to what was read.
// CHECK-LABEL: metate.kernel @product
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>, %[[DX:[a-z0-9]+]]: memref<?xf32>, %[[DY:[a-z0-9]+]]: memref<?xf32>
// CHECK-NOT: metate.differentiate
// CHECK: metate.range (%[[I:.*]]) =
// CHECK:   %[[A:.*]] = memref.load %[[X]][%[[I]]]
// CHECK:   %[[G:.*]] = memref.load %[[DY]][%[[I]]]
// CHECK:   memref.store %{{.*}}, %[[DY]][%[[I]]]
// CHECK:   %[[H:.*]] = arith.mulf %[[G]], %[[A]]
// CHECK:   %[[S:.*]] = arith.addf %[[H]], %[[H]]
// CHECK:   memref.atomic_rmw addf %[[S]], %[[DX]][%[[I]]]
// CHECK-NOT: memref.store %{{.*}}, %[[Y]]
metate.kernel @product(%x: memref<?xf32>, %y: memref<?xf32>, %dx: memref<?xf32>, %dy: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  metate.derivative %y[""], %dy[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.mulf %a, %a : f32
    memref.store %b, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// What a derivative computes may be fused as what its kernel computes; what is to be rounded as it is written stays so when it is computed anew.
// CHECK-LABEL: metate.kernel @fused
// CHECK: metate.range
// CHECK:   %[[EXACT:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK:   %[[G:.*]] = memref.load
// CHECK:   arith.mulf %{{.*}}, %[[EXACT]] fastmath<contract> : f32
// CHECK-NOT: stays_exact
// CHECK: metate.return
metate.kernel @fused(%x: memref<?xf32>, %y: memref<?xf32>, %dx: memref<?xf32>, %dy: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  metate.derivative %y[""], %dy[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.mulf %a, %a : f32
    %c = arith.mulf %b, %a fastmath<contract> : f32
    memref.store %c, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// A linear update needs nothing of the primal, and may be in place; an addition passes its gradient on.
// CHECK-LABEL: metate.kernel @linear
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>, %[[DX:[a-z0-9]+]]: memref<?xf32>, %[[DY:[a-z0-9]+]]: memref<?xf32>
// CHECK: metate.range
// CHECK-NOT: %[[X]][
// CHECK:   %[[G:.*]] = memref.load %[[DY]]
// CHECK-NOT: memref.store %{{.*}}, %[[DY]]
// CHECK:   memref.atomic_rmw addf %{{.*}}, %[[DX]]
metate.kernel @linear(%x: memref<?xf32>, %y: memref<?xf32>, %dx: memref<?xf32>, %dy: memref<?xf32>, %n: index, %dt: f32) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  metate.derivative %y[""], %dy[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.mulf %a, %dt : f32
    %old = memref.atomic_rmw addf %b, %y[%i] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// A sum in a loop needs no checkpoint, and its forward loop is gone: turns run backwards.
// CHECK-LABEL: metate.kernel @sum
// CHECK: metate.range
// CHECK-NOT: memref.alloca
// CHECK:   scf.for %[[K:.*]] = %{{.*}} to %[[N:.*]] step
// CHECK:     %[[L:.*]] = arith.subi %{{.*}}, %[[K]]
// CHECK:     memref.load %{{.*}}[%[[L]]]
// CHECK:     memref.atomic_rmw addf %{{.*}}[%[[L]]]
// CHECK-NOT: scf.for
metate.kernel @sum(%x: memref<?xf32>, %y: memref<?xf32>, %dx: memref<?xf32>, %dy: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  metate.derivative %y[""], %dy[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  metate.range (%i) = (%c0) to (%n) {
    %s = scf.for %k = %c0 to %n step %c1 iter_args(%t = %zero) -> f32 {
      %a = memref.load %x[%k] : memref<?xf32>
      %b = arith.mulf %a, %a : f32
      %u = arith.addf %t, %b : f32
      scf.yield %u : f32
    }
    memref.store %s, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// What turns begin with is kept in two buffers of a fixed size.
// CHECK-LABEL: metate.kernel @carried
// CHECK: metate.range
// CHECK-DAG: %[[FINE:.*]] = memref.alloca() : memref<1024xf32>
// CHECK-DAG: %[[COARSE:.*]] = memref.alloca() : memref<1024xf32>
// CHECK: scf.for
// CHECK:   memref.store
// CHECK:   metate.elementary sin
// CHECK: scf.for
// CHECK:   scf.for
// CHECK:     metate.elementary sin
// CHECK:   scf.for
// CHECK:     scf.for
// CHECK:       metate.elementary sin
// CHECK:     metate.elementary cos
metate.kernel @carried(%x: memref<?xf32>, %y: memref<?xf32>, %dx: memref<?xf32>, %dy: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  metate.derivative %y[""], %dy[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %s = scf.for %k = %c0 to %n step %c1 iter_args(%t = %a) -> f32 {
      %u = metate.elementary sin(%t) : f32
      scf.yield %u : f32
    }
    memref.store %s, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// What nothing that has a derivative depends on is not differentiated.
// CHECK-LABEL: metate.kernel @inactive
// CHECK-NOT: metate.elementary
// CHECK-NOT: metate.range
// CHECK: metate.return
metate.kernel @inactive(%x: memref<?xf32>, %y: memref<?xf32>, %dx: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = metate.elementary exp(%a) : f32
    memref.store %b, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// A derivative taken for zero.
// CHECK-LABEL: metate.kernel @stopped
// CHECK-NOT: metate.stop_gradient
// CHECK: memref.store
// CHECK-NOT: memref.atomic_rmw
// CHECK: metate.return
metate.kernel @stopped(%x: memref<?xf32>, %y: memref<?xf32>, %dx: memref<?xf32>, %dy: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  metate.derivative %y[""], %dy[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = metate.stop_gradient %a : f32
    %c = arith.mulf %b, %b : f32
    memref.store %c, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// Elsewhere it is the value.
// CHECK-LABEL: metate.kernel @primal
// CHECK: %[[A:.*]] = memref.load
// CHECK-NEXT: memref.store %[[A]]
metate.kernel @primal(%x: memref<f32>, %y: memref<f32>) {
  %a = memref.load %x[] : memref<f32>
  %b = metate.stop_gradient %a : f32
  memref.store %b, %y[] : memref<f32>
  metate.return
}

// A product with a constant scales the gradient of what was there.
// CHECK-LABEL: metate.kernel @scaled
// CHECK-SAME: %[[Y:[a-z0-9]+]]: memref<?xf32>, %[[DY:[a-z0-9]+]]: memref<?xf32>, %{{.*}}: index, %[[V:[a-z0-9]+]]: f32
// CHECK: memref.atomic_rmw mulf %[[V]], %[[DY]]
metate.kernel @scaled(%y: memref<?xf32>, %dy: memref<?xf32>, %c: index, %v: f32) attributes {metate.differentiate = "reverse"} {
  metate.derivative %y[""], %dy[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%c) {
    %old = memref.atomic_rmw mulf %v, %y[%i] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

!cells = !metate.tree<#metate.pointer<"i", [64], [#metate.place<"a" : f32>, #metate.place<"da" : f32>, #metate.place<"b" : f32>, #metate.place<"db" : f32>]>>

// A neighbour that is not there is a constant and stays so; the loop's own cell is there.
// CHECK-LABEL: metate.kernel @neighbour
// CHECK: metate.for_each (%[[I:.*]]) in
// CHECK:   %[[K:.*]] = arith.addi %[[I]],
// CHECK:   metate.atomic addf %{{.*}}, %{{.*}}["da"] [%[[I]]]
// CHECK:   %[[IS:.*]] = metate.is_active %{{.*}}["a"] [%[[K]]]
// CHECK:   scf.if %[[IS]] {
// CHECK:     metate.atomic addf %{{.*}}, %{{.*}}["da"] [%[[K]]]
metate.kernel @neighbour(%t: !cells, %dt: f32) attributes {metate.differentiate = "reverse"} {
  metate.derivative %t["a"], %t["da"] : !cells, !cells
  metate.derivative %t["b"], %t["db"] : !cells, !cells
  %c1 = arith.constant 1 : index
  metate.for_each (%i) in %t["a"] : !cells {
    %k = arith.addi %i, %c1 : index
    %x = metate.load %t["a"] [%k] : !cells -> f32
    %y = metate.load %t["a"] [%i] : !cells -> f32
    %z = arith.addf %x, %y : f32
    metate.store %z, %t["b"] [%i] : f32, !cells
    metate.yield
  }
  metate.return
}

// What is not taken passes on nothing, whatever its slope is; what is always used is multiplied as it is.
// CHECK-LABEL: metate.kernel @not_taken
// CHECK: %[[G:.*]] = memref.load %{{.*}} : memref<?xf32>
// CHECK: %[[SEED:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK: %[[QUOTIENT:.*]] = arith.divf %[[SEED]], %{{.*}} : f32
// CHECK: %[[NONE:.*]] = arith.cmpf oeq, %[[SEED]], %{{.*}} : f32
// CHECK: arith.select %[[NONE]], %{{.*}}, %[[QUOTIENT]] : f32
// CHECK-LABEL: metate.kernel @taken
// CHECK-NOT: arith.select
// CHECK: metate.return
metate.kernel @not_taken(%x: memref<?xf32>, %y: memref<?xf32>, %dx: memref<?xf32>, %dy: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  metate.derivative %y[""], %dy[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = metate.elementary log(%a) : f32
    %is = arith.cmpf ogt, %a, %zero : f32
    %c = arith.select %is, %b, %zero : f32
    memref.store %c, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

metate.kernel @taken(%x: memref<?xf32>, %y: memref<?xf32>, %dx: memref<?xf32>, %dy: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  metate.derivative %y[""], %dy[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = metate.elementary log(%a) : f32
    memref.store %b, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// Where writes have numbers, a value that is needed must not be of a later call. What is not needed may be.
// CHECK-LABEL: metate.kernel @numbered
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?xf32> {metate.name = "x"}, %[[Y:[a-z0-9]+]]: memref<?xf32>, %[[DX:[a-z0-9]+]]: memref<?xf32>, %[[DY:[a-z0-9]+]]: memref<?xf32>, %[[NX:[a-z0-9]+]]: memref<?xi64>, %[[NY:[a-z0-9]+]]: memref<?xi64>, %{{.*}}: index, %[[CALL:[a-z0-9]+]]: i64
// CHECK-NOT: metate.written
// CHECK-NOT: %[[NY]][
// CHECK: %[[SITES:.*]] = arith.constant 1023 : i64
// CHECK: metate.range (%[[I:.*]]) =
// CHECK:   memref.load %[[X]][%[[I]]]
// CHECK:   %[[FOUND:.*]] = memref.load %[[NX]][%[[I]]] : memref<?xi64>
// CHECK:   %[[LAST:.*]] = arith.addi %[[CALL]], %[[SITES]] : i64
// CHECK:   %[[OWN:.*]] = arith.cmpi sle, %[[FOUND]], %[[LAST]] : i64
// CHECK:   metate.assert %[[OWN]], "gradient of kernel 'numbered': the value of 'x[{}]' that is read here is needed again, and was overwritten since, by write {}" unsigned [false, false](%{{.*}}, %[[FOUND]] : i64, i64)
metate.kernel @numbered(%x: memref<?xf32> {metate.name = "x"}, %y: memref<?xf32>, %dx: memref<?xf32>, %dy: memref<?xf32>, %nx: memref<?xi64>, %ny: memref<?xi64>, %n: index, %call: i64) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  metate.derivative %y[""], %dy[""] : memref<?xf32>, memref<?xf32>
  metate.written %x, %nx, %call : memref<?xf32>, memref<?xi64>
  metate.written %y, %ny, %call : memref<?xf32>, memref<?xi64>
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.mulf %a, %a : f32
    memref.store %b, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}
