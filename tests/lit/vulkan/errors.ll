; What can not be said in SPIR-V is an error that names the function, not the end of the process.
; RUN: not metate-spirv %s %t.spv nothing 2>&1 | FileCheck %s --check-prefix=NOTHING
; RUN: not metate-spirv %s %t.spv zero:0 2>&1 | FileCheck %s --check-prefix=GROUP
; RUN: not metate-spirv %s %t.spv zero zero 2>&1 | FileCheck %s --check-prefix=TWICE
; RUN: not metate-spirv %s %t.spv shape 2>&1 | FileCheck %s --check-prefix=SHAPE
; RUN: not metate-spirv %s %t.spv recursive 2>&1 | FileCheck %s --check-prefix=RECURSIVE
; RUN: not metate-spirv %s %t.spv foreign 2>&1 | FileCheck %s --check-prefix=FOREIGN
; RUN: not metate-spirv %s %t.spv pointer 2>&1 | FileCheck %s --check-prefix=POINTER
; RUN: not metate-spirv %s %t.spv variable 2>&1 | FileCheck %s --check-prefix=VARIABLE
; RUN: not metate-spirv %s %t.spv wide 2>&1 | FileCheck %s --check-prefix=WIDE
; RUN: not metate-spirv %s %t.spv sine 2>&1 | FileCheck %s --check-prefix=SINE
; RUN: not metate-spirv %s %t.spv escaped 2>&1 | FileCheck %s --check-prefix=ESCAPED

; NOTHING: error: no function nothing
; GROUP: error: zero: a group of 0 invocations
; TWICE: error: two tasks zero
define void @zero(ptr %slots, ptr %frame) {
  ret void
}

; SHAPE: error: shape: a task is void(ptr, ptr)
define void @shape(ptr %slots) {
  ret void
}

; RECURSIVE: error: down: calls itself
define void @recursive(ptr %slots, ptr %frame) {
  call void @down(ptr %frame)
  ret void
}
define void @down(ptr %frame) {
  %n = load i32, ptr %frame, align 4
  %c = icmp eq i32 %n, 0
  br i1 %c, label %end, label %more
more:
  %m = sub i32 %n, 1
  store i32 %m, ptr %frame, align 4
  call void @down(ptr %frame)
  call void @down(ptr %frame)
  br label %end
end:
  ret void
}

; FOREIGN: error: foreign: a call of what a device does not have: {{.*}} @printf
define void @foreign(ptr %slots, ptr %frame) {
  call i32 (ptr, ...) @printf(ptr %frame)
  ret void
}
declare i32 @printf(ptr, ...)

; POINTER: error: pointer: a call of what is not known
define void @pointer(ptr %slots, ptr %frame) {
  %f = load ptr, ptr %frame, align 8
  call void %f()
  ret void
}

; VARIABLE: error: @state: a device has no variables of its own
@state = global i32 0
define void @variable(ptr %slots, ptr %frame) {
  %v = load volatile i32, ptr @state, align 4
  store volatile i32 %v, ptr %frame, align 4
  ret void
}

; WIDE: error: wide: an integer of more than 64 bits
define void @wide(ptr %slots, ptr %frame) {
  %v = load i128, ptr %frame, align 16
  %w = mul i128 %v, %v
  store i128 %w, ptr %frame, align 16
  ret void
}

; SINE: error: sine: nothing in SPIR-V for Vulkan does this: {{.*}} @llvm.sin.f32
define void @sine(ptr %slots, ptr %frame) {
  %v = load float, ptr %frame, align 4
  %w = call float @llvm.sin.f32(float %v)
  store float %w, ptr %frame, align 4
  ret void
}
declare float @llvm.sin.f32(float)

; ESCAPED: error: escaped: an address of local memory is kept in memory
define void @escaped(ptr %slots, ptr %frame) {
  %room = alloca i32, align 4
  store volatile ptr %room, ptr %frame, align 8
  ret void
}
