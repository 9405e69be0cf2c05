// RUN: metate-opt %s --metate-scan-masks=split-leaves=false --metate-record-interfaces --metate-lower-layout --canonicalize --cse | FileCheck %s
// RUN: metate-opt %s --metate-scan-masks=split-leaves=false --metate-record-interfaces --metate-lower-layout --canonicalize --cse --metate-flatten-rows | FileCheck %s --check-prefix=ROW
// RUN: metate-opt %s --metate-scan-masks | FileCheck %s --check-prefix=SPLIT
// RUN: metate-opt %s --metate-scan-masks --metate-record-interfaces --metate-lower-layout --canonicalize --cse --metate-unswitch-nests --canonicalize --metate-flatten-rows | FileCheck %s --check-prefix=FULL

!leaf = !metate.tree<#metate.pointer<"ij", [16, 16], [#metate.bitmasked<"ij", [8, 8], [#metate.place<"a" : f32>]>]>>
!odd = !metate.tree<#metate.pointer<"ij", [16, 16], [#metate.bitmasked<"ij", [6, 6], [#metate.place<"a" : f32>]>]>>

// One word a row, before it; then a bit a cell. Nobody else writes the cells: without their bits they keep their values, and the row is
// straight.
// CHECK-LABEL: metate.kernel @metate_entry_rows
// CHECK: scf.for
// CHECK: %[[WORD:.*]] = metate.read {{.*}} : i32
// CHECK: %[[BITS:.*]] = arith.shrui %[[WORD]], %{{.*}} : i32
// CHECK: scf.for %[[K:.*]] =
// CHECK-NOT: : i32{{$}}
// CHECK: %[[N:.*]] = arith.index_castui %[[K]] : index to i32
// CHECK: %[[SHIFTED:.*]] = arith.shrui %[[BITS]], %[[N]] : i32
// CHECK: %[[ON:.*]] = arith.trunci %[[SHIFTED]] : i32 to i1
// CHECK: scf.if %[[ON]] {
// A full leaf asks for no bits: a nest of its own, without a condition.
// SPLIT-LABEL: metate.kernel @rows
// SPLIT: %[[ALL:.*]] = metate.is_leaf_full %arg0["a"] : <
// SPLIT: scf.for
// SPLIT: scf.if %[[ALL]] {
// SPLIT: metate.store
// SPLIT: } else {
// SPLIT: scf.if
// SPLIT: metate.store
// FULL-LABEL: metate.kernel @metate_entry_rows
// FULL: %[[WORD:.*]] = metate.read {{.*}} acquire : i64
// FULL: %[[MISSING:.*]] = arith.xori %[[WORD]], %c-1_i64 : i64
// FULL: %[[ALL:.*]] = arith.cmpi eq, %[[MISSING]], %{{.*}} : i64
// FULL: scf.if %[[ALL]] {
// FULL-NOT: arith.shrui
// FULL: arith.mulf
// FULL-NEXT: metate.write
// FULL: metate.straight
// FULL: } else {
// FULL: arith.shrui
// FULL: arith.select
// FULL: metate.straight
// ROW-LABEL: metate.kernel @metate_entry_rows
// ROW: arith.mulf
// ROW-NEXT: %[[OLD:.*]] = metate.read
// ROW-NEXT: arith.select %{{.*}}, %{{.*}}, %[[OLD]]
// ROW-NEXT: metate.write
// ROW-NOT: scf.if
// ROW: metate.straight
metate.kernel @rows(%f: !leaf) {
  metate.cells (%slot, %si, %sj) in %f["a@0"] : !leaf {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %n = arith.constant 8 : index
    %bi = arith.muli %si, %n : index
    %bj = arith.muli %sj, %n : index
    scf.for %li = %zero to %n step %one {
      %i = arith.addi %bi, %li : index
      scf.for %lj = %zero to %n step %one {
        %j = arith.addi %bj, %lj : index
        %on = metate.is_active %f["a"][%i, %j] {metate.own} : !leaf
        scf.if %on {
          %v = metate.load %f["a"][%i, %j] : !leaf -> f32
          %w = arith.mulf %v, %v : f32
          metate.store %w, %f["a"][%i, %j] active : f32, !leaf
        }
      } {metate.nest, metate.row}
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// What is read after a store stays behind it.
// ROW-LABEL: metate.kernel @metate_entry_twice
// ROW-NOT: metate.straight
// ROW: scf.if
// ROW: metate.write
// ROW: metate.read
// ROW: metate.write
metate.kernel @twice(%f: !leaf) {
  metate.cells (%slot, %si, %sj) in %f["a@0"] : !leaf {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %n = arith.constant 8 : index
    %bi = arith.muli %si, %n : index
    %bj = arith.muli %sj, %n : index
    scf.for %li = %zero to %n step %one {
      %i = arith.addi %bi, %li : index
      scf.for %lj = %zero to %n step %one {
        %j = arith.addi %bj, %lj : index
        %on = metate.is_active %f["a"][%i, %j] {metate.own} : !leaf
        scf.if %on {
          %v = metate.load %f["a"][%i, %j] : !leaf -> f32
          metate.store %v, %f["a"][%j, %i] active : f32, !leaf
          %w = metate.load %f["a"][%i, %j] : !leaf -> f32
          metate.store %w, %f["a"][%i, %j] active : f32, !leaf
        }
      } {metate.nest, metate.row}
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// Rows that do not divide the words are tested cell by cell.
// CHECK-LABEL: metate.kernel @metate_entry_odd
// CHECK: scf.for
// CHECK: scf.for
// CHECK: arith.shli
// CHECK: metate.read {{.*}} : i32
metate.kernel @odd(%f: !odd) {
  metate.cells (%slot, %si, %sj) in %f["a@0"] : !odd {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %n = arith.constant 6 : index
    %bi = arith.muli %si, %n : index
    %bj = arith.muli %sj, %n : index
    scf.for %li = %zero to %n step %one {
      %i = arith.addi %bi, %li : index
      scf.for %lj = %zero to %n step %one {
        %j = arith.addi %bj, %lj : index
        %on = metate.is_active %f["a"][%i, %j] {metate.own} : !odd
        scf.if %on {
          %v = metate.load %f["a"][%i, %j] : !odd -> f32
          metate.store %v, %f["a"][%i, %j] active : f32, !odd
        }
      } {metate.nest, metate.row}
    } {metate.nest}
    metate.yield
  }
  metate.return
}
