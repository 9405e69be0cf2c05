// RUN: metate-opt %s --pass-pipeline='builtin.module(metate.kernel(metate-insert-checks))' | FileCheck %s

!hash = !metate.tree<#metate.hash<"i", [#metate.dense<"i", [4], [#metate.place<"a" : f32>]>]>>
!dense = !metate.tree<#metate.dense<"i", [8], [#metate.place<"a" : f32>]>>
!sparse = !metate.tree<#metate.pointer<"ij", [4, 4], [#metate.dense<"ij", [8, 8], [#metate.place<"v" : vector<3xf32>>]>], name = "blocks">>

// The extents of an array are asked for; a constant needs them too.
// CHECK-LABEL: metate.kernel @array(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x4xf32> {metate.name = "x"}, %[[I:[a-z0-9]+]]: index
// CHECK-SAME: attributes {debug}
// CHECK: %[[N:.*]] = memref.dim %[[X]], %{{.*}}
// CHECK: %[[IN0:.*]] = arith.cmpi ult, %[[I]], %[[N]]
// CHECK: %[[FOUR:.*]] = arith.constant 4 : index
// CHECK: %[[IN1:.*]] = arith.cmpi ult, %[[I]], %[[FOUR]]
// CHECK: %[[IN:.*]] = arith.andi %[[IN0]], %[[IN1]]
// CHECK: metate.check out_of_range %[[IN]], "x" index(%[[I]], %[[I]]) shape(%[[N]], %[[FOUR]])
// CHECK-NEXT: memref.load %[[X]]
// The second index is known to be inside.
// CHECK: %[[IN2:.*]] = arith.cmpi ult, %[[I]], %{{.*}}
// CHECK: metate.check out_of_range %[[IN2]], "x"
// CHECK-NEXT: memref.store
metate.kernel @array(%x: memref<?x4xf32> {metate.name = "x"}, %i: index) {
  %c2 = arith.constant 2 : index
  %v = memref.load %x[%i, %i] : memref<?x4xf32>
  memref.store %v, %x[%i, %c2] : memref<?x4xf32>
  metate.return
}

// Nothing to check: the loop's bounds are the array's, or the tree's.
// CHECK-LABEL: metate.kernel @loops
// CHECK-NOT: metate.check
// CHECK: scf.for
// CHECK-NEXT: metate.poll
// CHECK-NOT: metate.check
// CHECK: metate.return
metate.kernel @loops(%x: memref<?xf32>, %f: !dense, %s: !sparse) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    %v = memref.load %x[%i] : memref<?xf32>
    scf.for %k = %c1 to %c8 step %c1 {
      metate.store %v, %f["a"][%k] : f32, !dense
    }
    metate.yield
  }
  metate.for_each (%i, %j) in %s["v"] : !sparse {
    %v = metate.load %s["v"][%i, %j] component [%c0] : !sparse -> f32
    metate.yield
  }
  metate.return
}

// Bounds that say something else: another array's extent, a lower bound below zero, one more.
// CHECK-LABEL: metate.kernel @other_bounds
// CHECK-COUNT-4: metate.check out_of_range
// CHECK-NOT: metate.check
metate.kernel @other_bounds(%x: memref<?xf32>, %y: memref<?xf32>, %f: !dense) {
  %c0 = arith.constant 0 : index
  %m1 = arith.constant -1 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %v = arith.constant 1.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    memref.store %v, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.range (%i) = (%m1) to (%n) {
    memref.store %v, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.range (%i) = (%c0) to (%c9) {
    metate.store %v, %f["a"][%i] : f32, !dense
    %j = arith.addi %i, %c1 : index
    metate.store %v, %f["a"][%j] : f32, !dense
    metate.yield
  }
  metate.return
}

// Coordinates and components are one index; an activation is checked behind it.
// CHECK-LABEL: metate.kernel @cells
// CHECK: metate.check out_of_range %{{.*}}, "f.v" index(%[[I:.*]], %{{.*}}, %[[C:.*]]) shape(
// CHECK-NEXT: metate.atomic addf
// CHECK: metate.check out_of_range %{{.*}}, "f.blocks"
// CHECK-NEXT: metate.is_active
// CHECK: metate.check out_of_range
// CHECK-NEXT: %[[OK:.*]] = metate.activate %{{.*}}["v"] [%{{.*}}, %{{.*}}] strict
// CHECK-NEXT: metate.check capacity %[[OK]], "f.v" index(
metate.kernel @cells(%f: !sparse {metate.name = "f"}, %i: index, %j: index, %c: index, %v: f32) {
  %o = metate.atomic addf %v, %f["v"][%i, %j] component [%c] : f32, !sparse
  %on = metate.is_active %f["blocks"][%i, %j] : !sparse
  %ok = metate.activate %f["v"][%i, %j] : !sparse
  metate.return
}

// CHECK-LABEL: metate.kernel @divisions
// CHECK: %[[Z:.*]] = arith.cmpi eq, %{{.*}}, %{{.*}} {metate.divisor} : i32
// CHECK: %[[NZ:.*]] = arith.xori %[[Z]]
// CHECK-NEXT: metate.check division_by_zero %[[NZ]], ""
// CHECK: arith.cmpi eq, %{{.*}}, %{{.*}} {metate.divisor} : vector<2xi32>
// CHECK: vector.to_elements
// CHECK: arith.ori
// CHECK: metate.check division_by_zero
// CHECK-NOT: metate.check
// CHECK: scf.while
// CHECK: do
// CHECK-NEXT: metate.poll
metate.kernel @divisions(%a: i32, %v: vector<2xi32>, %on: i1) {
  %zero = arith.constant 0 : i32
  %zeros = arith.constant dense<0> : vector<2xi32>
  %p = arith.cmpi eq, %a, %zero {metate.divisor} : i32
  %q = arith.cmpi eq, %v, %zeros {metate.divisor} : vector<2xi32>
  %r = arith.cmpi eq, %a, %zero : i32
  scf.while : () -> () {
    scf.condition(%on)
  } do {
    scf.yield
  }
  metate.return
}

// An index of a local vector is compared with each position; the first comparison carries the mark.
// CHECK-LABEL: metate.kernel @components
// CHECK: %[[AT:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: metate.check out_of_range %{{.*}}, "component" index(%[[AT]]) shape(%{{.*}})
// CHECK-NEXT: arith.cmpi eq, %{{.*}} {metate.component = 3 : i64} : i32
// CHECK: arith.index_castui %{{.*}} : i8 to index
// CHECK: metate.check out_of_range
metate.kernel @components(%i: i32, %u: i8) {
  %zero = arith.constant 0 : i32
  %none = arith.constant 0 : i8
  %p = arith.cmpi eq, %i, %zero {metate.component = 3 : i64} : i32
  %q = arith.cmpi eq, %u, %none {metate.unsigned_component = 2 : i64} : i8
  metate.return
}

// What users call a member, and their indices: the coordinate plus an offset.
!named = !metate.tree<#metate.dense<"i", [4], [#metate.place<"v0" : f32>]>>
// CHECK-LABEL: metate.kernel @names
// CHECK-SAME: %[[F:.*]]: {{.*}}, %[[I:.*]]: index
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[I]]
// CHECK: %[[OFFSET:.*]] = arith.constant -2 : index
// CHECK: %[[SHOWN:.*]] = arith.addi %[[I]], %[[OFFSET]] : index
// CHECK: metate.check out_of_range %[[IN]], "heat" index(%[[SHOWN]]) shape(
metate.kernel @names(%f: !named {metate.name = "root0", metate.members = {v0 = {name = "heat", offset = array<i64: -2>}}}, %i: index) {
  %v = metate.load %f["v0"][%i] : !named -> f32
  metate.return
}

// Any i32 is inside along an axis of a hash level; messages write its extent as *.
// CHECK-LABEL: metate.kernel @unbounded(
// CHECK-SAME: %[[I:[a-z0-9]+]]: index
// CHECK-DAG: %[[NONE:.*]] = arith.constant -1 : index
// CHECK-DAG: %[[ALL:.*]] = arith.constant 4294967296 : index
// CHECK-DAG: %[[LEAST:.*]] = arith.constant -2147483648 : index
// CHECK: %[[FROM:.*]] = arith.subi %[[I]], %[[LEAST]] : index
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[FROM]], %[[ALL]]
// CHECK: metate.check out_of_range %[[IN]], {{.*}} index(%[[I]]) shape(%[[NONE]])
// A constant is known to be inside.
// CHECK-NOT: metate.check
// CHECK: metate.return
metate.kernel @unbounded(%i: index, %f: !hash, %x: memref<4xf32>) {
  %zero = arith.constant 0 : index
  %below = arith.constant -3 : index
  %v = metate.load %f["a"][%i] : !hash -> f32
  memref.store %v, %x[%zero] : memref<4xf32>
  %w = metate.load %f["a"][%below] : !hash -> f32
  memref.store %w, %x[%zero] : memref<4xf32>
  metate.return
}

!lists = !metate.tree<#metate.dense<"i", [2], [#metate.dynamic<"j", [8], [#metate.place<"a" : i32>], chunk = 2, name = "list">]>>

// A list is where its parent cell is.
// CHECK-LABEL: metate.kernel @list(
// CHECK-SAME: %[[I:[a-z0-9]+]]: index
// CHECK: %[[TWO:.*]] = arith.constant 2 : index
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[I]], %[[TWO]]
// CHECK: metate.check out_of_range %[[IN]], {{.*}} index(%[[I]]) shape(%[[TWO]])
// CHECK-NEXT: metate.length
// CHECK: metate.check out_of_range
// CHECK-NEXT: metate.append
metate.kernel @list(%f: !lists, %i: index) {
  %n = metate.length %f["list"][%i] : !lists
  %k = metate.append %f["list"][%i] : !lists
  metate.return
}
