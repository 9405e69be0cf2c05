// RUN: metate-opt %s --start-from=import --stop-after=map | FileCheck %s
// RUN: metate-opt %s --start-from=import --stop-after=emit | FileCheck %s --check-prefix=OBJECT

// A chunk accumulates in a variable, from -0 on, in any order, and goes to the place once.
// CHECK-LABEL: llvm.func internal @metate_entry_sum_task0(
// CHECK: %[[PARTIAL:.*]] = llvm.alloca %{{.*}} x f32
// CHECK: llvm.store %{{.*}}, %[[PARTIAL]]
// CHECK: %[[OLD:.*]] = llvm.load %[[PARTIAL]]
// CHECK: llvm.fadd %[[OLD]], %{{.*}} {fastmathFlags = #llvm.fastmath<contract, reassoc>}
// CHECK-NOT: llvm.atomicrmw
// CHECK: %[[ALL:.*]] = llvm.load %[[PARTIAL]]
// CHECK: llvm.atomicrmw fadd %{{.*}}, %[[ALL]] monotonic
// CHECK-SAME: alias_scopes
// OBJECT: metate.payload
metate.kernel @sum(%x: memref<?xf32>, %s: memref<f32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    %v = memref.load %x[%i] : memref<?xf32>
    %old = memref.atomic_rmw addf %v, %s[] : (f32, memref<f32>) -> f32
    metate.yield
  }
  metate.return
}

// Of one place there is one partial result.
// CHECK-LABEL: llvm.func internal @metate_entry_twice_task0(
// CHECK-COUNT-1: llvm.atomicrmw add
// CHECK-NOT: llvm.atomicrmw
// CHECK-LABEL: llvm.func @metate_entry_twice(
metate.kernel @twice(%x: memref<?xi32>, %s: memref<4xi32>, %k: index) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xi32>
  metate.range (%i) = (%c0) to (%n) {
    %v = memref.load %x[%i] : memref<?xi32>
    %a = memref.atomic_rmw addi %v, %s[%k] : (i32, memref<4xi32>) -> i32
    %b = memref.atomic_rmw addi %v, %s[%k] : (i32, memref<4xi32>) -> i32
    metate.yield
  }
  metate.return
}

// Two extremes in a loop: by the associative intrinsics, whose order LLVM may choose; the sign of a zero is free.
// CHECK-LABEL: llvm.func internal @metate_entry_bounds_task0(
// CHECK: llvm.call_intrinsic "llvm.minimumnum"(%{{.*}}, %{{.*}}) {fastmathFlags = #llvm.fastmath<nsz>} : (f32, f32) -> f32
// CHECK: llvm.call_intrinsic "llvm.maximumnum"(%{{.*}}, %{{.*}}) {fastmathFlags = #llvm.fastmath<nsz>} : (f32, f32) -> f32
// CHECK: llvm.atomicrmw fmin
// CHECK: llvm.atomicrmw fmax
metate.kernel @bounds(%x: memref<?xf32>, %s: memref<f32>, %t: memref<f32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    %v = memref.load %x[%i] : memref<?xf32>
    %a = memref.atomic_rmw minnumf %v, %s[] : (f32, memref<f32>) -> f32
    %b = memref.atomic_rmw maxnumf %v, %t[] : (f32, memref<f32>) -> f32
    metate.yield
  }
  metate.return
}
