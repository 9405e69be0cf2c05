// A square root is an instruction with the operation's flags, never a call: loops are vectorised over it.
// RUN: metate-opt %s --metate-convert-to-llvm | FileCheck %s

// CHECK-LABEL: llvm.func @roots
// CHECK-NOT: llvm.call
// CHECK: llvm.intr.sqrt(%{{.*}}) {fastmathFlags = #llvm.fastmath<fast>} : (f32) -> f32
// CHECK: llvm.intr.sqrt(%{{.*}}) : (f64) -> f64
// CHECK: llvm.intr.sqrt(%{{.*}}) : (vector<3xf32>) -> vector<3xf32>
func.func @roots(%a: f32, %b: f64, %c: vector<3xf32>) -> (f32, f64, vector<3xf32>) {
  %x = math.sqrt %a fastmath<fast> : f32
  %y = math.sqrt %b : f64
  %z = math.sqrt %c : vector<3xf32>
  return %x, %y, %z : f32, f64, vector<3xf32>
}
