// RUN: metate-opt %s --metate-narrow-loops --canonicalize --cse | FileCheck %s

// 0 < i < n - 1 and j >= 2, as the front end writes it: bounds.
// CHECK-LABEL: metate.kernel @interior
// CHECK: %[[N:.*]] = arith.index_cast %arg1
// CHECK: %[[END:.*]] = arith.minsi %arg2, %[[N]]
// CHECK: metate.range (%[[I:.*]], %[[J:.*]]) = (%c1, %c2) to (%[[END]], %c32) {
// CHECK-NEXT: memref.store %{{.*}}, %arg0[%[[I]], %[[J]]]
// CHECK-NEXT: metate.yield
metate.kernel @interior(%x: memref<?x?xf32>, %most: i32, %n: index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0 : i32
  %two = arith.constant 2 : i32
  %one = arith.constant 1.0 : f32
  %no = arith.constant false
  metate.range (%i, %j) = (%c0, %c0) to (%n, %c32) {
    %v = arith.index_cast %i : index to i32
    %w = arith.index_cast %j : index to i32
    %p = arith.cmpi sgt, %v, %zero : i32
    %both = scf.if %p -> (i1) {
      %q = arith.cmpi sgt, %most, %v : i32
      scf.yield %q : i1
    } else {
      scf.yield %no : i1
    }
    scf.if %both {
      %r = arith.cmpi slt, %w, %two : i32
      scf.if %r {
      } else {
        memref.store %one, %x[%i, %j] : memref<?x?xf32>
      }
    }
    metate.yield
  }
  metate.return
}

// What a serial loop's condition says of the loop around it is that loop's bound; what varies otherwise stays.
// CHECK-LABEL: metate.kernel @around
// CHECK: metate.range (%[[I:.*]]) = (%c1) to (%arg1) {
// CHECK: scf.for %[[J:.*]] = %c0 to %c31 step %c1 {
// CHECK: %[[ODD:.*]] = arith.cmpi ne
// CHECK-NEXT: scf.if %[[ODD]]
metate.kernel @around(%x: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1.0 : f32
  metate.range (%i) = (%c0) to (%n) {
    scf.for %j = %c0 to %c32 step %c1 {
      %p = arith.cmpi sge, %i, %c1 : index
      %c30 = arith.constant 30 : index
      %q = arith.cmpi sle, %j, %c30 : index
      %pq = arith.andi %p, %q : i1
      %bit = arith.andi %j, %c1 : index
      %odd = arith.cmpi ne, %bit, %c0 : index
      %all = arith.andi %pq, %odd : i1
      scf.if %all {
        memref.store %one, %x[%i, %j] : memref<?x?xf32>
      }
    }
    metate.yield
  }
  metate.return
}

// Not all of what the loop does, a sum that may wrap, or a bound of another loop variable.
// CHECK-LABEL: metate.kernel @declined
// CHECK-COUNT-3: metate.range ({{.*}}) = (%c0{{.*}}) to (%arg1{{.*}}) {
metate.kernel @declined(%x: memref<?x?xf32>, %n: index, %k: i32) {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : i32
  %one = arith.constant 1.0 : f32
  metate.range (%i, %j) = (%c0, %c0) to (%n, %n) {
    %v = arith.index_cast %i : index to i32
    %p = arith.cmpi slt, %v, %k : i32
    scf.if %p {
      memref.store %one, %x[%i, %j] : memref<?x?xf32>
    }
    memref.store %one, %x[%j, %i] : memref<?x?xf32>
    metate.yield
  }
  metate.range (%i) = (%c0) to (%n) {
    %v = arith.index_cast %i : index to i32
    %w = arith.addi %v, %c7 : i32
    %p = arith.cmpi slt, %w, %k : i32
    scf.if %p {
      memref.store %one, %x[%i, %i] : memref<?x?xf32>
    }
    metate.yield
  }
  metate.range (%i, %j) = (%c0, %c0) to (%n, %n) {
    %p = arith.cmpi slt, %i, %j : index
    scf.if %p {
      memref.store %one, %x[%i, %j] : memref<?x?xf32>
    }
    metate.yield
  }
  metate.return
}
