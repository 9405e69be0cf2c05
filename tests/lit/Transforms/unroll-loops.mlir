// RUN: metate-opt %s --metate-unroll-loops | FileCheck %s

// A nest, the inner loop's bounds by the outer turn: three pairs, each with its components.
// CHECK-LABEL: metate.kernel @triangle
// CHECK-NOT: scf.for
// CHECK-NOT: arith.select
// CHECK-COUNT-3: arith.mulf
// CHECK-NOT: arith.mulf
// CHECK: metate.return
metate.kernel @triangle(%x: memref<?xf32>, %a: f32, %b: f32, %c: f32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %three = arith.constant 3 : index
  %start = arith.constant 0.0 : f32
  %sum = scf.for %i = %zero to %three step %one iter_args(%s = %start) -> (f32) {
    %first = arith.addi %i, %one : index
    %isFirst = arith.cmpi eq, %i, %zero : index
    %isSecond = arith.cmpi eq, %i, %one : index
    %or = arith.select %isSecond, %b, %c : f32
    %left = arith.select %isFirst, %a, %or : f32
    %inner = scf.for %j = %first to %three step %one iter_args(%t = %s) -> (f32) {
      %isMiddle = arith.cmpi eq, %j, %one : index
      %right = arith.select %isMiddle, %b, %c : f32
      %product = arith.mulf %left, %right : f32
      %next = arith.addf %t, %product : f32
      scf.yield %next : f32
    }
    scf.yield %inner : f32
  }
  memref.store %sum, %x[%zero] : memref<?xf32>
  metate.return
}

// Conditions on the turn go, others and loops that stay are written with what is in them.
// CHECK-LABEL: metate.kernel @inside
// CHECK-SAME: %[[X:.*]]: memref<?xf32>, %[[A:.*]]: f32, %[[N:.*]]: index, %[[C:.*]]: i1
// CHECK-NOT: arith.cmpi
// CHECK: scf.if %[[C]]
// CHECK: scf.for {{.*}} to %[[N]]
// CHECK: memref.store %[[A]], %[[X]]
// CHECK: scf.if %[[C]]
// CHECK: scf.for {{.*}} to %[[N]]
// CHECK-NOT: memref.store %[[A]]
// CHECK: metate.return
metate.kernel @inside(%x: memref<?xf32>, %a: f32, %n: index, %c: i1) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %big = arith.constant 1.0 : f32
  scf.for %i = %zero to %two step %one {
    %isFirst = arith.cmpi eq, %i, %zero : index
    scf.if %c {
      scf.for %j = %zero to %n step %one {
        memref.store %big, %x[%j] : memref<?xf32>
      }
    }
    scf.if %isFirst {
      memref.store %a, %x[%i] : memref<?xf32>
    }
  }
  metate.return
}

// CHECK-LABEL: metate.kernel @stay
// CHECK-COUNT-3: scf.for
// CHECK: metate.return
metate.kernel @stay(%x: memref<?xf32>, %a: f32, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c17 = arith.constant 17 : index
  // Not known.
  scf.for %i = %zero to %n step %one {
    memref.store %a, %x[%i] : memref<?xf32>
  }
  // Too many.
  scf.for %i = %zero to %c17 step %one {
    memref.store %a, %x[%i] : memref<?xf32>
  }
  // Too large together: 16 * 4 * 8 of an atomic operation; the inner loop is not.
  scf.for %i = %zero to %c16 step %one {
    scf.for %j = %zero to %c4 step %one {
      %k = arith.addi %i, %j : index
      %old = memref.atomic_rmw addf %a, %x[%k] : (f32, memref<?xf32>) -> f32
    }
  }
  metate.return
}

// A loop that carries a vector, of 240 operations in all, is written out: iterations of vectors are no lanes.
// CHECK-LABEL: metate.kernel @vectors
// CHECK-NOT: scf.for
// CHECK: metate.return
metate.kernel @vectors(%x: memref<?xvector<8xf32>>, %k: memref<?xindex>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %first = memref.load %x[%zero] : memref<?xvector<8xf32>>
  %s = scf.for %i = %zero to %c10 step %one iter_args(%old = %first) -> vector<8xf32> {
    %a = arith.addf %old, %first : vector<8xf32>
    %b = arith.mulf %a, %a : vector<8xf32>
    %c = arith.addf %b, %a : vector<8xf32>
    scf.yield %c : vector<8xf32>
  }
  memref.store %s, %x[%zero] : memref<?xvector<8xf32>>
  metate.return
}

// The turn is a neighbour's number.
// CHECK-LABEL: metate.kernel @number
// CHECK-NOT: scf.for
// CHECK: metate.return
metate.kernel @number(%x: memref<?x?xf32>, %a: f32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c25 = arith.constant 25 : index
  scf.for %q = %zero to %c25 step %one {
    %i = arith.divsi %q, %c5 : index
    %j = arith.remsi %q, %c5 : index
    memref.store %a, %x[%i, %j] : memref<?x?xf32>
  }
  metate.return
}

// Three turns around a number of the launch, unless the bound wraps.
// CHECK-LABEL: metate.kernel @around
// CHECK: %[[FIRST:.*]] = arith.subi %arg1, %c1_i32
// CHECK: %[[FITS:.*]] = arith.cmpi sle, %[[FIRST]], %c2147483644_i32
// CHECK: scf.if %[[FITS]] -> (f32) {
// CHECK-COUNT-3: memref.load
// CHECK-NOT: scf.for
// CHECK: metate.return
metate.kernel @around(%x: memref<?xf32>, %k: i32, %out: memref<?xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %one32 = arith.constant 1 : i32
  %two32 = arith.constant 2 : i32
  %start = arith.constant 0.0 : f32
  %from = arith.subi %k, %one32 : i32
  %to = arith.addi %k, %two32 : i32
  %lower = arith.index_cast %from : i32 to index
  %upper = arith.index_cast %to : i32 to index
  %s = scf.for %i = %lower to %upper step %one iter_args(%old = %start) -> f32 {
    %v = memref.load %x[%i] : memref<?xf32>
    %new = arith.addf %old, %v : f32
    scf.yield %new : f32
  }
  memref.store %s, %out[%zero] : memref<?xf32>
  metate.return
}

// The same of an index, whose sums do not wrap.
// CHECK-LABEL: metate.kernel @around_index
// CHECK: %[[FIRST:.*]] = arith.subi %arg1, %c1
// CHECK-NOT: scf.if
// CHECK-NOT: scf.for
// CHECK-COUNT-3: memref.load
// CHECK-NOT: scf.for
// CHECK: metate.return
metate.kernel @around_index(%x: memref<?xf32>, %k: index, %out: memref<?xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %start = arith.constant 0.0 : f32
  %lower = arith.subi %k, %one : index
  %upper = arith.addi %k, %two : index
  %s = scf.for %i = %lower to %upper step %one iter_args(%old = %start) -> f32 {
    %v = memref.load %x[%i] : memref<?xf32>
    %new = arith.addf %old, %v : f32
    scf.yield %new : f32
  }
  memref.store %s, %out[%zero] : memref<?xf32>
  metate.return
}

// 27 neighbours, of which a condition on the turns takes six: what is left counts, not both sides in each turn.
// CHECK-LABEL: metate.kernel @neighbours
// CHECK-NOT: scf.for
// CHECK-COUNT-6: memref.load
// CHECK-NOT: memref.load
// CHECK: metate.return
metate.kernel @neighbours(%x: memref<?x?x?xf32>, %a: index, %b: index, %c: index, %out: memref<?xf32>) {
  %first = arith.constant -1 : index
  %end = arith.constant 2 : index
  %step = arith.constant 1 : index
  %zero = arith.constant 0 : index
  %start = arith.constant 0.0 : f32
  %sum = scf.for %i = %first to %end step %step iter_args(%r = %start) -> (f32) {
    %ii = arith.muli %i, %i : index
    %s = scf.for %j = %first to %end step %step iter_args(%s = %r) -> (f32) {
      %jj = arith.muli %j, %j : index
      %ij = arith.addi %ii, %jj : index
      %t = scf.for %k = %first to %end step %step iter_args(%t = %s) -> (f32) {
        %kk = arith.muli %k, %k : index
        %ijk = arith.addi %ij, %kk : index
        %is = arith.cmpi eq, %ijk, %step : index
        %u = scf.if %is -> (f32) {
          %p = arith.addi %a, %i : index
          %q = arith.addi %b, %j : index
          %w = arith.addi %c, %k : index
          %v = memref.load %x[%p, %q, %w] : memref<?x?x?xf32>
          %wide = arith.mulf %v, %v : f32
          %sum = arith.addf %t, %wide : f32
          scf.yield %sum : f32
        } else {
          scf.yield %t : f32
        }
        scf.yield %u : f32
      }
      scf.yield %t : f32
    }
    scf.yield %s : f32
  }
  memref.store %sum, %out[%zero] : memref<?xf32>
  metate.return
}
