; A task of one invocation, where the device's vectors have lanes beside it: only the first one runs. A workgroup of whole vectors has none.
; RUN: metate-spirv %s %t.spv --lavapipe one many:64
; RUN: spirv-val --target-env vulkan1.2 %t.spv
; RUN: spirv-dis --no-indent --raw-id %t.spv | FileCheck %s
; RUN: metate-spirv %s %t.other.spv one
; RUN: spirv-dis --no-indent --raw-id %t.other.spv | FileCheck %s --check-prefix=OTHER

; OTHER-NOT: SubgroupLocalInvocationId

; CHECK: OpCapability GroupNonUniform
; CHECK: OpDecorate %[[LANE:[0-9]+]] BuiltIn SubgroupLocalInvocationId
; CHECK: OpFunction
; CHECK: %[[OWN:[0-9]+]] = OpLoad %{{[0-9]+}} %[[LANE]]
; CHECK: %[[FIRST:[0-9]+]] = OpIEqual %{{[0-9]+}} %[[OWN]]
; CHECK: OpSelectionMerge %[[END:[0-9]+]]
; CHECK-NEXT: OpBranchConditional %[[FIRST]] %{{[0-9]+}} %[[END]]
; CHECK: OpStore
; CHECK: %[[END]] = OpLabel
; CHECK-NOT: OpStore
; CHECK: OpFunctionEnd
define void @one(ptr %slots, ptr %frame) {
  %x = load i32, ptr %slots, align 4
  store i32 %x, ptr %frame, align 4
  ret void
}

; CHECK: OpFunction
; CHECK-NOT: OpLoad %{{[0-9]+}} %[[LANE]]
; CHECK: OpFunctionEnd
define void @many(ptr %slots, ptr %frame) {
  %x = load i32, ptr %slots, align 4
  store i32 %x, ptr %frame, align 4
  ret void
}
