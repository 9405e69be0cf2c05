// RUN: metate-opt %s --metate-carry-chosen | FileCheck %s

// What was computed of the chosen one is carried; the number of a turn, there and back, is the turn's.
// CHECK-LABEL: metate.kernel @nearest
// CHECK: %[[AT:.*]] = arith.index_cast %[[FIRST:.*]] : i32 to index
// CHECK: %[[START:.*]] = memref.load %{{.*}}[%[[AT]]]
// CHECK: scf.for %[[Q:.*]] = {{.*}} iter_args(%[[BEST:.*]] = %[[FIRST]], %[[LEAST:.*]] = %[[START]]) -> (i32, f32) {
// CHECK:   %[[HERE:.*]] = memref.load %{{.*}}[%[[Q]]]
// CHECK-NOT: memref.load
// CHECK:   %[[LESS:.*]] = arith.cmpf olt, %[[HERE]], %[[LEAST]]
// CHECK:   %[[NEXT:.*]] = arith.select %[[LESS]], %[[HERE]], %[[LEAST]]
// CHECK:   scf.yield %{{.*}}, %[[NEXT]]
metate.kernel @nearest(%x: memref<?xf32>, %out: memref<?xi32>, %first: i32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  %best = scf.for %q = %zero to %c24 step %one iter_args(%b = %first) -> (i32) {
    %number = arith.index_cast %q : index to i32
    %here = memref.load %x[%q] : memref<?xf32>
    %at = arith.index_cast %b : i32 to index
    %there = memref.load %x[%at] : memref<?xf32>
    %less = arith.cmpf olt, %here, %there : f32
    %next = scf.if %less -> (i32) {
      scf.yield %number : i32
    } else {
      scf.yield %b : i32
    }
    scf.yield %next : i32
  }
  memref.store %best, %out[%zero] : memref<?xi32>
  metate.return
}

// A loop that may have no turn reads nothing before it; the branches may be the other way round.
// CHECK-LABEL: metate.kernel @guarded
// CHECK: %[[RUNS:.*]] = arith.cmpi slt
// CHECK: %[[START:.*]] = scf.if %[[RUNS]] -> (f32) {
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[MOST:.*]] = %[[START]])
// CHECK:   %[[LESS:.*]] = arith.cmpf ole, %[[HERE:.*]], %[[MOST]]
// CHECK:   arith.select %[[LESS]], %[[MOST]], %[[HERE]]
metate.kernel @guarded(%x: memref<?xf32>, %out: memref<?xindex>, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %best = scf.for %q = %zero to %n step %one iter_args(%b = %zero) -> (index) {
    %here = memref.load %x[%q] : memref<?xf32>
    %there = memref.load %x[%b] : memref<?xf32>
    %less = arith.cmpf ole, %here, %there : f32
    %next = arith.select %less, %b, %q : index
    scf.yield %next : index
  }
  memref.store %best, %out[%zero] : memref<?xindex>
  metate.return
}

// What the loop writes may be another value in the next turn.
// CHECK-LABEL: metate.kernel @written
// CHECK: scf.for {{.*}} iter_args(%[[B:.*]] = %{{.*}}) -> (index)
// CHECK: memref.load %{{.*}}[%[[B]]]
metate.kernel @written(%x: memref<?xf32>, %out: memref<?xindex>, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %best = scf.for %q = %zero to %n step %one iter_args(%b = %zero) -> (index) {
    %here = memref.load %x[%q] : memref<?xf32>
    %there = memref.load %x[%b] : memref<?xf32>
    %less = arith.cmpf olt, %here, %there : f32
    memref.store %there, %x[%zero] : memref<?xf32>
    %next = arith.select %less, %q, %b : index
    scf.yield %next : index
  }
  memref.store %best, %out[%zero] : memref<?xindex>
  metate.return
}

// The value of one that only a branch computes is not there for the others.
// CHECK-LABEL: metate.kernel @under_a_condition
// CHECK: scf.for {{.*}} iter_args(%[[B:.*]] = %{{.*}}) -> (index)
// CHECK: memref.load %{{.*}}[%[[B]]]
metate.kernel @under_a_condition(%x: memref<?xf32>, %out: memref<?xindex>, %n: index, %least: f32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %best = scf.for %q = %zero to %n step %one iter_args(%b = %zero) -> (index) {
    %there = memref.load %x[%b] : memref<?xf32>
    %less = arith.cmpf olt, %least, %there : f32
    %next = arith.select %less, %q, %b : index
    scf.yield %next : index
  }
  memref.store %best, %out[%zero] : memref<?xindex>
  metate.return
}
