// RUN: metate-opt %s --metate-explicit-activation | FileCheck %s

!sparse = !metate.tree<#metate.pointer<"i", [16], [#metate.dense<"i", [8], [#metate.place<"a" : f32, background = 1.5 : f32>, #metate.place<"b" : f32>]>]>>
!dense = !metate.tree<#metate.dense<"i", [8], [#metate.place<"a" : f32>]>>

// One activate guards both stores: they share their slots.
// CHECK-LABEL: metate.kernel @guarded
// CHECK-SAME: metate.access = 6
// CHECK: %[[OK:.*]] = metate.activate %{{.*}}["a"] [%arg2]
// CHECK-NEXT: scf.if %[[OK]] {
// CHECK-NEXT:   metate.store %{{.*}}, %{{.*}}["a"] [%arg2] active
// CHECK: scf.if %[[OK]] {
// CHECK-NEXT:   metate.store %{{.*}}, %{{.*}}["b"] [%arg2] active
// CHECK-NOT: metate.activate
metate.kernel @guarded(%f: !sparse, %v: f32, %i: index) {
  metate.store %v, %f["a"][%i] : f32, !sparse
  metate.store %v, %f["b"][%i] : f32, !sparse
  metate.return
}

// An atomic whose activation failed yields the background.
// CHECK-LABEL: metate.kernel @atomic
// CHECK: scf.if %{{.*}} -> (f32) {
// CHECK: } else {
// CHECK:   %[[B:.*]] = arith.constant 1.500000e+00 : f32
// CHECK:   scf.yield %[[B]] : f32
metate.kernel @atomic(%f: !sparse, %x: memref<?xf32>, %v: f32, %i: index) {
  %old = metate.atomic addf %v, %f["a"][%i] : f32, !sparse
  memref.store %old, %x[%i] : memref<?xf32>
  metate.return
}

// CHECK-LABEL: metate.kernel @own_cell
// CHECK-SAME: metate.access = 3
// CHECK-NOT: metate.activate
// CHECK: metate.store %{{.*}}, %{{.*}}["b"] [%{{.*}}] active
// CHECK-NOT: changes_topology
metate.kernel @own_cell(%f: !sparse) {
  metate.for_each (%i) in %f["a"] : !sparse {
    %v = metate.load %f["a"][%i] : !sparse -> f32
    metate.store %v, %f["b"][%i] : f32, !sparse
    metate.yield
  }
  metate.return
}

// CHECK-LABEL: metate.kernel @grows
// CHECK: metate.for_each {{.*}} attributes {metate.changes_topology}
// CHECK: metate.activate
metate.kernel @grows(%f: !sparse, %v: f32) {
  %one = arith.constant 1 : index
  metate.for_each (%i) in %f["a"] : !sparse {
    %next = arith.addi %i, %one : index
    metate.store %v, %f["a"][%next] : f32, !sparse
    metate.yield
  }
  metate.return
}

// Without a sparse level every cell is active.
// CHECK-LABEL: metate.kernel @dense
// CHECK-NOT: metate.activate
// CHECK: metate.store %{{.*}}, %{{.*}}["a"] [%{{.*}}] active
metate.kernel @dense(%f: !dense, %v: f32, %i: index) {
  metate.store %v, %f["a"][%i] : f32, !dense
  metate.return
}

// Debug mode: what the pass activates is checked.
// CHECK-LABEL: metate.kernel @checked
// CHECK: %[[OK:.*]] = metate.activate %{{.*}}["a"] [%[[I:.*]]] strict
// CHECK-NEXT: metate.check capacity %[[OK]], "f.a" index(%[[I]])
// CHECK-NEXT: scf.if %[[OK]]
metate.kernel @checked(%f: !sparse {metate.name = "f"}, %v: f32, %i: index) attributes {debug} {
  metate.store %v, %f["a"][%i] : f32, !sparse
  metate.return
}

!blocks = !metate.tree<#metate.hash<"i", [#metate.pointer<"i", [2], [#metate.dense<"i", [3], [#metate.place<"a" : f32>]>], name = "blocks">]>>

// Blocks and cells are both without bounds below a hash level: the coordinate of a block is that of a cell of another one.
// CHECK-LABEL: metate.kernel @blocks_of_a_hash_level
// CHECK: metate.for_each
// CHECK: metate.activate
metate.kernel @blocks_of_a_hash_level(%f: !blocks, %v: f32) {
  metate.for_each (%i) in %f["blocks"] : !blocks {
    metate.store %v, %f["a"][%i] : f32, !blocks
    metate.yield
  }
  metate.return
}
