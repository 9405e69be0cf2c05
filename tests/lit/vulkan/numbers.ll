; Arithmetic: what is contracted, what is computed exactly, what has no instruction.
; RUN: metate-spirv %s %t.spv contract exact estimate half brain integers classes
; RUN: spirv-val --target-env vulkan1.2 %t.spv
; RUN: spirv-dis --no-indent --raw-id %t.spv | FileCheck %s
; RUN: metate-spirv %s %t.lavapipe.spv --lavapipe zeros whole
; RUN: spirv-val --target-env vulkan1.2 %t.lavapipe.spv
; RUN: spirv-dis --no-indent --raw-id %t.lavapipe.spv | FileCheck %s --check-prefix=LAVAPIPE

; Each task asks for numbers as IEEE 754 has them, in each width that occurs.
; CHECK-DAG: OpCapability DenormPreserve
; CHECK-DAG: OpCapability SignedZeroInfNanPreserve
; CHECK-DAG: OpCapability RoundingModeRTE
; CHECK-DAG: OpEntryPoint GLCompute %[[TASK:[0-9]+]] "contract"
; CHECK-DAG: OpExecutionMode %[[TASK]] DenormPreserve 32
; CHECK-DAG: OpExecutionMode %[[TASK]] SignedZeroInfNanPreserve 32
; CHECK-DAG: OpExecutionMode %[[TASK]] RoundingModeRTE 32
; CHECK-DAG: OpExecutionMode %[[TASK]] RoundingModeRTE 16

; CHECK-DAG: OpDecorate %[[KEPT:[0-9]+]] NoContraction
; CHECK-DAG: OpDecorate %[[SUM:[0-9]+]] NoContraction
; CHECK: OpFunction
; CHECK: %[[KEPT]] = OpFMul
; CHECK-NEXT: %[[SUM]] = OpFAdd
; CHECK: OpFMul
; CHECK: OpFAdd
; CHECK: OpFunctionEnd
define void @contract(ptr %slots, ptr %frame) {
  %x = load float, ptr %slots, align 4
  %m = fmul float %x, 3.0
  %s = fadd float %m, 1.0
  %cm = fmul contract float %s, 5.0
  %cs = fadd contract float %cm, %x
  store float %cs, ptr %frame, align 4
  ret void
}

; An estimate, which integers make exact.
; CHECK: OpFunction
; CHECK: OpFDiv
; CHECK: OpIMul
; CHECK: OpFunctionEnd
define void @exact(ptr %slots, ptr %frame) {
  %x = load float, ptr %slots, align 4
  %y = load float, ptr %frame, align 4
  %q = fdiv float %x, %y
  store float %q, ptr %frame, align 4
  ret void
}

; CHECK: OpFunction
; CHECK-NOT: OpIMul
; CHECK: OpFDiv
; CHECK: OpExtInst %{{[0-9]+}} %{{[0-9]+}} Sqrt
; CHECK-NOT: OpIMul
; CHECK: OpFunctionEnd
define void @estimate(ptr %slots, ptr %frame) {
  %x = load float, ptr %slots, align 4
  %y = load float, ptr %frame, align 4
  %q = fdiv arcp float %x, %y
  %r = call afn float @llvm.sqrt.f32(float %q)
  store float %r, ptr %frame, align 4
  ret void
}

; A sum of f16 is one of the device; what is rounded to f16 is rounded by integers.
; CHECK: OpFunction
; CHECK: OpFAdd
; CHECK: OpFConvert
; CHECK-NOT: OpFConvert
; CHECK: OpFunctionEnd
define void @half(ptr %slots, ptr %frame) {
  %x = load half, ptr %slots, align 2
  %y = fadd half %x, 1.0
  %z = fpext half %y to float
  %w = fmul float %z, 0x3FB99999A0000000
  %h = fptrunc float %w to half
  store half %h, ptr %frame, align 2
  ret void
}

; CHECK: OpFunction
; CHECK: OpShiftLeftLogical
; CHECK: OpFMul
; CHECK: OpFunctionEnd
define void @brain(ptr %slots, ptr %frame) {
  %x = load bfloat, ptr %slots, align 2
  %y = fmul bfloat %x, %x
  %c = fcmp olt bfloat %y, 1.0
  %z = select i1 %c, bfloat %x, bfloat %y
  store bfloat %z, ptr %frame, align 2
  ret void
}

; OpSRem is undefined of negative numbers, counts and reversals are of 32 bits.
; CHECK: OpFunction
; CHECK-NOT: OpSRem
; CHECK-DAG: OpSDiv
; CHECK-DAG: OpBitCount
; CHECK-DAG: OpBitReverse
; CHECK-DAG: FindUMsb
; CHECK-DAG: FindILsb
; CHECK: OpFunctionEnd
define void @integers(ptr %slots, ptr %frame) {
  %x = load i64, ptr %slots, align 8
  %y = load i64, ptr %frame, align 8
  %r = srem i64 %x, %y
  %p = call i64 @llvm.ctpop.i64(i64 %x)
  %l = call i64 @llvm.ctlz.i64(i64 %x, i1 false)
  %t = call i64 @llvm.cttz.i64(i64 %y, i1 false)
  %b = call i64 @llvm.bitreverse.i64(i64 %y)
  %m = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %x, i64 %y)
  %mv = extractvalue { i64, i1 } %m, 0
  %mo = extractvalue { i64, i1 } %m, 1
  %mz = zext i1 %mo to i64
  %s = call i64 @llvm.ssub.sat.i64(i64 %x, i64 %y)
  %f = call i64 @llvm.fshl.i64(i64 %x, i64 %y, i64 %r)
  %1 = add i64 %r, %p
  %2 = add i64 %1, %l
  %3 = add i64 %2, %t
  %4 = add i64 %3, %b
  %5 = add i64 %4, %mv
  %6 = add i64 %5, %mz
  %7 = add i64 %6, %s
  %8 = add i64 %7, %f
  store i64 %8, ptr %frame, align 8
  ret void
}

; A NaN is asked for by name; a greatest number is a selection.
; CHECK: OpFunction
; CHECK: OpIsNan
; CHECK-NOT: OpExtInst
; CHECK: OpFunctionEnd
define void @classes(ptr %slots, ptr %frame) {
  %x = load float, ptr %slots, align 4
  %y = load float, ptr %frame, align 4
  %m = call float @llvm.maximum.f32(float %x, float %y)
  %c = call i1 @llvm.is.fpclass.f32(float %m, i32 144)
  %i = call i32 @llvm.fptosi.sat.i32.f32(float %y)
  %s = select i1 %c, i32 %i, i32 3
  store i32 %s, ptr %frame, align 4
  ret void
}

declare float @llvm.sqrt.f32(float)
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.bitreverse.i64(i64)
declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)
declare i64 @llvm.ssub.sat.i64(i64, i64)
declare i64 @llvm.fshl.i64(i64, i64, i64)
declare float @llvm.maximum.f32(float, float)
declare i1 @llvm.is.fpclass.f32(float, i32)
declare i32 @llvm.fptosi.sat.i32.f32(float)

; A device that takes 0 * x for 0, and x + 0 for x, does not see that it is 0.
; LAVAPIPE: %[[FLOAT:[0-9]+]] = OpTypeFloat 32
; LAVAPIPE-DAG: %[[THREE:[0-9]+]] = OpConstant %[[FLOAT]] 3
; LAVAPIPE: OpFunction
; LAVAPIPE: OpShiftRightLogical
; LAVAPIPE: %[[PLUS:[0-9]+]] = OpBitcast %[[FLOAT]]
; LAVAPIPE: OpFMul %[[FLOAT]] %{{[0-9]+}} %[[PLUS]]
; LAVAPIPE: OpFAdd %[[FLOAT]] %{{[0-9]+}} %[[PLUS]]
; LAVAPIPE: OpFMul %[[FLOAT]] %{{[0-9]+}} %[[THREE]]
; LAVAPIPE: OpFunctionEnd
define void @zeros(ptr %slots, ptr %frame) {
  %x = load float, ptr %slots, align 4
  %m = fmul float %x, 0.0
  %s = fadd float %m, 0.0
  %t = fmul float %s, 3.0
  store float %t, ptr %frame, align 4
  ret void
}

; Nor does it make an f64 whole.
; LAVAPIPE: OpFunction
; LAVAPIPE-NOT: RoundEven
; LAVAPIPE-NOT: Trunc
; LAVAPIPE: OpFunctionEnd
define void @whole(ptr %slots, ptr %frame) {
  %x = load double, ptr %slots, align 8
  %r = call double @llvm.roundeven.f64(double %x)
  %s = fadd double %r, %x
  %t = call double @llvm.trunc.f64(double %s)
  %u = fmul double %t, %x
  %w = call double @llvm.round.f64(double %u)
  store double %w, ptr %frame, align 8
  ret void
}
