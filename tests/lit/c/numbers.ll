; Integers are unsigned and cut to their width; what C leaves undefined is a function or a mask.
; RUN: metate-c %s %t.c
; RUN: gcc -std=c99 -O2 -Wall -Wextra -Wpedantic -Werror -c %t.c -o %t.o
; RUN: clang -std=c99 -O2 -Wall -Wextra -Wpedantic -Werror -c %t.c -o %t.o
; RUN: FileCheck %s < %t.c
target datalayout = "e-m:e-p:64:64-i64:64-n8:16:32:64-S128"

; CHECK-LABEL: uint32_t shifts(uint32_t p0, uint32_t p1) {
; CHECK: (p0 << (p1 & 31u))
; CHECK: ((uint32_t)(((int32_t)p0) >> (p1 & 31u)))
define i32 @shifts(i32 %a, i32 %b) {
  %l = shl i32 %a, %b
  %r = ashr i32 %a, %b
  %s = xor i32 %l, %r
  ret i32 %s
}

; A product of narrow numbers would be a signed one, which may overflow.
; CHECK-LABEL: uint16_t narrow(uint16_t p0, uint16_t p1) {
; CHECK: return (uint16_t)((uint32_t)p0 * p1);
define i16 @narrow(i16 %a, i16 %b) {
  %p = mul i16 %a, %b
  ret i16 %p
}

; Of complements gcc warns where they are compared.
; CHECK-LABEL: uint8_t complement(uint8_t p0, uint8_t p1) {
; CHECK: p0 > metate_complement_u8(p1)
define i8 @complement(i8 %a, i8 %b) {
  %n = xor i8 %b, -1
  %c = icmp ugt i8 %a, %n
  %r = zext i1 %c to i8
  ret i8 %r
}

; CHECK-LABEL: uint8_t reversed(uint8_t p0) {
; CHECK: metate_bitreverseodd_u8_2(
define i8 @reversed(i8 %a) {
  %t = trunc i8 %a to i2
  %v = call i2 @llvm.bitreverse.i2(i2 %t)
  %r = zext i2 %v to i8
  ret i8 %r
}

; CHECK-LABEL: uint32_t odd(uint32_t p0) {
; CHECK: & 131071u
define i17 @odd(i17 %a) {
  %p = mul i17 %a, %a
  %q = sdiv i17 %p, 7
  ret i17 %q
}

; CHECK-LABEL: uint32_t least(uint32_t p0) {
; CHECK: return (((int32_t)p0) < (-5)) ? p0 : 2147483648u;
define i32 @least(i32 %a) {
  %c = icmp slt i32 %a, -5
  %r = select i1 %c, i32 %a, i32 -2147483648
  ret i32 %r
}

; Constants to the bit.
; CHECK-LABEL: float constants(float p0) {
; CHECK: 0x1.99999ap-4f
; CHECK: metate_number_f32_u32(2139095040u)
define float @constants(float %x) {
  %a = fadd float %x, 0x3FB99999A0000000
  %c = fcmp olt float %a, 2.0
  %r = select i1 %c, float %a, float 0x7FF0000000000000
  ret float %r
}

; CHECK-LABEL: uint32_t classes(float p0, double p1) {
; CHECK-DAG: metate_fptosi_u32_f64(p1)
; CHECK-DAG: metate_ord_f32(p0, 0.0f)
define i32 @classes(float %x, double %y) {
  %o = fcmp ord float %x, 0.0
  %z = zext i1 %o to i32
  %i = fptosi double %y to i32
  %s = add i32 %z, %i
  ret i32 %s
}

; Half-sized numbers are their bits, and computed as floats.
; CHECK-LABEL: uint16_t half(uint16_t p0, uint16_t p1) {
; CHECK: metate_f32tof16(metate_f16tof32(p0) * metate_f16tof32(p1))
define half @half(half %a, half %b) {
  %p = fmul half %a, %b
  ret half %p
}

; Products and sums stay apart.
; CHECK-LABEL: float muladd(float p0, float p1, float p2) {
; CHECK: return (p0 * p1) + p2;
define float @muladd(float %a, float %b, float %c) {
  %p = fmul float %a, %b
  %s = fadd float %p, %c
  ret float %s
}

; CHECK-LABEL: uint32_t counts(uint32_t p0, uint64_t p1) {
; CHECK-DAG: metate_ctlz_u32(p0)
; CHECK-DAG: metate_ctpop_u64(p1)
define i32 @counts(i32 %a, i64 %b) {
  %l = call i32 @llvm.ctlz.i32(i32 %a, i1 false)
  %p = call i64 @llvm.ctpop.i64(i64 %b)
  %t = trunc i64 %p to i32
  %m = call i32 @llvm.umax.i32(i32 %l, i32 %t)
  ret i32 %m
}

; CHECK-LABEL: uint64_t overflow(uint64_t p0, uint64_t p1) {
; CHECK: .f1 = metate_smuloverflow_u64(p0, p1, &[[V:v[0-9]+]].f0);
define i64 @overflow(i64 %a, i64 %b) {
  %pair = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %a, i64 %b)
  %p = extractvalue { i64, i1 } %pair, 0
  %o = extractvalue { i64, i1 } %pair, 1
  %r = select i1 %o, i64 -1, i64 %p
  ret i64 %r
}
