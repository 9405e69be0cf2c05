// RUN: metate-opt %s --metate-grid-bricks="cells=1" --canonicalize --split-input-file | FileCheck %s --check-prefixes=ALL,ONE
// RUN: metate-opt %s --metate-grid-bricks="cells=4" --canonicalize --split-input-file | FileCheck %s --check-prefixes=ALL,FOUR
// RUN: metate-opt %s --metate-grid-bricks="group=64 cells=1" --canonicalize --split-input-file | FileCheck %s --check-prefix=HALF
// RUN: metate-opt %s --metate-grid-bricks="cells=4" --split-input-file | metate-opt --split-input-file --canonicalize | FileCheck %s --check-prefix=FOUR

// Rows above and below are read: a brick of 128 invocations is four rows of 32. Rows begin at a line, so the first cell of a row is not
// the range's, nor the last.
// ONE-LABEL: metate.kernel @plane
// ONE-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// ONE-DAG: %[[ONE:.*]] = arith.constant 1 : index
// ONE-DAG: %[[TWO:.*]] = arith.constant 2 : index
// ONE-DAG: %[[THREE:.*]] = arith.constant 3 : index
// ONE-DAG: %[[FIVE:.*]] = arith.constant 5 : index
// ONE-DAG: %[[MASK:.*]] = arith.constant 31 : index
// ONE-DAG: %[[DOWN:.*]] = arith.constant 2048 : index
// ONE-DAG: %[[ACROSS:.*]] = arith.constant 256 : index
// ONE-DAG: %[[GROUP:.*]] = arith.constant 128 : index
// ONE-DAG: %[[END:.*]] = arith.constant 8191 : index
// ONE: metate.range (%[[I:.*]], %[[J:.*]], %[[OWN:.*]]) = (%[[ZERO]], %[[ZERO]], %[[ZERO]]) to (%[[DOWN]], %[[ACROSS]], %[[GROUP]]) {
// ONE: %[[BEGIN:.*]] = arith.shli %[[J]], %[[FIVE]] : index
// ONE: %[[COLUMN:.*]] = arith.andi %[[OWN]], %[[MASK]] : index
// ONE: %[[REST:.*]] = arith.shrui %[[OWN]], %[[FIVE]] : index
// ONE: %[[X:.*]] = arith.addi %[[BEGIN]], %[[COLUMN]] : index
// ONE: %[[TOP:.*]] = arith.shli %[[I]], %[[TWO]] : index
// ONE: %[[ROW:.*]] = arith.andi %[[REST]], %[[THREE]] : index
// ONE: %[[AT:.*]] = arith.addi %[[TOP]], %[[ROW]] : index
// ONE: %[[Y:.*]] = arith.addi %[[AT]], %[[ONE]] : index
// ONE: %[[ABOVE:.*]] = arith.cmpi slt, %[[Y]], %[[END]] : index
// ONE: %[[BEFORE:.*]] = arith.cmpi slt, %[[X]], %[[END]] : index
// ONE: %[[HIGH:.*]] = arith.andi %[[ABOVE]], %[[BEFORE]] : i1
// ONE: %[[BEHIND:.*]] = arith.cmpi sge, %[[X]], %[[ONE]] : index
// ONE: %[[INSIDE:.*]] = arith.andi %[[HIGH]], %[[BEHIND]] : i1
// ONE: scf.if %[[INSIDE]] {
// ONE-COUNT-3: metate.read %{{.*}} scope 0 invariant : f32
// ONE: metate.write
// ONE-NOT: metate.write
// ONE: metate.yield

// There are many iterations: each takes four cells, one below the other, all of them or those that are in the range.
// FOUR-LABEL: metate.kernel @plane
// FOUR-DAG: %[[DOWN:.*]] = arith.constant 512 : index
// FOUR: metate.range
// FOUR-SAME: to (%[[DOWN]],
// FOUR: scf.if
// FOUR: scf.if
// FOUR-COUNT-4: metate.write
// FOUR: } else {
// FOUR: scf.for
// FOUR: metate.write
// FOUR-NOT: metate.write
// FOUR: metate.yield

// A workgroup of 64 invocations has two rows.
// HALF-LABEL: metate.kernel @plane
// HALF-DAG: %[[DOWN:.*]] = arith.constant 4095 : index
// HALF-DAG: %[[GROUP:.*]] = arith.constant 64 : index
// HALF: metate.range
// HALF-SAME: to (%[[DOWN]], %{{.*}}, %[[GROUP]])
metate.kernel @plane(%a: !metate.block, %b: !metate.block) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %end = arith.constant 8191 : index
  %n = arith.constant 8192 : index
  metate.range (%i, %j) = (%c1, %c1) to (%end, %end) {
    %up = arith.subi %i, %c1 : index
    %r0 = arith.muli %up, %n : index
    %s0 = arith.addi %r0, %j : index
    %o0 = arith.muli %s0, %c4 : index
    %v0 = metate.read %a[%o0] scope 0 : f32
    %down = arith.addi %i, %c1 : index
    %r1 = arith.muli %down, %n : index
    %s1 = arith.addi %r1, %j : index
    %o1 = arith.muli %s1, %c4 : index
    %v1 = metate.read %a[%o1] scope 0 : f32
    %r2 = arith.muli %i, %n : index
    %s2 = arith.addi %r2, %j : index
    %o2 = arith.muli %s2, %c4 : index
    %v2 = metate.read %a[%o2] scope 0 : f32
    %t = arith.addf %v0, %v1 : f32
    %u = arith.addf %t, %v2 : f32
    metate.write %u, %b[%o2] scope 1 : f32
    metate.yield
  }
  metate.return
}

// -----

// Extents of the launch: how many bricks there are follows from them, and whether an invocation takes four cells.
// ONE-LABEL: metate.kernel @extents
// ONE: %[[HEIGHT:.*]] = arith.maxsi %arg2, %{{.*}} : index
// ONE: %[[ROWS:.*]] = arith.addi %[[HEIGHT]], %c3
// ONE: %[[DOWN:.*]] = arith.shrui %[[ROWS]], %c2
// ONE: %[[WIDTH:.*]] = arith.maxsi %arg3, %{{.*}} : index
// ONE: %[[COLUMNS:.*]] = arith.addi %[[WIDTH]], %c31
// ONE: %[[ACROSS:.*]] = arith.shrui %[[COLUMNS]], %c5
// ONE: metate.range
// ONE-SAME: to (%[[DOWN]], %[[ACROSS]], %c128)
// ONE: arith.cmpi slt, %{{.*}}, %arg2
// ONE: arith.cmpi slt, %{{.*}}, %arg3
// ONE-NOT: arith.cmpi sge
// ONE: scf.if
// FOUR-LABEL: metate.kernel @extents
// FOUR: %[[COUNT:.*]] = arith.muli %{{.*}}, %{{.*}} : index
// FOUR: %[[ROUNDS:.*]] = arith.shrui %[[COUNT]], %c22
// FOUR: %[[IS_ONE:.*]] = arith.minsi %[[ROUNDS]], %c1
// FOUR: %[[TAKEN:.*]] = arith.muli %[[IS_ONE]], %c2
// FOUR: metate.range
// FOUR: %[[IS_ALL:.*]] = arith.cmpi ne, %[[TAKEN]], %c0
// FOUR: scf.if
// FOUR-COUNT-4: metate.write
// FOUR: } else {
// FOUR: scf.for
metate.kernel @extents(%a: !metate.block, %b: !metate.block, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  metate.range (%i, %j) = (%c0, %c0) to (%n, %m) {
    %r = arith.muli %i, %m : index
    %o = arith.addi %r, %j : index
    %v = metate.read %a[%o] scope 0 : f32
    %down = arith.addi %i, %c1 : index
    %s = arith.muli %down, %m : index
    %p = arith.addi %s, %j : index
    %w = metate.read %a[%p] scope 0 : f32
    %t = arith.addf %v, %w : f32
    metate.write %t, %b[%o] scope 1 : f32
    metate.yield
  }
  metate.return
}

// -----

// The arguments overlap: what is read may be what an iteration has written.
// ALL-LABEL: metate.kernel @overlapping
// ALL: metate.range (%{{.*}}, %{{.*}}, %{{.*}}) =
// ALL-NOT: invariant
// ALL: metate.return
metate.kernel @overlapping(%a: !metate.block, %b: !metate.block, %n: index, %m: index) attributes {may_alias} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  metate.range (%i, %j) = (%c0, %c0) to (%n, %m) {
    %r = arith.muli %i, %m : index
    %o = arith.addi %r, %j : index
    %v = metate.read %a[%o] scope 0 : f32
    %down = arith.addi %i, %c1 : index
    %s = arith.muli %down, %m : index
    %p = arith.addi %s, %j : index
    %w = metate.read %a[%p] scope 0 : f32
    %t = arith.addf %v, %w : f32
    metate.write %t, %b[%o] scope 1 : f32
    metate.yield
  }
  metate.return
}

// -----

// Turns of a loop are distances, too: rows of three are read.
// ALL-LABEL: metate.kernel @turns
// ALL: metate.range (%{{.*}}, %{{.*}}, %{{.*}}) =
// ALL: scf.for
// ALL: metate.read %arg0[%{{.*}}] scope 0
// ALL-NOT: invariant
// ALL: metate.return
metate.kernel @turns(%a: !metate.block, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  metate.range (%i, %j) = (%c0, %c0) to (%n, %m) {
    %sum = scf.for %d = %c0 to %c3 step %c1 iter_args(%before = %zero) -> f32 {
      %row = arith.addi %i, %d : index
      %r = arith.muli %row, %m : index
      %o = arith.addi %r, %j : index
      %v = metate.read %a[%o] scope 0 : f32
      %t = arith.addf %before, %v : f32
      scf.yield %t : f32
    }
    %r = arith.muli %i, %m : index
    %o = arith.addi %r, %j : index
    metate.write %sum, %a[%o] scope 0 : f32
    metate.yield
  }
  metate.return
}

// -----

// Neighbours along the row are in the same lines anyway; those of a range over slots are not known; eight rows of eight are less than a brick's rows.
// ALL-LABEL: metate.kernel @kept
// ALL: metate.range (%{{[a-z0-9]+}}, %{{[a-z0-9]+}}) =
// ALL: metate.range (%{{[a-z0-9]+}}, %{{[a-z0-9]+}}) =
// ALL: metate.range (%{{[a-z0-9]+}}, %{{[a-z0-9]+}}) =
metate.kernel @kept(%a: !metate.block, %b: !metate.block, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  metate.range (%i, %j) = (%c0, %c0) to (%n, %m) {
    %r = arith.muli %i, %m : index
    %o = arith.addi %r, %j : index
    %v = metate.read %a[%o] scope 0 : f32
    %p = arith.addi %o, %c1 : index
    %w = metate.read %a[%p] scope 0 : f32
    %t = arith.addf %v, %w : f32
    metate.write %t, %b[%o] scope 1 : f32
    metate.yield
  }
  metate.range (%i, %j) = (%c0, %c0) to (%n, %m) attributes {metate.cells} {
    %r = arith.muli %i, %m : index
    %o = arith.addi %r, %j : index
    %v = metate.read %a[%o] scope 0 : f32
    %down = arith.addi %i, %c1 : index
    %s = arith.muli %down, %m : index
    %p = arith.addi %s, %j : index
    %w = metate.read %a[%p] scope 0 : f32
    %t = arith.addf %v, %w : f32
    metate.write %t, %b[%o] scope 1 : f32
    metate.yield
  }
  metate.range (%i, %j) = (%c0, %c0) to (%c8, %c8) {
    %r = arith.muli %i, %m : index
    %o = arith.addi %r, %j : index
    %v = metate.read %a[%o] scope 0 : f32
    %down = arith.addi %i, %c1 : index
    %s = arith.muli %down, %m : index
    %p = arith.addi %s, %j : index
    %w = metate.read %a[%p] scope 0 : f32
    %t = arith.addf %v, %w : f32
    metate.write %t, %b[%o] scope 1 : f32
    metate.yield
  }
  metate.return
}

// -----

// Who asks for the old value sees the order; a sum that is rounded shows it where bits are to be the same each time.
// ALL-LABEL: metate.kernel @ordered
// ALL: metate.range (%{{[a-z0-9]+}}, %{{[a-z0-9]+}}) =
// ALL: metate.range (%{{[a-z0-9]+}}, %{{[a-z0-9]+}}) =
// ALL-LABEL: metate.kernel @summed
// ALL: metate.range (%{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}}) =
metate.kernel @ordered(%a: !metate.block, %b: !metate.block, %n: index, %m: index, %one: i32) attributes {metate.deterministic} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  metate.range (%i, %j) = (%c0, %c0) to (%n, %m) {
    %r = arith.muli %i, %m : index
    %o = arith.addi %r, %j : index
    %v = metate.read %a[%o] scope 0 : f32
    %down = arith.addi %i, %c1 : index
    %s = arith.muli %down, %m : index
    %p = arith.addi %s, %j : index
    %w = metate.read %a[%p] scope 0 : f32
    %t = arith.addf %v, %w : f32
    %old = metate.rmw addf %t, %b[%c0] scope 1 {metate.reduction} : f32
    metate.yield
  }
  metate.range (%i, %j) = (%c0, %c0) to (%n, %m) {
    %r = arith.muli %i, %m : index
    %o = arith.addi %r, %j : index
    %v = metate.read %a[%o] scope 0 : i32
    %down = arith.addi %i, %c1 : index
    %s = arith.muli %down, %m : index
    %p = arith.addi %s, %j : index
    %w = metate.read %a[%p] scope 0 : i32
    %t = arith.addi %v, %w : i32
    %old = metate.rmw addi %one, %b[%c0] scope 1 : i32
    %u = arith.addi %t, %old : i32
    metate.write %u, %b[%o] scope 1 : i32
    metate.yield
  }
  metate.return
}
metate.kernel @summed(%a: !metate.block, %b: !metate.block, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  metate.range (%i, %j) = (%c0, %c0) to (%n, %m) {
    %r = arith.muli %i, %m : index
    %o = arith.addi %r, %j : index
    %v = metate.read %a[%o] scope 0 : f32
    %down = arith.addi %i, %c1 : index
    %s = arith.muli %down, %m : index
    %p = arith.addi %s, %j : index
    %w = metate.read %a[%p] scope 0 : f32
    %t = arith.addf %v, %w : f32
    %old = metate.rmw addf %t, %b[%c0] scope 1 {metate.reduction} : f32
    metate.yield
  }
  metate.return
}
