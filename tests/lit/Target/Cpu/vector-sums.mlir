// RUN: metate-opt %s --metate-vector-sums --split-input-file | FileCheck %s

// Four numbers side by side are read as one vector. Sums may be taken in any order: four turns are one, with a vector each, and what is left
// goes on from their sum.
// CHECK-LABEL: llvm.func @sums
// CHECK-SAME: metate-lanes
// CHECK: %[[FOUR:.*]]:4 = scf.for {{.*}} -> (vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>) {
// CHECK-COUNT-4: metate.read {{.*}} : vector<4xf32>
// CHECK: %[[LOW:.*]] = arith.addf %[[FOUR]]#0, %[[FOUR]]#1 : vector<4xf32>
// CHECK: %[[HIGH:.*]] = arith.addf %[[FOUR]]#2, %[[FOUR]]#3 : vector<4xf32>
// CHECK: %[[ALL:.*]] = arith.addf %[[LOW]], %[[HIGH]]
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[ALL]]) -> (vector<4xf32>) {
// CHECK: metate.read {{.*}} : vector<4xf32>
llvm.func @sums(%p: !llvm.ptr, %count: i64) -> vector<4xf32> {
  %x = builtin.unrealized_conversion_cast %p : !llvm.ptr to !metate.block
  %n = builtin.unrealized_conversion_cast %count : i64 to index
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %c96 = arith.constant 96 : index
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%old = %zero) -> vector<4xf32> {
    %a = arith.muli %i, %c96 overflow<nsw> : index
    %b = arith.addi %a, %c4 overflow<nsw> : index
    %c = arith.addi %a, %c8 overflow<nsw> : index
    %d = arith.addi %a, %c12 overflow<nsw> : index
    %va = metate.read %x[%a] scope 0 : f32
    %vb = metate.read %x[%b] scope 0 : f32
    %vc = metate.read %x[%c] scope 0 : f32
    %vd = metate.read %x[%d] scope 0 : f32
    %v = vector.from_elements %va, %vb, %vc, %vd : vector<4xf32>
    %new = arith.addf %old, %v fastmath<reassoc> : vector<4xf32>
    scf.yield %new : vector<4xf32>
  }
  llvm.return %s : vector<4xf32>
}

// -----

// In their order: one vector. A matrix of f64 is a vector of its rows.
// CHECK-LABEL: llvm.func @in_order
// CHECK: vector.to_elements
// CHECK: %[[START:.*]] = vector.from_elements {{.*}} : vector<4xf64>
// CHECK: scf.for {{.*}} iter_args(%[[OLD:.*]] = %[[START]]) -> (vector<4xf64>) {
// CHECK: %[[ROW:.*]] = metate.read {{.*}} : vector<4xf64>
// CHECK: arith.addf %[[OLD]], %[[ROW]] : vector<4xf64>
// CHECK: vector.from_elements {{.*}} : vector<2x2xf64>
// CHECK-NOT: scf.for
llvm.func @in_order(%p: !llvm.ptr, %count: i64, %start: f64) -> f64 {
  %x = builtin.unrealized_conversion_cast %p : !llvm.ptr to !metate.block
  %n = builtin.unrealized_conversion_cast %count : i64 to index
  %first = vector.broadcast %start : f64 to vector<2x2xf64>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %c32 = arith.constant 32 : index
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%old = %first) -> vector<2x2xf64> {
    %a = arith.muli %i, %c32 overflow<nsw> : index
    %b = arith.addi %a, %c8 overflow<nsw> : index
    %c = arith.addi %a, %c16 overflow<nsw> : index
    %d = arith.addi %a, %c24 overflow<nsw> : index
    %va = metate.read %x[%a] scope 0 : f64
    %vb = metate.read %x[%b] scope 0 : f64
    %vc = metate.read %x[%c] scope 0 : f64
    %vd = metate.read %x[%d] scope 0 : f64
    %v = vector.from_elements %va, %vb, %vc, %vd : vector<2x2xf64>
    %new = arith.addf %old, %v : vector<2x2xf64>
    scf.yield %new : vector<2x2xf64>
  }
  %r = vector.extract %s[1, 0] : f64 from vector<2x2xf64>
  llvm.return %r : f64
}

// -----

// Not side by side; and another loop computes vectors, of which LLVM is to make vectors of iterations.
// CHECK-LABEL: llvm.func @apart
// CHECK-NOT: vector<4xf32>, vector<4xf32>
// CHECK-LABEL: llvm.func @others
// CHECK-NOT: metate.read {{.*}} : vector
// CHECK: llvm.return
llvm.func @apart(%p: !llvm.ptr, %count: i64) -> vector<4xf32> {
  %x = builtin.unrealized_conversion_cast %p : !llvm.ptr to !metate.block
  %n = builtin.unrealized_conversion_cast %count : i64 to index
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%old = %zero) -> vector<4xf32> {
    %a = arith.muli %i, %c16 overflow<nsw> : index
    %b = arith.addi %a, %c8 overflow<nsw> : index
    %c = arith.addi %a, %c16 overflow<nsw> : index
    %d = arith.addi %a, %c24 overflow<nsw> : index
    %va = metate.read %x[%a] scope 0 : f32
    %vb = metate.read %x[%b] scope 0 : f32
    %vc = metate.read %x[%c] scope 0 : f32
    %vd = metate.read %x[%d] scope 0 : f32
    %v = vector.from_elements %va, %vb, %vc, %vd : vector<4xf32>
    %new = arith.addf %old, %v fastmath<reassoc> : vector<4xf32>
    scf.yield %new : vector<4xf32>
  }
  llvm.return %s : vector<4xf32>
}

llvm.func @others(%p: !llvm.ptr, %count: i64) -> vector<2xf64> {
  %x = builtin.unrealized_conversion_cast %p : !llvm.ptr to !metate.block
  %n = builtin.unrealized_conversion_cast %count : i64 to index
  %zero = arith.constant dense<0.0> : vector<2xf64>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%old = %zero) -> vector<2xf64> {
    %a = arith.muli %i, %c16 overflow<nsw> : index
    %b = arith.addi %a, %c8 overflow<nsw> : index
    %va = metate.read %x[%a] scope 0 : f64
    %vb = metate.read %x[%b] scope 0 : f64
    %v = vector.from_elements %va, %vb : vector<2xf64>
    %new = arith.addf %old, %v fastmath<reassoc> : vector<2xf64>
    scf.yield %new : vector<2xf64>
  }
  scf.for %i = %c0 to %n step %c1 {
    %a = arith.muli %i, %c16 overflow<nsw> : index
    %va = metate.read %x[%a] scope 0 : f64
    %v = vector.broadcast %va : f64 to vector<2xf64>
    %w = arith.addf %v, %s : vector<2xf64>
    %r = vector.extract %w[0] : f64 from vector<2xf64>
    metate.write %r, %x[%a] scope 0 : f64
  }
  llvm.return %s : vector<2xf64>
}
