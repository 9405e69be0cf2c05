// RUN: metate-opt %s --metate-record-interfaces --metate-lower-layout | FileCheck %s

// Where a kernel deactivates cells of a tree, another worker may have given up a cell since it was activated: its slot is
// looked up again, nothing is written where there is none (slot 0), and an atomic gives the background. Elsewhere stores
// and atomics to cells that were activated test nothing.

!blocks = !metate.tree<#metate.pointer<"i", [16], [#metate.dense<"i", [4], [#metate.place<"a" : f32, background = 1.5 : f32>]>]>>
!deep = !metate.tree<#metate.pointer<"i", [16], [#metate.pointer<"i", [8], [#metate.place<"a" : f32>]>]>>
!hash = !metate.tree<#metate.hash<"i", [#metate.dense<"i", [4], [#metate.place<"a" : f32, background = 1.5 : f32>]>]>>

// CHECK-LABEL: metate.kernel @metate_entry_lost_block
// CHECK: metate.tree_call "deactivate"
// CHECK: %[[LINK:.*]] = metate.read {{.*}} acquire : i32
// CHECK: %[[THERE:.*]] = arith.cmpi ne, %[[LINK]],
// CHECK: scf.if %[[THERE]] {
// CHECK:   metate.write %{{.*}} : f32
// CHECK: }
// CHECK: %[[AGAIN:.*]] = metate.read {{.*}} acquire : i32
// CHECK: %[[STILL:.*]] = arith.cmpi ne, %[[AGAIN]],
// CHECK: scf.if %[[STILL]] -> (f32) {
// CHECK:   %[[OLD:.*]] = metate.rmw addf
// CHECK:   scf.yield %[[OLD]]
// CHECK: } else {
// CHECK:   %[[NONE:.*]] = arith.constant 1.500000e+00 : f32
// CHECK:   scf.yield %[[NONE]]
metate.kernel @lost_block(%f: !blocks {metate.access = 7 : i64}, %x: memref<?xf32>, %i: index, %v: f32) {
  metate.deactivate %f["a"][%i] : !blocks
  metate.store %v, %f["a"][%i] active : f32, !blocks
  %old = metate.atomic addf %v, %f["a"][%i] active : f32, !blocks
  memref.store %old, %x[%i] : memref<?xf32>
  metate.return
}

// CHECK-LABEL: metate.kernel @metate_entry_kept_block
// CHECK-NOT: scf.if
// CHECK: metate.write %{{.*}} : f32
// CHECK-NOT: scf.if
// CHECK: metate.rmw addf
// CHECK: metate.return_status
metate.kernel @kept_block(%f: !blocks {metate.access = 7 : i64}, %x: memref<?xf32>, %i: index, %v: f32) {
  metate.store %v, %f["a"][%i] active : f32, !blocks
  %old = metate.atomic addf %v, %f["a"][%i] active : f32, !blocks
  memref.store %old, %x[%i] : memref<?xf32>
  metate.return
}

// Each level on the way may be gone.
// CHECK-LABEL: metate.kernel @metate_entry_lost_deep
// CHECK: metate.tree_call "deactivate"
// CHECK: %[[OUTER:.*]] = metate.read {{.*}} acquire : i32
// CHECK: %[[FIRST:.*]] = arith.cmpi ne, %[[OUTER]],
// CHECK: scf.if %[[FIRST]] {
// CHECK:   %[[INNER:.*]] = metate.read {{.*}} acquire : i32
// CHECK:   %[[SECOND:.*]] = arith.cmpi ne, %[[INNER]],
// CHECK:   scf.if %[[SECOND]] {
// CHECK-NEXT: metate.write %{{.*}} : f32
metate.kernel @lost_deep(%f: !deep {metate.access = 7 : i64}, %i: index, %v: f32) {
  metate.deactivate %f["pointer0"][%i] : !deep
  metate.store %v, %f["a"][%i] active : f32, !deep
  metate.return
}

// CHECK-LABEL: metate.kernel @metate_entry_lost_bin
// CHECK: metate.tree_call "deactivate"
// CHECK: %[[SLOT:.*]] = metate.tree_call "hash_find"
// CHECK: %[[THERE:.*]] = arith.cmpi ne, %[[SLOT]],
// CHECK: scf.if %[[THERE]] {
// CHECK:   metate.write %{{.*}} : f32
// CHECK: }
// CHECK: %[[AGAIN:.*]] = metate.tree_call "hash_find"
// CHECK: %[[STILL:.*]] = arith.cmpi ne, %[[AGAIN]],
// CHECK: scf.if %[[STILL]] -> (f32) {
// CHECK:   metate.rmw addf
// CHECK: } else {
// CHECK:   arith.constant 1.500000e+00 : f32
metate.kernel @lost_bin(%f: !hash {metate.access = 7 : i64}, %x: memref<?xf32>, %i: index, %v: f32) {
  metate.deactivate %f["a"][%i] : !hash
  metate.store %v, %f["a"][%i] active : f32, !hash
  %old = metate.atomic addf %v, %f["a"][%i] active : f32, !hash
  memref.store %old, %x[%i] : memref<?xf32>
  metate.return
}

// CHECK-LABEL: metate.kernel @metate_entry_kept_bin
// CHECK: metate.tree_call "hash_find"
// CHECK-NOT: scf.if
// CHECK: metate.write %{{.*}} : f32
// CHECK: metate.return_status
metate.kernel @kept_bin(%f: !hash {metate.access = 7 : i64}, %i: index, %v: f32) {
  metate.store %v, %f["a"][%i] active : f32, !hash
  metate.return
}
