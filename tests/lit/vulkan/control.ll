; Loops and selections are structured, whatever they were.
; RUN: metate-spirv %s %t.spv loop irreducible endless switched
; RUN: spirv-val --target-env vulkan1.2 %t.spv
; RUN: spirv-dis --no-indent --raw-id %t.spv | FileCheck %s
; RUN: metate-spirv %s %t.lavapipe.spv --lavapipe loop irreducible endless switched
; RUN: spirv-val --target-env vulkan1.2 %t.lavapipe.spv
; RUN: spirv-dis --no-indent --raw-id %t.lavapipe.spv | FileCheck %s --check-prefix=LAVAPIPE

; CHECK-COUNT-3: OpEntryPoint
; CHECK: OpFunction
; CHECK: OpLoopMerge %[[MERGE:[0-9]+]] %[[AGAIN:[0-9]+]] None
; CHECK: OpBranchConditional
; CHECK: %[[AGAIN]] = OpLabel
; CHECK: %[[MERGE]] = OpLabel
; CHECK: OpFunctionEnd

; What a loop computes is kept in local memory for the code behind it.
; LAVAPIPE: OpFunction
; LAVAPIPE: OpVariable %{{[0-9]+}} Function
; LAVAPIPE: OpLoopMerge
define void @loop(ptr %slots, ptr %frame) {
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %next, %latch ]
  %at = getelementptr i64, ptr %frame, i64 %k
  %v = load i64, ptr %at, align 8
  %stop = icmp eq i64 %v, 0
  br i1 %stop, label %found, label %test
test:
  %odd = trunc i64 %v to i1
  br i1 %odd, label %write, label %latch
write:
  store i64 %k, ptr %at, align 8
  br label %latch
latch:
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, 100
  br i1 %more, label %head, label %done
found:
  store i64 %k, ptr %slots, align 8
  br label %done
done:
  ret void
}

; CHECK: OpFunction
; CHECK: OpLoopMerge
; CHECK: OpFunctionEnd
define void @irreducible(ptr %slots, ptr %frame) {
entry:
  %v = load volatile i32, ptr %frame, align 4
  %c = icmp slt i32 %v, 0
  br i1 %c, label %a, label %b
a:
  %x = load volatile i32, ptr %slots, align 4
  %ca = icmp slt i32 %x, 7
  br i1 %ca, label %b, label %end
b:
  %y = load volatile i32, ptr %slots, align 4
  %cb = icmp slt i32 %y, 3
  br i1 %cb, label %a, label %end
end:
  ret void
}

; A loop without an end has a merge block too.
; CHECK: OpFunction
; CHECK: OpLoopMerge
; CHECK: OpLoad %{{[0-9]+}} %{{[0-9]+}} Volatile|Aligned|NonPrivatePointer 4
; CHECK: OpFunctionEnd
define void @endless(ptr %slots, ptr %frame) {
entry:
  br label %again
again:
  %v = load volatile i32, ptr %frame, align 4
  br label %again
}

; CHECK: OpFunction
; CHECK-NOT: OpSwitch
; CHECK: OpSelectionMerge
; CHECK-NOT: OpUnreachable
; CHECK: OpFunctionEnd
define void @switched(ptr %slots, ptr %frame) {
entry:
  %v = load volatile i32, ptr %frame, align 4
  switch i32 %v, label %impossible [ i32 0, label %a
                                     i32 1, label %b
                                     i32 7, label %c ]
a:
  store volatile i32 3, ptr %slots, align 4
  br label %b
b:
  store volatile i32 5, ptr %slots, align 4
  ret void
c:
  store volatile i32 9, ptr %slots, align 4
  ret void
impossible:
  store volatile i32 1, ptr %slots, align 4
  unreachable
}
