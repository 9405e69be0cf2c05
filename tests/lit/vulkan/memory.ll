; Accesses: aligned pieces, narrow numbers, local arrays, constants.
; RUN: metate-spirv %s %t.spv --constants=%t.bin unaligned narrow local table fill copy | FileCheck %s --check-prefix=NEEDS
; RUN: spirv-val --target-env vulkan1.2 %t.spv
; RUN: spirv-dis --no-indent --raw-id %t.spv | FileCheck %s
; RUN: od -An -v -t d4 -N 16 %t.bin | FileCheck %s --check-prefix=BYTES

; NEEDS: needs: i16 i8
; NEEDS-NEXT: constants: 32
; BYTES: 3 1 4 1

@numbers = private constant [8 x i32] [i32 3, i32 1, i32 4, i32 1, i32 5, i32 9, i32 2, i32 6]

; CHECK-COUNT-6: OpEntryPoint
; CHECK: OpFunction
; CHECK-COUNT-4: OpLoad %{{[0-9]+}} %{{[0-9]+}} Aligned|NonPrivatePointer 2
; CHECK: OpStore %{{[0-9]+}} %{{[0-9]+}} Aligned|NonPrivatePointer 8
; CHECK: OpFunctionEnd
define void @unaligned(ptr %slots, ptr %frame) {
  %v = load i64, ptr %frame, align 2
  store i64 %v, ptr %slots, align 8
  ret void
}

; CHECK: OpFunction
; CHECK: OpLoad %{{[0-9]+}} %{{[0-9]+}} Aligned|NonPrivatePointer 1
; CHECK: OpUConvert
; CHECK: OpIMul
; CHECK: OpUConvert
; CHECK: OpStore %{{[0-9]+}} %{{[0-9]+}} Aligned|NonPrivatePointer 1
; CHECK: OpFunctionEnd
define void @narrow(ptr %slots, ptr %frame) {
  %v = load i8, ptr %frame, align 1
  %w = mul i8 %v, 13
  store i8 %w, ptr %slots, align 1
  ret void
}

; Addresses of local memory are numbers of elements.
; CHECK: OpFunction
; CHECK: %[[ROOM:[0-9]+]] = OpVariable %{{[0-9]+}} Function
; CHECK: OpAccessChain %{{[0-9]+}} %[[ROOM]]
; CHECK: OpFunctionEnd
define void @local(ptr %slots, ptr %frame) {
  %room = alloca [16 x i32], align 4
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %room, ptr align 4 %frame, i64 64, i1 false)
  %i = load i32, ptr %slots, align 4
  %j = and i32 %i, 15
  %p = getelementptr i32, ptr %room, i32 %j
  store i32 7, ptr %p, align 4
  %k = xor i32 %j, 3
  %q = getelementptr i32, ptr %room, i32 %k
  %v = load i32, ptr %q, align 4
  store i32 %v, ptr %frame, align 4
  ret void
}

; The third push constant is the constants' address.
; CHECK: OpFunction
; CHECK: OpAccessChain %{{[0-9]+}} %{{[0-9]+}} %{{[0-9]+}}
; CHECK: OpFunctionEnd
define void @table(ptr %slots, ptr %frame) {
  %i = load i64, ptr %slots, align 8
  %p = getelementptr [8 x i32], ptr @numbers, i64 0, i64 %i
  %v = load i32, ptr %p, align 4
  store i32 %v, ptr %frame, align 4
  ret void
}

; A loop of words, then one of the bytes that are left.
; CHECK: OpFunction
; CHECK: OpLoopMerge
; CHECK: OpStore %{{[0-9]+}} %{{[0-9]+}} Aligned|NonPrivatePointer 8
; CHECK: OpLoopMerge
; CHECK: OpStore %{{[0-9]+}} %{{[0-9]+}} Aligned|NonPrivatePointer 1
; CHECK: OpFunctionEnd
define void @fill(ptr %slots, ptr %frame) {
  %n = load i64, ptr %slots, align 8
  call void @llvm.memset.p0.i64(ptr align 8 %frame, i8 3, i64 %n, i1 false)
  ret void
}

; Of an alignment that nobody knows: words where addresses and length are multiples of one, else bytes.
; CHECK: OpFunction
; CHECK: OpBitwiseOr
; CHECK: OpBitwiseOr
; CHECK: OpBitwiseAnd
; CHECK: OpIEqual
; CHECK: OpSelectionMerge
; CHECK-DAG: OpStore %{{[0-9]+}} %{{[0-9]+}} Aligned|NonPrivatePointer 8
; CHECK-DAG: OpStore %{{[0-9]+}} %{{[0-9]+}} Aligned|NonPrivatePointer 1
; CHECK: OpFunctionEnd
define void @copy(ptr %slots, ptr %frame) {
  %n = load i64, ptr %slots, align 8
  %from = getelementptr i8, ptr %slots, i64 8
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %frame, ptr align 1 %from, i64 %n, i1 false)
  ret void
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
