// RUN: metate-opt %s --metate-forward-stores --split-input-file | FileCheck %s

// A place that an iteration adds to twice is read once and stored once.
// CHECK-LABEL: @twice
// CHECK: %[[OLD:.*]] = metate.read
// CHECK: %[[ONE:.*]] = arith.addf %[[OLD]], %{{.*}}
// CHECK-NOT: metate.{{read|write}}
// CHECK: %[[TWO:.*]] = arith.addf %[[ONE]], %{{.*}}
// CHECK: metate.write %[[TWO]]
// CHECK-NOT: metate.write
metate.kernel @twice(%x: !metate.block, %n: index, %f: f32) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  metate.range (%i) = (%c0) to (%n) {
    %at = arith.muli %i, %c4 overflow<nsw> : index
    %a = metate.read %x[%at] scope 0 : f32
    %b = arith.addf %a, %f : f32
    metate.write %b, %x[%at] scope 0 : f32
    %c = metate.read %x[%at] scope 0 : f32
    %d = arith.addf %c, %f : f32
    metate.write %d, %x[%at] scope 0 : f32
    metate.yield
  }
  metate.return
}

// -----

// What is stored in between may be the same place; of another member of such cells, and of another argument, it is not.
// CHECK-LABEL: @between
// CHECK: metate.write %{{.*}}, %{{.*}}[%[[AT:.*]]] scope 0 : f32
// CHECK: metate.write
// CHECK: %[[AGAIN:.*]] = metate.read %{{.*}}[%[[AT]]] scope 0 : f32
// CHECK: metate.write %[[AGAIN]], %{{.*}} scope 1
// CHECK-LABEL: @members
// CHECK-NOT: metate.read
// CHECK-LABEL: @arguments
// CHECK-NOT: metate.read
metate.kernel @between(%x: !metate.block, %y: !metate.block, %n: index, %m: index, %f: f32) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  metate.range (%i) = (%c0) to (%n) {
    %at = arith.muli %i, %c4 overflow<nsw> : index
    metate.write %f, %x[%at] scope 0 : f32
    metate.write %f, %x[%m] scope 0 : f32
    %a = metate.read %x[%at] scope 0 : f32
    metate.write %a, %y[%at] scope 1 : f32
    metate.yield
  }
  metate.return
}

metate.kernel @members(%x: !metate.block, %y: !metate.block, %n: index, %m: index, %f: f32) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  metate.range (%i) = (%c0) to (%n) {
    %at = arith.muli %i, %c8 overflow<nsw> : index
    metate.write %f, %x[%at] scope 0 {metate.member = array<i64: 1, 0, 8>} : f32
    metate.write %f, %x[%m] scope 0 {metate.member = array<i64: 1, 4, 8>} : f32
    %a = metate.read %x[%at] scope 0 {metate.member = array<i64: 1, 0, 8>} : f32
    metate.write %a, %y[%at] scope 1 : f32
    metate.yield
  }
  metate.return
}

metate.kernel @arguments(%x: !metate.block, %y: !metate.block, %n: index, %m: index, %f: f32) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  metate.range (%i) = (%c0) to (%n) {
    %at = arith.muli %i, %c4 overflow<nsw> : index
    metate.write %f, %x[%at] scope 0 : f32
    metate.write %f, %y[%m] scope 1 : f32
    %a = metate.read %x[%at] scope 0 : f32
    metate.write %a, %y[%at] scope 1 : f32
    metate.yield
  }
  metate.return
}

// -----

// A branch may read what was stored, so it is stored, and what a branch stored is not known behind it. A loop reads what its turn before has stored.
// CHECK-LABEL: @branch
// CHECK: metate.write %{{.*}}, %{{.*}}[%[[AT:.*]]] scope 0 : f32
// CHECK: scf.if
// CHECK-NOT: metate.read
// CHECK: metate.write
// CHECK: }
// CHECK: metate.read %{{.*}}[%[[AT]]]
// CHECK-LABEL: @turns
// CHECK: metate.write
// CHECK: scf.for
// CHECK: metate.read
// CHECK-NOT: metate.read
// CHECK: metate.write
metate.kernel @branch(%x: !metate.block, %n: index, %f: f32, %c: i1) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  metate.range (%i) = (%c0) to (%n) {
    %at = arith.muli %i, %c4 overflow<nsw> : index
    metate.write %f, %x[%at] scope 0 : f32
    scf.if %c {
      %a = metate.read %x[%at] scope 0 : f32
      %b = arith.addf %a, %f : f32
      metate.write %b, %x[%at] scope 0 : f32
    }
    %d = metate.read %x[%at] scope 0 : f32
    %e = arith.mulf %d, %d : f32
    metate.write %e, %x[%at] scope 0 : f32
    metate.yield
  }
  metate.return
}

metate.kernel @turns(%x: !metate.block, %n: index, %f: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  metate.range (%i) = (%c0) to (%n) {
    %at = arith.muli %i, %c4 overflow<nsw> : index
    metate.write %f, %x[%at] scope 0 : f32
    scf.for %k = %c0 to %n step %c1 {
      %a = metate.read %x[%at] scope 0 : f32
      %b = arith.addf %a, %f : f32
      metate.write %b, %x[%at] scope 0 : f32
      %c = metate.read %x[%at] scope 0 : f32
      %d = arith.mulf %c, %f : f32
      metate.write %d, %x[%at] scope 0 : f32
    }
    metate.yield
  }
  metate.return
}

// -----

// Arguments may overlap: nothing is known of what is stored. What has an order stays where it is.
// CHECK-LABEL: @overlapping
// CHECK: metate.read
// CHECK-LABEL: @release
// CHECK: metate.write
// CHECK: metate.write {{.*}} release
// CHECK: metate.write
metate.kernel @overlapping(%x: !metate.block, %y: !metate.block, %n: index, %f: f32) attributes {may_alias} {
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    metate.write %f, %x[%i] scope 0 : f32
    metate.write %f, %y[%i] scope 1 : f32
    %a = metate.read %x[%i] scope 0 : f32
    metate.write %a, %y[%i] scope 1 : f32
    metate.yield
  }
  metate.return
}

metate.kernel @release(%x: !metate.block, %y: !metate.block, %n: index, %f: f32) {
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    metate.write %f, %x[%i] scope 0 : f32
    metate.write %f, %y[%i] scope 1 release : f32
    metate.write %f, %x[%i] scope 0 : f32
    metate.yield
  }
  metate.return
}

// -----

// A place that is read again behind a store that is to it or to none of its bytes: comparing the two says what is there. One that may be to a part
// of them, and what another iteration may be waiting for in a loop, is read again.
// CHECK-LABEL: @told_apart
// CHECK: %[[OLD:.*]] = metate.read %arg0[%[[AT:.*]]] scope 0
// CHECK: metate.write %[[NEW:.*]], %arg0[%[[THERE:.*]]] scope 0
// CHECK-NOT: metate.read
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[AT]], %[[THERE]] : index
// CHECK: %[[NOW:.*]] = arith.select %[[SAME]], %[[NEW]], %[[OLD]] : f32
// CHECK: %[[SUM:.*]] = arith.addf %[[NOW]], %{{.*}}
// CHECK: metate.write %[[SUM]], %arg0[%[[AT]]]
// CHECK-LABEL: @waits
// CHECK: metate.read
// CHECK: scf.while
// CHECK: metate.read
metate.kernel @told_apart(%x: !metate.block, %n: index, %m: index, %t: f32) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  metate.range (%i) = (%c0) to (%n) {
    %at = arith.muli %i, %c4 overflow<nsw> : index
    %j = arith.addi %i, %m overflow<nsw> : index
    %there = arith.muli %j, %c4 overflow<nsw> : index
    %old = metate.read %x[%at] scope 0 : f32
    %less = arith.subf %old, %t : f32
    metate.write %less, %x[%there] scope 0 : f32
    %again = metate.read %x[%at] scope 0 : f32
    %more = arith.addf %again, %t : f32
    metate.write %more, %x[%at] scope 0 : f32
    metate.yield
  }
  metate.return
}

metate.kernel @waits(%x: !metate.block, %n: index) {
  %c0 = arith.constant 0 : index
  %none = arith.constant 0 : i32
  metate.range (%i) = (%c0) to (%n) {
    %first = metate.read %x[%c0] scope 0 : i32
    %last = scf.while (%a = %first) : (i32) -> i32 {
      %now = metate.read %x[%c0] scope 0 : i32
      %goes = arith.cmpi eq, %now, %none : i32
      scf.condition(%goes) %now : i32
    } do {
    ^bb0(%a: i32):
      scf.yield %a : i32
    }
    metate.yield
  }
  metate.return
}

// -----

// Behind an exchange with an order others' stores are seen: what was read before it is read again.
// CHECK-LABEL: @behind_an_exchange
// CHECK: metate.read
// CHECK: metate.cas
// CHECK: metate.read
metate.kernel @behind_an_exchange(%x: !metate.block, %lock: !metate.block, %n: index) {
  %c0 = arith.constant 0 : index
  %none = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  metate.range (%i) = (%c0) to (%n) {
    %before = metate.read %x[%c0] scope 0 : i32
    %held = metate.cas %none to %one, %lock[%c0] scope 1 : i32
    %behind = metate.read %x[%c0] scope 0 : i32
    %sum = arith.addi %before, %behind : i32
    metate.write %sum, %x[%c0] scope 0 : i32
    metate.yield
  }
  metate.return
}
