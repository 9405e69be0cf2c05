// RUN: metate-opt %s --pass-pipeline="builtin.module(metate.kernel(metate-whole-rows))" --split-input-file | FileCheck %s

// A member of two: the row goes to a local one, the cells are read before it and written behind it, in the turn after.
// CHECK-LABEL: metate.kernel @beside
// CHECK: %[[FIRST:.*]] = metate.read %arg0{{.*}} : vector<16xf32>
// CHECK: %[[LAST:.*]]:2 = scf.for %[[J:.*]] = {{.*}} iter_args(%[[WHOLE:.*]] = %[[FIRST]], %[[AT:.*]] = %{{.*}})
// CHECK: %[[CELLS:.*]] = metate.read %arg0[%[[ROW:.*]]] scope 0 : vector<16xf32>
// CHECK: %[[LOCAL:.*]] = memref.alloca() {alignment = 64 : i64} : memref<8xf32>
// CHECK: vector.shuffle %[[CELLS]], %[[CELLS]] [1, 3, 5, 7, 9, 11, 13, 15]
// CHECK: scf.for %[[K:.*]] =
// CHECK: memref.store %{{.*}}, %[[LOCAL]][%[[K]]]
// CHECK-NOT: metate.write
// CHECK: } {metate.nest, metate.row}
// CHECK: %[[NEW:.*]] = vector.load %[[LOCAL]]
// CHECK: %[[NEXT:.*]] = vector.shuffle %[[CELLS]], %[[NEW]] [0, 16, 2, 17, 4, 18, 6, 19, 8, 20, 10, 21, 12, 22, 14, 23]
// CHECK: metate.write %[[WHOLE]], %arg0[%[[AT]]] scope 0 : vector<16xf32>
// CHECK: scf.yield %[[NEXT]], %{{.*}}
// CHECK: metate.carries_rows
// CHECK: metate.write %[[LAST]]#0, %arg0[%[[LAST]]#1] scope 0 : vector<16xf32>
metate.kernel @beside(%b: !metate.block, %n: index, %f: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %c4 = arith.constant 4 : index
  metate.range (%i) = (%c0) to (%n) {
    scf.for %j = %c0 to %c8 step %c1 {
      %row = arith.muli %j, %c64 overflow<nsw> : index
      scf.for %k = %c0 to %c8 step %c1 {
        %cell = arith.muli %k, %c8 overflow<nsw> : index
        %o = arith.addi %row, %cell overflow<nsw> : index
        %at = arith.addi %o, %c4 overflow<nsw> : index
        metate.write %f, %b[%at] scope 0 {metate.member = array<i64: 2, 4, 8>, metate.only_writer} : f32
      } {metate.nest, metate.row}
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// -----

// Two of three members, one of which the turn reads before it stores it: one row, written once.
// CHECK-LABEL: metate.kernel @two
// CHECK: %[[CELLS:.*]] = metate.read %arg0{{.*}} : vector<24xf32>
// CHECK: scf.for
// CHECK: metate.read %arg0{{.*}} : f32
// CHECK-NOT: metate.write
// CHECK: } {metate.nest, metate.row}
// CHECK: vector.shuffle %[[CELLS]]
// CHECK: vector.shuffle
// CHECK: metate.write {{.*}} : vector<24xf32>
// CHECK-NOT: metate.write
metate.kernel @two(%b: !metate.block, %n: index, %f: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  metate.range (%i) = (%c0) to (%n) {
    scf.for %k = %c0 to %c8 step %c1 {
      %at = arith.muli %k, %c12 overflow<nsw> : index
      %next = arith.addi %at, %c4 overflow<nsw> : index
      metate.write %f, %b[%at] scope 0 {metate.member = array<i64: 2, 0, 12>, metate.only_writer} : f32
      %v = metate.read %b[%next] scope 0 {metate.member = array<i64: 2, 4, 12>} : f32
      %w = arith.addf %v, %f : f32
      metate.write %w, %b[%next] scope 0 {metate.member = array<i64: 2, 4, 12>, metate.only_writer} : f32
    } {metate.nest, metate.row}
    metate.yield
  }
  metate.return
}

// -----

// What another turn may write of the cells between is not written back; nor are cells of one number, which are rows as they are.
// CHECK-LABEL: metate.kernel @written_elsewhere
// CHECK-NOT: vector<
// CHECK-LABEL: metate.kernel @read_back
// CHECK-NOT: vector<
// CHECK-LABEL: metate.kernel @single
// CHECK-NOT: vector<
metate.kernel @written_elsewhere(%b: !metate.block, %n: index, %f: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  metate.range (%i) = (%c0) to (%n) {
    scf.for %k = %c0 to %c8 step %c1 {
      %at = arith.muli %k, %c8 overflow<nsw> : index
      %there = arith.muli %i, %c8 overflow<nsw> : index
      metate.write %f, %b[%at] scope 0 {metate.member = array<i64: 2, 0, 8>, metate.only_writer} : f32
      metate.write %f, %b[%there] scope 0 {metate.member = array<i64: 2, 4, 8>} : f32
    } {metate.nest, metate.row}
    metate.yield
  }
  metate.return
}

metate.kernel @read_back(%b: !metate.block, %y: !metate.block, %n: index, %f: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  metate.range (%i) = (%c0) to (%n) {
    scf.for %k = %c0 to %c8 step %c1 {
      %at = arith.muli %k, %c8 overflow<nsw> : index
      metate.write %f, %b[%at] scope 0 {metate.member = array<i64: 2, 0, 8>, metate.only_writer} : f32
      %v = metate.read %b[%at] scope 0 {metate.member = array<i64: 2, 0, 8>} : f32
      metate.write %v, %y[%at] scope 1 : f32
    } {metate.nest, metate.row}
    metate.yield
  }
  metate.return
}

metate.kernel @single(%b: !metate.block, %n: index, %f: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  metate.range (%i) = (%c0) to (%n) {
    scf.for %k = %c0 to %c8 step %c1 {
      %at = arith.muli %k, %c4 overflow<nsw> : index
      metate.write %f, %b[%at] scope 0 {metate.member = array<i64: 2, 0, 4>, metate.only_writer} : f32
    } {metate.nest, metate.row}
    metate.yield
  }
  metate.return
}
