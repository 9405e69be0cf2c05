// RUN: metate-opt %s --metate-scalarize-indices --canonicalize | FileCheck %s

// Sums of index vectors: neighbours as they are written out.
// CHECK-LABEL: metate.kernel @neighbours
// CHECK: metate.range (%[[I:.*]], %[[J:.*]]) =
// CHECK-DAG: %[[A:.*]] = arith.index_cast %[[I]] : index to i32
// CHECK-DAG: %[[B:.*]] = arith.index_cast %[[J]] : index to i32
// CHECK-DAG: %[[NEXT:.*]] = arith.addi %[[B]], %c1_i32 {metate.signed} : i32
// CHECK-DAG: %[[TWICE:.*]] = arith.muli %[[NEXT]], %{{.*}} : i32
// CHECK-NOT: vector.extract
// CHECK: memref.load %arg0[%{{.*}}, %{{.*}}]
metate.kernel @neighbours(%x: memref<?x?xf32>, %n: index, %k: i32) {
  %c0 = arith.constant 0 : index
  %right = arith.constant dense<[0, 1]> : vector<2xi32>
  metate.range (%i, %j) = (%c0, %c0) to (%n, %n) {
    %a = arith.index_cast %i : index to i32
    %b = arith.index_cast %j : index to i32
    %p = vector.from_elements %a, %b : vector<2xi32>
    %q = arith.addi %p, %right {metate.signed} : vector<2xi32>
    %all = vector.broadcast %k : i32 to vector<2xi32>
    %r = arith.muli %q, %all : vector<2xi32>
    %s = vector.extract %r[0] : i32 from vector<2xi32>
    %t = vector.extract %r[1] : i32 from vector<2xi32>
    %u = arith.index_cast %s : i32 to index
    %v = arith.index_cast %t : i32 to index
    %value = memref.load %x[%u, %v] : memref<?x?xf32>
    memref.store %value, %x[%i, %j] : memref<?x?xf32>
    metate.yield
  }
  metate.return
}

// A comparison of components, chosen by; what memory holds is taken out of it.
// CHECK-LABEL: metate.kernel @chosen
// CHECK: vector.broadcast
// CHECK: %[[P:.*]] = memref.load
// CHECK: %[[C:.*]] = vector.extract %[[P]][1]
// CHECK: %[[LESS:.*]] = arith.cmpi slt, %[[C]], %arg2 : i32
// CHECK: arith.select %[[LESS]], %[[C]], %arg2 : i32
metate.kernel @chosen(%x: memref<?xvector<2xi32>>, %out: memref<?xvector<2xi32>>, %k: i32, %i: index) {
  %all = vector.from_elements %k, %k : vector<2xi32>
  memref.store %all, %out[%i] : memref<?xvector<2xi32>>
  %p = memref.load %x[%i] : memref<?xvector<2xi32>>
  %less = arith.cmpi slt, %p, %all : vector<2xi32>
  %q = arith.select %less, %p, %all : vector<2xi1>, vector<2xi32>
  %c = vector.extract %q[1] : i32 from vector<2xi32>
  %d = vector.from_elements %c, %c : vector<2xi32>
  memref.store %d, %out[%i] : memref<?xvector<2xi32>>
  metate.return
}

// Quotients too, though an operation may not divide where none was, with what asks whether their divisors are zero.
// CHECK-LABEL: metate.kernel @quotients
// CHECK: %[[P:.*]] = vector.extract %{{.*}}[1]
// CHECK: %[[ZERO:.*]] = arith.cmpi eq, %[[P]], %c0_i32 {metate.divisor} : i32
// CHECK: %[[SAFE:.*]] = arith.select %[[ZERO]], %c1_i32, %[[P]]
// CHECK: arith.divsi %arg2, %[[SAFE]] : i32
metate.kernel @quotients(%x: memref<?xvector<2xi32>>, %out: memref<?xi32>, %k: i32, %i: index) {
  %all = vector.from_elements %k, %k : vector<2xi32>
  %none = arith.constant dense<0> : vector<2xi32>
  %ones = arith.constant dense<1> : vector<2xi32>
  %p = memref.load %x[%i] : memref<?xvector<2xi32>>
  %zero = arith.cmpi eq, %p, %none {metate.divisor} : vector<2xi32>
  %safe = arith.select %zero, %ones, %p : vector<2xi1>, vector<2xi32>
  %q = arith.divsi %all, %safe : vector<2xi32>
  %c = vector.extract %q[1] : i32 from vector<2xi32>
  memref.store %c, %out[%i] : memref<?xi32>
  metate.return
}
