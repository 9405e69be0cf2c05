// RUN: metate-opt %s --metate-end-at-rest | FileCheck %s

// The condition is asked of what a turn begins with; what it lets through is the turn.
// CHECK-LABEL: metate.kernel @escape
// CHECK: scf.while (%[[I:.*]] = %c0, %[[X:.*]] = %{{.*}}, %[[K:.*]] = %{{.*}}) : (index, f32, i32) -> (index, f32, i32) {
// CHECK: %[[LEFT:.*]] = arith.cmpi slt, %[[I]], %c60
// CHECK: %[[IN:.*]] = arith.cmpf olt, %[[X]]
// CHECK: %[[GO:.*]] = arith.andi %[[LEFT]], %[[IN]]
// CHECK: scf.condition(%[[GO]])
metate.kernel @escape(%x: memref<?xf32>, %out: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c60 = arith.constant 60 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %four = arith.constant 4.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    %own = memref.load %x[%i] : memref<?xf32>
    %r:2 = scf.for %turn = %c0 to %c60 step %c1 iter_args(%a = %own, %k = %zero) -> (f32, i32) {
      %in = arith.cmpf olt, %a, %four : f32
      %next:2 = scf.if %in -> (f32, i32) {
        %b = arith.mulf %a, %a : f32
        %l = arith.addi %k, %one : i32
        scf.yield %b, %l : f32, i32
      } else {
        scf.yield %a, %k : f32, i32
      }
      scf.yield %next#0, %next#1 : f32, i32
    }
    memref.store %r#1, %out[%i] : memref<?xi32>
    metate.yield
  }
  metate.return
}

// A flag that stops: the condition's other side changes something, and is not computed anew.
// CHECK-LABEL: metate.kernel @flag
// CHECK: scf.while
// CHECK: %[[ON:.*]] = arith.xori %{{.*}}, %true
// CHECK: arith.andi %{{.*}}, %[[ON]]
metate.kernel @flag(%x: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %off = arith.constant false
  %one = arith.constant 1.0 : f32
  %r:2 = scf.for %turn = %c0 to %n step %c1 iter_args(%a = %one, %done = %off) -> (f32, i1) {
    %b = arith.addf %a, %a : f32
    %stop = arith.cmpf ogt, %b, %one : f32
    %value = arith.select %done, %a, %b : f32
    %next = arith.select %done, %done, %stop : i1
    scf.yield %value, %next : f32, i1
  }
  memref.store %r#0, %x[%c0] : memref<?xf32>
  metate.return
}

// The condition depends on the turn, or on memory; a turn writes whether it holds or not; one value changes anyway.
// CHECK-LABEL: metate.kernel @stay
// CHECK-NOT: scf.while
// CHECK: metate.return
metate.kernel @stay(%x: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %s0 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> f32 {
    %is = arith.cmpi ne, %i, %c3 : index
    %b = arith.addf %a, %one : f32
    %y = arith.select %is, %b, %a : f32
    scf.yield %y : f32
  }
  %s1 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %s0) -> f32 {
    %v = memref.load %x[%i] : memref<?xf32>
    %is = arith.cmpf olt, %v, %a : f32
    %y = arith.select %is, %v, %a : f32
    scf.yield %y : f32
  }
  %s2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %s1) -> f32 {
    memref.store %a, %x[%i] : memref<?xf32>
    %is = arith.cmpf olt, %a, %one : f32
    %b = arith.addf %a, %one : f32
    %y = arith.select %is, %b, %a : f32
    scf.yield %y : f32
  }
  %s3:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %s2, %e = %one) -> (f32, f32) {
    %is = arith.cmpf olt, %a, %one : f32
    %b = arith.addf %a, %e : f32
    %y = arith.select %is, %b, %a : f32
    %f = arith.mulf %e, %e : f32
    scf.yield %y, %f : f32, f32
  }
  memref.store %s3#0, %x[%c0] : memref<?xf32>
  metate.return
}
