// RUN: metate-opt %s --start-from=import --stop-after=map | FileCheck %s
// RUN: metate-opt %s --start-from=import --stop-after=emit | FileCheck %s --check-prefix=OBJECT

// The body asks once whether one worker runs the whole task, and has its loops twice.
// CHECK-LABEL: llvm.func internal @metate_entry_histogram_task0(
// CHECK: %[[FLAG:.*]] = llvm.getelementptr inbounds %arg0[8]
// CHECK: %[[ALONE:.*]] = llvm.load %[[FLAG]]
// CHECK: %[[IS:.*]] = llvm.icmp "ne" %[[ALONE]]
// CHECK: llvm.cond_br %[[IS]]
// CHECK: %[[OLD:.*]] = llvm.load %{{.*}} {alias_scopes{{.*}} -> f32
// CHECK: %[[NEW:.*]] = llvm.fadd %[[OLD]]
// CHECK: llvm.store %[[NEW]]
// CHECK: llvm.atomicrmw fadd
// CHECK-NOT: llvm.atomicrmw
// The entry says no; whoever runs the task serially says yes.
// CHECK-LABEL: llvm.func @metate_entry_histogram(
// CHECK: %[[NO:.*]] = llvm.mlir.constant(0 : i64)
// CHECK: llvm.store %[[NO]], %{{.*}} : i64, !llvm.ptr
// CHECK-LABEL: llvm.func internal @metate_run_task(
// CHECK: %[[YES:.*]] = llvm.mlir.constant(1 : i64)
// CHECK: llvm.store %[[YES]], %{{.*}} : i64, !llvm.ptr
// OBJECT: metate.payload
metate.kernel @histogram(%at: memref<?xi32>, %x: memref<?xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %at, %c0 : memref<?xi32>
  metate.range (%i) = (%c0) to (%n) {
    %k = memref.load %at[%i] : memref<?xi32>
    %j = arith.index_cast %k : i32 to index
    %old = memref.atomic_rmw addf %v, %x[%j] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}
