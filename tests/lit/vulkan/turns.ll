; A device that ends loops by itself: behind each loop its word is asked, from which a way leads out of the loop around it, up to the note.
; RUN: metate-spirv %s %t.spv --lavapipe --ended=16:2147483655 nest:64
; RUN: spirv-val --target-env vulkan1.2 %t.spv
; RUN: spirv-dis --no-indent --raw-id %t.spv | FileCheck %s
; RUN: metate-spirv %s %t.other.spv --lavapipe nest:64
; RUN: spirv-dis --no-indent --raw-id %t.other.spv | FileCheck %s --check-prefix=OTHER
; RUN: metate-spirv %s %t.straight.spv --lavapipe --ended=16:2147483655 straight:64
; RUN: spirv-dis --no-indent --raw-id %t.straight.spv | FileCheck %s --check-prefix=STRAIGHT

; OTHER-NOT: OpAtomicCompareExchange
; STRAIGHT-NOT: OpLoopMerge
; STRAIGHT-NOT: OpAtomicCompareExchange

; CHECK-DAG: %[[UINT:[0-9]+]] = OpTypeInt 32 0
; CHECK-DAG: %[[ONE:[0-9]+]] = OpConstant %[[UINT]] 1
; CHECK-DAG: %[[ZERO:[0-9]+]] = OpConstant %[[UINT]] 0
; CHECK-DAG: %[[VALUE:[0-9]+]] = OpConstant %[[UINT]] 2147483655
; CHECK: OpFunction
; CHECK: OpStore %{{[0-9]+}} %[[ONE]]
; CHECK: OpLoopMerge %[[END:[0-9]+]]
; CHECK: OpStore %{{[0-9]+}} %[[ONE]]
; CHECK: OpLoopMerge %[[OUTER:[0-9]+]]
; CHECK: OpStore %{{[0-9]+}} %[[ONE]]
; CHECK: OpLoopMerge %[[INNER:[0-9]+]]
; The inner loop is left by its own condition, or not.
; CHECK: OpStore %{{[0-9]+}} %[[ZERO]]
; CHECK-NEXT: OpBranch %[[INNER]]
; CHECK: %[[INNER]] = OpLabel
; CHECK: OpINotEqual
; CHECK-NEXT: OpSelectionMerge
; CHECK-NEXT: OpBranchConditional %{{[0-9]+}} %[[OUTER]]
; CHECK: OpStore %{{[0-9]+}} %[[ZERO]]
; CHECK-NEXT: OpBranch %[[OUTER]]
; CHECK: %[[OUTER]] = OpLabel
; CHECK: OpBranchConditional %{{[0-9]+}} %[[END]]
; CHECK: %[[END]] = OpLabel
; CHECK: OpAtomicCompareExchange %[[UINT]] %{{[0-9]+}} %{{[0-9]+}} %[[ZERO]] %[[ZERO]] %[[VALUE]] %[[ZERO]]
; CHECK: OpReturn
; CHECK-NOT: OpReturn
define void @nest(ptr %slots, ptr %frame) {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %j, %more ]
  br label %inner
inner:
  %j = phi i64 [ %i, %outer ], [ %next, %inner ]
  %at = getelementptr i64, ptr %slots, i64 %j
  %next = load volatile i64, ptr %at, align 8
  %c = icmp ne i64 %next, 0
  br i1 %c, label %inner, label %more
more:
  %v = load volatile i64, ptr %slots, align 8
  %d = icmp ne i64 %v, 0
  br i1 %d, label %outer, label %done
done:
  ret void
}

define void @straight(ptr %slots, ptr %frame) {
  %v = load volatile i64, ptr %slots, align 8
  store i64 %v, ptr %frame, align 8
  ret void
}
