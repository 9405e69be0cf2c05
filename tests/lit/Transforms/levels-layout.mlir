// RUN: metate-opt %s --metate-record-interfaces --metate-lower-layout | FileCheck %s

!leaf = !metate.tree<#metate.pointer<"i", [16], [#metate.bitmasked<"i", [64], [#metate.place<"a" : f32>]>]>>
!root = !metate.tree<#metate.bitmasked<"i", [64], [#metate.place<"a" : f32, background = 2.5 : f32>]>>
!lists = !metate.tree<#metate.dense<"i", [16], [#metate.dynamic<"j", [64], [#metate.place<"x" : f32>], chunk = 8>]>>
!hash = !metate.tree<#metate.hash<"i", [#metate.dense<"i", [4], [#metate.place<"a" : f32>]>]>>

// What is not active holds background: the bit does not matter. Outside of a tree without links, a value is selected.
// CHECK-LABEL: metate.kernel @metate_entry_read
// CHECK: %[[IN:.*]] = arith.cmpi ult
// CHECK: %[[V:.*]] = metate.read {{.*}} : f32
// CHECK: %[[B:.*]] = arith.constant 2.500000e+00
// CHECK: arith.select %[[IN]], %[[V]], %[[B]]
metate.kernel @read(%f: !root, %x: memref<?xf32>, %i: index) {
  %v = metate.load %f["a"][%i] : !root -> f32
  memref.store %v, %x[%i] : memref<?xf32>
  metate.return
}

// Test, then set; a bit's change is noted once.
// CHECK-LABEL: metate.kernel @metate_entry_activate
// CHECK: metate.tree_call "claim"
// CHECK: %[[BIT:.*]] = arith.shli
// CHECK: metate.read {{.*}} acquire : i32
// CHECK: scf.if
// CHECK:   metate.rmw ori %[[BIT]]
// CHECK:   scf.if
// CHECK:     metate.write %{{.*}} release : i32
// At the end the tree gets another topology number if it changed.
// CHECK: metate.tree_call "settle" %{{.*}} level 0()
// CHECK: metate.return_status
metate.kernel @activate(%f: !leaf {metate.access = 6 : i64}, %i: index) {
  %ok = metate.activate %f["a"][%i] : !leaf
  metate.return
}

// The test of the own cell looks into the own slot; at entry, into the second mask.
// CHECK-LABEL: metate.kernel @metate_entry_walk
// CHECK: %[[WORD:.*]] = metate.read {{.*}} : i32
// CHECK: %[[BIT:.*]] = arith.shli
// CHECK: metate.tree_call "deactivate" %{{.*}} level 2(%{{.*}}, %{{.*}}) at(%{{.*}})
metate.kernel @walk(%f: !leaf) {
  metate.cells (%slot, %s) in %f["a@0"] : !leaf {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %n = arith.constant 64 : index
    %b = arith.muli %s, %n : index
    scf.for %l = %zero to %n step %one {
      %i = arith.addi %b, %l : index
      %on = metate.is_active %f["a"][%i] {metate.own} : !leaf
      scf.if %on {
        metate.deactivate %f["a"][%i] : !leaf
      }
    } {metate.nest, metate.row}
    metate.yield
  }
  metate.serial {
    metate.snapshot %f["a@1"] : !leaf
    metate.collect %f sweep : !leaf
    metate.yield
  }
  metate.return
}
// CHECK: metate.tree_call "snapshot" %{{.*}} level 2()
// CHECK: metate.tree_call "collect" %{{.*}} level 1()

// CHECK-LABEL: metate.kernel @metate_entry_lists
// CHECK: %[[N:.*]] = metate.read {{.*}} : i32
// CHECK: metate.tree_call "append" %{{.*}} level 2(%{{.*}}) at(%{{.*}}, %{{.*}}) : {{.*}} -> i64
// CHECK: arith.trunci %{{.*}} : i64 to i32
// CHECK: metate.tree_call "dynamic_activate" %{{.*}} level 2(%{{.*}}, %{{.*}}) at(%{{.*}}, %{{.*}}) flag 0
// CHECK: metate.tree_call "clear_list" %{{.*}} level 2(%{{.*}})
metate.kernel @lists(%f: !lists {metate.access = 7 : i64}, %i: index, %j: index) {
  %n = metate.length %f["dynamic1"][%i] : !lists
  %k = metate.append %f["dynamic1"][%i] : !lists
  %ok = metate.activate %f["x"][%i, %j] : !lists
  metate.deactivate %f["dynamic1"][%i] : !lists
  metate.return
}

// Slots in use: a counter of the pool's record (128 bytes of header, 76 in the record of pool 0).
// CHECK-LABEL: metate.kernel @metate_entry_used
// CHECK: %[[AT:.*]] = arith.constant 204 : index
// CHECK: %[[USED:.*]] = metate.read %{{.*}}[%[[AT]]] {{.*}}: i32
// CHECK: arith.extui %[[USED]] : i32 to i64
metate.kernel @used(%f: !lists {metate.access = 1 : i64}, %x: memref<?xi64>, %i: index) {
  %n = metate.used %f["dynamic1"] : !lists
  memref.store %n, %x[%i] : memref<?xi64>
  metate.return
}

// Coordinates of a hash level may be negative: floor division, as a shift.
// CHECK-LABEL: metate.kernel @metate_entry_hash
// CHECK: %[[TWO:.*]] = arith.constant 2 : index
// CHECK: %[[BLOCK:.*]] = arith.shrsi %{{.*}}, %[[TWO]] : index
// CHECK: metate.tree_call "hash_find" %{{.*}} level 1(%{{.*}}) at(%[[BLOCK]]) : {{.*}} -> i32
// CHECK: metate.tree_call "hash_claim"
metate.kernel @hash(%f: !hash {metate.access = 7 : i64}, %x: memref<?xf32>, %i: index) {
  %v = metate.load %f["a"][%i] : !hash -> f32
  memref.store %v, %x[%i] : memref<?xf32>
  %ok = metate.activate %f["a"][%i] : !hash
  metate.return
}

// Where the kernel may deactivate, a cell that was activated is looked for again: slot 0 is never written.
// CHECK-LABEL: metate.kernel @metate_entry_lost
// CHECK: metate.tree_call "clear_list"
// CHECK: %[[LINKED:.*]] = arith.cmpi ne, %{{.*}}
// CHECK: %[[THERE:.*]] = arith.andi %{{.*}}, %[[LINKED]]
// CHECK: scf.if %[[THERE]] {
// CHECK:   metate.write %{{.*}} : f32
// CHECK: %[[OLD:.*]] = scf.if %{{.*}} -> (f32) {
// CHECK:   metate.rmw addf
// CHECK: } else {
// CHECK:   arith.constant 0.000000e+00 : f32
// CHECK: }
metate.kernel @lost(%f: !lists {metate.access = 7 : i64}, %x: memref<?xf32>, %i: index, %v: f32) {
  metate.deactivate %f["dynamic1"][%i] : !lists
  metate.store %v, %f["x"][%i, %i] active : f32, !lists
  %old = metate.atomic addf %v, %f["x"][%i, %i] active : f32, !lists
  memref.store %old, %x[%i] : memref<?xf32>
  metate.return
}

// What a chunk held when the task began stands in its metadata, behind the coordinates: it is found when the links are gone.
// CHECK-LABEL: metate.kernel @metate_entry_entry
// CHECK: %[[BEHIND:.*]] = arith.constant 16 : index
// CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %[[BEHIND]] overflow<nsw> : index
// CHECK: %[[COUNT:.*]] = metate.read %{{.*}}[%[[AT]]] scope 0 : i32
// CHECK-NEXT: %[[CELLS:.*]] = arith.index_castui %[[COUNT]]
// CHECK: scf.for
// CHECK: arith.cmpi ult, %{{.*}}, %[[CELLS]]
metate.kernel @entry(%f: !lists {metate.access = 7 : i64}, %y: memref<?xf32>, %v: f32) {
  metate.cells (%slot, %i, %s) in %f["x@1"] : !lists attributes {changes_topology} {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %n = arith.constant 8 : index
    scf.for %l = %zero to %n step %one {
      %j = arith.addi %s, %l : index
      %on = metate.is_active %f["x"][%i, %j] entry {metate.own} : !lists
      scf.if %on {
        memref.store %v, %y[%j] : memref<?xf32>
      }
    } {metate.nest, metate.row}
    metate.yield
  }
  metate.return
}
