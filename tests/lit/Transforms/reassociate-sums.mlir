// RUN: metate-opt %s --metate-reassociate-sums | FileCheck %s

// A sum in an inner loop, under a branch, and a loop inside: all one accumulation.
// CHECK-LABEL: metate.kernel @sum
// CHECK: arith.addf %{{.*}} fastmath<reassoc,contract>
// CHECK: arith.subf %{{.*}} fastmath<reassoc>
// CHECK: arith.addf %{{.*}} fastmath<reassoc>
metate.kernel @sum(%x: memref<?xf32>, %out: memref<?xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = memref.dim %x, %zero : memref<?xf32>
  %start = memref.load %out[%zero] : memref<?xf32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %start) -> (f32) {
    %v = memref.load %x[%i] : memref<?xf32>
    %a = arith.addf %s, %v fastmath<contract> : f32
    %big = arith.cmpf ogt, %v, %start : f32
    %b = scf.if %big -> (f32) {
      %less = arith.subf %a, %start : f32
      scf.yield %less : f32
    } else {
      scf.yield %a : f32
    }
    %c = scf.for %j = %zero to %i step %one iter_args(%t = %b) -> (f32) {
      %w = memref.load %x[%j] : memref<?xf32>
      %u = arith.addf %w, %t : f32
      scf.yield %u : f32
    }
    scf.yield %c : f32
  }
  memref.store %sum, %out[%zero] : memref<?xf32>
  metate.return
}

// Extremes and products, in a loop with a condition.
// CHECK-LABEL: metate.kernel @others
// CHECK: arith.minnumf %{{.*}} fastmath<reassoc,nsz>
// CHECK: arith.mulf %{{.*}} fastmath<reassoc>
metate.kernel @others(%x: memref<?xf64>, %out: memref<?xf64>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %stop = arith.constant 0.0 : f64
  %start = memref.load %out[%zero] : memref<?xf64>
  %ends:3 = scf.while (%i = %zero, %least = %start, %product = %start) : (index, f64, f64) -> (index, f64, f64) {
    %v = memref.load %x[%i] : memref<?xf64>
    %runs = arith.cmpf ogt, %v, %stop : f64
    scf.condition(%runs) %i, %least, %product : index, f64, f64
  } do {
  ^bb0(%i: index, %least: f64, %product: f64):
    %v = memref.load %x[%i] : memref<?xf64>
    %l = arith.minnumf %v, %least : f64
    %p = arith.mulf %product, %v : f64
    %j = arith.addi %i, %one : index
    scf.yield %j, %l, %p : index, f64, f64
  }
  memref.store %ends#1, %out[%zero] : memref<?xf64>
  memref.store %ends#2, %out[%one] : memref<?xf64>
  metate.return
}

// What the loop reads, Horner's scheme, what is doubled, what begins again, a difference from the value: in order.
// CHECK-LABEL: metate.kernel @in_order
// CHECK-NOT: reassoc
// CHECK: metate.return
metate.kernel @in_order(%x: memref<?xf32>, %out: memref<?xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = memref.dim %x, %zero : memref<?xf32>
  %start = memref.load %out[%zero] : memref<?xf32>
  %ends:5 = scf.for %i = %zero to %n step %one iter_args(%a = %start, %b = %start, %c = %start, %d = %start, %e = %start) -> (f32, f32, f32, f32, f32) {
    %v = memref.load %x[%i] : memref<?xf32>
    %read = arith.addf %a, %v : f32
    memref.store %read, %x[%i] : memref<?xf32>
    %scaled = arith.mulf %b, %v : f32
    %horner = arith.addf %scaled, %v : f32
    %doubled = arith.addf %c, %c : f32
    %new = arith.addf %d, %v : f32
    %over = arith.cmpf ogt, %v, %start : f32
    %again = arith.select %over, %new, %start : f32
    %from = arith.subf %v, %e : f32
    scf.yield %read, %horner, %doubled, %again, %from : f32, f32, f32, f32, f32
  }
  memref.store %ends#0, %out[%zero] : memref<?xf32>
  metate.return
}

// fast_math=False by name.
// CHECK-LABEL: metate.kernel @ordered
// CHECK-NOT: reassoc
// CHECK: metate.return
metate.kernel @ordered(%x: memref<?xf32>, %out: memref<?xf32>) attributes {metate.ordered} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = memref.dim %x, %zero : memref<?xf32>
  %start = memref.load %out[%zero] : memref<?xf32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %start) -> (f32) {
    %v = memref.load %x[%i] : memref<?xf32>
    %a = arith.addf %s, %v : f32
    scf.yield %a : f32
  }
  memref.store %sum, %out[%zero] : memref<?xf32>
  metate.return
}
