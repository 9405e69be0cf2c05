// RUN: metate-opt %s --metate-convert-to-llvm | FileCheck %s
// A call of the tree protocol: one function for each type and level, with the type's blob as a constant.

!t = !metate.tree<#metate.pointer<"ij", [16, 16], [#metate.bitmasked<"ij", [8, 8], [#metate.place<"a" : f32>]>]>>

// CHECK: llvm.func @metate_rt_claim(!llvm.ptr, !llvm.ptr, i32, i64, !llvm.ptr, i32, i32) -> i32
// CHECK: llvm.mlir.global internal constant @metate_type_[[HASH:[0-9a-f]+]]("TYPE{{.*}}) {{.*}}alignment = 8
// CHECK-LABEL: llvm.func @f(
// CHECK: llvm.call @metate_claim_[[HASH]]_1(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, i64, i64, i64, i32) -> i32
// CHECK: llvm.call @metate_claim_[[HASH]]_1_flag(
// CHECK: llvm.call @metate_deactivate_[[HASH]]_2(%{{.*}}) : (!llvm.ptr, i64, i64, i64, i64) -> ()
// CHECK: llvm.call @metate_collect_[[HASH]]_1(%{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr) -> ()
func.func @f(%block: !metate.block, %i: index, %j: index) -> i32 {
  %slot = metate.tree_call "claim" %block level 1 (%i) at (%i, %j) flag 0 : !t -> i32
  %strict = metate.tree_call "claim" %block level 1 (%i) at (%i, %j) flag 1 : !t -> i32
  %again = metate.tree_call "claim" %block level 1 (%j) at (%j, %i) flag 0 : !t -> i32
  metate.tree_call "deactivate" %block level 2 (%i, %j) at (%i, %j) : !t
  metate.tree_call "collect" %block level 1 () : !t
  return %slot : i32
}

// In a task a slot comes from the magazine of the worker that runs it; the entry is worker 0, and its host's
// workers collect.
// CHECK-LABEL: llvm.func internal @task(
// CHECK-SAME: i32) -> i32
// CHECK: llvm.call @metate_claim_[[HASH]]_1(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %arg3)
llvm.func internal @task(%context: !llvm.ptr, %begin: i64, %end: i64, %worker: i32) -> i32 {
  %block = builtin.unrealized_conversion_cast %context : !llvm.ptr to !metate.block
  %i = builtin.unrealized_conversion_cast %begin : i64 to index
  %slot = metate.tree_call "claim" %block level 1 (%i) at (%i, %i) flag 0 : !t -> i32
  llvm.return %slot : i32
}

// CHECK-LABEL: llvm.func @entry(
// CHECK: %[[ZERO:.*]] = llvm.mlir.constant(0 : i32) : i32
// CHECK: llvm.call @metate_claim_[[HASH]]_1({{.*}}, %[[ZERO]])
// CHECK: llvm.call @metate_collect_[[HASH]]_1(%{{.*}}, %arg2)
llvm.func @entry(%slots: !llvm.ptr, %scratch: !llvm.ptr, %host: !llvm.ptr) -> i32 {
  %block = builtin.unrealized_conversion_cast %slots : !llvm.ptr to !metate.block
  %zero = llvm.mlir.constant(0 : i64) : i64
  %i = builtin.unrealized_conversion_cast %zero : i64 to index
  %slot = metate.tree_call "claim" %block level 1 (%i) at (%i, %i) flag 0 : !t -> i32
  metate.tree_call "collect" %block level 1 () : !t
  llvm.return %slot : i32
}

// CHECK: llvm.func internal @metate_claim_[[HASH]]_1(%[[B:.*]]: !llvm.ptr, %[[LINK:.*]]: i64, %[[I:.*]]: i64, %[[J:.*]]: i64, %[[WORKER:.*]]: i32) -> i32 attributes {no_inline}
// CHECK: %[[TYPE:.*]] = llvm.mlir.addressof @metate_type_[[HASH]]
// CHECK: %[[AT:.*]] = llvm.alloca
// CHECK: llvm.call @metate_rt_claim(%[[B]], %[[TYPE]], %{{.*}}, %[[LINK]], %[[AT]], %{{.*}}, %[[WORKER]])
// CHECK-NOT: llvm.func internal @metate_claim_[[HASH]]_1(
