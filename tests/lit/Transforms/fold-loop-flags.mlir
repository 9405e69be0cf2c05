// RUN: metate-opt %s --metate-fold-loop-flags --canonicalize --cse | FileCheck %s

// What is behind the break does not wait for its condition; what the loop gives is of the turn that left it.
// CHECK-LABEL: metate.kernel @divide
// CHECK: scf.if
// CHECK: scf.while (%[[D:.*]] = %c2_i32) : (i32) -> (i32, i32, i1) {
// CHECK: %[[REST:.*]] = arith.remsi %arg0, %[[D]] : i32
// CHECK: %[[MISSED:.*]] = arith.cmpi ne, %[[REST]], %{{.*}} : i32
// CHECK: %[[NEXT:.*]] = arith.addi %[[D]], %{{.*}} : i32
// CHECK: %[[LAST:.*]] = scf.if %[[MISSED]]
// CHECK: %[[SQUARE:.*]] = arith.muli %[[NEXT]], %[[NEXT]] : i32
// CHECK: %[[MORE:.*]] = arith.cmpi sle, %[[SQUARE]], %arg0 : i32
// CHECK: %[[GOES:.*]] = arith.select %[[MISSED]], %[[MORE]], %{{.*}} : i1
// CHECK: scf.condition(%[[GOES]]) %[[NEXT]], %[[LAST]], %[[MISSED]]
metate.kernel @divide(%n: i32, %out: memref<?xi32>, %flags: memref<?xi1>) {
  %c0 = arith.constant 0 : index
  %none = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %true = arith.constant true
  %false = arith.constant false
  %r:2 = scf.while (%d = %two, %on = %true) : (i32, i1) -> (i32, i1) {
    %more = scf.if %on -> i1 {
      %square = arith.muli %d, %d : i32
      %less = arith.cmpi sle, %square, %n : i32
      scf.yield %less : i1
    } else {
      scf.yield %false : i1
    }
    scf.condition(%more) %d, %on : i32, i1
  } do {
  ^bb0(%d: i32, %on: i1):
    %rest = arith.remsi %n, %d : i32
    %found = arith.cmpi eq, %rest, %none : i32
    %goes = arith.select %found, %false, %on : i1
    %missed = arith.cmpi ne, %rest, %none : i32
    %next = scf.if %missed -> i32 {
      %sum = arith.addi %d, %one : i32
      scf.yield %sum : i32
    } else {
      scf.yield %d : i32
    }
    scf.yield %next, %goes : i32, i1
  }
  memref.store %r#0, %out[%c0] : memref<?xi32>
  memref.store %r#1, %flags[%c0] : memref<?xi1>
  metate.return
}

// A test that reads is asked only where the flag is on; what a condition guards stays there.
// CHECK-LABEL: metate.kernel @walk
// CHECK: metate.read
// CHECK: scf.while
// CHECK: arith.addi
// CHECK: %[[BIG:.*]] = arith.cmpi sgt
// CHECK: scf.if %[[BIG]] -> (i32, i1) {
// CHECK: } else {
// CHECK: metate.read
// CHECK: arith.cmpi sgt
// CHECK: scf.condition
metate.kernel @walk(%x: !metate.block, %out: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = arith.constant 0 : i32
  %true = arith.constant true
  %false = arith.constant false
  metate.range (%i) = (%c0) to (%c1) {
    %r:3 = scf.while (%at = %c0, %seen = %none, %on = %true) : (index, i32, i1) -> (index, i32, i1) {
      %more = scf.if %on -> i1 {
        %v = metate.read %x[%at] scope 0 : i32
        %positive = arith.cmpi sgt, %v, %none : i32
        scf.yield %positive : i1
      } else {
        scf.yield %false : i1
      }
      scf.condition(%more) %at, %seen, %on : index, i32, i1
    } do {
    ^bb0(%at: index, %seen: i32, %on: i1):
      %next = arith.addi %at, %c1 : index
      %big = arith.cmpi sgt, %seen, %none : i32
      %goes = arith.select %big, %false, %on : i1
      %sum = scf.if %big -> i32 {
        scf.yield %seen : i32
      } else {
        %v = metate.read %x[%next] scope 0 : i32
        scf.yield %v : i32
      }
      scf.yield %next, %sum, %goes : index, i32, i1
    }
    memref.store %r#1, %out[%i] : memref<?xi32>
    metate.yield
  }
  metate.return
}
