// RUN: metate-opt %s --metate-stage-leaves="tile-bytes=65536 row-bytes=128 unrolled-parts=9" | FileCheck %s
// RUN: metate-opt %s --metate-stage-leaves="tile-bytes=65536 row-bytes=128 unrolled-parts=9" --metate-record-interfaces --metate-lower-layout --canonicalize --cse | FileCheck %s --check-prefix=LOW

!plane = !metate.tree<#metate.pointer<"ij", [16, 16], [#metate.dense<"ij", [8, 8], [#metate.place<"a" : f32>]>]>>
!pair = !metate.tree<#metate.pointer<"ij", [16, 16], [#metate.dense<"ij", [8, 8], [#metate.place<"a" : f32>, #metate.place<"b" : f32>]>]>>
!odd = !metate.tree<#metate.pointer<"ij", [16, 16], [#metate.dense<"ij", [6, 6], [#metate.place<"a" : f32>]>]>>

// Each load is a row, read before the loop along it; the own one stays. Halos say which neighbours a row may lie in.
// CHECK-LABEL: metate.kernel @cross
// CHECK: %[[BI:.*]] = arith.muli
// CHECK: %[[BJ:.*]] = arith.muli
// CHECK: scf.for %[[LI:.*]] =
// CHECK: %[[M:.*]] = arith.constant -1 : index
// CHECK: %[[ABOVE:.*]] = arith.addi %[[LI]], %[[M]]
// CHECK: %[[UP:.*]] = metate.stage_row %arg0["a"] [{{.*}}] at[%[[ABOVE]]] shift 0 halo [1] to [0] : <{{.*}}> -> memref<8xf32>
// CHECK: %[[LEFT:.*]] = metate.stage_row %arg0["a"] [{{.*}}] at[%{{.*}}] shift -1 halo [0] to [0]
// CHECK: %[[FAR:.*]] = metate.stage_row %arg0["a"] [{{.*}}] at[%{{.*}}] shift 2 halo [0] to [1]
// CHECK: scf.for %[[LJ:.*]] =
// CHECK: memref.load %[[UP]][%[[LJ]]]
// CHECK: memref.load %[[LEFT]][%[[LJ]]]
// CHECK: memref.load %[[FAR]][%[[LJ]]]
// CHECK: metate.load
// CHECK-NOT: metate.load
// Slots of neighbours are looked up before the nest; a row is read whole, lanes are taken of two rows and turned.
// LOW-LABEL: metate.kernel @metate_entry_cross
// LOW: metate.range
// LOW: scf.for %[[LI:.*]] =
// LOW: arith.cmpi slt
// LOW: arith.select
// LOW: %[[ROW:.*]] = metate.read {{.*}} : vector<8xf32>
// LOW: vector.store %[[ROW]], %[[UP:.*]][
// LOW: %[[OWN:.*]] = metate.read {{.*}} : vector<8xf32>
// LOW: %[[SIDE:.*]] = metate.read {{.*}} : vector<8xf32>
// LOW: %[[BOTH:.*]] = vector.shuffle %[[OWN]], %[[SIDE]] [0, 1, 2, 3, 4, 5, 6, 15]
// LOW: vector.shuffle %[[BOTH]], %[[BOTH]] [7, 0, 1, 2, 3, 4, 5, 6]
// LOW: arith.cmpi sge
// LOW: vector.shuffle %{{.*}}, %{{.*}} [8, 9, 2, 3, 4, 5, 6, 7]
// LOW: vector.shuffle %{{.*}}, %{{.*}} [2, 3, 4, 5, 6, 7, 0, 1]
// LOW: scf.for
// LOW: memref.load %[[UP]]
metate.kernel @cross(%f: !plane, %x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  metate.cells (%slot, %si, %sj) in %f["a@0"] : !plane {
    %bi = arith.muli %si, %c8 : index
    %bj = arith.muli %sj, %c8 : index
    scf.for %li = %c0 to %c8 step %c1 {
      %i = arith.addi %bi, %li : index
      scf.for %lj = %c0 to %c8 step %c1 {
        %j = arith.addi %bj, %lj : index
        %up = arith.subi %i, %c1 : index
        %down = arith.addi %i, %c1 : index
        %left = arith.subi %j, %c1 : index
        %far = arith.addi %j, %c2 : index
        %a = metate.load %f["a"][%up, %j] : !plane -> f32
        %b = metate.load %f["a"][%i, %left] : !plane -> f32
        %c = metate.load %f["a"][%down, %far] : !plane -> f32
        %own = metate.load %f["a"][%i, %j] : !plane -> f32
        %ab = arith.addf %a, %b : f32
        %abc = arith.addf %ab, %c : f32
        %sum = arith.addf %abc, %own : f32
        memref.store %sum, %x[%j] : memref<?xf32>
      } {metate.nest, metate.row}
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// Rows of two members by turns: eight cells are read as one vector, and taken apart.
// CHECK-LABEL: metate.kernel @by_turns
// CHECK: metate.stage_row %arg0["a"] {{.*}} shift 0 halo [1] to [0]
// LOW-LABEL: metate.kernel @metate_entry_by_turns
// LOW: %[[CELLS:.*]] = metate.read {{.*}} : vector<16xf32>
// LOW: %[[ROW:.*]] = vector.shuffle %[[CELLS]], %[[CELLS]] [0, 2, 4, 6, 8, 10, 12, 14]
// LOW: vector.store %[[ROW]]
metate.kernel @by_turns(%f: !pair, %x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  metate.cells (%slot, %si, %sj) in %f["a@0"] : !pair {
    %bi = arith.muli %si, %c8 : index
    %bj = arith.muli %sj, %c8 : index
    scf.for %li = %c0 to %c8 step %c1 {
      %i = arith.addi %bi, %li : index
      scf.for %lj = %c0 to %c8 step %c1 {
        %j = arith.addi %bj, %lj : index
        %up = arith.subi %i, %c1 : index
        %a = metate.load %f["a"][%up, %j] : !pair -> f32
        memref.store %a, %x[%j] : memref<?xf32>
      } {metate.nest, metate.row}
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// A member beside it is stored in some turns, one number at a time: a row that is read whole would wait for it. A tile, of whole cells too.
// CHECK-LABEL: metate.kernel @stored_beside
// CHECK-NOT: metate.stage_row
// CHECK: metate.stage_leaf {{.*}} besides
// LOW-LABEL: metate.kernel @metate_entry_stored_beside
// LOW: %[[CELLS:.*]] = metate.read {{.*}} : vector<16xf32>
// LOW: %[[ROW:.*]] = vector.shuffle %[[CELLS]], %[[CELLS]] [0, 2, 4, 6, 8, 10, 12, 14]
// LOW: vector.store %[[ROW]]
metate.kernel @stored_beside(%f: !pair, %limit: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  metate.cells (%slot, %si, %sj) in %f["a@0"] : !pair {
    %bi = arith.muli %si, %c8 : index
    %bj = arith.muli %sj, %c8 : index
    scf.for %li = %c0 to %c8 step %c1 {
      %i = arith.addi %bi, %li : index
      scf.for %lj = %c0 to %c8 step %c1 {
        %j = arith.addi %bj, %lj : index
        %up = arith.subi %i, %c1 : index
        %a = metate.load %f["a"][%up, %j] : !pair -> f32
        %less = arith.cmpf olt, %a, %limit : f32
        scf.if %less {
          metate.store %a, %f["b"][%i, %j] active : f32, !pair
        }
      } {metate.nest, metate.row}
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// Rows that are no vectors, and loads that go along another axis: tiles.
// CHECK-LABEL: metate.kernel @six
// CHECK-NOT: metate.stage_row
// CHECK: metate.stage_leaf
metate.kernel @six(%f: !odd, %x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  metate.cells (%slot, %si, %sj) in %f["a@0"] : !odd {
    %bi = arith.muli %si, %c6 : index
    %bj = arith.muli %sj, %c6 : index
    scf.for %li = %c0 to %c6 step %c1 {
      %i = arith.addi %bi, %li : index
      scf.for %lj = %c0 to %c6 step %c1 {
        %j = arith.addi %bj, %lj : index
        %up = arith.subi %i, %c1 : index
        %a = metate.load %f["a"][%up, %j] : !odd -> f32
        memref.store %a, %x[%j] : memref<?xf32>
      } {metate.nest, metate.row}
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// CHECK-LABEL: metate.kernel @turned
// CHECK-NOT: metate.stage_row
// CHECK: metate.stage_leaf
metate.kernel @turned(%f: !plane, %x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  metate.cells (%slot, %si, %sj) in %f["a@0"] : !plane {
    %bi = arith.muli %si, %c8 : index
    %bj = arith.muli %sj, %c8 : index
    scf.for %li = %c0 to %c8 step %c1 {
      %j = arith.addi %bj, %li : index
      scf.for %lj = %c0 to %c8 step %c1 {
        %i = arith.addi %bi, %lj : index
        %up = arith.subi %i, %c1 : index
        %a = metate.load %f["a"][%up, %j] : !plane -> f32
        memref.store %a, %x[%j] : memref<?xf32>
      } {metate.nest, metate.row}
    } {metate.nest}
    metate.yield
  }
  metate.return
}
