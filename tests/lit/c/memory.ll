; Places, loads, stores, atomics, static data, and calls through pointers.
; RUN: metate-c %s %t.c
; RUN: gcc -std=c99 -O2 -Wall -Wextra -Wpedantic -Werror -c %t.c -o %t.o
; RUN: gcc -std=c99 -O2 -Wall -Wextra -Wpedantic -Werror -DMETATE_SINGLE_THREAD -c %t.c -o %t.o
; RUN: clang -std=c99 -O2 -Wall -Wextra -Wpedantic -Werror -c %t.c -o %t.o
; RUN: clang -std=c11 -O2 -Wall -Wextra -Wpedantic -Werror -c %t.c -o %t.o
; RUN: FileCheck %s < %t.c
target datalayout = "e-m:e-p:64:64-i64:64-n8:16:32:64-S128"

; CHECK-DAG: static const METATE_ALIGN(64) union {
; CHECK-DAG: 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,
@table = internal constant [2 x i64] [i64 1, i64 2], align 64
@text = internal constant [4 x i8] c"abc\00"
; CHECK-DAG: metate_data_names = {{[{][{][{]}}metate_data_text.bytes}, {(metate_data_text.bytes + 1)}}};
@names = internal constant [2 x ptr] [ptr @text, ptr getelementptr (i8, ptr @text, i64 1)]

; CHECK-LABEL: float at(unsigned char *p0, uint64_t p1, uint32_t p2) {
; CHECK: metate_load_f32((p0 + (int64_t)(p1 * 4ull)) + 8ll)
; CHECK: metate_loadany_f32(p0 + (int64_t)(
define float @at(ptr %x, i64 %i, i32 %j) {
  %p = getelementptr inbounds [4 x float], ptr %x, i64 0, i64 %i
  %q = getelementptr inbounds float, ptr %p, i64 2
  %a = load float, ptr %q, align 4
  %r = getelementptr i8, ptr %x, i32 %j
  %b = load float, ptr %r, align 1
  %s = fadd float %a, %b
  ret float %s
}

; CHECK-LABEL: void change(unsigned char *p0, float p1, uint16_t p2) {
; CHECK-DAG: (void)metate_rmwfadd_f32_u32_relaxed(p0, p1);
; CHECK-DAG: (void)metate_rmwsmax_u64_total(
; CHECK-DAG: (void)metate_rmwhadd_f16_relaxed(
; CHECK-DAG: metate_cmpxchg_u32_both_acquire(p0, &
; CHECK-DAG: metate_atomicload_u32_acquire(
; CHECK-DAG: METATE_FENCE(release);
define void @change(ptr %x, float %v, half %h) {
  %1 = atomicrmw fadd ptr %x, float %v monotonic
  %p = getelementptr i8, ptr %x, i64 8
  %2 = atomicrmw max ptr %p, i64 7 seq_cst
  %q = getelementptr i8, ptr %x, i64 16
  %3 = atomicrmw fadd ptr %q, half %h monotonic
  %4 = cmpxchg ptr %x, i32 1, i32 2 acq_rel acquire
  %5 = extractvalue { i32, i1 } %4, 0
  %6 = load atomic i32, ptr %x acquire, align 4
  %7 = add i32 %5, %6
  fence release
  store atomic i32 %7, ptr %q release, align 4
  %8 = atomicrmw xchg ptr %x, i32 9 monotonic
  %9 = atomicrmw nand ptr %x, i32 %8 monotonic
  ret void
}

; CHECK-LABEL: unsigned char *name(uint64_t p0) {
; CHECK: metate_load_p(((unsigned char *)(const unsigned char *)&metate_data_names) + (int64_t)(p0 * 8ull))
define ptr @name(i64 %i) {
  %p = getelementptr [2 x ptr], ptr @names, i64 0, i64 %i
  %n = load ptr, ptr %p
  ret ptr %n
}

; A task's body is given to the host as what the host calls it with.
; CHECK: static int32_t metate_code_body(void *p0, int64_t p1, int64_t p2, uint32_t p3) {
define internal i32 @body(ptr %context, i64 %begin, i64 %end, i32 %worker) noinline {
  store i64 %begin, ptr %context
  ret i32 0
}
; CHECK-LABEL: uint32_t launch(
; CHECK: ((metate_pointer{{[0-9]}})metate_tofunction(p0))(p1, 100ull, 1ull, 0u, metate_code_body, m{{[0-9]}}.bytes)
define i32 @launch(ptr %hook, ptr %self) {
  %context = alloca [24 x i8], align 8
  store i64 4, ptr %context
  %status = call i32 %hook(ptr %self, i64 100, i64 1, i32 0, ptr @body, ptr %context)
  %left = load i64, ptr %context
  %t = trunc i64 %left to i32
  %s = add i32 %status, %t
  ret i32 %s
}

; CHECK-LABEL: uint64_t looked(uint64_t p0) {
; CHECK: metate_load_u64(((unsigned char *)metate_data_table.bytes) + (int64_t)(p0 * 8ull))
define i64 @looked(i64 %i) {
  %p = getelementptr [2 x i64], ptr @table, i64 0, i64 %i
  %v = load i64, ptr %p
  ret i64 %v
}

; So are casts of them, and booleans in memory, of which each is one bit.
; CHECK-LABEL: uint64_t bits(unsigned char *p0, unsigned char *p1) {
; CHECK-NOT: metate_value
; CHECK: metate_store_u8(p1, {{.*}} << 1u
define i64 @bits(ptr %x, ptr %y) {
  %a = load <2 x float>, ptr %x
  %b = load <2 x float>, ptr %y
  %c = fcmp olt <2 x float> %a, %b
  store <2 x i1> %c, ptr %y
  %d = fadd <2 x float> %a, %b
  %e = bitcast <2 x float> %d to i64
  ret i64 %e
}

; An acquire orders what follows it, whether or not anybody wants the number.
; CHECK-LABEL: void waits(unsigned char *p0) {
; CHECK: (void)metate_atomicload_u32_acquire(p0 + 8ll);
define void @waits(ptr %x) {
  %p = getelementptr i8, ptr %x, i64 8
  %v = load atomic i32, ptr %p acquire, align 4
  ret void
}

; Memory of a loop's turn is the function's.
; CHECK-LABEL: uint32_t turns(uint32_t p0) {
; CHECK: unsigned char bytes[40];
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define i32 @turns(i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %memory = alloca [10 x i32], align 4
  call void @llvm.memset.p0.i64(ptr %memory, i8 1, i64 40, i1 false)
  %at = zext i32 %i to i64
  %p = getelementptr i32, ptr %memory, i64 %at
  store i32 %i, ptr %p
  %q = getelementptr i32, ptr %memory, i64 3
  %v = load i32, ptr %q
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret i32 %v
}

; Vectors are taken apart.
; CHECK-LABEL: void vectors(unsigned char *p0) {
; CHECK-COUNT-4: metate_store_f32(
define void @vectors(ptr %x) {
  %v = load <4 x float>, ptr %x, align 16
  %w = fadd <4 x float> %v, <float 1.0, float 2.0, float 3.0, float 4.0>
  store <4 x float> %w, ptr %x, align 16
  ret void
}
