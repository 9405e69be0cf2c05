// RUN: metate-opt %s --metate-hoist-slots | FileCheck %s
// RUN: metate-opt %s --metate-hoist-slots --metate-record-interfaces --metate-lower-layout | FileCheck %s --check-prefix=BYTES
// RUN: metate-opt %s --metate-hoist-slots=words=false | FileCheck %s --check-prefix=CELLS

!t = !metate.tree<#metate.pointer<"i", [16], [#metate.dense<"i", [8], [#metate.place<"a" : f32>]>]>>
!m = !metate.tree<#metate.pointer<"i", [16], [#metate.bitmasked<"i", [8], [#metate.place<"a" : f32>]>]>>

// The leaf is read from an array: the read and the activation leave the loop over its cells. One look-up follows, and the loop is
// stores alone.
// CHECK-LABEL: metate.kernel @leaves
// CHECK: metate.range (%[[L:.*]]) =
// CHECK: %[[LEAF:.*]] = memref.load %arg1[%[[L]]]
// CHECK: %[[SLOT:.*]] = arith.shrsi
// CHECK: %[[ON:.*]] = metate.activate %arg0["a@0"] [%[[SLOT]]]
// CHECK: scf.for
// CHECK-NOT: metate.activate
// CHECK: scf.if %[[ON]]
// CHECK-NEXT: metate.store
// CHECK: {metate.nest, metate.row, metate.slots}
// BYTES-LABEL: metate.kernel @metate_entry_leaves
// BYTES: metate.tree_call "claim"
// BYTES: metate.read {{.*}} acquire
// BYTES: scf.for
// BYTES-NOT: metate.read
// BYTES: metate.write
metate.kernel @leaves(%f: !t {metate.access = 6 : i64}, %x: memref<?xi32> {metate.access = 1 : i64}, %v: f32) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c8_i32 = arith.constant 8 : i32
  %c7_i32 = arith.constant 7 : i32
  %n = memref.dim %x, %c0 : memref<?xi32>
  metate.range (%l, %c) = (%c0, %c0) to (%n, %c8) {
    %leaf = memref.load %x[%l] : memref<?xi32>
    %base = arith.muli %leaf, %c8_i32 : i32
    %c_i32 = arith.index_cast %c : index to i32
    %local = arith.andi %c_i32, %c7_i32 : i32
    %sum = arith.addi %base, %local : i32
    %i = arith.index_cast %sum : i32 to index
    %ok = metate.activate %f["a"][%i] : !t
    scf.if %ok {
      metate.store %v, %f["a"][%i] active : f32, !t
    }
    metate.yield
  }
  metate.return
}

// Every cell of the leaf: its bits are set by words, before the loop. Without words they are set inside, in the slot that is known.
// CHECK-LABEL: metate.kernel @bits
// CHECK: %[[ON:.*]] = metate.activate_leaf %arg0["a"] [%{{.*}}] cells [255] :
// CHECK: scf.for
// CHECK-NOT: metate.activate
// CHECK: scf.if %[[ON]]
// CHECK-NEXT: metate.store
// CELLS-LABEL: metate.kernel @bits
// CELLS: %[[ON:.*]] = metate.activate %arg0["a@0"]
// CELLS: scf.for
// CELLS: scf.if %[[ON]]
// CELLS-NEXT: metate.activate %arg0["a"] {{.*}} {metate.linked}
// CELLS: scf.if %[[ON]]
// CELLS-NEXT: metate.store
// BYTES-LABEL: metate.kernel @metate_entry_bits
// BYTES: metate.tree_call "claim"
// BYTES: metate.read {{.*}} acquire
// BYTES: metate.write {{.*}} release
// BYTES-NOT: metate.rmw
// BYTES: scf.for
// BYTES: {metate.nest, metate.row, metate.slots}
metate.kernel @bits(%m: !m {metate.access = 6 : i64}, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  metate.range (%l, %c) = (%c0, %c0) to (%n, %c8) {
    %base = arith.muli %l, %c8 : index
    %i = arith.addi %base, %c : index
    %ok = metate.activate %m["a"][%i] : !m
    scf.if %ok {
      metate.store %v, %m["a"][%i] active : f32, !m
    }
    metate.yield
  }
  metate.return
}

// One more than the leaf has; an index that the loop itself writes; a slot that another iteration may give up.
// CHECK-LABEL: metate.kernel @not
// CHECK-NOT: scf.for
// CHECK: metate.return
metate.kernel @not(%f: !t, %x: memref<?xi32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  metate.range (%l, %c) = (%c0, %c0) to (%n, %c9) {
    %base = arith.muli %l, %c8 : index
    %i = arith.addi %base, %c : index
    %a = metate.load %f["a"][%i] : !t -> f32
    metate.yield
  }
  metate.range (%l, %c) = (%c0, %c0) to (%n, %c8) {
    %leaf = memref.load %x[%l] : memref<?xi32>
    %leaf_index = arith.index_cast %leaf : i32 to index
    %base = arith.muli %leaf_index, %c8 : index
    %i = arith.addi %base, %c : index
    %a = metate.load %f["a"][%i] : !t -> f32
    memref.store %leaf, %x[%c] : memref<?xi32>
    metate.yield
  }
  metate.range (%l, %c) = (%c0, %c0) to (%n, %c8) {
    %base = arith.muli %l, %c8 : index
    %i = arith.addi %base, %c : index
    %a = metate.load %f["a"][%i] : !t -> f32
    metate.deactivate %f["a"][%base] : !t
    metate.yield
  }
  metate.return
}

// Under a condition the activation stays: it would make leaves active that the kernel does not. The slot is looked for each time.
// CHECK-LABEL: metate.kernel @conditional
// CHECK: scf.for
// CHECK: scf.if
// CHECK: metate.activate %arg0["a"]
metate.kernel @conditional(%f: !t, %b: memref<?xi1>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  metate.range (%l, %c) = (%c0, %c0) to (%n, %c8) {
    %base = arith.muli %l, %c8 : index
    %i = arith.addi %base, %c : index
    %on = memref.load %b[%i] : memref<?xi1>
    scf.if %on {
      %ok = metate.activate %f["a"][%i] : !t
      scf.if %ok {
        metate.store %v, %f["a"][%i] active : f32, !t
      }
    }
    metate.yield
  }
  metate.return
}

!b = !metate.tree<#metate.pointer<"ij", [16, 16], [#metate.bitmasked<"ij", [8, 8], [#metate.place<"a" : f32>]>]>>

// One dimension that stands for two: c // 8 and c % 8, of the leaf's upper half; both words, of which one is 0 and stays. Half of a
// word's bits are set by an atomic.
// CHECK-LABEL: metate.kernel @half
// CHECK: metate.activate_leaf %arg0["a"] [%{{.*}}, %{{.*}}] cells [-1, 0] :
// CHECK: metate.activate_leaf %arg0["a"] [%{{.*}}, %{{.*}}] cells [1431655765, 1431655765] :
// BYTES-LABEL: metate.kernel @metate_entry_half
// BYTES: metate.write {{.*}} release
// BYTES: scf.for
// BYTES: metate.rmw ori
metate.kernel @half(%m: !b {metate.access = 6 : i64}, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  metate.range (%l, %c) = (%c0, %c0) to (%n, %c32) {
    %base = arith.muli %l, %c8 : index
    %row = arith.divui %c, %c8 : index
    %column = arith.remui %c, %c8 : index
    %i = arith.addi %base, %row : index
    %ok = metate.activate %m["a"][%i, %column] : !b
    scf.if %ok {
      metate.store %v, %m["a"][%i, %column] active : f32, !b
    }
    metate.yield
  }
  metate.range (%l, %r, %c) = (%c0, %c0, %c0) to (%n, %c8, %c4) {
    %base = arith.muli %l, %c8 : index
    %i = arith.addi %base, %r : index
    %column = arith.muli %c, %c2 : index
    %j = arith.addi %base, %column : index
    %ok = metate.activate %m["a"][%i, %j] : !b
    scf.if %ok {
      metate.store %v, %m["a"][%i, %j] active : f32, !b
    }
    metate.yield
  }
  metate.return
}

// Which row it is, is not known: a coordinate that is the same for the whole loop; a remainder of something else; or what the
// kernel may not reach, if an assertion fails before.
// CHECK-LABEL: metate.kernel @unknown
// CHECK-NOT: metate.activate_leaf
// CHECK: metate.return
metate.kernel @unknown(%m: !b {metate.access = 6 : i64}, %k: index, %fine: i1, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  metate.range (%l, %c) = (%c0, %c0) to (%n, %c8) {
    %ok = metate.activate %m["a"][%l, %c] : !b
    metate.yield
  }
  metate.range (%l, %c) = (%c0, %c0) to (%n, %c8) {
    %base = arith.muli %l, %c8 : index
    %row = arith.andi %k, %c7 : index
    %i = arith.addi %base, %row : index
    %ok = metate.activate %m["a"][%i, %c] : !b
    metate.yield
  }
  metate.range (%l, %c) = (%c0, %c0) to (%n, %c8) {
    %base = arith.muli %l, %c8 : index
    %ok = metate.activate %m["a"][%base, %c] : !b
    metate.assert %fine, "not fine"
    metate.yield
  }
  metate.return
}

// Cells are given up by words after the loop, which reads them; not by words where they are stored to, where what is read comes
// after, under a condition.
// CHECK-LABEL: metate.kernel @give_up
// CHECK: scf.for
// CHECK: metate.load
// CHECK-NOT: metate.deactivate
// CHECK: {metate.nest, metate.row, metate.slots}
// CHECK: metate.deactivate_leaf %arg0["a"] [%{{.*}}, %{{.*}}] cells [255, 0] :
// CHECK: metate.range
// CHECK-NOT: metate.deactivate_leaf
// CHECK: metate.return
// BYTES-LABEL: metate.kernel @metate_entry_give_up
// BYTES: metate.nest
// BYTES: metate.tree_call "deactivate_bits"
// CELLS-LABEL: metate.kernel @give_up
// CELLS-NOT: scf.for
// CELLS-NOT: metate.deactivate_leaf
// CELLS: metate.return
metate.kernel @give_up(%m: !b {metate.access = 6 : i64}, %x: memref<?xf32> {metate.access = 2 : i64}, %fine: i1, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  metate.range (%l, %c) = (%c0, %c0) to (%n, %c8) {
    %base = arith.muli %l, %c8 : index
    %a = metate.load %m["a"][%base, %c] : !b -> f32
    memref.store %a, %x[%l] : memref<?xf32>
    metate.deactivate %m["a"][%base, %c] : !b
    metate.yield
  }
  metate.range (%l, %c) = (%c0, %c0) to (%n, %c8) {
    %base = arith.muli %l, %c8 : index
    metate.deactivate %m["a"][%base, %c] : !b
    %a = metate.load %m["a"][%base, %c] : !b -> f32
    memref.store %a, %x[%l] : memref<?xf32>
    metate.yield
  }
  metate.range (%l, %c) = (%c0, %c0) to (%n, %c8) {
    %base = arith.muli %l, %c8 : index
    %ok = metate.activate %m["a"][%base, %c] : !b
    scf.if %ok {
      metate.store %v, %m["a"][%base, %c] active : f32, !b
    }
    metate.deactivate %m["a"][%base, %c] : !b
    metate.yield
  }
  metate.range (%l, %c) = (%c0, %c0) to (%n, %c8) {
    %base = arith.muli %l, %c8 : index
    scf.if %fine {
      metate.deactivate %m["a"][%base, %c] : !b
    }
    metate.yield
  }
  metate.return
}

// A base whose bounds are known: it is no part of the place in the leaf.
// CHECK-LABEL: metate.kernel @bounded_base
// CHECK: metate.activate_leaf %arg0["a"] [%{{.*}}] cells [255] :
metate.kernel @bounded_base(%m: !m {metate.access = 6 : i64}, %x: memref<?xi32> {metate.access = 1 : i64}) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c8_i32 = arith.constant 8 : i32
  %c15_i32 = arith.constant 15 : i32
  %n = memref.dim %x, %c0 : memref<?xi32>
  metate.range (%l, %c) = (%c0, %c0) to (%n, %c8) {
    %p = memref.load %x[%l] : memref<?xi32>
    %leaf = arith.andi %p, %c15_i32 : i32
    %base = arith.muli %leaf, %c8_i32 : i32
    %c_i32 = arith.index_cast %c : index to i32
    %sum = arith.addi %base, %c_i32 : i32
    %i = arith.index_cast %sum : i32 to index
    %ok = metate.activate %m["a"][%i] : !m
    metate.yield
  }
  metate.return
}
