// RUN: metate-opt %s --metate-outline-tasks --metate-map-tasks-cpu=across-iterations=true --split-input-file | FileCheck %s

// Cells of nine f32, five of which are read and written: of eight cells four numbers each are one load, and become columns in two rounds of
// shuffles; the fifth number is read alone. Nothing else is touched.
// CHECK-LABEL: @five_task0(
// CHECK: scf.for
// CHECK: %[[R0:.*]] = metate.read {{.*}} : vector<4xf32>
// CHECK: %[[R4:.*]] = metate.read {{.*}} : vector<4xf32>
// CHECK: %[[ROW0:.*]] = llvm.shufflevector %[[R0]], %[[R4]] [0, 1, 2, 3, 4, 5, 6, 7]
// CHECK-COUNT-6: metate.read {{.*}} : vector<4xf32>
// CHECK: %[[A:.*]] = llvm.shufflevector %[[ROW0]], %{{.*}} [0, 8, 1, 9, 4, 12, 5, 13]
// CHECK: llvm.shufflevector %[[ROW0]], %{{.*}} [2, 10, 3, 11, 6, 14, 7, 15]
// CHECK: %[[COLUMN:.*]] = llvm.shufflevector %[[A]], %{{.*}} [0, 8, 1, 9, 4, 12, 5, 13]
// CHECK-COUNT-8: metate.read {{.*}} : f32
// CHECK: arith.mulf %[[COLUMN]], %[[COLUMN]]
// CHECK-COUNT-8: metate.write {{.*}} : vector<4xf32>
// CHECK-COUNT-8: metate.write {{.*}} : f32
// CHECK-NOT: vector<16xf32>
// CHECK: scf.for
metate.kernel @five(%x: !metate.block, %z: !metate.block, %n: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %c16 = arith.constant 16 : index
  %c36 = arith.constant 36 : index
  metate.range (%i) = (%c0) to (%n) {
    %at = arith.muli %i, %c36 overflow<nsw> : index
    %at1 = arith.addi %at, %c4 overflow<nsw> : index
    %at2 = arith.addi %at, %c8 overflow<nsw> : index
    %at3 = arith.addi %at, %c12 overflow<nsw> : index
    %at4 = arith.addi %at, %c16 overflow<nsw> : index
    %a = metate.read %x[%at] scope 0 : f32
    %b = metate.read %x[%at1] scope 0 : f32
    %c = metate.read %x[%at2] scope 0 : f32
    %d = metate.read %x[%at3] scope 0 : f32
    %e = metate.read %x[%at4] scope 0 : f32
    %aa = arith.mulf %a, %a : f32
    %bb = arith.mulf %b, %a : f32
    %cc = arith.mulf %c, %b : f32
    %dd = arith.mulf %d, %c : f32
    %ee = arith.mulf %e, %d : f32
    metate.write %aa, %z[%at] scope 1 : f32
    metate.write %bb, %z[%at1] scope 1 : f32
    metate.write %cc, %z[%at2] scope 1 : f32
    metate.write %dd, %z[%at3] scope 1 : f32
    metate.write %ee, %z[%at4] scope 1 : f32
    metate.yield
  }
  metate.return
}

// -----

// A number that was just written is read where it stands, not before: no window of reads goes over the write.
// CHECK-LABEL: @between_task0(
// CHECK-NOT: metate.read {{.*}} : vector<4xf32>
// Of cells that follow each other and have few numbers LLVM makes vectors itself.
// CHECK-LABEL: @few_task0(
// CHECK-NOT: vector<4xf32>
metate.kernel @between(%x: !metate.block, %z: !metate.block, %n: index, %f: f32) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %c36 = arith.constant 36 : index
  metate.range (%i) = (%c0) to (%n) {
    %at = arith.muli %i, %c36 overflow<nsw> : index
    %at1 = arith.addi %at, %c4 overflow<nsw> : index
    %at2 = arith.addi %at, %c8 overflow<nsw> : index
    %at3 = arith.addi %at, %c12 overflow<nsw> : index
    %a = metate.read %x[%at] scope 0 : f32
    %b = metate.read %x[%at1] scope 0 : f32
    metate.write %f, %x[%at2] scope 0 : f32
    %c = metate.read %x[%at2] scope 0 : f32
    %d = metate.read %x[%at3] scope 0 : f32
    %ab = arith.mulf %a, %b : f32
    %abc = arith.mulf %ab, %c : f32
    %abcd = arith.mulf %abc, %d : f32
    metate.write %abcd, %z[%at] scope 1 : f32
    metate.yield
  }
  metate.return
}

metate.kernel @few(%x: !metate.block, %z: !metate.block, %n: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %c16 = arith.constant 16 : index
  %c20 = arith.constant 20 : index
  metate.range (%i) = (%c0) to (%n) {
    %at = arith.muli %i, %c20 overflow<nsw> : index
    %at1 = arith.addi %at, %c4 overflow<nsw> : index
    %at2 = arith.addi %at, %c8 overflow<nsw> : index
    %at3 = arith.addi %at, %c12 overflow<nsw> : index
    %at4 = arith.addi %at, %c16 overflow<nsw> : index
    %to = arith.muli %i, %c4 overflow<nsw> : index
    %a = metate.read %x[%at] scope 0 : f32
    %b = metate.read %x[%at1] scope 0 : f32
    %c = metate.read %x[%at2] scope 0 : f32
    %d = metate.read %x[%at3] scope 0 : f32
    %e = metate.read %x[%at4] scope 0 : f32
    %ab = arith.mulf %a, %b : f32
    %abc = arith.mulf %ab, %c : f32
    %abcd = arith.mulf %abc, %d : f32
    %abcde = arith.mulf %abcd, %e : f32
    metate.write %abcde, %z[%to] scope 1 : f32
    metate.yield
  }
  metate.return
}

// -----

// Cells of a tree that hold nothing but members (12 bytes, of which the first two numbers are read) at a place that memory says: a window reads the
// third one too, which is the tree's. Of an array (no mark) nothing is known of what lies between.
// CHECK-LABEL: @gaps_task0(
// CHECK-COUNT-8: metate.read {{.*}} : vector<4xf32>
// CHECK: llvm.shufflevector
// CHECK-LABEL: @array_task0(
// CHECK-NOT: vector<4xf32>
metate.kernel @gaps(%x: !metate.block, %w: !metate.block, %z: !metate.block, %n: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c12 = arith.constant 12 : index
  %c16 = arith.constant 16 : index
  metate.range (%i) = (%c0) to (%n) {
    %to = arith.muli %i, %c4 overflow<nsw> : index
    %number = metate.read %w[%to] scope 1 : i32
    %cell = arith.index_cast %number : i32 to index
    %at = arith.muli %cell, %c12 overflow<nsw> : index
    %at1 = arith.addi %at, %c4 overflow<nsw> : index
    %at3 = arith.addi %at, %c12 overflow<nsw> : index
    %at4 = arith.addi %at, %c16 overflow<nsw> : index
    %a = metate.read %x[%at] scope 0 {metate.member = array<i64: 1, 0, 12>} : f32
    %b = metate.read %x[%at1] scope 0 {metate.member = array<i64: 1, 4, 12>} : f32
    %c = metate.read %x[%at3] scope 0 {metate.member = array<i64: 1, 0, 12>} : f32
    %d = metate.read %x[%at4] scope 0 {metate.member = array<i64: 1, 4, 12>} : f32
    %ab = arith.mulf %a, %b : f32
    %cd = arith.mulf %c, %d : f32
    %e = arith.mulf %ab, %cd : f32
    %f = arith.mulf %e, %ab : f32
    %g = arith.mulf %f, %cd : f32
    %h = arith.mulf %g, %a : f32
    %k = arith.mulf %h, %b : f32
    metate.write %k, %z[%to] scope 2 : f32
    metate.yield
  }
  metate.return
}

metate.kernel @array(%x: !metate.block, %w: !metate.block, %z: !metate.block, %n: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c12 = arith.constant 12 : index
  %c16 = arith.constant 16 : index
  metate.range (%i) = (%c0) to (%n) {
    %to = arith.muli %i, %c4 overflow<nsw> : index
    %number = metate.read %w[%to] scope 1 : i32
    %cell = arith.index_cast %number : i32 to index
    %at = arith.muli %cell, %c12 overflow<nsw> : index
    %at1 = arith.addi %at, %c4 overflow<nsw> : index
    %at3 = arith.addi %at, %c12 overflow<nsw> : index
    %at4 = arith.addi %at, %c16 overflow<nsw> : index
    %a = metate.read %x[%at] scope 0 : f32
    %b = metate.read %x[%at1] scope 0 : f32
    %c = metate.read %x[%at3] scope 0 : f32
    %d = metate.read %x[%at4] scope 0 : f32
    %ab = arith.mulf %a, %b : f32
    %cd = arith.mulf %c, %d : f32
    %e = arith.mulf %ab, %cd : f32
    metate.write %e, %z[%to] scope 2 : f32
    metate.yield
  }
  metate.return
}
