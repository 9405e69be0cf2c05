// RUN: metate-opt %s --metate-split-carried --canonicalize | FileCheck %s

// A vector that each turn takes apart and puts together, from a constant; behind the loop it is a vector.
// CHECK-LABEL: metate.kernel @accumulated
// CHECK: %[[SUMS:.*]]:2 = scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) -> (f32, f32) {
// CHECK-DAG: %[[NEXT_A:.*]] = arith.addf %[[A]]
// CHECK-DAG: %[[NEXT_B:.*]] = arith.subf %[[B]]
// CHECK: scf.yield %[[NEXT_A]], %[[NEXT_B]]
// CHECK: %[[V:.*]] = vector.from_elements %[[SUMS]]#0, %[[SUMS]]#1 : vector<2xf32>
// CHECK: memref.store %[[V]]
metate.kernel @accumulated(%x: memref<?xf32>, %out: memref<?xvector<2xf32>>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %start = arith.constant dense<[1.0, 2.0]> : vector<2xf32>
  %n = memref.dim %x, %zero : memref<?xf32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %start) -> (vector<2xf32>) {
    %v = memref.load %x[%i] : memref<?xf32>
    %a = vector.extract %s[0] : f32 from vector<2xf32>
    %b = vector.extract %s[1] : f32 from vector<2xf32>
    %c = arith.addf %a, %v : f32
    %d = arith.subf %b, %v : f32
    %t = vector.from_elements %c, %d : vector<2xf32>
    scf.yield %t : vector<2xf32>
  }
  memref.store %sum, %out[%zero] : memref<?xvector<2xf32>>
  metate.return
}

// A matrix in two loops, of which a component is read behind them.
// CHECK-LABEL: metate.kernel @nested
// CHECK: scf.for {{.*}} -> (f64, f64, f64)
// CHECK: scf.for {{.*}} -> (f64, f64, f64)
// CHECK-NOT: vector
// CHECK: metate.return
metate.kernel @nested(%x: memref<?xf64>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %start = arith.constant dense<0.0> : vector<2x2xf64>
  %n = memref.dim %x, %zero : memref<?xf64>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %start) -> (vector<2x2xf64>) {
    %inner = scf.for %j = %zero to %i step %one iter_args(%t = %s) -> (vector<2x2xf64>) {
      %v = memref.load %x[%j] : memref<?xf64>
      %c:4 = vector.to_elements %t : vector<2x2xf64>
      %d = arith.addf %c#2, %v : f64
      %u = vector.from_elements %c#1, %c#0, %d, %c#3 : vector<2x2xf64>
      scf.yield %u : vector<2x2xf64>
    }
    scf.yield %inner : vector<2x2xf64>
  }
  %last = vector.extract %sum[1, 0] : f64 from vector<2x2xf64>
  memref.store %last, %x[%zero] : memref<?xf64>
  metate.return
}

// One that is added to as a whole, and one whose component is known at run time only: they stay.
// CHECK-LABEL: metate.kernel @whole
// CHECK: scf.for {{.*}} -> (vector<2xf32>, vector<2xf32>)
metate.kernel @whole(%x: memref<?xf32>, %y: memref<?xvector<2xf32>>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %start = arith.constant dense<0.0> : vector<2xf32>
  %n = memref.dim %x, %zero : memref<?xf32>
  %sums:2 = scf.for %i = %zero to %n step %one iter_args(%s = %start, %r = %start) -> (vector<2xf32>, vector<2xf32>) {
    %v = memref.load %y[%i] : memref<?xvector<2xf32>>
    %t = arith.addf %s, %v : vector<2xf32>
    %k = arith.andi %i, %one : index
    %a = vector.extract %r[%k] : f32 from vector<2xf32>
    %u = vector.from_elements %a, %a : vector<2xf32>
    scf.yield %t, %u : vector<2xf32>, vector<2xf32>
  }
  memref.store %sums#0, %y[%zero] : memref<?xvector<2xf32>>
  memref.store %sums#1, %y[%one] : memref<?xvector<2xf32>>
  metate.return
}
