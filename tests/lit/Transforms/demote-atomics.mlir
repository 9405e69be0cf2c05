// RUN: metate-opt %s --metate-demote-atomics | FileCheck %s

// CHECK-LABEL: metate.kernel @owned
// CHECK-NOT: memref.atomic_rmw
// CHECK: %[[OLD:.*]] = memref.load
// CHECK: %[[NEW:.*]] = arith.addf %[[OLD]]
// CHECK: memref.store %[[NEW]]
metate.kernel @owned(%x: memref<?xf32>, %v: f32, %n: index) {
  %zero = arith.constant 0 : index
  metate.range (%i) = (%zero) to (%n) {
    %old = memref.atomic_rmw addf %v, %x[%i] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// CHECK-LABEL: metate.kernel @shared
// CHECK: memref.atomic_rmw addf
metate.kernel @shared(%x: memref<?xf32>, %v: f32, %n: index) {
  %zero = arith.constant 0 : index
  metate.range (%i) = (%zero) to (%n) {
    %old = memref.atomic_rmw addf %v, %x[%zero] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// Another iteration's write to the same array: the own cell is not owned.
// CHECK-LABEL: metate.kernel @mixed
// CHECK: memref.atomic_rmw addf
// CHECK: memref.atomic_rmw addf
metate.kernel @mixed(%x: memref<?xf32>, %v: f32, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  metate.range (%i) = (%zero) to (%n) {
    %next = arith.addi %i, %one : index
    %a = memref.atomic_rmw addf %v, %x[%i] : (f32, memref<?xf32>) -> f32
    %b = memref.atomic_rmw addf %v, %x[%next] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// Arguments that overlap: the own element of one may be another iteration's of the other.
// CHECK-LABEL: metate.kernel @overlapping
// CHECK: memref.atomic_rmw addf
// CHECK: memref.atomic_rmw addf
metate.kernel @overlapping(%x: memref<?xf32>, %y: memref<?xf32>, %v: f32, %n: index) attributes {may_alias} {
  %zero = arith.constant 0 : index
  metate.range (%i) = (%zero) to (%n) {
    %a = memref.atomic_rmw addf %v, %x[%i] : (f32, memref<?xf32>) -> f32
    %b = memref.atomic_rmw addf %v, %y[%i] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}
