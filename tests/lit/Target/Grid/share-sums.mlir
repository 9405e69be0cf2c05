// RUN: metate-opt %s --pass-pipeline="builtin.module(metate.kernel(metate-share-sums),canonicalize)" --split-input-file | FileCheck %s

// A row of 512 numbers an iteration: 32 invocations take every 32nd turn, combine what they have, and the first one writes.
// CHECK: llvm.func @metate_grid_across_i32(i32, i32, i32) -> i32
// CHECK-LABEL: metate.kernel @rows
// CHECK-DAG: %[[ROUND:.*]] = arith.constant 32 : index
// CHECK-DAG: %[[TURNS:.*]] = arith.constant 512 : index
// CHECK-DAG: %[[INIT:.*]] = arith.constant 5.000000e-01 : f32
// CHECK-DAG: %[[NOTHING:.*]] = arith.constant -0.000000e+00 : f32
// CHECK: metate.range (%[[I:.*]], %[[OWN:.*]]) = (%{{.*}}, %{{.*}}) to (%{{.*}}, %[[ROUND]]) {
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[OWN]], %{{.*}} : index
// CHECK: %[[BEGIN:.*]] = arith.select %[[FIRST]], %[[INIT]], %[[NOTHING]] : f32
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %[[OWN]] to %[[TURNS]] step %[[ROUND]] iter_args(%{{.*}} = %[[BEGIN]]) -> (f32) {
// CHECK: %[[BITS:.*]] = arith.bitcast %[[SUM]] : f32 to i32
// CHECK: llvm.call @metate_grid_across_i32(%[[BITS]],
// CHECK-COUNT-4: llvm.call @metate_grid_across_i32
// CHECK: %[[ALL:.*]] = arith.addf
// CHECK: scf.if %[[FIRST]] {
// CHECK-NEXT: arith.muli
// CHECK-NEXT: metate.write %[[ALL]]
metate.kernel @rows(%a: !metate.block, %out: !metate.block) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c512 = arith.constant 512 : index
  %n = arith.constant 1000000 : index
  %half = arith.constant 0.5 : f32
  metate.range (%i) = (%c0) to (%n) {
    %row = arith.muli %i, %c512 : index
    %s = scf.for %j = %c0 to %c512 step %c1 iter_args(%before = %half) -> (f32) {
      %cell = arith.addi %row, %j : index
      %at = arith.muli %cell, %c4 : index
      %x = metate.read %a[%at] scope 0 : f32
      %next = arith.addf %before, %x fastmath<reassoc> : f32
      scf.yield %next : f32
    }
    %to = arith.muli %i, %c4 : index
    metate.write %s, %out[%to] scope 1 : f32
    metate.yield
  }
  metate.return
}

// -----

// All iterations read the same, and there are many of them: each stays one invocation's. So it does where they read side by side, sums
// keep their order, or the loop writes.
// CHECK-NOT: llvm.func
// CHECK-LABEL: metate.kernel @stay
// CHECK-COUNT-4: metate.range (%{{.*}}) = (%{{.*}}) to (%{{.*}}) {
metate.kernel @stay(%a: !metate.block, %out: !metate.block) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c512 = arith.constant 512 : index
  %n = arith.constant 1000000 : index
  %zero = arith.constant 0.0 : f32
  metate.range (%i) = (%c0) to (%n) {
    %s = scf.for %j = %c0 to %c512 step %c1 iter_args(%before = %zero) -> (f32) {
      %at = arith.muli %j, %c4 : index
      %x = metate.read %a[%at] scope 0 : f32
      %next = arith.addf %before, %x fastmath<reassoc> : f32
      scf.yield %next : f32
    }
    %to = arith.muli %i, %c4 : index
    metate.write %s, %out[%to] scope 1 : f32
    metate.yield
  }
  metate.range (%i) = (%c0) to (%c512) {
    %s = scf.for %j = %c0 to %c512 step %c1 iter_args(%before = %zero) -> (f32) {
      %row = arith.muli %j, %c512 : index
      %cell = arith.addi %row, %i : index
      %at = arith.muli %cell, %c4 : index
      %x = metate.read %a[%at] scope 0 : f32
      %next = arith.addf %before, %x fastmath<reassoc> : f32
      scf.yield %next : f32
    }
    %to = arith.muli %i, %c4 : index
    metate.write %s, %out[%to] scope 1 : f32
    metate.yield
  }
  metate.range (%i) = (%c0) to (%c512) {
    %s = scf.for %j = %c0 to %c512 step %c1 iter_args(%before = %zero) -> (f32) {
      %at = arith.muli %j, %c4 : index
      %x = metate.read %a[%at] scope 0 : f32
      %next = arith.addf %before, %x : f32
      scf.yield %next : f32
    }
    %to = arith.muli %i, %c4 : index
    metate.write %s, %out[%to] scope 1 : f32
    metate.yield
  }
  metate.range (%i) = (%c0) to (%c512) {
    %s = scf.for %j = %c0 to %c512 step %c1 iter_args(%before = %zero) -> (f32) {
      %at = arith.muli %j, %c4 : index
      %x = metate.read %a[%at] scope 0 : f32
      metate.write %x, %out[%at] scope 1 : f32
      %next = arith.addf %before, %x fastmath<reassoc> : f32
      scf.yield %next : f32
    }
    metate.yield
  }
  metate.return
}

// -----

// Few iterations, extents that the launch knows: %s1 is the array's last stride, so that turns are side by side. Eight share a row.
// CHECK-LABEL: metate.kernel @arrays
// CHECK: metate.range (%{{.*}}, %[[OWN:.*]]) = (%{{.*}}, %{{.*}}) to (%{{.*}}, %c8) {
// CHECK: scf.for %{{.*}} = %[[OWN]] to %{{.*}} step %c8
// CHECK-COUNT-3: llvm.call @metate_grid_across_i64
metate.kernel @arrays(%a: !metate.block, %n: index, %m: index, %s0: index, %s1: index, %out: !metate.block) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0 : i64
  metate.range (%i) = (%c0) to (%n) {
    %s = scf.for %j = %c0 to %m step %c1 iter_args(%before = %zero) -> (i64) {
      %row = arith.muli %i, %s0 : index
      %column = arith.muli %j, %s1 : index
      %cell = arith.addi %row, %column : index
      %at = arith.muli %cell, %c8 : index
      %x = metate.read %a[%at] scope 0 : i64
      %next = arith.addi %before, %x : i64
      scf.yield %next : i64
    }
    %to = arith.muli %i, %c8 : index
    metate.write %s, %out[%to] scope 1 : i64
    metate.yield
  }
  metate.return
}

// -----

// A sum that the loop looks at meanwhile (of integers, or where all of its additions may be reassociated) is one of all turns before; what
// may leave the iterations, or calls something, stays together.
// CHECK-NOT: llvm.func
// CHECK-LABEL: metate.kernel @seen
// CHECK-COUNT-3: metate.range (%{{.*}}) = (%{{.*}}) to (%{{.*}}) {
metate.kernel @seen(%a: !metate.block, %out: !metate.block) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c512 = arith.constant 512 : index
  %n = arith.constant 1000 : index
  %zero = arith.constant 0 : i32
  %nothing = arith.constant 0.0 : f32
  metate.range (%i) = (%c0) to (%n) {
    %row = arith.muli %i, %c512 : index
    %s:2 = scf.for %j = %c0 to %c512 step %c1 iter_args(%before = %zero, %total = %zero) -> (i32, i32) {
      %cell = arith.addi %row, %j : index
      %at = arith.muli %cell, %c4 : index
      %x = metate.read %a[%at] scope 0 : i32
      %next = arith.addi %before, %x : i32
      %all = arith.addi %total, %next : i32
      scf.yield %next, %all : i32, i32
    }
    %to = arith.muli %i, %c4 : index
    metate.write %s#1, %out[%to] scope 1 : i32
    metate.yield
  }
  metate.range (%i) = (%c0) to (%n) {
    %row = arith.muli %i, %c512 : index
    %s:2 = scf.for %j = %c0 to %c512 step %c1 iter_args(%before = %nothing, %total = %nothing) -> (f32, f32) {
      %cell = arith.addi %row, %j : index
      %at = arith.muli %cell, %c4 : index
      %x = metate.read %a[%at] scope 0 : f32
      %next = arith.addf %before, %x fastmath<fast> : f32
      %all = arith.addf %total, %next fastmath<fast> : f32
      scf.yield %next, %all : f32, f32
    }
    %to = arith.muli %i, %c4 : index
    metate.write %s#1, %out[%to] scope 1 : f32
    metate.yield
  }
  metate.range (%i) = (%c0) to (%n) {
    %row = arith.muli %i, %c512 : index
    %s = scf.for %j = %c0 to %c512 step %c1 iter_args(%before = %zero) -> (i32) {
      %cell = arith.addi %row, %j : index
      %at = arith.muli %cell, %c4 : index
      %x = metate.read %a[%at] scope 0 : i32
      %next = arith.addi %before, %x : i32
      scf.yield %next : i32
    }
    %isGood = arith.cmpi slt, %s, %zero : i32
    metate.assert %isGood, "too much"
    metate.yield
  }
  metate.return
}
