// RUN: metate-opt %s --metate-stage-leaves="tile-bytes=65536 row-bytes=128 unrolled-parts=9 rows=false" | FileCheck %s

!plane = !metate.tree<#metate.pointer<"ij", [16, 16], [#metate.dense<"ij", [8, 8], [#metate.place<"a" : f32>]>]>>
!t = !metate.tree<#metate.pointer<"i", [16], [#metate.dense<"i", [8], [#metate.place<"a" : f32>]>]>>

// CHECK-LABEL: metate.kernel @stencil
// CHECK: %[[TILE:.*]] = metate.stage_leaf %arg0["a"] [%{{.*}}] halo [4] to [4] : {{.*}} -> memref<16xf32>
// CHECK: scf.for
// CHECK-NOT: metate.load
// CHECK: memref.load %[[TILE]]
// CHECK: memref.load %[[TILE]]
metate.kernel @stencil(%f: !t, %x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  metate.cells (%slot, %s) in %f["a@0"] : !t {
    %base = arith.muli %s, %c8 : index
    scf.for %l = %c0 to %c8 step %c1 {
      %i = arith.addi %base, %l : index
      %right = arith.addi %i, %c1 : index
      %left = arith.subi %i, %c2 : index
      %a = metate.load %f["a"][%right] : !t -> f32
      %b = metate.load %f["a"][%left] : !t -> f32
      %sum = arith.addf %a, %b : f32
      memref.store %sum, %x[%i] : memref<?xf32>
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// A member that the nest writes at the own cell: neighbours from the tile, the own cell where it is written.
// CHECK-LABEL: metate.kernel @own_written
// CHECK: metate.stage_leaf %arg0["a"] [%{{.*}}] halo [0] to [4]
// CHECK: memref.load
// CHECK: metate.load %arg0["a"]
metate.kernel @own_written(%f: !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  metate.cells (%slot, %s) in %f["a@0"] : !t {
    %base = arith.muli %s, %c8 : index
    scf.for %l = %c0 to %c8 step %c1 {
      %i = arith.addi %base, %l : index
      %right = arith.addi %i, %c1 : index
      %a = metate.load %f["a"][%right] : !t -> f32
      %own = metate.load %f["a"][%i] : !t -> f32
      %sum = arith.addf %a, %own : f32
      metate.store %sum, %f["a"][%i] active : f32, !t
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// A member that the nest writes elsewhere is read in place.
// CHECK-LABEL: metate.kernel @in_place
// CHECK-NOT: metate.stage_leaf
// CHECK: metate.load
metate.kernel @in_place(%f: !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  metate.cells (%slot, %s) in %f["a@0"] : !t {
    %base = arith.muli %s, %c8 : index
    scf.for %l = %c0 to %c8 step %c1 {
      %i = arith.addi %base, %l : index
      %right = arith.addi %i, %c1 : index
      %a = metate.load %f["a"][%right] : !t -> f32
      metate.store %a, %f["a"][%right] active : f32, !t
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// Overlapping arguments: writing one of this type may write the other.
// CHECK-LABEL: metate.kernel @overlapping
// CHECK-NOT: metate.stage_leaf
metate.kernel @overlapping(%f: !t, %g: !t) attributes {may_alias} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  metate.cells (%slot, %s) in %f["a@0"] : !t {
    %base = arith.muli %s, %c8 : index
    scf.for %l = %c0 to %c8 step %c1 {
      %i = arith.addi %base, %l : index
      %right = arith.addi %i, %c1 : index
      %a = metate.load %f["a"][%right] : !t -> f32
      metate.store %a, %g["a"][%i] active : f32, !t
    } {metate.nest}
    metate.yield
  }
  metate.return
}

!two = !metate.tree<#metate.pointer<"i", [16], [#metate.dense<"i", [8], [#metate.place<"a" : f32>]>, #metate.dense<"i", [8], [#metate.place<"b" : f32>], name = "second">]>>

// Another member of the tree is written: other bytes.
// CHECK-LABEL: metate.kernel @other_member
// CHECK: metate.stage_leaf %arg0["a"]
// CHECK: metate.store %{{.*}}, %arg0["b"]
metate.kernel @other_member(%f: !two) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  metate.cells (%slot, %s) in %f["a@0"] : !two {
    %base = arith.muli %s, %c8 : index
    scf.for %l = %c0 to %c8 step %c1 {
      %i = arith.addi %base, %l : index
      %right = arith.addi %i, %c1 : index
      %a = metate.load %f["a"][%right] : !two -> f32
      metate.store %a, %f["b"][%i] active : f32, !two
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// The same member of what may be the same tree is not staged, whatever else is written.
// CHECK-LABEL: metate.kernel @both_members
// CHECK-NOT: metate.stage_leaf
metate.kernel @both_members(%f: !two, %g: !two) attributes {may_alias} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  metate.cells (%slot, %s) in %f["a@0"] : !two {
    %base = arith.muli %s, %c8 : index
    scf.for %l = %c0 to %c8 step %c1 {
      %i = arith.addi %base, %l : index
      %right = arith.addi %i, %c1 : index
      %a = metate.load %f["a"][%right] : !two -> f32
      metate.store %a, %f["b"][%i] active : f32, !two
      metate.store %a, %g["a"][%i] active : f32, !two
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// Of eight neighbours the five points reach four: corners are left out.
// CHECK-LABEL: metate.kernel @cross
// CHECK: metate.stage_leaf %arg0["a"] [%{{.*}}, %{{.*}}] halo [1, 4] to [0, 4] parts [-1, 0, 0, -1, 0, 0, 0, 1]
metate.kernel @cross(%f: !plane, %x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  metate.cells (%slot, %si, %sj) in %f["a@0"] : !plane {
    %bi = arith.muli %si, %c8 : index
    %bj = arith.muli %sj, %c8 : index
    scf.for %li = %c0 to %c8 step %c1 {
      %i = arith.addi %bi, %li : index
      scf.for %lj = %c0 to %c8 step %c1 {
        %j = arith.addi %bj, %lj : index
        %up = arith.subi %i, %c1 : index
        %left = arith.subi %j, %c1 : index
        %right = arith.addi %j, %c1 : index
        %a = metate.load %f["a"][%up, %j] : !plane -> f32
        %b = metate.load %f["a"][%i, %left] : !plane -> f32
        %c = metate.load %f["a"][%i, %right] : !plane -> f32
        %ab = arith.addf %a, %b : f32
        %abc = arith.addf %ab, %c : f32
        memref.store %abc, %x[%j] : memref<?xf32>
      } {metate.nest}
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// Half of the cells read their neighbours: a tile pays.
// CHECK-LABEL: metate.kernel @colour
// CHECK: metate.stage_leaf
// CHECK: scf.if
// CHECK-NOT: metate.load
// CHECK: memref.load
metate.kernel @colour(%f: !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  metate.cells (%slot, %s) in %f["a@0"] : !t {
    %base = arith.muli %s, %c8 : index
    scf.for %l = %c0 to %c8 step %c1 {
      %i = arith.addi %base, %l : index
      %right = arith.addi %i, %c1 : index
      %bit = arith.andi %i, %c1 : index
      %red = arith.cmpi eq, %bit, %c0 : index
      scf.if %red {
        %a = metate.load %f["a"][%right] : !t -> f32
        metate.store %a, %f["a"][%i] active : f32, !t
      }
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// One that few may read is read where it is.
// CHECK-LABEL: metate.kernel @some
// CHECK-NOT: metate.stage_leaf
metate.kernel @some(%f: !t, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  metate.cells (%slot, %s) in %f["a@0"] : !t {
    %base = arith.muli %s, %c8 : index
    scf.for %l = %c0 to %c8 step %c1 {
      %i = arith.addi %base, %l : index
      %right = arith.addi %i, %c1 : index
      %rare = arith.cmpi eq, %i, %n : index
      scf.if %rare {
        %a = metate.load %f["a"][%right] : !t -> f32
        metate.store %a, %f["a"][%i] active : f32, !t
      }
    } {metate.nest}
    metate.yield
  }
  metate.return
}
