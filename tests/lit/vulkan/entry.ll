; What a module declares: one entry point a task, three addresses as push constants, only what is needed.
; RUN: metate-spirv %s %t.spv first:64 second | FileCheck %s --check-prefix=NEEDS
; RUN: spirv-val --target-env vulkan1.2 %t.spv
; RUN: spirv-val --target-env vulkan1.3 %t.spv
; RUN: spirv-dis --no-indent --raw-id %t.spv | FileCheck %s

; NEEDS: needs:{{$}}
; NEEDS-NEXT: constants: 0

; CHECK: ; Version: 1.5
; CHECK: OpCapability Shader
; CHECK-NEXT: OpCapability Int64
; CHECK-NEXT: OpCapability VulkanMemoryModel
; CHECK-NEXT: OpCapability PhysicalStorageBufferAddresses
; CHECK-NEXT: OpMemoryModel PhysicalStorageBuffer64 Vulkan
; CHECK-NEXT: OpEntryPoint GLCompute %[[FIRST:[0-9]+]] "first"
; CHECK-NEXT: OpEntryPoint GLCompute %[[SECOND:[0-9]+]] "second"
; CHECK-NEXT: OpExecutionMode %[[FIRST]] LocalSize 64 1 1
; CHECK-NEXT: OpExecutionMode %[[SECOND]] LocalSize 1 1 1
; CHECK-DAG: OpDecorate %[[ID:[0-9]+]] BuiltIn GlobalInvocationId
; CHECK-DAG: OpDecorate %[[GROUPS:[0-9]+]] BuiltIn NumWorkgroups
; CHECK-DAG: OpDecorate %[[RECORD:[0-9]+]] Block
; CHECK-DAG: OpMemberDecorate %[[RECORD]] 0 Offset 0
; CHECK-DAG: OpMemberDecorate %[[RECORD]] 1 Offset 8
; CHECK-DAG: OpMemberDecorate %[[RECORD]] 2 Offset 16

; CHECK: %[[FIRST]] = OpFunction
; CHECK-DAG: OpLoad %{{[0-9]+}} %[[ID]]
; CHECK-DAG: OpLoad %{{[0-9]+}} %[[GROUPS]]
; CHECK: OpStore %{{[0-9]+}} %{{[0-9]+}} Aligned|NonPrivatePointer 8
; CHECK: OpReturn
define void @first(ptr %slots, ptr %frame) {
  %i = call i64 @metate_grid_invocation()
  %n = call i64 @metate_grid_invocations()
  %sum = add i64 %i, %n
  store i64 %sum, ptr %frame, align 8
  ret void
}

; Parts of a task are inlined, also those of other calling conventions.
; CHECK: %[[SECOND]] = OpFunction
; CHECK-NOT: OpFunctionCall
; CHECK: OpStore
; CHECK: OpFunctionEnd
define void @second(ptr %slots, ptr %frame) {
  call spir_func void @part(ptr %frame)
  ret void
}
define spir_func void @part(ptr %to) noinline {
  store i32 7, ptr %to, align 4
  ret void
}

declare i64 @metate_grid_invocation()
declare i64 @metate_grid_invocations()
