// RUN: metate-opt %s --pass-pipeline="builtin.module(metate.kernel(metate-join-quotients,canonicalize))" | FileCheck %s

// Floors of the program's 32-bit variable, in offsets of 64 bits: the variable.
// CHECK-LABEL: metate.kernel @floors
// CHECK: metate.range (%[[C:.*]]) =
// CHECK-NEXT: metate.write %{{.*}}, %{{.*}}[%[[C]]]
metate.kernel @floors(%x: !metate.block, %n: index, %b: i8) {
  %c0 = arith.constant 0 : index
  %k = arith.constant 3 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  metate.range (%c) = (%c0) to (%n) {
    %i = arith.index_cast %c : index to i32
    %d = arith.divsi %i, %three : i32
    %m = arith.remsi %i, %three : i32
    %sign = arith.cmpi slt, %m, %zero : i32
    %less = arith.subi %d, %one : i32
    %q = arith.select %sign, %less, %d : i32
    %more = arith.addi %m, %three : i32
    %r = arith.select %sign, %more, %m : i32
    %qi = arith.index_cast %q : i32 to index
    %ri = arith.index_cast %r : i32 to index
    %row = arith.muli %qi, %k overflow<nsw> : index
    %o = arith.addi %row, %ri overflow<nsw> : index
    metate.write %b, %x[%o] scope 0 : i8
    metate.yield
  }
  metate.return
}

// Another divisor, another number, and a remainder that alone is corrected: they stay.
// CHECK-LABEL: metate.kernel @others
// CHECK-COUNT-3: arith.addi {{.*}} overflow<nsw> : i32
metate.kernel @others(%x: !metate.block, %a: i32, %b: i32, %sign: i1) {
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  metate.serial {
    %q = arith.divsi %a, %three : i32
    %r = arith.remsi %a, %three : i32
    %half = arith.muli %q, %two overflow<nsw> : i32
    %x1 = arith.addi %half, %r overflow<nsw> : i32
    %row = arith.muli %q, %three overflow<nsw> : i32
    %rb = arith.remsi %b, %three : i32
    %x2 = arith.addi %row, %rb overflow<nsw> : i32
    %more = arith.addi %r, %three : i32
    %corrected = arith.select %sign, %more, %r : i32
    %x3 = arith.addi %row, %corrected overflow<nsw> : i32
    metate.write %x1, %x[%c0] scope 0 : i32
    metate.write %x2, %x[%c4] scope 0 : i32
    metate.write %x3, %x[%c8] scope 0 : i32
    metate.yield
  }
  metate.return
}
