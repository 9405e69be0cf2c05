// RUN: metate-opt %s --metate-outline-tasks --metate-map-tasks-cpu=across-iterations=true --split-input-file | FileCheck %s

// Cells of two f32: eight cells are loaded whole, and stored with the second members changed.
// CHECK-LABEL: @second_task0(
// CHECK: scf.for
// CHECK: %[[FROM:.*]] = metate.read {{.*}} : vector<16xf32>
// CHECK: llvm.shufflevector %[[FROM]], %[[FROM]] [0, 2, 4, 6, 8, 10, 12, 14]
// CHECK: %[[OLD:.*]] = metate.read {{.*}} : vector<16xf32>
// CHECK: %[[NEW:.*]] = llvm.shufflevector %{{.*}}, %{{.*}} [-1, 0, -1, 1, -1, 2, -1, 3, -1, 4, -1, 5, -1, 6, -1, 7]
// CHECK: %[[ALL:.*]] = llvm.shufflevector %[[OLD]], %[[NEW]] [0, 17, 2, 19, 4, 21, 6, 23, 8, 25, 10, 27, 12, 29, 14, 31]
// CHECK: metate.write %[[ALL]], {{.*}} : vector<16xf32>
// CHECK: scf.for
// CHECK: metate.write {{.*}} : f32
metate.kernel @second(%x: !metate.block, %n: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  metate.range (%i) = (%c0) to (%n) {
    %cell = arith.muli %i, %c8 overflow<nsw> : index
    %value = metate.read %x[%cell] scope 0 {metate.member = array<i64: 1, 0, 8>} : f32
    %sum = arith.addf %value, %value : f32
    %b = arith.addi %cell, %c4 overflow<nsw> : index
    metate.write %sum, %x[%b] scope 0 {metate.member = array<i64: 1, 4, 8>} : f32
    metate.yield
  }
  metate.return
}

// -----

// The first member is written too, of the next cell: it may not be written back. Of a place that nobody knows, and cells of more numbers than are
// taken apart, nothing is known either.
// CHECK-LABEL: @both_task0(
// CHECK-NOT: vector<
// CHECK-LABEL: @unknown_task0(
// CHECK-NOT: vector<
// CHECK-LABEL: @wide_task0(
// CHECK-NOT: vector<
metate.kernel @both(%x: !metate.block, %n: index, %f: f32) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  metate.range (%i) = (%c0) to (%n) {
    %cell = arith.muli %i, %c8 overflow<nsw> : index
    %next = arith.addi %cell, %c8 overflow<nsw> : index
    %b = arith.addi %cell, %c4 overflow<nsw> : index
    metate.write %f, %x[%next] scope 0 {metate.member = array<i64: 1, 0, 8>} : f32
    metate.write %f, %x[%b] scope 0 {metate.member = array<i64: 1, 4, 8>} : f32
    metate.yield
  }
  metate.return
}

metate.kernel @unknown(%x: !metate.block, %n: index, %f: f32) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  metate.range (%i) = (%c0) to (%n) {
    %cell = arith.muli %i, %c8 overflow<nsw> : index
    %row = arith.muli %i, %c4 overflow<nsw> : index
    metate.write %f, %x[%cell] scope 0 {metate.member = array<i64: 1, 0, 8>} : f32
    metate.write %f, %x[%row] scope 0 : f32
    metate.yield
  }
  metate.return
}

metate.kernel @wide(%x: !metate.block, %n: index, %f: f32) {
  %c0 = arith.constant 0 : index
  %c20 = arith.constant 20 : index
  metate.range (%i) = (%c0) to (%n) {
    %cell = arith.muli %i, %c20 overflow<nsw> : index
    metate.write %f, %x[%cell] scope 0 {metate.member = array<i64: 1, 0, 20>} : f32
    metate.yield
  }
  metate.return
}

// -----

// A cell beside the one that is written would wait for the store: it is stored a turn later, the first turn stores what is there.
// CHECK-LABEL: @beside_task0(
// CHECK: scf.if
// CHECK: %[[THERE:.*]] = metate.read {{.*}} : vector<16xf32>
// CHECK: %[[LAST:.*]]:2 = scf.for {{.*}} iter_args(%[[CELLS:.*]] = %[[THERE]], %[[AT:.*]] = %{{.*}}) -> (vector<16xf32>, index) {
// CHECK: %[[NEW:.*]] = llvm.shufflevector %{{.*}} [0, 17, 2,
// CHECK: metate.write %[[CELLS]], %{{.*}}[%[[AT]]]
// CHECK: scf.yield %[[NEW]], %{{.*}}
// CHECK: metate.write %[[LAST]]#0, %{{.*}}[%[[LAST]]#1]
metate.kernel @beside(%x: !metate.block, %n: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  metate.range (%i) = (%c0) to (%n) {
    %cell = arith.muli %i, %c8 overflow<nsw> : index
    %next = arith.addi %cell, %c8 overflow<nsw> : index
    %value = metate.read %x[%next] scope 0 {metate.member = array<i64: 1, 0, 8>} : f32
    %b = arith.addi %cell, %c4 overflow<nsw> : index
    metate.write %value, %x[%b] scope 0 {metate.member = array<i64: 1, 4, 8>} : f32
    metate.yield
  }
  metate.return
}

// -----

// A member at a place that memory says is gathered, and another one stored with its cell.
// CHECK-LABEL: @gathered_task0(
// CHECK: llvm.intr.masked.gather
// CHECK: metate.write {{.*}} : vector<16xf32>
metate.kernel @gathered(%x: !metate.block, %w: !metate.block, %n: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  metate.range (%i) = (%c0) to (%n) {
    %from = arith.muli %i, %c4 overflow<nsw> : index
    %number = metate.read %w[%from] scope 1 : i32
    %other = arith.index_cast %number : i32 to index
    %at = arith.muli %other, %c8 overflow<nsw> : index
    %value = metate.read %x[%at] scope 0 {metate.member = array<i64: 1, 0, 8>} : f32
    %a = arith.mulf %value, %value : f32
    %b = arith.mulf %a, %value : f32
    %c = arith.mulf %b, %value : f32
    %d = arith.mulf %c, %value : f32
    %e = arith.mulf %d, %value : f32
    %cell = arith.muli %i, %c8 overflow<nsw> : index
    %to = arith.addi %cell, %c4 overflow<nsw> : index
    metate.write %e, %x[%to] scope 0 {metate.member = array<i64: 1, 4, 8>} : f32
    metate.yield
  }
  metate.return
}
