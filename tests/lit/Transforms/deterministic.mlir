// RUN: metate-opt %s --metate-offload=deterministic | FileCheck %s
// RUN: metate-opt %s --metate-offload | FileCheck %s --check-prefix=PLAIN
// RUN: metate-opt %s --metate-offload=deterministic --metate-record-interfaces --metate-lower-layout | FileCheck %s --check-prefix=LAYOUT

!sparse = !metate.tree<#metate.pointer<"i", [16], [#metate.dense<"i", [4], [#metate.place<"a" : f32>]>]>>
!list = !metate.tree<#metate.dynamic<"i", [64], [#metate.place<"a" : f32>], chunk = 8>>
!masked = !metate.tree<#metate.bitmasked<"i", [64], [#metate.place<"a" : f32>]>>

// PLAIN-NOT: deterministic
// PLAIN-NOT: metate.sort

// Slots are in order before a task walks them, and before what is active is noted.
// CHECK-LABEL: metate.kernel @two(%{{.*}}: !{{.*}} {metate.access = 8 : i64}
// CHECK-SAME: metate.deterministic
// CHECK: metate.serial
// CHECK-NEXT: metate.sort %[[F:[a-z0-9]+]] :
// CHECK-NEXT: metate.yield
// CHECK: metate.cells {{.*}} in %[[F]]["a@0"]
// CHECK: metate.serial
// CHECK-NEXT: metate.sort %[[G:[a-z0-9]+]] :
// CHECK-NEXT: metate.snapshot %[[G]]
// CHECK: metate.cells {{.*}} in %[[G]]["a@0"]
// LAYOUT: metate.tree_call "sort" %{{.*}} level 0()
// LAYOUT: metate.range
// LAYOUT: metate.tree_call "sort" %{{.*}} level 0()
// LAYOUT: metate.tree_call "snapshot"
metate.kernel @two(%f: !sparse, %g: !list) {
  metate.for_each (%i) in %f["a"] : !sparse {
    %v = metate.load %f["a"][%i] : !sparse -> f32
    metate.store %v, %f["a"][%i] active : f32, !sparse
    metate.yield
  }
  metate.for_each (%i) in %g["a"] : !list attributes {metate.changes_topology} {
    %v = metate.load %g["a"][%i] : !list -> f32
    metate.store %v, %g["a"][%i] active : f32, !list
    metate.yield
  }
  metate.return
}

// Without slots there is no order; a slice counts only.
// CHECK-LABEL: metate.kernel @masked
// CHECK-NOT: metate.sort
// CHECK-LABEL: metate.kernel @two.reserve
// CHECK-NOT: deterministic
// CHECK-NOT: metate.sort
metate.kernel @masked(%f: !masked) {
  metate.for_each (%i) in %f["a"] : !masked {
    %v = metate.load %f["a"][%i] : !masked -> f32
    metate.store %v, %f["a"][%i] active : f32, !masked
    metate.yield
  }
  metate.return
}
metate.kernel @two.reserve(%f: !sparse, %x: memref<?xf32>) {
  metate.for_each (%i) in %f["a"] : !sparse {
    %v = metate.load %f["a"][%i] : !sparse -> f32
    memref.store %v, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// What a statement gives up is free before slots are put in order: the sort has a task of its own.
// CHECK-LABEL: metate.kernel @drop_then_walk
// CHECK: metate.serial
// CHECK: metate.deactivate %[[D:[a-z0-9]+]]["dynamic0"]
// CHECK-NEXT: metate.collect %[[D]]
// CHECK-NEXT: metate.yield
// CHECK: metate.serial
// CHECK-NEXT: metate.sort %[[D]]
// CHECK-NEXT: metate.yield
// CHECK: metate.cells
metate.kernel @drop_then_walk(%f: !list) {
  metate.deactivate %f["dynamic0"][] : !list
  metate.for_each (%i) in %f["a"] : !list {
    %v = metate.load %f["a"][%i] : !list -> f32
    metate.store %v, %f["a"][%i] active : f32, !list
    metate.yield
  }
  metate.return
}
