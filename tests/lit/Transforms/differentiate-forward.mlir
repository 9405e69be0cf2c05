// RUN: metate-opt %s "--pass-pipeline=builtin.module(metate-differentiate,metate.kernel(metate-promote-locals,canonicalize,cse))" | FileCheck %s

// The kernel itself, with duals beside its values; a loop carries both.
// CHECK-LABEL: metate.kernel @powers
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>, %[[DX:[a-z0-9]+]]: memref<?xf32>, %[[DY:[a-z0-9]+]]: memref<?xf32>
// CHECK: %[[A:.*]] = memref.load %[[X]]
// CHECK: %[[D:.*]] = memref.load %[[DX]]
// CHECK: %[[R:.*]]:2 = scf.for %{{.*}} iter_args(%[[T:.*]] = %[[A]], %[[DT:.*]] = %[[D]]) -> (f32, f32) {
// CHECK:   %[[U:.*]] = arith.mulf %[[T]], %[[A]]
// CHECK-DAG:   %[[L:.*]] = arith.mulf %[[DT]], %[[A]]
// CHECK-DAG:   %[[M:.*]] = arith.mulf %[[D]], %[[T]]
// CHECK:   %[[DU:.*]] = arith.addf %[[L]], %[[M]]
// CHECK:   scf.yield %[[U]], %[[DU]]
// CHECK: memref.store %[[R]]#0, %[[Y]]
// CHECK: memref.store %[[R]]#1, %[[DY]]
metate.kernel @powers(%x: memref<?xf32>, %y: memref<?xf32>, %dx: memref<?xf32>, %dy: memref<?xf32>, %n: index) attributes {metate.differentiate = "forward"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  metate.derivative %y[""], %dy[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %s = scf.for %k = %c0 to %n step %c1 iter_args(%t = %a) -> f32 {
      %u = arith.mulf %t, %a : f32
      scf.yield %u : f32
    }
    memref.store %s, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// What does not depend on a variable has the dual zero.
// CHECK-LABEL: metate.kernel @constant
// CHECK-SAME: %[[Y:[a-z0-9]+]]: memref<f32>, %[[DY:[a-z0-9]+]]: memref<f32>
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: memref.store %[[ZERO]], %[[DY]]
metate.kernel @constant(%y: memref<f32>, %dy: memref<f32>, %v: f32) attributes {metate.differentiate = "forward"} {
  metate.derivative %y[""], %dy[""] : memref<f32>, memref<f32>
  memref.store %v, %y[] : memref<f32>
  metate.return
}

// A branch that only hands a value on, or does not, has a derivative.
// CHECK-LABEL: metate.kernel @hands_on
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<f32>, %[[Y:[a-z0-9]+]]: memref<f32>, %[[DX:[a-z0-9]+]]: memref<f32>, %[[DY:[a-z0-9]+]]: memref<f32>
// CHECK: %[[D:.*]] = memref.load %[[DX]]
// CHECK: %[[R:.*]] = arith.select %{{.*}}, %[[D]], %{{.*}} : f32
// CHECK: memref.store %[[R]], %[[DY]]
metate.kernel @hands_on(%x: memref<f32>, %y: memref<f32>, %dx: memref<f32>, %dy: memref<f32>, %c: i1, %k: i32) attributes {metate.differentiate = "forward"} {
  metate.derivative %x[""], %dx[""] : memref<f32>, memref<f32>
  metate.derivative %y[""], %dy[""] : memref<f32>, memref<f32>
  %a = memref.load %x[] : memref<f32>
  %s = scf.if %c -> f32 {
    scf.yield %a : f32
  } else {
    %f = arith.sitofp %k : i32 to f32
    scf.yield %f : f32
  }
  memref.store %s, %y[] : memref<f32>
  metate.return
}
