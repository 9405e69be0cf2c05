// RUN: metate-opt %s --metate-convert-to-llvm-cpu | FileCheck %s
// A call of the tree protocol: one function for each type and level, with the type's blob as a constant.

!t = !metate.tree<#metate.pointer<"ij", [16, 16], [#metate.bitmasked<"ij", [8, 8], [#metate.place<"a" : f32>]>]>>

// CHECK: llvm.func @metate_rt_claim(!llvm.ptr, !llvm.ptr, i32, i64, !llvm.ptr, i32) -> i32
// CHECK: llvm.mlir.global internal constant @metate_type_[[HASH:[0-9a-f]+]]("TYPE{{.*}}) {{.*}}alignment = 8
// CHECK-LABEL: llvm.func @f(
// CHECK: llvm.call @metate_claim_[[HASH]]_1(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, i64, i64, i64) -> i32
// CHECK: llvm.call @metate_claim_[[HASH]]_1_flag(
// CHECK: llvm.call @metate_deactivate_[[HASH]]_2(%{{.*}}) : (!llvm.ptr, i64, i64, i64, i64) -> ()
// CHECK: llvm.call @metate_collect_[[HASH]]_1(%{{.*}}) : (!llvm.ptr) -> ()
func.func @f(%block: !metate.block, %i: index, %j: index) -> i32 {
  %slot = metate.tree_call "claim" %block level 1 (%i) at (%i, %j) flag 0 : !t -> i32
  %strict = metate.tree_call "claim" %block level 1 (%i) at (%i, %j) flag 1 : !t -> i32
  %again = metate.tree_call "claim" %block level 1 (%j) at (%j, %i) flag 0 : !t -> i32
  metate.tree_call "deactivate" %block level 2 (%i, %j) at (%i, %j) : !t
  metate.tree_call "collect" %block level 1 () : !t
  return %slot : i32
}

// CHECK: llvm.func internal @metate_claim_[[HASH]]_1(%[[B:.*]]: !llvm.ptr, %[[LINK:.*]]: i64, %[[I:.*]]: i64, %[[J:.*]]: i64) -> i32 attributes {no_inline}
// CHECK: %[[TYPE:.*]] = llvm.mlir.addressof @metate_type_[[HASH]]
// CHECK: %[[AT:.*]] = llvm.alloca
// CHECK: llvm.call @metate_rt_claim(%[[B]], %[[TYPE]], %{{.*}}, %[[LINK]], %[[AT]], %{{.*}})
// CHECK-NOT: llvm.func internal @metate_claim_[[HASH]]_1(
