// RUN: metate-opt %s --metate-split-rows --canonicalize --cse | FileCheck %s

// c // m and c % m, as Python rounds, with %m guarded against 0 and -1: full rows are a nest. The other iterations are a copy.
// CHECK-LABEL: metate.kernel @rows
// CHECK: %[[M:.*]] = arith.index_cast %arg3 : i32 to index
// CHECK: arith.cmpi sgt, %[[M]], %c0
// CHECK: arith.cmpi sge, %[[M]], %c8
// CHECK: %[[BY:.*]] = arith.select %[[HOLDS:.*]], %[[M]], %c1
// CHECK: %[[QUOTIENT:.*]] = arith.divsi %arg2, %[[BY]]
// CHECK: %[[ROWS:.*]] = arith.select %[[HOLDS]], %[[QUOTIENT]], %c0
// CHECK: metate.range (%[[I:.*]], %[[J:.*]]) = (%c0, %c0) to (%[[ROWS]], %[[M]]) {
// CHECK-NEXT: %[[FIRST:.*]] = arith.muli %[[I]], %[[M]]
// CHECK-NEXT: %[[C:.*]] = arith.addi %[[FIRST]], %[[J]] overflow<nsw> {metate.number}
// CHECK-NEXT: %[[VALUE:.*]] = memref.load %arg0[%[[I]], %[[J]]]
// CHECK-NEXT: memref.store %[[VALUE]], %arg1[%[[C]]]
// CHECK-NEXT: metate.yield
// CHECK: %[[DONE:.*]] = arith.muli %[[ROWS]], %[[M]]
// CHECK: metate.range (%{{.*}}) = (%[[DONE]]) to (%arg2) attributes {metate.rest} {
// CHECK: arith.divsi
metate.kernel @rows(%x: memref<?x?xf32>, %y: memref<?xf32>, %n: index, %m: i32) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %minus = arith.constant -1 : i32
  metate.range (%c) = (%c0) to (%n) {
    %v = arith.index_cast %c : index to i32
    %none = arith.cmpi eq, %m, %zero : i32
    %some = arith.select %none, %one, %m : i32
    %negates = arith.cmpi eq, %m, %minus : i32
    %by = arith.select %negates, %one, %some : i32
    %d = arith.divsi %v, %by : i32
    %r = arith.remsi %v, %by : i32
    %s = arith.xori %r, %by : i32
    %differ = arith.cmpi slt, %s, %zero : i32
    %left = arith.cmpi ne, %r, %zero : i32
    %below = arith.andi %differ, %left : i1
    %less = arith.subi %d, %one : i32
    %floor = arith.select %below, %less, %d : i32
    %negated = arith.subi %zero, %v : i32
    %quotient = arith.select %negates, %negated, %floor : i32
    %i = arith.select %none, %zero, %quotient : i32
    %more = arith.addi %r, %by : i32
    %rest = arith.select %below, %more, %r : i32
    %j = arith.select %none, %zero, %rest : i32
    %p = arith.index_cast %i : i32 to index
    %q = arith.index_cast %j : i32 to index
    %value = memref.load %x[%p, %q] : memref<?x?xf32>
    memref.store %value, %y[%c] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// A product of extents: as many rows as the user says, if that is the product. c // (n * m), c // m % n, c - (c // m) * m.
// CHECK-LABEL: metate.kernel @product
// CHECK: %[[PLANES:.*]] = arith.select %{{.*}}, %[[L:.*]], %c0
// CHECK: metate.range (%[[I:.*]], %[[J:.*]], %[[K:.*]]) = (%c0, %c0, %c0) to (%[[PLANES]], %[[N:.*]], %[[M:.*]]) {
// CHECK-NOT: arith.div
// CHECK: memref.load %arg0[%[[I]], %[[J]], %[[K]]]
metate.kernel @product(%x: memref<?x?x?xf32>, %y: memref<?xf32>, %l: i32, %n: i32, %m: i32) {
  %c0 = arith.constant 0 : index
  %nm = arith.muli %n, %m : i32
  %all = arith.muli %nm, %l : i32
  %count = arith.index_cast %all : i32 to index
  metate.range (%c) = (%c0) to (%count) {
    %v = arith.index_cast %c : index to i32
    %i = arith.divsi %v, %nm : i32
    %d = arith.divsi %v, %m : i32
    %j = arith.remsi %d, %n : i32
    %first = arith.muli %d, %m : i32
    %k = arith.subi %v, %first : i32
    %p = arith.index_cast %i : i32 to index
    %q = arith.index_cast %j : i32 to index
    %r = arith.index_cast %k : i32 to index
    %value = memref.load %x[%p, %q, %r] : memref<?x?x?xf32>
    memref.store %value, %y[%c] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// A divisor that each iteration computes of what the launch gives.
// CHECK-LABEL: metate.kernel @halves
// CHECK: arith.shrsi
// CHECK: metate.range (%{{.*}}, %{{.*}}) =
// CHECK: metate.range (%{{[a-z0-9]+}}) =
metate.kernel @halves(%x: memref<?xi32>, %n: index, %m: i32) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  metate.range (%c) = (%c0) to (%n) {
    %v = arith.index_cast %c : index to i32
    %half = arith.shrsi %m, %one : i32
    %d = arith.divsi %v, %half : i32
    %r = arith.remsi %v, %half : i32
    %s = arith.addi %d, %r : i32
    memref.store %s, %x[%c] : memref<?xi32>
    metate.yield
  }
  metate.return
}

// A divisor that the loop loads, one that it computes, a loop from one: as they are.
// CHECK-LABEL: metate.kernel @not
// CHECK-COUNT-3: metate.range (%{{[a-z0-9]+}}) =
// CHECK-NOT: metate.range
metate.kernel @not(%x: memref<?xi32>, %n: index, %m: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  metate.range (%c) = (%c0) to (%n) {
    %by = memref.load %x[%c0] : memref<?xi32>
    %v = arith.index_cast %c : index to i32
    %d = arith.divsi %v, %by : i32
    memref.store %d, %x[%c] : memref<?xi32>
    metate.yield
  }
  metate.range (%c) = (%c0) to (%n) {
    %v = arith.index_cast %c : index to i32
    %by = arith.addi %v, %m : i32
    %d = arith.divsi %v, %by : i32
    memref.store %d, %x[%c] : memref<?xi32>
    metate.yield
  }
  metate.range (%c) = (%c1) to (%n) {
    %v = arith.index_cast %c : index to i32
    %d = arith.divsi %v, %m : i32
    memref.store %d, %x[%c] : memref<?xi32>
    metate.yield
  }
  metate.return
}
