// RUN: metate-opt %s --metate-promote-locals | FileCheck %s

// CHECK-LABEL: metate.kernel @conditional
// CHECK: %[[R:.*]] = scf.if %{{.*}} -> (f32) {
// CHECK:   scf.yield %[[B:.*]] : f32
// CHECK: } else {
// CHECK:   scf.yield %[[A:.*]] : f32
// CHECK: memref.store %[[R]], %{{.*}}[%{{.*}}] : memref<?xf32>
// CHECK-NOT: memref.alloca
metate.kernel @conditional(%x: memref<?xf32>, %a: f32, %b: f32, %c: i1) {
  %zero = arith.constant 0 : index
  %v = memref.alloca() : memref<f32>
  memref.store %a, %v[] : memref<f32>
  scf.if %c {
    memref.store %b, %v[] : memref<f32>
  }
  %r = memref.load %v[] : memref<f32>
  memref.store %r, %x[%zero] : memref<?xf32>
  metate.return
}

// CHECK-LABEL: metate.kernel @loops
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (f32) {
// CHECK:   %[[NEXT:.*]] = arith.addf %[[ACC]]
// CHECK:   scf.yield %[[NEXT]] : f32
// CHECK: %[[W:.*]] = scf.while (%[[STATE:.*]] = %[[SUM]]) : (f32) -> f32 {
// CHECK:   scf.condition(%{{.*}}) %[[STATE]] : f32
// CHECK: memref.store %[[W]]
metate.kernel @loops(%x: memref<?xf32>, %a: f32, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %v = memref.alloca() : memref<f32>
  memref.store %a, %v[] : memref<f32>
  scf.for %i = %zero to %n step %one {
    %old = memref.load %v[] : memref<f32>
    %next = arith.addf %old, %a : f32
    memref.store %next, %v[] : memref<f32>
  }
  scf.while : () -> () {
    %old = memref.load %v[] : memref<f32>
    %go = arith.cmpf olt, %old, %a : f32
    scf.condition(%go)
  } do {
    %old = memref.load %v[] : memref<f32>
    %next = arith.addf %old, %old : f32
    memref.store %next, %v[] : memref<f32>
    scf.yield
  }
  %r = memref.load %v[] : memref<f32>
  memref.store %r, %x[%zero] : memref<?xf32>
  metate.return
}

// A variable of one iteration stays in it.
// CHECK-LABEL: metate.kernel @parallel
// CHECK: metate.range
// CHECK-NOT: memref.alloca
// CHECK: memref.store %{{.*}}, %{{.*}}[%{{.*}}] : memref<?xf32>
metate.kernel @parallel(%x: memref<?xf32>, %a: f32, %n: index) {
  %zero = arith.constant 0 : index
  metate.range (%i) = (%zero) to (%n) {
    %v = memref.alloca() : memref<f32>
    memref.store %a, %v[] : memref<f32>
    %r = memref.load %v[] : memref<f32>
    memref.store %r, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}
