// RUN: metate-opt %s --metate-join-bounded-counts --canonicalize --split-input-file | FileCheck %s

// Counts that stop at a bound, as conditionals and as selections, in one chain: they are added up first.
// CHECK-LABEL: metate.kernel @both
// CHECK-SAME: %[[C0:.*]]: i1, %[[C1:.*]]: i1, %[[C2:.*]]: i1, %[[X:.*]]: i4, %[[OUT:.*]]: memref<i32>
// CHECK-DAG: %[[MOST:.*]] = arith.constant 15 : i32
// CHECK-DAG: %[[N:.*]] = arith.extui %[[X]] : i4 to i32
// CHECK: %[[ONE0:.*]] = arith.extui %[[C0]] : i1 to i32
// CHECK: %[[A:.*]] = arith.addi %[[N]], %[[ONE0]] : i32
// CHECK: %[[ONE1:.*]] = arith.extui %[[C1]] : i1 to i32
// CHECK: %[[B:.*]] = arith.addi %[[A]], %[[ONE1]] : i32
// CHECK: %[[ONE2:.*]] = arith.extui %[[C2]] : i1 to i32
// CHECK: %[[C:.*]] = arith.addi %[[B]], %[[ONE2]] : i32
// CHECK-NEXT: %[[R:.*]] = arith.minsi %[[C]], %[[MOST]] : i32
// CHECK-NEXT: memref.store %[[R]], %[[OUT]][]
// CHECK-NOT: scf.if
metate.kernel @both(%c0: i1, %c1: i1, %c2: i1, %x: i4, %out: memref<i32>) {
  %one = arith.constant 1 : i32
  %most = arith.constant 15 : i32
  %last = arith.constant 14 : i32
  %false = arith.constant false
  %n = arith.extui %x : i4 to i32
  %ask = scf.if %c0 -> (i1) {
    %less = arith.cmpi slt, %n, %most : i32
    scf.yield %less : i1
  } else {
    scf.yield %false : i1
  }
  %m = scf.if %ask -> (i32) {
    %next = arith.addi %n, %one : i32
    scf.yield %next : i32
  } else {
    scf.yield %n : i32
  }
  %less1 = arith.cmpi sle, %m, %last : i32
  %both1 = arith.andi %less1, %c1 : i1
  %next1 = arith.addi %m, %one : i32
  %k = arith.select %both1, %next1, %m : i32
  %less2 = arith.cmpi slt, %k, %most : i32
  %both2 = arith.andi %c2, %less2 : i1
  %r = scf.if %both2 -> (i32) {
    %next = arith.addi %k, %one : i32
    scf.yield %next : i32
  } else {
    scf.yield %k : i32
  }
  memref.store %r, %out[] : memref<i32>
  metate.return
}

// -----

// A first number that may be beyond the bound stays there; a count that something else wants, or that a condition follows from, stays.
// CHECK-LABEL: metate.kernel @stay
// CHECK-NOT: arith.minsi
// CHECK: metate.return
metate.kernel @stay(%c0: i1, %c1: i1, %x: i4, %y: i32, %out: memref<3xi32>) {
  %zero = arith.constant 0 : index
  %first = arith.constant 1 : index
  %second = arith.constant 2 : index
  %one = arith.constant 1 : i32
  %seven = arith.constant 7 : i32
  %most = arith.constant 15 : i32
  %n = arith.extui %x : i4 to i32
  %less0 = arith.cmpi slt, %n, %seven : i32
  %both0 = arith.andi %less0, %c0 : i1
  %next0 = arith.addi %n, %one : i32
  %m = arith.select %both0, %next0, %n : i32
  %less1 = arith.cmpi slt, %m, %seven : i32
  %both1 = arith.andi %less1, %c1 : i1
  %next1 = arith.addi %m, %one : i32
  %r = arith.select %both1, %next1, %m : i32
  memref.store %r, %out[%zero] : memref<3xi32>

  %less2 = arith.cmpi slt, %n, %most : i32
  %both2 = arith.andi %less2, %c0 : i1
  %next2 = arith.addi %n, %one : i32
  %k = arith.select %both2, %next2, %n : i32
  %less3 = arith.cmpi slt, %k, %most : i32
  %isSame = arith.cmpi eq, %k, %y : i32
  %both3 = arith.andi %less3, %isSame : i1
  %next3 = arith.addi %k, %one : i32
  %s = arith.select %both3, %next3, %k : i32
  memref.store %s, %out[%first] : memref<3xi32>

  %less4 = arith.cmpi slt, %n, %most : i32
  %both4 = arith.andi %less4, %c1 : i1
  %next4 = arith.addi %n, %one : i32
  %l = arith.select %both4, %next4, %n : i32
  memref.store %l, %out[%second] : memref<3xi32>
  %less5 = arith.cmpi slt, %l, %most : i32
  %both5 = arith.andi %less5, %c0 : i1
  %next5 = arith.addi %l, %one : i32
  %t = arith.select %both5, %next5, %l : i32
  memref.store %t, %out[%zero] : memref<3xi32>
  metate.return
}

// -----

// One condition inside of the other, a minimum under a condition, and minima one behind the other, of whatever base.
// CHECK-LABEL: metate.kernel @others
// CHECK-SAME: %[[C0:.*]]: i1, %[[C1:.*]]: i1, %[[X:.*]]: i4, %[[Y:.*]]: i8, %[[OUT:.*]]: memref<2xi32>
// CHECK-DAG: %[[MOST:.*]] = arith.constant 15 : i32
// CHECK: %[[N:.*]] = arith.extui %[[X]] : i4 to i32
// CHECK: %[[ONE0:.*]] = arith.extui %[[C0]] : i1 to i32
// CHECK: %[[A:.*]] = arith.addi %[[N]], %[[ONE0]] : i32
// CHECK: %[[ONE1:.*]] = arith.extui %[[C1]] : i1 to i32
// CHECK: %[[B:.*]] = arith.addi %[[A]], %[[ONE1]] : i32
// CHECK-NEXT: %[[R:.*]] = arith.minsi %[[B]], %[[MOST]] : i32
// CHECK-NEXT: memref.store %[[R]]
// CHECK: %[[W:.*]] = arith.extui %[[Y]] : i8 to i32
// CHECK: %[[ADDED:.*]] = arith.extui %[[C0]] : i1 to i32
// CHECK: %[[C:.*]] = arith.addi %[[W]], %[[ADDED]] : i32
// CHECK-NEXT: %[[D:.*]] = arith.addi %[[C]], %[[N]] : i32
// CHECK-NEXT: %[[S:.*]] = arith.minsi %[[D]], %[[MOST]] : i32
// CHECK-NEXT: memref.store %[[S]]
// CHECK-NOT: scf.if
metate.kernel @others(%c0: i1, %c1: i1, %x: i4, %y: i8, %out: memref<2xi32>) {
  %zero = arith.constant 0 : index
  %first = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %most = arith.constant 15 : i32
  %n = arith.extui %x : i4 to i32
  %m = scf.if %c0 -> (i32) {
    %less = arith.cmpi slt, %n, %most : i32
    %counted = scf.if %less -> (i32) {
      %next = arith.addi %n, %one : i32
      scf.yield %next : i32
    } else {
      scf.yield %n : i32
    }
    scf.yield %counted : i32
  } else {
    scf.yield %n : i32
  }
  %next1 = arith.addi %m, %one : i32
  %least1 = arith.minsi %next1, %most : i32
  %r = arith.select %c1, %least1, %m : i32
  memref.store %r, %out[%zero] : memref<2xi32>

  %w = arith.extui %y : i8 to i32
  %added = arith.extui %c0 : i1 to i32
  %sum = arith.addi %w, %added : i32
  %least2 = arith.minsi %sum, %most : i32
  %sum2 = arith.addi %least2, %n : i32
  %s = arith.minsi %sum2, %most : i32
  memref.store %s, %out[%first] : memref<2xi32>
  metate.return
}

// -----

// Bounds differ, a number that is added may be negative, sums might wrap.
// CHECK-LABEL: metate.kernel @differ
// CHECK-COUNT-6: arith.minsi
metate.kernel @differ(%x: i4, %y: i32, %out: memref<3xi32>) {
  %zero = arith.constant 0 : index
  %first = arith.constant 1 : index
  %second = arith.constant 2 : index
  %seven = arith.constant 7 : i32
  %most = arith.constant 15 : i32
  %n = arith.extui %x : i4 to i32
  %z = arith.extsi %x : i4 to i32
  %a = arith.addi %n, %n : i32
  %b = arith.minsi %a, %seven : i32
  %c = arith.addi %b, %n : i32
  %d = arith.minsi %c, %most : i32
  memref.store %d, %out[%zero] : memref<3xi32>
  %e = arith.addi %n, %z : i32
  %f = arith.minsi %e, %most : i32
  %g = arith.addi %f, %z : i32
  %h = arith.minsi %g, %most : i32
  memref.store %h, %out[%first] : memref<3xi32>
  %i = arith.addi %y, %n : i32
  %j = arith.minsi %i, %most : i32
  %k = arith.addi %j, %n : i32
  %l = arith.minsi %k, %most : i32
  memref.store %l, %out[%second] : memref<3xi32>
  metate.return
}
