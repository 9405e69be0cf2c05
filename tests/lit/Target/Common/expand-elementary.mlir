// RUN: metate-opt %s --split-input-file --metate-expand-elementary | FileCheck %s
// RUN: metate-opt %s --split-input-file --canonicalize | FileCheck %s --check-prefix=FOLDED

// No call, no flag that lets operations be fused or reordered.
// CHECK-NOT: fastmath
// CHECK-LABEL: func.func @exponential(
// CHECK-SAME: %[[X:.*]]: f32)
// CHECK: arith.cmpf olt, %[[X]]
// CHECK: arith.mulf
// CHECK: arith.bitcast
// CHECK-NOT: metate.elementary
func.func @exponential(%x: f32) -> f32 {
  %y = metate.elementary exp(%x) : f32
  return %y : f32
}

// A vector of any shape; f16 is computed as f32.
// CHECK-LABEL: func.func @matrix(
// CHECK: arith.extf %{{.*}} : vector<2x3xf16> to vector<2x3xf32>
// CHECK: arith.divf %{{.*}} : vector<2x3xf32>
// CHECK: arith.truncf %{{.*}} : vector<2x3xf32> to vector<2x3xf16>
func.func @matrix(%x: vector<2x3xf16>) -> vector<2x3xf16> {
  %y = metate.elementary log(%x) : vector<2x3xf16>
  return %y : vector<2x3xf16>
}

// -----

// Doubles read the digits of 2 / pi, floats choose them.
// CHECK: llvm.mlir.global internal constant @metate_digits(dense<{{.*}}> : tensor<152xi8>)
// CHECK-LABEL: func.func @angles(
// CHECK-COUNT-3: llvm.load %{{.*}} invariant {alignment = 1 : i64} : !llvm.ptr -> i64
// CHECK-NOT: llvm.load
// CHECK: return
func.func @angles(%x: f64, %y: f32) -> (f64, f32) {
  %0 = metate.elementary cos(%x) : f64
  %1 = metate.elementary cos(%y) : f32
  return %0, %1 : f64, f32
}

// -----

// Folding gives what running gives: not what the C library of this machine does.
// FOLDED-LABEL: func.func @constant(
// FOLDED-DAG: arith.constant 0.841470{{[0-9]*}} : f32
// FOLDED-DAG: arith.constant dense<[1.4142135623730951, 8.000000e+00]> : vector<2xf64>
// FOLDED-NOT: metate.elementary
func.func @constant() -> (f32, vector<2xf64>) {
  %x = arith.constant 1.0 : f32
  %y = metate.elementary sin(%x) : f32
  %a = arith.constant dense<2.0> : vector<2xf64>
  %b = arith.constant dense<[0.5, 3.0]> : vector<2xf64>
  %z = metate.elementary pow(%a, %b) : vector<2xf64>
  return %y, %z : f32, vector<2xf64>
}
