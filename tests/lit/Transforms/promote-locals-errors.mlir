// RUN: metate-opt %s --metate-promote-locals --verify-diagnostics

metate.kernel @assigned_in_parallel(%a: f32, %n: index) {
  %zero = arith.constant 0 : index
  // expected-note @+1 {{the variable is defined here}}
  %v = memref.alloca() : memref<f32>
  metate.range (%i) = (%zero) to (%n) {
    // expected-error @+1 {{a variable of the kernel cannot be assigned in a parallel loop}}
    memref.store %a, %v[] : memref<f32>
    metate.yield
  }
  metate.return
}
