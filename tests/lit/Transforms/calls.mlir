// RUN: metate-opt %s --pass-pipeline='builtin.module(metate.kernel(metate-demote-atomics,metate-private-reductions))' | FileCheck %s
// RUN: metate-opt %s --pass-pipeline='builtin.module(metate.kernel(metate-insert-checks))' | FileCheck %s --check-prefix=DEBUG

// What a function does, the loop that calls it does. The atomic at the iteration's own element stays one: the function writes any.
// CHECK-LABEL: metate.kernel @others(
// CHECK: memref.atomic_rmw addf %{{.*}}, %{{.*}}[%{{.*}}] {{.*}}
// CHECK: memref.atomic_rmw addf
// CHECK-NOT: memref.store
// DEBUG-LABEL: metate.kernel @others(
// DEBUG: metate.function "any"
// DEBUG-NOT: metate.enter
metate.kernel @others(%x: memref<?xf32>, %n: index, %v: f32) {
  metate.function "any" (%k: index) {
    %old = memref.atomic_rmw addf %v, %x[%k] : (f32, memref<?xf32>) -> f32
    metate.give
  }
  metate.range (%i) = (%n) to (%n) {
    %old = memref.atomic_rmw addf %v, %x[%i] : (f32, memref<?xf32>) -> f32
    metate.call "any"(%i) : (index) -> ()
    metate.yield
  }
  metate.return
}

// A sum in one place is no partial result where a function looks at the place.
// CHECK-LABEL: metate.kernel @looks(
// CHECK-NOT: metate.reduction
// CHECK-LABEL: metate.kernel @adds(
// CHECK: metate.range
// CHECK: memref.atomic_rmw addf {{.*}} {metate.reduction}
metate.kernel @looks(%x: memref<?xf32>, %n: index, %v: f32) {
  %zero = arith.constant 0 : index
  metate.function "first" () {
    %r = memref.load %x[%zero] : memref<?xf32>
    metate.give %r : f32
  }
  metate.range (%i) = (%n) to (%n) {
    %a = metate.call "first"() : () -> f32
    %old = memref.atomic_rmw addf %a, %x[%zero] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

metate.kernel @adds(%x: memref<?xf32>, %y: memref<?xf32>, %n: index, %v: f32) {
  %zero = arith.constant 0 : index
  metate.function "first" () {
    %r = memref.load %y[%zero] : memref<?xf32>
    metate.give %r : f32
  }
  metate.range (%i) = (%n) to (%n) {
    %a = metate.call "first"() : () -> f32
    %old = memref.atomic_rmw addf %a, %x[%zero] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// Functions that may call themselves look how deep they are, and whether the host wants an end.
// DEBUG-LABEL: metate.kernel @deep(
// DEBUG: metate.function "even" (
// DEBUG-NEXT: metate.enter "even"
// DEBUG-NEXT: metate.poll
// DEBUG: metate.function "odd" (
// DEBUG-NEXT: metate.enter "odd"
metate.kernel @deep(%n: i32) {
  metate.function "even" (%k: i32) {
    metate.call "odd"(%k) : (i32) -> ()
    metate.give
  }
  metate.function "odd" (%k: i32) {
    metate.call "even"(%k) : (i32) -> ()
    metate.give
  }
  metate.call "even"(%n) : (i32) -> ()
  metate.return
}
