// RUN: metate-opt %s --metate-uplift-while --canonicalize | FileCheck %s

// A loop that counts by one to any bound; what the counter is behind it.
// CHECK-LABEL: metate.kernel @counts
// CHECK-SAME: %[[N:[a-z0-9]+]]: i32
// CHECK: %[[BOUND:.*]] = arith.index_cast %[[N]]
// CHECK: %[[SUM:.*]] = scf.for %[[I:.*]] = %{{.*}} to %[[BOUND]] step %{{.*}} iter_args(%[[S:.*]] = %{{.*}}) -> (i32) {
// CHECK:   %[[K:.*]] = arith.index_cast %[[I]] : index to i32
// CHECK:   arith.addi %[[S]], %[[K]]
// CHECK: }
// CHECK: %[[RUNS:.*]] = arith.cmpi sgt, %[[N]], %{{.*}}
// CHECK: %[[LAST:.*]] = arith.select %[[RUNS]], %[[N]], %{{.*}}
// CHECK: memref.store %[[LAST]]
// CHECK: memref.store %[[SUM]]
metate.kernel @counts(%n: i32, %out: memref<?xi32>) {
  %zero = arith.constant 0 : i32
  %at = arith.constant 0 : index
  %next = arith.constant 1 : index
  %last:2 = scf.while (%i = %zero, %s = %zero) : (i32, i32) -> (i32, i32) {
    %runs = arith.cmpi slt, %i, %n : i32
    scf.condition(%runs) %i, %s : i32, i32
  } do {
  ^bb0(%i: i32, %s: i32):
    %one = arith.constant 1 : i32
    %t = arith.addi %s, %i : i32
    %j = arith.addi %i, %one : i32
    scf.yield %j, %t : i32, i32
  }
  memref.store %last#0, %out[%at] : memref<?xi32>
  memref.store %last#1, %out[%next] : memref<?xi32>
  metate.return
}

// By three to a bound that may be the greatest integer: the counter could wrap. To one that is known: it cannot.
// CHECK-LABEL: metate.kernel @may_wrap
// CHECK: scf.while
// CHECK: scf.for %{{.*}} = %{{.*}} to %c40 step %c3
// CHECK: memref.store %c42_i32
metate.kernel @may_wrap(%n: i32, %out: memref<?xi32>) {
  %zero = arith.constant 0 : i32
  %three = arith.constant 3 : i32
  %at = arith.constant 0 : index
  %a = scf.while (%i = %zero) : (i32) -> i32 {
    %runs = arith.cmpi slt, %i, %n : i32
    scf.condition(%runs) %i : i32
  } do {
  ^bb0(%i: i32):
    memref.store %i, %out[%at] : memref<?xi32>
    %j = arith.addi %i, %three : i32
    scf.yield %j : i32
  }
  %b = scf.while (%i = %zero) : (i32) -> i32 {
    %forty = arith.constant 40 : i32
    %runs = arith.cmpi slt, %i, %forty : i32
    scf.condition(%runs) %i : i32
  } do {
  ^bb0(%i: i32):
    memref.store %i, %out[%at] : memref<?xi32>
    %j = arith.addi %i, %three : i32
    scf.yield %j : i32
  }
  memref.store %b, %out[%at] : memref<?xi32>
  metate.return
}

// A bound that the loop changes, a counter that goes down, another condition.
// CHECK-LABEL: metate.kernel @not_counted
// CHECK-COUNT-3: scf.while
// CHECK-NOT: scf.for
metate.kernel @not_counted(%n: i32, %out: memref<?xi32>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %less = arith.constant -1 : i32
  %at = arith.constant 0 : index
  %a:2 = scf.while (%i = %zero, %end = %n) : (i32, i32) -> (i32, i32) {
    %runs = arith.cmpi slt, %i, %end : i32
    scf.condition(%runs) %i, %end : i32, i32
  } do {
  ^bb0(%i: i32, %end: i32):
    %j = arith.addi %i, %one : i32
    %nearer = arith.addi %end, %less : i32
    scf.yield %j, %nearer : i32, i32
  }
  memref.store %a#0, %out[%at] : memref<?xi32>
  %b = scf.while (%i = %zero) : (i32) -> i32 {
    %runs = arith.cmpi slt, %i, %n : i32
    scf.condition(%runs) %i : i32
  } do {
  ^bb0(%i: i32):
    %j = arith.addi %i, %less : i32
    scf.yield %j : i32
  }
  memref.store %b, %out[%at] : memref<?xi32>
  %c = scf.while (%i = %zero) : (i32) -> i32 {
    %stop = memref.load %out[%at] : memref<?xi32>
    %runs = arith.cmpi slt, %i, %stop : i32
    scf.condition(%runs) %i : i32
  } do {
  ^bb0(%i: i32):
    memref.store %i, %out[%at] : memref<?xi32>
    %j = arith.addi %i, %one : i32
    scf.yield %j : i32
  }
  memref.store %c, %out[%at] : memref<?xi32>
  metate.return
}

// What a turn makes of the counter before it adds one: there is no step that is known.
// CHECK-LABEL: metate.kernel @jumps
// CHECK: scf.while
// CHECK-NOT: scf.for
metate.kernel @jumps(%n: i32, %out: memref<?xi32>) {
  %zero = arith.constant 0 : i32
  %five = arith.constant 5 : i32
  %one = arith.constant 1 : i32
  %at = arith.constant 0 : index
  %a = scf.while (%i = %zero) : (i32) -> i32 {
    %runs = arith.cmpi slt, %i, %n : i32
    scf.condition(%runs) %i : i32
  } do {
  ^bb0(%i: i32):
    %isFive = arith.cmpi eq, %i, %five : i32
    %double = arith.addi %i, %i : i32
    %k = arith.select %isFive, %double, %i : i32
    %j = arith.addi %k, %one : i32
    scf.yield %j : i32
  }
  memref.store %a, %out[%at] : memref<?xi32>
  metate.return
}

// Down to zero: the turns count from 0, and the counter is what is left. Behind the loop it is one below.
// CHECK-LABEL: metate.kernel @falls
// CHECK-SAME: %[[N:[a-z0-9]+]]: i32
// CHECK: %[[FIRST:.*]] = arith.index_cast %[[N]]
// CHECK: %[[END:.*]] = arith.addi %[[FIRST]], %c1
// CHECK: scf.for %[[TURN:.*]] = %c0 to %[[END]] step %c1 {
// CHECK:   %[[AT:.*]] = arith.subi %[[FIRST]], %[[TURN]]
// CHECK:   %[[K:.*]] = arith.index_cast %[[AT]] : index to i32
// CHECK:   memref.store %[[K]]
// CHECK: }
// CHECK: %[[WAY:.*]] = arith.addi %[[N]], %c1_i32
// CHECK: %[[BEHIND:.*]] = arith.subi %[[N]], %[[WAY]]
// CHECK: arith.select %{{.*}}, %[[BEHIND]], %[[N]]
metate.kernel @falls(%n: i32, %out: memref<?xi32>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %at = arith.constant 0 : index
  %last = scf.while (%i = %n) : (i32) -> i32 {
    %runs = arith.cmpi sge, %i, %zero : i32
    scf.condition(%runs) %i : i32
  } do {
  ^bb0(%i: i32):
    memref.store %i, %out[%at] : memref<?xi32>
    %j = arith.subi %i, %one : i32
    scf.yield %j : i32
  }
  memref.store %last, %out[%at] : memref<?xi32>
  metate.return
}

// To a bound that may be the least integer, and with it; from one of 64 bits, whose distance may have more.
// CHECK-LABEL: metate.kernel @may_wrap_below
// CHECK: scf.while
// CHECK: scf.while
// CHECK-NOT: scf.for
// CHECK: metate.return
metate.kernel @may_wrap_below(%n: i32, %long: i64, %out: memref<?xi32>) {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i64
  %next = arith.constant 1 : i64
  %at = arith.constant 0 : index
  %a = scf.while (%i = %one) : (i32) -> i32 {
    %runs = arith.cmpi sge, %i, %n : i32
    scf.condition(%runs) %i : i32
  } do {
  ^bb0(%i: i32):
    memref.store %i, %out[%at] : memref<?xi32>
    %j = arith.subi %i, %one : i32
    scf.yield %j : i32
  }
  %b = scf.while (%i = %long) : (i64) -> i64 {
    %runs = arith.cmpi sgt, %i, %zero : i64
    scf.condition(%runs) %i : i64
  } do {
  ^bb0(%i: i64):
    memref.store %a, %out[%at] : memref<?xi32>
    %j = arith.subi %i, %next : i64
    scf.yield %j : i64
  }
  metate.return
}

// With the last element: an extent is below 2^31, so that the counter fits behind the loop.
// CHECK-LABEL: metate.kernel @to_the_last
// CHECK: scf.for
metate.kernel @to_the_last(%out: memref<?xi32>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %at = arith.constant 0 : index
  %dim = memref.dim %out, %at : memref<?xi32>
  %n = arith.index_cast %dim : index to i32
  %end = arith.subi %n, %one : i32
  %last = scf.while (%i = %zero) : (i32) -> i32 {
    %runs = arith.cmpi sle, %i, %end : i32
    scf.condition(%runs) %i : i32
  } do {
  ^bb0(%i: i32):
    memref.store %i, %out[%at] : memref<?xi32>
    %j = arith.addi %i, %one : i32
    scf.yield %j : i32
  }
  metate.return
}
