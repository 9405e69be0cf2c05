; Copies of unknown length and alignment to and from local memory, which has no address to ask: a known distance from its beginning is asked
; instead, which is aligned; without one a copy goes by bytes.
; RUN: metate-spirv %s %t.spv known unknown
; RUN: spirv-val --target-env vulkan1.2 %t.spv
; RUN: spirv-dis --no-indent --raw-id %t.spv | FileCheck %s

; CHECK: OpFunction
; CHECK: OpBitwiseOr
; CHECK-NOT: OpBitwiseOr
; CHECK: OpBitwiseAnd
; CHECK: OpIEqual
; CHECK-DAG: OpStore %{{[0-9]+}} %{{[0-9]+}} Aligned|NonPrivatePointer 8
; CHECK-DAG: OpStore %{{[0-9]+}} %{{[0-9]+}} Aligned|NonPrivatePointer 1
; CHECK: OpFunctionEnd
define void @known(ptr %slots, ptr %frame) {
  %room = alloca [64 x i8], align 1
  %n = load i64, ptr %slots, align 8
  %to = getelementptr i8, ptr %room, i64 16
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %to, ptr align 1 %frame, i64 %n, i1 false)
  %out = getelementptr i8, ptr %frame, i64 100
  store i8 7, ptr %room, align 1
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %out, ptr align 1 %room, i64 %n, i1 false)
  ret void
}

; CHECK: OpFunction
; CHECK-NOT: OpStore %{{[0-9]+}} %{{[0-9]+}} Aligned|NonPrivatePointer 8
; CHECK: OpStore %{{[0-9]+}} %{{[0-9]+}} Aligned|NonPrivatePointer 1
; CHECK: OpFunctionEnd
define void @unknown(ptr %slots, ptr %frame) {
  %room = alloca [64 x i8], align 1
  %n = load i32, ptr %slots, align 4
  %wide = zext i32 %n to i64
  %to = getelementptr i8, ptr %room, i64 %wide
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %to, ptr align 1 %frame, i64 %wide, i1 false)
  %out = getelementptr i8, ptr %frame, i64 100
  store i8 7, ptr %to, align 1
  call void @llvm.memcpy.p0.p0.i64(ptr align 1 %out, ptr align 1 %to, i64 %wide, i1 false)
  ret void
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
