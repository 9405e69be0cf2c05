// Functions of a module that takes powers let LLVM make no exp2 of them; others are as they were.
// RUN: metate-opt %s --split-input-file --metate-convert-to-llvm | FileCheck %s

// CHECK-LABEL: llvm.func @power(
// CHECK-SAME: attributes {passthrough = ["no-builtin-exp2", "no-builtin-exp2f", "no-builtin-exp2l"]}
// CHECK: llvm.call @powf
// CHECK-LABEL: llvm.func @wide(
// CHECK-SAME: attributes {passthrough = ["no-builtin-exp2", "no-builtin-exp2f", "no-builtin-exp2l"]}
// CHECK: llvm.call @pow(
module {
  func.func @power(%x: f32) -> f32 {
    %eight = arith.constant 8.0 : f32
    %y = math.powf %eight, %x : f32
    return %y : f32
  }
  func.func @wide(%x: f64) -> f64 {
    %eight = arith.constant 8.0 : f64
    %y = math.powf %eight, %x : f64
    return %y : f64
  }
}

// -----

// CHECK-LABEL: llvm.func @other(
// CHECK-NOT: passthrough
// CHECK: llvm.call @exp2f
module {
  func.func @other(%x: f32) -> f32 {
    %y = math.exp2 %x : f32
    return %y : f32
  }
}
