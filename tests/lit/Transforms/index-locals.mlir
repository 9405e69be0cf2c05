// RUN: metate-opt %s --metate-index-locals | FileCheck %s
// RUN: metate-opt %s --metate-index-locals=unroll=false | FileCheck %s --check-prefix=LOOPS

// Turns that nobody knows: the component that %k names is one load, and one store; out of range it is the last one, and the one behind.
// CHECK-LABEL: metate.kernel @unknown
// CHECK: metate.range
// CHECK-NEXT: %[[A:.*]] = memref.alloca() : memref<9xi32>
// CHECK-COUNT-8: memref.store %{{.*}}, %[[A]]
// CHECK: scf.for %[[K:.*]] =
// CHECK: %[[AT:.*]] = arith.index_cast %[[K]] : index to i32
// CHECK-NOT: arith.cmpi eq
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[AT]], %{{.*}} : i32
// CHECK: %[[PLACE:.*]] = arith.select %[[INSIDE]], %{{.*}}, %c7
// CHECK: %[[OLD:.*]] = memref.load %[[A]][%[[PLACE]]]
// CHECK: %[[NEW:.*]] = arith.addi %[[OLD]]
// CHECK: %[[OTHER:.*]] = arith.select %{{.*}}, %{{.*}}, %c8
// CHECK: memref.store %[[NEW]], %[[A]][%[[OTHER]]]
// CHECK-NOT: vector.from_elements
// CHECK: metate.return
metate.kernel @unknown(%y: memref<?xi32>, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %start = arith.constant dense<0> : vector<8xi32>
  metate.range (%i) = (%zero) to (%n) {
    %v = memref.alloca() : memref<vector<8xi32>>
    memref.store %start, %v[] : memref<vector<8xi32>>
    scf.for %k = %zero to %n step %one {
      %at = arith.index_cast %k : index to i32
      %whole = memref.load %v[] : memref<vector<8xi32>>
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c2 = arith.constant 2 : i32
      %c3 = arith.constant 3 : i32
      %c4 = arith.constant 4 : i32
      %c5 = arith.constant 5 : i32
      %c6 = arith.constant 6 : i32
      %c7 = arith.constant 7 : i32
      %e0 = vector.extract %whole[0] : i32 from vector<8xi32>
      %e1 = vector.extract %whole[1] : i32 from vector<8xi32>
      %e2 = vector.extract %whole[2] : i32 from vector<8xi32>
      %e3 = vector.extract %whole[3] : i32 from vector<8xi32>
      %e4 = vector.extract %whole[4] : i32 from vector<8xi32>
      %e5 = vector.extract %whole[5] : i32 from vector<8xi32>
      %e6 = vector.extract %whole[6] : i32 from vector<8xi32>
      %e7 = vector.extract %whole[7] : i32 from vector<8xi32>
      %is0 = arith.cmpi eq, %at, %c0 {metate.component = 8 : i64} : i32
      %is1 = arith.cmpi eq, %at, %c1 : i32
      %is2 = arith.cmpi eq, %at, %c2 : i32
      %is3 = arith.cmpi eq, %at, %c3 : i32
      %is4 = arith.cmpi eq, %at, %c4 : i32
      %is5 = arith.cmpi eq, %at, %c5 : i32
      %is6 = arith.cmpi eq, %at, %c6 : i32
      %is7 = arith.cmpi eq, %at, %c7 : i32
      %r6 = arith.select %is6, %e6, %e7 : i32
      %r5 = arith.select %is5, %e5, %r6 : i32
      %r4 = arith.select %is4, %e4, %r5 : i32
      %r3 = arith.select %is3, %e3, %r4 : i32
      %r2 = arith.select %is2, %e2, %r3 : i32
      %r1 = arith.select %is1, %e1, %r2 : i32
      %r0 = arith.select %is0, %e0, %r1 : i32
      %next = arith.addi %r0, %at : i32
      %w0 = arith.select %is0, %next, %e0 : i32
      %w1 = arith.select %is1, %next, %e1 : i32
      %w2 = arith.select %is2, %next, %e2 : i32
      %w3 = arith.select %is3, %next, %e3 : i32
      %w4 = arith.select %is4, %next, %e4 : i32
      %w5 = arith.select %is5, %next, %e5 : i32
      %w6 = arith.select %is6, %next, %e6 : i32
      %w7 = arith.select %is7, %next, %e7 : i32
      %replaced = vector.from_elements %w0, %w1, %w2, %w3, %w4, %w5, %w6, %w7 : vector<8xi32>
      memref.store %replaced, %v[] : memref<vector<8xi32>>
    }
    %last = memref.load %v[] : memref<vector<8xi32>>
    %first = vector.extract %last[0] : i32 from vector<8xi32>
    memref.store %first, %y[%i] : memref<?xi32>
    metate.yield
  }
  metate.return
}

// Two turns, which are written out afterwards: registers, unless loops stay loops.
// CHECK-LABEL: metate.kernel @known
// CHECK: memref.alloca() : memref<vector<2xi32>>
// LOOPS-LABEL: metate.kernel @known
// LOOPS: memref.alloca() : memref<3xi32>
metate.kernel @known(%y: memref<?xi32>, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %start = arith.constant dense<[3, 4]> : vector<2xi32>
  metate.range (%i) = (%zero) to (%n) {
    %v = memref.alloca() : memref<vector<2xi32>>
    memref.store %start, %v[] : memref<vector<2xi32>>
    scf.for %k = %zero to %two step %one {
      %whole = memref.load %v[] : memref<vector<2xi32>>
      %e0 = vector.extract %whole[0] : i32 from vector<2xi32>
      %e1 = vector.extract %whole[1] : i32 from vector<2xi32>
      %is0 = arith.cmpi eq, %k, %zero {metate.component = 2 : i64} : index
      %r0 = arith.select %is0, %e0, %e1 : i32
      memref.store %r0, %y[%k] : memref<?xi32>
    }
    metate.yield
  }
  metate.return
}

// A variable of the kernel that a parallel loop reads is no array: its tasks get values.
// CHECK-LABEL: metate.kernel @shared
// CHECK: memref.alloca() : memref<vector<2xi32>>
// LOOPS-LABEL: metate.kernel @shared
// LOOPS: memref.alloca() : memref<vector<2xi32>>
metate.kernel @shared(%y: memref<?xi32>, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %start = arith.constant dense<[3, 4]> : vector<2xi32>
  %v = memref.alloca() : memref<vector<2xi32>>
  memref.store %start, %v[] : memref<vector<2xi32>>
  metate.range (%i) = (%zero) to (%n) {
    scf.for %k = %zero to %n step %one {
      %whole = memref.load %v[] : memref<vector<2xi32>>
      %e0 = vector.extract %whole[0] : i32 from vector<2xi32>
      %e1 = vector.extract %whole[1] : i32 from vector<2xi32>
      %is0 = arith.cmpi eq, %k, %zero {metate.component = 2 : i64} : index
      %r0 = arith.select %is0, %e0, %e1 : i32
      memref.store %r0, %y[%k] : memref<?xi32>
    }
    metate.yield
  }
  metate.return
}
