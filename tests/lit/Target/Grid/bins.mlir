// RUN: metate-opt %s --metate-outline-tasks --metate-map-grid | FileCheck %s
// RUN: metate-opt %s --metate-outline-tasks --metate-map-grid | metate-opt | FileCheck %s

// Atomics that say where their target lies are done in memory of the workgroup, in three phases: the 16 numbers are cleared, each invocation
// clearing those of its number; the iterations add to them, of which there are some if no task before has failed; what is no zero is added to
// its place. All invocations come to each phase.
// CHECK: tasks = [{{{.*}}name = "histogram_0", shared = 64 : i64}]
// CHECK-LABEL: llvm.func @histogram_0(%arg0: !llvm.ptr, %arg1: !llvm.ptr) {
// CHECK: %[[CLEARS:.*]] = llvm.call @metate_grid_phase(%{{.*}}) {convergent} : (i32) -> i32
// CHECK: scf.if
// CHECK: %[[MEMORY:.*]] = llvm.call @metate_grid_shared() : () -> !llvm.ptr<3>
// CHECK: %[[OWN:.*]] = llvm.call @metate_grid_invocation() : () -> i64
// CHECK: llvm.urem %[[OWN]], %{{.*}} : i64
// CHECK: scf.for
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[MEMORY]]
// CHECK: llvm.store %{{.*}}, %[[PLACE]] : i32, !llvm.ptr<3>
// CHECK: llvm.call @metate_grid_phase(
// CHECK: scf.if
// CHECK: llvm.call @metate_grid_shared()
// CHECK: llvm.call @histogram_1_part(
// CHECK: llvm.call @metate_grid_phase(
// CHECK: scf.if
// CHECK: scf.for
// CHECK: %[[SUM:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> i32
// CHECK: %[[IS_SOME:.*]] = arith.cmpi ne, %[[SUM]], %{{.*}} : i32
// CHECK: scf.if %[[IS_SOME]] {
// CHECK: metate.rmw addi %[[SUM]], %{{.*}}[%{{.*}}] scope 1 : i32
// CHECK: llvm.return
// CHECK-LABEL: llvm.func internal @histogram_1_part(
// CHECK: %[[BINS:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr<3>
// CHECK: scf.for
// CHECK: %[[BIN:.*]] = llvm.getelementptr %[[BINS]][%{{.*}}] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
// CHECK: llvm.atomicrmw add %[[BIN]], %{{.*}} monotonic : !llvm.ptr<3>, i32
// CHECK-NOT: metate.rmw
metate.kernel @histogram(%x: !metate.block, %n: index, %h: !metate.block) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c128 = arith.constant 128 : index
  %one = arith.constant 1 : i32
  metate.range (%i) = (%c0) to (%n) {
    %from = arith.muli %i, %c4 : index
    %key = metate.read %x[%from] scope 0 : i32
    %number = arith.index_cast %key : i32 to index
    %bytes = arith.muli %number, %c4 : index
    %at = arith.addi %bytes, %c128 : index
    %old = metate.rmw addi %one, %h[%at] scope 1 {metate.bins = array<i64: 128, 64>} : i32
    metate.yield
  }
  metate.return
}

// Targets lie one behind the other, each from a multiple of eight on.
// CHECK-LABEL: llvm.func @two_
// CHECK-LABEL: llvm.func internal @two_
// CHECK: llvm.atomicrmw max %{{.*}}, %{{.*}} monotonic : !llvm.ptr<3>, i32
// CHECK: llvm.atomicrmw fadd %{{.*}}, %{{.*}} monotonic : !llvm.ptr<3>, f64
metate.kernel @two(%x: !metate.block, %n: index, %h: !metate.block, %v: f64) {
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %key = metate.read %x[%i] scope 0 : i32
    %at = arith.index_cast %key : i32 to index
    %0 = metate.rmw maxs %key, %h[%at] scope 1 {metate.bins = array<i64: 128, 12>} : i32
    %1 = metate.rmw addf %v, %h[%at] scope 1 {metate.bins = array<i64: 144, 64>} : f64
    metate.yield
  }
  metate.return
}
