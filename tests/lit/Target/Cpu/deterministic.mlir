// RUN: metate-opt %s --start-from=import --stop-after=simplify | metate-opt --metate-explicit-activation --metate-demote-atomics --metate-private-reductions --metate-offload=deterministic | metate-opt --start-from=offload --stop-after=map | FileCheck %s
// Tasks of deterministic kernels: partial results by pieces that no executor decides; in order where the order shows.

// Each piece stores what it has; called without any, the body combines them one after the other, with nothing atomic.
// CHECK-LABEL: llvm.func internal @metate_entry_sum_task0(
// CHECK-NOT: llvm.atomicrmw
// CHECK: llvm.getelementptr %{{.*}} : (!llvm.ptr, i64) -> !llvm.ptr, i64
// CHECK: llvm.store %{{.*}} : f32
// CHECK: llvm.icmp "eq" %arg1, %arg2
// CHECK: llvm.fadd %{{.*}}, %{{.*}} : f32
// CHECK-LABEL: llvm.func @metate_entry_sum(
// CHECK: llvm.alloca %{{.*}} x i8 {alignment = 64 : i64}
// CHECK: llvm.call @metate_run_task(
// CHECK: llvm.call @metate_entry_sum_task0(
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

// Integers are exact in any order: as ever, but in one version, whoever works.
// CHECK-LABEL: llvm.func internal @metate_entry_count_task0(
// CHECK-COUNT-1: llvm.atomicrmw add
// CHECK-LABEL: llvm.func @metate_entry_count(
// CHECK-NOT: llvm.mlir.constant(-1 : i64)
// CHECK: llvm.call @metate_run_task(
metate.kernel @count(%x: memref<?xi32>, %s: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xi32>
  metate.range (%i) = (%c0) to (%n) {
    %v = memref.load %x[%i] : memref<?xi32>
    %k = arith.index_cast %v : i32 to index
    %old = memref.atomic_rmw addi %v, %s[%k] : (i32, memref<?xi32>) -> i32
    metate.yield
  }
  metate.return
}

// Which of two sums comes first shows: one worker, without atomics.
// CHECK-LABEL: llvm.func internal @metate_entry_scatter_task0(
// CHECK-NOT: llvm.atomicrmw
// CHECK-LABEL: llvm.func @metate_entry_scatter(
// CHECK: %[[ORDER:.*]] = llvm.mlir.constant(-1 : i64)
// CHECK: llvm.call @metate_run_task(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[ORDER]],
metate.kernel @scatter(%x: memref<?xf32>, %s: memref<?xf32>, %k: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    %v = memref.load %x[%i] : memref<?xf32>
    %w = memref.load %k[%i] : memref<?xi32>
    %j = arith.index_cast %w : i32 to index
    %old = memref.atomic_rmw addf %v, %s[%j] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// So does who gets which number.
// CHECK-LABEL: llvm.func internal @metate_entry_number_task0(
// CHECK-NOT: llvm.atomicrmw
// CHECK-LABEL: llvm.func @metate_entry_number(
// CHECK: llvm.mlir.constant(-1 : i64)
metate.kernel @number(%x: memref<?xi32>, %s: memref<i32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : i32
  %n = memref.dim %x, %c0 : memref<?xi32>
  metate.range (%i) = (%c0) to (%n) {
    %old = memref.atomic_rmw addi %c1, %s[] : (i32, memref<i32>) -> i32
    memref.store %old, %x[%i] : memref<?xi32>
    metate.yield
  }
  metate.return
}
