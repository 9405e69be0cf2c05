// RUN: metate-opt %s --metate-hoist-slots | FileCheck %s
// RUN: metate-opt %s --metate-hoist-slots --metate-lower-layout | FileCheck %s --check-prefix=BYTES

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

// Bits are set inside, in the slot that is known.
// CHECK-LABEL: metate.kernel @bits
// CHECK: %[[ON:.*]] = metate.activate %arg0["a@0"]
// CHECK: scf.for
// CHECK: scf.if %[[ON]]
// CHECK-NEXT: metate.activate %arg0["a"] {{.*}} {metate.linked}
// CHECK: scf.if %[[ON]]
// CHECK-NEXT: metate.store
// BYTES-LABEL: metate.kernel @metate_entry_bits
// BYTES: scf.for
// BYTES-NOT: metate.tree_call
// BYTES: metate.rmw ori
// BYTES: metate.write
// BYTES: metate.return
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
