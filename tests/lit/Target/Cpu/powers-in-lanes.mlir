// RUN: metate-opt %s --start-from=import --stop-after=map | FileCheck %s

// Products for all sixteen iterations at once; pow behind a branch that is taken where a lane has a large exponent.
// CHECK-LABEL: @metate_entry_each_task0(
// CHECK: llvm.fmul %{{.*}} : vector<16xf32>
// CHECK: llvm.intr.vector.reduce.or
// CHECK: llvm.cond_br
// CHECK: llvm.func @metate_entry_each(
metate.kernel @each(%x: memref<?xf32>, %e: memref<?xi32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %most = arith.constant 4 : i32
  %one = arith.constant 1.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    %v = memref.load %x[%i] : memref<?xf32>
    %k = memref.load %e[%i] : memref<?xi32>
    %small = arith.cmpi ult, %k, %most : i32
    %p = scf.if %small -> (f32) {
      %some = arith.cmpi ne, %k, %zero : i32
      %a = arith.mulf %v, %v : f32
      %b = arith.mulf %a, %v : f32
      %c = arith.mulf %b, %v : f32
      %d = arith.mulf %c, %v : f32
      %r = arith.select %some, %d, %one : f32
      scf.yield %r : f32
    } else {
      %f = arith.sitofp %k : i32 to f32
      %r = metate.elementary pow(%v, %f) : f32
      scf.yield %r : f32
    }
    memref.store %p, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}
