// RUN: metate-opt %s --start-from=import --stop-after=map | FileCheck %s

// Four rows take the turns of their sums together: the loop carries a vector of sums of each, and goes on to what is left over.
// CHECK-LABEL: llvm.func internal @metate_entry_product_task0(
// CHECK: llvm.br ^bb{{[0-9]+}}({{[^:]*}} : i64, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) loc
// CHECK-COUNT-4: llvm.fadd {{.*}} : vector<16xf32>
// CHECK: llvm.intr.masked.store
metate.kernel @product(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  %m = memref.dim %a, %c1 : memref<?x?xf32>
  metate.range (%i, %j) = (%c0, %c0) to (%n, %n) {
    %s = scf.for %k = %c0 to %m step %c1 iter_args(%old = %zero) -> f32 {
      %x = memref.load %a[%i, %k] : memref<?x?xf32>
      %y = memref.load %b[%k, %j] : memref<?x?xf32>
      %p = arith.mulf %x, %y : f32
      %new = arith.addf %old, %p : f32
      scf.yield %new : f32
    }
    memref.store %s, %c[%i, %j] : memref<?x?xf32>
    metate.yield
  }
  metate.return
}

// Without rows, four groups of lanes do: 64 iterations a turn.
// CHECK-LABEL: llvm.func internal @metate_entry_columns_task0(
// CHECK: llvm.br ^bb{{[0-9]+}}({{[^:]*}} : i64, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) loc
metate.kernel @columns(%a: memref<?x?xf32>, %out: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  %m = memref.dim %a, %c1 : memref<?x?xf32>
  metate.range (%j) = (%c0) to (%m) {
    %s = scf.for %i = %c0 to %n step %c1 iter_args(%old = %zero) -> f32 {
      %x = memref.load %a[%i, %j] : memref<?x?xf32>
      %new = arith.addf %old, %x : f32
      scf.yield %new : f32
    }
    memref.store %s, %out[%j] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// A loop of three sums has enough to do.
// CHECK-LABEL: llvm.func internal @metate_entry_moments_task0(
// CHECK: llvm.br ^bb{{[0-9]+}}({{[^:]*}} : i64, vector<16xf32>, vector<16xf32>, vector<16xf32>) loc
metate.kernel @moments(%a: memref<?x?xf32>, %out: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  %m = memref.dim %a, %c1 : memref<?x?xf32>
  metate.range (%j) = (%c0) to (%m) {
    %s:3 = scf.for %i = %c0 to %n step %c1 iter_args(%o0 = %zero, %o1 = %zero, %o2 = %zero) -> (f32, f32, f32) {
      %x = memref.load %a[%i, %j] : memref<?x?xf32>
      %n0 = arith.addf %o0, %x : f32
      %x2 = arith.mulf %x, %x : f32
      %n1 = arith.addf %o1, %x2 : f32
      %x3 = arith.mulf %x2, %x : f32
      %n2 = arith.addf %o2, %x3 : f32
      scf.yield %n0, %n1, %n2 : f32, f32, f32
    }
    %t = arith.addf %s#0, %s#1 : f32
    %u = arith.mulf %t, %s#2 : f32
    memref.store %u, %out[%j] : memref<?xf32>
    metate.yield
  }
  metate.return
}
