// RUN: split-file %s %t
// RUN: metate-opt %t/loop.mlir --metate-outline-tasks --metate-map-grid | FileCheck %t/loop.mlir
// RUN: metate-opt %t/loop.mlir --metate-outline-tasks "--metate-map-grid=group=32" | FileCheck %t/loop.mlir --check-prefix=GROUP
// RUN: metate-opt %t/loop.mlir --metate-outline-tasks "--metate-map-grid=ends-loops" | FileCheck %t/loop.mlir --check-prefix=ENDS
// RUN: metate-opt %t/loop.mlir --metate-outline-tasks --metate-map-grid | metate-opt | FileCheck %t/loop.mlir
// RUN: metate-opt %t/between.mlir --metate-outline-tasks --metate-map-grid | FileCheck %t/between.mlir
// RUN: metate-opt %t/mark.mlir --metate-outline-tasks --metate-map-grid | FileCheck %t/mark.mlir
// RUN: metate-opt %t/mask.mlir --metate-outline-tasks --metate-map-grid | FileCheck %t/mask.mlir
// RUN: metate-opt %t/changed.mlir --metate-outline-tasks --metate-map-grid | FileCheck %t/changed.mlir
// RUN: metate-opt %t/settle.mlir --metate-outline-tasks --metate-map-grid | FileCheck %t/settle.mlir
// RUN: metate-opt %t/fails.mlir --metate-outline-tasks --metate-map-grid | FileCheck %t/fails.mlir
// RUN: metate-opt %t/pieces.mlir --metate-outline-tasks --metate-map-grid | FileCheck %t/pieces.mlir
// RUN: metate-opt %t/reduces.mlir --metate-outline-tasks --metate-map-grid | FileCheck %t/reduces.mlir
// RUN: not metate-opt %t/worker.mlir --metate-outline-tasks --metate-map-grid 2>&1 | FileCheck %t/worker.mlir
// RUN: metate-opt %t/graph.mlir --metate-outline-tasks --metate-map-grid | FileCheck %t/graph.mlir
// RUN: not metate-opt %t/recursion.mlir --metate-outline-tasks --metate-map-grid 2>&1 | FileCheck %t/recursion.mlir

//--- loop.mlir
// A loop is a function (slots, frame), whose invocations share its iterations out: each begins at its number and goes on by how many there
// are. The table says what a driver computes their count from: slots, constants and operations on a stack.
// CHECK: metate_grid.kernels = [{entry = "scale", flags = 0 : i64, frame = 512 : i64, nodes = [], slots = 3 : i64, tasks = [
// CHECK-SAME: {group = 128 : i64, iterations = array<i64: 2, 2, 1, 0, 11, 0>, line = {{[0-9]+}} : i64, most = 0 : i64, name = "scale_0"}]}]
// GROUP: {group = 32 : i64, iterations
// A device that ends loops by itself says so in the frame: the kernel may fail, and its tasks ask whether it has.
// ENDS: metate_grid.kernels = [{entry = "scale", flags = 1 : i64
// ENDS-LABEL: llvm.func @scale_0(%arg0: !llvm.ptr, %arg1: !llvm.ptr) {
// ENDS: %[[STATUS:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i32
// ENDS: llvm.icmp "eq" %[[STATUS]]
// ENDS: llvm.call @metate_grid_status(
// CHECK-NOT: metate.kernel
// CHECK-LABEL: llvm.func @scale_0(%arg0: !llvm.ptr, %arg1: !llvm.ptr) {
// CHECK-DAG: %[[OWN:.*]] = llvm.call @metate_grid_invocation() : () -> i64
// CHECK-DAG: %[[ALL:.*]] = llvm.call @metate_grid_invocations() : () -> i64
// CHECK: %[[STRIDE:.*]] = llvm.getelementptr %{{.*}}[0, 1]
// CHECK: llvm.store %[[ALL]], %[[STRIDE]] : i64, !llvm.ptr
// CHECK: llvm.call @scale_1_part(%{{.*}}, %[[OWN]], %{{.*}}, %{{.*}})
// CHECK-LABEL: llvm.func internal @scale_1_part(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %[[FIRST:.*]]: i64, %[[END:.*]]: i64, %{{.*}}: i32) -> i32 {
// CHECK-DAG: %[[FROM:.*]] = builtin.unrealized_conversion_cast %[[FIRST]] : i64 to index
// CHECK-DAG: %[[TO:.*]] = builtin.unrealized_conversion_cast %[[END]] : i64 to index
// CHECK: scf.for %[[I:.*]] = %[[FROM]] to %[[TO]] step %{{.*}} {
// CHECK: metate.read %{{.*}}[%[[I]]]
// CHECK: metate.write %{{.*}}, %{{.*}}[%[[I]]]
metate.kernel @scale(%x: !metate.block, %a: f32, %n: index) {
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %v = metate.read %x[%i] scope 0 : f32
    %w = arith.mulf %v, %a : f32
    metate.write %w, %x[%i] scope 0 : f32
    metate.yield
  }
  metate.return
}

//--- between.mlir
// What stands between two loops is a function that one invocation runs. Its value, which the next loop uses, lies in the frame, behind
// what drivers know of it; the sum of arguments is computed where it is used.
// CHECK: entry = "between", flags = 4 : i64, frame = 576 : i64
// CHECK-SAME: name = "between_0"
// CHECK-SAME: {group = 1 : i64, iterations = array<i64>, line = {{[0-9]+}} : i64, most = 0 : i64, name = "between_3"}
// CHECK-SAME: name = "between_4"
// CHECK-LABEL: llvm.func internal @between_2_part(
// CHECK-SAME: %[[SLOTS:[a-z0-9]+]]: !llvm.ptr, %[[FRAME:[a-z0-9]+]]: !llvm.ptr, %{{.*}}: !llvm.ptr) -> i32 {
// CHECK: %[[SERIAL:.*]] = metate.read
// CHECK: %[[PLACE:.*]] = llvm.getelementptr inbounds %[[FRAME]][512]
// CHECK: llvm.store %[[SERIAL]], %[[PLACE]] : i32, !llvm.ptr
// CHECK-LABEL: llvm.func @between_3(
// CHECK: %[[OWN:.*]] = llvm.call @metate_grid_invocation()
// CHECK: %[[ZERO:.*]] = llvm.mlir.constant(0 : i64)
// CHECK: %[[FIRST:.*]] = llvm.icmp "eq" %[[OWN]], %[[ZERO]]
// CHECK: scf.if %[[FIRST]] {
// CHECK: llvm.call @between_2_part(
// CHECK-LABEL: llvm.func @between_4(
// CHECK: %[[AT:.*]] = llvm.getelementptr inbounds %arg1[512]
// CHECK: llvm.load %[[AT]] : !llvm.ptr -> i32
// CHECK: arith.addi %{{.*}}, %{{.*}} : i32
metate.kernel @between(%x: !metate.block, %n: index, %a: i32, %b: i32) {
  %c0 = arith.constant 0 : index
  %sum = arith.addi %a, %b : i32
  metate.range (%i) = (%c0) to (%n) {
    metate.write %a, %x[%i] scope 0 : i32
    metate.yield
  }
  %s = metate.serial -> (i32) {
    %v = metate.read %x[%c0] scope 0 : i32
    metate.yield %v : i32
  }
  metate.range (%i) = (%c0) to (%n) {
    %w = arith.addi %s, %sum : i32
    metate.write %w, %x[%i] scope 0 : i32
    metate.yield
  }
  metate.return
}

//--- mark.mlir
// How many slots a pool has had is read by each invocation, since the loop leaves it as it is: no function of its own, nothing in the
// frame. Only the device knows the count: the table has no steps.
// CHECK: entry = "walk", flags = 0 : i64, frame = 512 : i64
// CHECK-SAME: tasks = [{group = 128 : i64, iterations = array<i64>, line = {{[0-9]+}} : i64, most = 0 : i64, name = "walk_0"}]
// CHECK-LABEL: llvm.func @walk_0(
// CHECK: metate.read %{{.*}}[%{{.*}}] scope 0 acquire : i32
// CHECK: llvm.call @walk_1_part(
metate.kernel @walk(%x: !metate.block) {
  %c0 = arith.constant 0 : index
  %c200 = arith.constant 200 : index
  %mark = metate.read %x[%c200] scope 0 acquire : i32
  %n = arith.index_castui %mark : i32 to index
  metate.range (%i) = (%c0) to (%n) attributes {metate.cells} {
    %v = metate.read %x[%i] scope 0 : i32
    metate.write %v, %x[%i] scope 0 : i32
    metate.yield
  }
  metate.return
}

//--- mask.mlir
// What else is read before a loop, here a word of a mask, is what it was before: the loop may write there.
// CHECK: entry = "asked", flags = 4 : i64, frame = 576 : i64
// CHECK-SAME: {group = 1 : i64, iterations = array<i64>, line = {{[0-9]+}} : i64, most = 0 : i64, name = "asked_1"}
// CHECK-LABEL: llvm.func internal @asked_0_part(
// CHECK: metate.read %{{.*}}[%{{.*}}] scope 0 acquire : i32
// CHECK-LABEL: llvm.func @asked_2(
// CHECK-NOT: acquire
// CHECK: llvm.return
metate.kernel @asked(%x: !metate.block, %n: index) {
  %c0 = arith.constant 0 : index
  %c1280 = arith.constant 1280 : index
  %word = metate.read %x[%c1280] scope 0 acquire : i32
  metate.range (%i) = (%c0) to (%n) {
    metate.write %word, %x[%i] scope 0 : i32
    metate.yield
  }
  metate.return
}

//--- changed.mlir
// Where the loop itself takes slots, the count is what it was before: one invocation reads it into the frame.
// CHECK: entry = "grow", flags = 4 : i64, frame = 576 : i64
// CHECK-SAME: {group = 1 : i64, iterations = array<i64>, line = {{[0-9]+}} : i64, most = 0 : i64, name = "grow_1"}
// CHECK-SAME: name = "grow_2"
// CHECK-LABEL: llvm.func internal @grow_0_part(
// CHECK: metate.read %{{.*}}[%{{.*}}] scope 0 acquire : i32
// CHECK: llvm.getelementptr inbounds %arg1[512]
// CHECK: llvm.store
// CHECK-LABEL: llvm.func @grow_2(
// CHECK-NOT: acquire
// CHECK: llvm.return
!tree = !metate.tree<#metate.pointer<"i", [64], [#metate.dense<"i", [4], [#metate.place<"a" : i32>]>], name = "blocks">>
metate.kernel @grow(%x: !metate.block) {
  %c0 = arith.constant 0 : index
  %c200 = arith.constant 200 : index
  %mark = metate.read %x[%c200] scope 0 acquire : i32
  %n = arith.index_castui %mark : i32 to index
  metate.range (%i) = (%c0) to (%n) attributes {metate.cells} {
    %slot = metate.tree_call "claim" %x level 1(%i) at(%i) flag 0 : !tree -> i32
    metate.write %slot, %x[%i] scope 0 : i32
    metate.yield
  }
  metate.return
}

//--- settle.mlir
// Trees that the kernel may have changed are settled at the end by one invocation, once each, and the others are not.
// CHECK: {group = 1 : i64, iterations = array<i64>, line = {{[0-9]+}} : i64, most = 0 : i64, name = "settled_3"}]
// CHECK-LABEL: llvm.func internal @settled_2_part(
// CHECK-COUNT-1: metate.tree_call "settle"
// CHECK-NOT: metate.tree_call "settle"
// CHECK-LABEL: llvm.func @settled_3(
// CHECK: scf.if
// CHECK: llvm.call @settled_2_part(
!tree = !metate.tree<#metate.pointer<"i", [64], [#metate.dense<"i", [4], [#metate.place<"a" : i32>]>], name = "blocks">>
metate.kernel @settled(%x: !metate.block, %y: !metate.block, %n: index) {
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %v = metate.read %y[%i] scope 1 : i32
    metate.write %v, %x[%i] scope 0 : i32
    metate.yield
  }
  metate.tree_call "settle" %x level 0() : !tree
  metate.tree_call "settle" %x level 0() : !tree
  metate.return
}

//--- fails.mlir
// Where a task may stop the kernel, those behind it look at the frame's status first; what settles trees runs all the same.
// CHECK: entry = "fails", flags = 1 : i64
// CHECK-LABEL: llvm.func @fails_0(
// CHECK: %[[STATUS:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i32
// CHECK: %[[GOOD:.*]] = llvm.icmp "eq" %[[STATUS]]
// CHECK: scf.if %[[GOOD]] {
// CHECK: %[[OF:.*]] = llvm.call @fails_1_part(
// CHECK: llvm.call @metate_grid_status(%arg1, %[[OF]])
// CHECK-LABEL: llvm.func @fails_3(
// CHECK-NOT: llvm.load
// CHECK: llvm.call @metate_grid_invocation()
!tree = !metate.tree<#metate.pointer<"i", [64], [#metate.dense<"i", [4], [#metate.place<"a" : i32>]>], name = "blocks">>
metate.kernel @fails(%x: !metate.block, %n: index, %flag: i1) {
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    metate.assert %flag, "not set"
    metate.yield
  }
  metate.tree_call "settle" %x level 0() : !tree
  metate.return
}

//--- pieces.mlir
// Of a deterministic kernel, the sum of a loop is one of pieces, as many as there are iterations, at most 4,096: invocations do one after the
// other, with iterations that are as far from one another. Each leaves its sum in the frame; called with no iterations, the body adds
// those to the place, in order, keeping the sum meanwhile where it is one place. A loop that shows its order is one invocation.
// CHECK: {entry = "sum", flags = 4 : i64, frame = 33280 : i64
// CHECK-SAME: {group = 128 : i64, iterations = array<i64: 2, 1, 1, 0, 11, 0>, line = {{[0-9]+}} : i64, most = 4096 : i64, name = "sum_0"}
// CHECK-SAME: {group = 1 : i64, iterations = array<i64>, line = {{[0-9]+}} : i64, most = 0 : i64, name = "sum_2"}
// CHECK-SAME: {group = 1 : i64, iterations = array<i64>, line = {{[0-9]+}} : i64, most = 0 : i64, name = "sum_3"}
// CHECK-LABEL: llvm.func @sum_0(
// CHECK: %[[OWN:.*]] = llvm.call @metate_grid_invocation
// CHECK: %[[NUMBER:.*]] = llvm.intr.umin(%[[COUNT:.*]], %{{.*}}) : (i64, i64) -> i64
// CHECK: llvm.store %[[NUMBER]]
// CHECK: scf.for %[[PIECE:.*]] =
// CHECK: %[[BEGIN:.*]] = builtin.unrealized_conversion_cast %[[PIECE]] : index to i64
// CHECK: llvm.call @sum_1_part(%{{.*}}, %[[BEGIN]], %[[COUNT]], %{{.*}})
// CHECK-LABEL: llvm.func internal @sum_1_part(
// CHECK: scf.for
// CHECK-NOT: metate.rmw
// CHECK: %[[LAST:.*]] = arith.cmpi eq
// CHECK: scf.if %[[LAST]] {
// CHECK: %[[PLACE:.*]] = llvm.getelementptr
// CHECK: %[[BEFORE:.*]] = llvm.load %[[PLACE]]
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[SOFAR:.*]] = %[[BEFORE]])
// CHECK: %[[LEFT:.*]] = llvm.load
// CHECK: arith.addf %[[SOFAR]], %[[LEFT]]
// CHECK: llvm.store %[[SUM]], %[[PLACE]]
// CHECK: } else {
// CHECK: llvm.store
// CHECK-LABEL: llvm.func @sum_2(
// CHECK: llvm.call @sum_1_part(%{{.*}}, %[[ALL:.*]], %[[ALL]], %{{.*}})
metate.kernel @sum(%x: !metate.block, %n: index) attributes {metate.deterministic} {
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %v = metate.read %x[%i] scope 0 : f32
    %o = metate.rmw addf %v, %x[%c0] scope 0 {metate.reduction} : f32
    metate.yield
  }
  metate.range (%i) = (%c0) to (%n) {
    %v = metate.read %x[%i] scope 0 : f32
    %o = metate.rmw addf %v, %x[%i] scope 0 : f32
    metate.yield
  }
  metate.return
}

//--- reduces.mlir
// Invocations that add up what they have at one place are no more than a large GPU runs at once.
// CHECK: {entry = "reduces"
// CHECK-SAME: most = 262144 : i64, name = "reduces_0"
// CHECK-LABEL: llvm.func internal @reduces_1_part(
// CHECK: scf.for
// CHECK: llvm.call @metate_grid_reduce_add_f32
metate.kernel @reduces(%x: !metate.block, %n: index) {
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %v = metate.read %x[%i] scope 0 : f32
    %o = metate.rmw addf %v, %x[%c0] scope 0 {metate.reduction} : f32
    metate.yield
  }
  metate.return
}

//--- worker.mlir
// CHECK: error: a kernel that plans memory for each worker does not run on this target
metate.kernel @parts(%n: i64, %x: !metate.block) {
  %c0 = arith.constant 0 : index
  %end = arith.index_cast %n : i64 to index
  %tile = metate.pool "tile" worker bytes 24 align 64 scale 4 by (%n : i64)
  metate.range (%i) = (%c0) to (%end) {
    %v = metate.read %x[%i] scope 0 : f32
    metate.write %v, %tile[%c0] scope -1 : f32
    metate.yield
  }
  metate.return
}

//--- graph.mlir
// A graph is nodes: a run has an expression for each slot of its kernel, a loop one for its turns and the count of the nodes in it. Its
// own array lies in the frame behind its kernels' values. What it does itself is a kernel of one invocation with its slots. One kernel
// may fail, so all ask the status.
// CHECK: {entry = "g.0.check", flags = 1 : i64, frame = 512 : i64, nodes = [], slots = 3 : i64
// CHECK-SAME: {entry = "g.1.set", flags = 1 : i64
// CHECK-SAME: {entry = "g.0", flags = 1 : i64, frame = 512 : i64, nodes = [], slots = 3 : i64, tasks = [{group = 1 : i64
// CHECK-SAME: {entry = "g", flags = 5 : i64, frame = 576 : i64, nodes = [
// CHECK-SAME: {body = 0 : i64, kernel = "g.0.check", operands = [array<i64: 2, 0>, array<i64: 2, 1>, array<i64: 4, 512>]}
// CHECK-SAME: {body = 2 : i64, kernel = "", operands = [array<i64: 2, 2, 5, 32, 1, 1, 8, 0, 1, 3, 13, 0>]}
// CHECK-SAME: {body = 1 : i64, kernel = "", operands = [array<i64: 1, 5>]}
// CHECK-SAME: {body = 0 : i64, kernel = "g.1.set", operands = [array<i64: 2, 0>,
// CHECK-SAME: array<i64: 1, 1, 3, 0, 1, 3, 9, 0, 7, 0, 1, 0, 3, 1, 1, 1, 9, 0, 7, 0, 16, 0, 6, 32, 1, 7, 6, 32, 18, 0>]}
// CHECK-SAME: {body = 0 : i64, kernel = "g.0", operands = [array<i64: 2, 0>, array<i64: 2, 1>, array<i64: 2, 2>]}
// CHECK-SAME: slots = 3 : i64, tasks = []}
// CHECK-LABEL: llvm.func @g_0_check_0(
// CHECK: llvm.icmp "eq"
// CHECK-LABEL: llvm.func @g_1_set_
// CHECK: llvm.icmp "eq"
metate.kernel private @g.0.check(%x: !metate.block, %n: index, %out: index) {
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    metate.poll
    metate.yield
  }
  metate.return
}
metate.kernel private @g.1.set(%x: !metate.block, %v: i32) {
  %c0 = arith.constant 0 : index
  metate.write %v, %x[%c0] scope 0 : i32
  metate.return
}
metate.kernel @g(%x: !metate.block, %n: index, %turns: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %seven = arith.constant 7 : i32
  metate.serial {
    %own = memref.alloca() : memref<1xf32>
    %at = memref.extract_aligned_pointer_as_index %own : memref<1xf32> -> index
    metate.run @g.0.check(%x, %n, %at) : !metate.block, index, index
    %count = arith.index_cast %turns : i32 to index
    scf.for %i = %c1 to %count step %c3 {
      scf.for %j = %c0 to %c5 step %c1 {
        metate.poll
        %sum = arith.xori %i, %j : index
        %low = arith.index_cast %sum : index to i32
        %v = arith.shrui %low, %seven : i32
        metate.run @g.1.set(%x, %v) : !metate.block, i32
      }
    }
    metate.yield
  }
  %status = metate.read %x[%c3] scope 1 acquire : i32
  metate.return_status %status
  metate.return
}

//--- recursion.mlir
// CHECK: error: a function that calls itself does not run on this target
metate.kernel @recursive(%x: !metate.block, %n: index) {
  %c0 = arith.constant 0 : index
  metate.function "again" (%m: index) {
    metate.enter "again"
    %r = metate.call "again"(%m) : (index) -> index
    metate.give %r : index
  }
  metate.range (%i) = (%c0) to (%n) {
    %r = metate.call "again"(%i) : (index) -> index
    metate.write %r, %x[%i] scope 0 : index
    metate.yield
  }
  metate.return
}
