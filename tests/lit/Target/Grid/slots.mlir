// What is done with all slots of a pool is a launch of its own, in which each invocation has its share; what is one worker's stands between.
// RUN: metate-opt %s --metate-outline-tasks "--metate-map-grid=group=32" | FileCheck %s

!pointer = !metate.tree<#metate.pointer<"i", [4], [#metate.dense<"i", [4], [#metate.place<"a" : i32>]>]>>
!hash = !metate.tree<#metate.hash<"i", [#metate.bitmasked<"i", [4], [#metate.place<"a" : i32>]>]>>

// CHECK: entry = "pointers",
// CHECK-SAME: {group = 32 : i64, iterations = array<i64>, line = {{[0-9]+}} : i64, most = 0 : i64, name = "pointers_0"}
// CHECK-SAME: {group = 32 : i64, iterations = array<i64>, line = {{[0-9]+}} : i64, most = 0 : i64, name = "pointers_1"}
// CHECK-SAME: {group = 1 : i64, iterations = array<i64>, line = {{[0-9]+}} : i64, most = 0 : i64, name = "pointers_3"}
// CHECK-LABEL: llvm.func @pointers_0(
// CHECK: %[[OWN:.*]] = llvm.call @metate_grid_invocation()
// CHECK: %[[OWN_INDEX:.*]] = builtin.unrealized_conversion_cast %[[OWN]]
// CHECK: %[[ALL:.*]] = llvm.call @metate_grid_invocations()
// CHECK: %[[ALL_INDEX:.*]] = builtin.unrealized_conversion_cast %[[ALL]]
// CHECK: metate.tree_call "snapshot_share" %{{.*}} level 2(%[[OWN_INDEX]], %[[ALL_INDEX]]) :
// CHECK-LABEL: llvm.func @pointers_1(
// CHECK: metate.tree_call "collect_share" %{{.*}} level 1(%{{.*}}, %{{.*}}) flag 0 :
// CHECK-LABEL: llvm.func internal @pointers_2_part(
// CHECK-NOT: metate.tree_call
// CHECK: metate.tree_call "collect_end" %{{.*}} level 0() :
// CHECK-NOT: metate.tree_call
// CHECK: llvm.return
metate.kernel @pointers(%x: !metate.block) {
  metate.serial {
    metate.tree_call "snapshot" %x level 2() : !pointer
    metate.yield
  }
  metate.serial {
    metate.tree_call "collect" %x level 0() : !pointer
    metate.yield
  }
  metate.return
}

// A hash level's table is one worker's. With a sweep slots of each pool are swept behind it.
// CHECK-LABEL: llvm.func internal @hashes_4_part(
// CHECK: metate.tree_call "collect_hash" %{{.*}} level 1() :
// CHECK-LABEL: llvm.func @hashes_6(
// CHECK: metate.tree_call "sweep_share" %{{.*}} level 1(%{{.*}}, %{{.*}}) :
// CHECK-LABEL: llvm.func internal @hashes_7_part(
// CHECK: metate.tree_call "collect_end"
metate.kernel @hashes(%x: !metate.block) {
  metate.serial {
    metate.tree_call "collect" %x level 1() : !hash
    metate.yield
  }
  metate.return
}

// Lists that lie in the root cell are swept before that, chunk by chunk in two steps: lengths, then what is beyond them.
// CHECK-LABEL: llvm.func @lists_9(
// CHECK: metate.tree_call "sweep_root" %{{.*}} level 2(%{{.*}}, %{{.*}}) flag 0 :
// CHECK-LABEL: llvm.func @lists_10(
// CHECK: metate.tree_call "sweep_root" %{{.*}} level 2(%{{.*}}, %{{.*}}) flag 1 :
// CHECK-LABEL: llvm.func @lists_11(
// CHECK: metate.tree_call "collect_share" %{{.*}} level 2(%{{.*}}, %{{.*}}) flag 1 :
!lists = !metate.tree<#metate.dense<"i", [8], [#metate.dynamic<"j", [16], [#metate.place<"a" : i32>], chunk = 4>]>>
metate.kernel @lists(%x: !metate.block) {
  metate.serial {
    metate.tree_call "collect" %x level 1() : !lists
    metate.yield
  }
  metate.return
}
