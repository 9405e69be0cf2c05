; Atomic operations, their orders, and those that only a loop of compare-exchanges does.
; RUN: metate-spirv %s %t.spv orders wide part real | FileCheck %s --check-prefix=NEEDS
; RUN: spirv-val --target-env vulkan1.2 %t.spv
; RUN: spirv-dis --no-indent --raw-id %t.spv | FileCheck %s
; RUN: metate-spirv %s %t.add.spv --float-add --lavapipe orders wide part real | FileCheck %s --check-prefix=ADDS
; RUN: spirv-val --target-env vulkan1.2 %t.add.spv
; RUN: spirv-dis --no-indent --raw-id %t.add.spv | FileCheck %s --check-prefix=LAVAPIPE

; NEEDS: needs: i64-atomics{{$}}
; ADDS: needs: i64-atomics f32-atomic-add{{$}}
; CHECK: OpCapability VulkanMemoryModelDeviceScope
; LAVAPIPE: OpExtension "SPV_EXT_shader_atomic_float_add"
; LAVAPIPE-NOT: OpMemoryBarrier
; LAVAPIPE: OpAtomicFAddEXT

; CHECK-DAG: %[[UINT:[0-9]+]] = OpTypeInt 32 0
; CHECK-DAG: %[[DEVICE:[0-9]+]] = OpConstant %[[UINT]] 1
; CHECK-DAG: %[[ACQUIRE:[0-9]+]] = OpConstant %[[UINT]] 16450
; CHECK-DAG: %[[RELEASE:[0-9]+]] = OpConstant %[[UINT]] 8260
; CHECK-DAG: %[[BOTH:[0-9]+]] = OpConstant %[[UINT]] 24648
; CHECK: OpFunction
; CHECK: OpAtomicLoad %[[UINT]] %{{[0-9]+}} %[[DEVICE]] %[[ACQUIRE]]
; CHECK: OpAtomicStore %{{[0-9]+}} %[[DEVICE]] %[[RELEASE]]
; CHECK: OpAtomicIAdd %[[UINT]] %{{[0-9]+}} %[[DEVICE]] %[[BOTH]]
; CHECK: OpAtomicSMax
; CHECK: OpAtomicCompareExchange %[[UINT]] %{{[0-9]+}} %[[DEVICE]] %[[BOTH]] %[[ACQUIRE]]
; CHECK: OpMemoryBarrier %[[DEVICE]] %[[BOTH]]
; CHECK: OpFunctionEnd
define void @orders(ptr %slots, ptr %frame) {
  %v = load atomic i32, ptr %frame acquire, align 4
  store atomic i32 %v, ptr %slots release, align 4
  %a = atomicrmw add ptr %frame, i32 3 acq_rel, align 4
  %m = atomicrmw max ptr %frame, i32 %a monotonic, align 4
  %x = cmpxchg ptr %frame, i32 %m, i32 5 acq_rel acquire, align 4
  %old = extractvalue { i32, i1 } %x, 0
  store i32 %old, ptr %slots, align 4
  fence seq_cst
  ret void
}

; CHECK: OpFunction
; CHECK: OpAtomicIAdd
; CHECK: OpFunctionEnd
define void @wide(ptr %slots, ptr %frame) {
  %a = atomicrmw add ptr addrspacecast (ptr addrspace(1) null to ptr), i64 3 monotonic, align 8
  %b = atomicrmw add ptr %frame, i64 3 monotonic, align 8
  ret void
}

; A byte by the word that it lies in.
; CHECK: OpFunction
; CHECK: OpLoopMerge
; CHECK: OpAtomicCompareExchange
; CHECK: OpFunctionEnd
define void @part(ptr %slots, ptr %frame) {
  %a = atomicrmw or ptr %frame, i8 3 monotonic, align 1
  ret void
}

; CHECK: OpFunction
; CHECK: OpLoopMerge
; CHECK: OpFAdd
; CHECK: OpAtomicCompareExchange
; CHECK: OpFunctionEnd
define void @real(ptr %slots, ptr %frame) {
  %x = load float, ptr %slots, align 4
  %a = atomicrmw fadd ptr %frame, float %x monotonic, align 4
  ret void
}
