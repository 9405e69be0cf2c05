// RUN: metate-opt %s --metate-record-interfaces --metate-lower-layout | FileCheck %s

!t = !metate.tree<#metate.pointer<"i", [16], [#metate.dense<"i", [8], [#metate.place<"a" : f32, background = 1.5 : f32>, #metate.place<"b" : f32>]>]>>
!big = !metate.tree<#metate.pointer<"i", [16], [#metate.dense<"i", [32768], [#metate.place<"a" : f32, background = 1.5 : f32>]>]>>

// The link of cell i / 8, the slot at slots + link * 64, the member at 8 * (i % 8) + 4.
// CHECK-LABEL: metate.kernel @metate_entry_read
// CHECK-SAME: (%[[BLOCK:.*]]: !metate.block, %[[X:.*]]: !metate.block, %[[N:.*]]: index, %{{.*}}: index, %[[I:.*]]: index)
// CHECK: %[[BASE64:.*]] = metate.read %[[BLOCK]][%{{.*}}] scope 0 invariant : i64
// CHECK: %[[BASE:.*]] = arith.index_castui %[[BASE64]] : i64 to index
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[I]], %{{.*}} : index
// CHECK: %[[LINK:.*]] = metate.read %[[BLOCK]][%{{.*}}] scope 0 : i32
// CHECK: %[[SAFE:.*]] = arith.select %[[INSIDE]], %[[LINK]], %{{.*}} : i32
// CHECK: %[[SLOT:.*]] = arith.index_castui %[[SAFE]] : i32 to index
// CHECK: %[[BYTES:.*]] = arith.muli %[[SLOT]], %{{.*}} overflow<nsw> : index
// CHECK: arith.addi %[[BASE]], %[[BYTES]]
// CHECK: %[[V:.*]] = metate.read %[[BLOCK]][%{{.*}}] scope 0 {{.*}}metate.member{{.*}} : f32
// CHECK: metate.write %[[V]], %[[X]][%{{.*}}] scope 1 : f32
// CHECK: metate.interface @read entry "metate_entry_read" tasks 0 [#metate.argument<"f", "tree", {{.*}}>, #metate.argument<"x", "ndarray", f32{{.*}}>, #metate.argument<"i", "scalar", index>]
metate.kernel @read(%f: !t {metate.name = "f"}, %x: memref<?xf32> {metate.name = "x"}, %i: index {metate.name = "i"}) {
  %v = metate.load %f["b"][%i] : !t -> f32
  memref.store %v, %x[%i] : memref<?xf32>
  metate.return
}

// A slot of more than 64 KiB has no ambient slot: the read branches.
// CHECK-LABEL: metate.kernel @metate_entry_branch
// CHECK: scf.if %{{.*}} -> (f32) {
// CHECK:   metate.read %{{.*}} : f32
// CHECK: } else {
// CHECK:   arith.constant 1.500000e+00 : f32
metate.kernel @branch(%f: !big, %x: memref<?xf32>, %i: index) {
  %v = metate.load %f["a"][%i] : !big -> f32
  memref.store %v, %x[%i] : memref<?xf32>
  metate.return
}

// Test first, then claim out of line; the launch returns the tree's status.
// CHECK-LABEL: metate.kernel @metate_entry_activate
// CHECK: metate.read %{{.*}}[%{{.*}}] scope 0 acquire : i32
// CHECK: metate.tree_call "claim" %{{.*}} level 1(%{{.*}}) at(%{{.*}}) flag 0
// CHECK: metate.return_status
metate.kernel @activate(%f: !t {metate.access = 6 : i64}, %i: index) {
  %ok = metate.activate %f["a"][%i] : !t
  metate.return
}

// A pool is walked by slots; a topology that changes meanwhile is told apart by epochs.
// CHECK-LABEL: metate.kernel @metate_entry_walk
// CHECK: %[[LIMIT:.*]] = arith.addi
// CHECK: metate.write %[[LIMIT]], %{{.*}}[%{{.*}}] scope 0 : i32
// CHECK: metate.range
// CHECK: arith.cmpi ult, %{{.*}}, %[[LIMIT]] : i32
metate.kernel @walk(%f: !t, %x: memref<?xf32>) {
  metate.cells (%slot, %s) in %f["a@0"] : !t attributes {changes_topology} {
    %v = arith.constant 1.0 : f32
    memref.store %v, %x[%slot] : memref<?xf32>
    metate.yield
  }
  metate.return
}
