// RUN: metate-opt %s | metate-opt | FileCheck %s
// RUN: metate-opt %s --mlir-print-op-generic | metate-opt | FileCheck %s

// CHECK-LABEL: metate.kernel @k(
metate.kernel @k(%n: i32, %x: memref<?xf32>) {
  // CHECK: metate.function "none" () {
  // CHECK-NEXT: metate.give
  metate.function "none" () {
    metate.give
  }
  // CHECK: metate.function "pair" (%[[N:.*]]: i32, %[[V:.*]]: vector<2xf32>) {
  // CHECK: metate.call "pair"(%[[N]], %[[V]]) : (i32, vector<2xf32>) -> (vector<2xf32>, i32)
  // CHECK: metate.give %{{.*}}, %{{.*}} : vector<2xf32>, i32
  metate.function "pair" (%m: i32, %v: vector<2xf32>) {
    metate.enter "pair"
    %r:2 = metate.call "pair"(%m, %v) : (i32, vector<2xf32>) -> (vector<2xf32>, i32)
    metate.give %r#0, %r#1 : vector<2xf32>, i32
  }
  // CHECK: metate.function "square" (%{{.*}}: f32) attributes {derivative = "square.derivative"} {
  metate.function "square" (%a: f32) attributes {derivative = "square.derivative"} {
    %b = arith.mulf %a, %a : f32
    metate.give %b : f32
  }
  metate.function "square.derivative" (%a: f32, %da: f32) {
    metate.give %a, %da : f32, f32
  }
  // CHECK: metate.call "none"() : () -> ()
  metate.call "none"() : () -> ()
  metate.return
}
