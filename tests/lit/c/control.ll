; Blocks, jumps, and phis as copies that all happen at once.
; RUN: metate-c %s %t.c
; RUN: gcc -std=c99 -O2 -Wall -Wextra -Wpedantic -Werror -c %t.c -o %t.o
; RUN: clang -std=c99 -O2 -Wall -Wextra -Wpedantic -Werror -c %t.c -o %t.o
; RUN: FileCheck %s < %t.c
target datalayout = "e-m:e-p:64:64-i64:64-n8:16:32:64-S128"

; What is exchanged needs a third variable.
; CHECK-LABEL: uint32_t exchanged(uint32_t p0
; CHECK: if (v
; CHECK-NEXT: v{{[0-9]+}} = v
; CHECK-NEXT: [[KEPT:v[0-9]+]] = [[A:v[0-9]+]];
; CHECK-NEXT: [[A]] = [[B:v[0-9]+]];
; CHECK-NEXT: [[B]] = [[KEPT]];
define i32 @exchanged(i32 %x, i32 %y, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %a = phi i32 [ %x, %entry ], [ %b, %loop ]
  %b = phi i32 [ %y, %entry ], [ %a, %loop ]
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  %d = sub i32 %a, %b
  ret i32 %d
}

; What another copy still reads is written after it.
; CHECK-LABEL: uint32_t fibonacci(uint32_t p0
; CHECK: [[SUM:v[0-9]+]] = [[P:v[0-9]+]] + [[Q:v[0-9]+]];
; CHECK: {{^}}    [[P]] = [[Q]];
; CHECK-NEXT: [[Q]] = [[SUM]];
define i32 @fibonacci(i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %q = phi i32 [ 1, %entry ], [ %sum, %loop ]
  %p = phi i32 [ 0, %entry ], [ %q, %loop ]
  %sum = add i32 %p, %q
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret i32 %p
}

; CHECK-LABEL: void choice(unsigned char *p0, uint32_t p1) {
; CHECK: switch (p1) {
; CHECK-NEXT: case 1u:
; CHECK-NEXT: goto L
declare void @memcpy(ptr, ptr, i64)
define void @choice(ptr %x, i32 %k) {
  switch i32 %k, label %other [ i32 1, label %one
                                i32 5, label %five
                                i32 9, label %nine
                                i32 77, label %one ]
one:
  store i32 3, ptr %x
  ret void
five:
  store volatile i32 8, ptr %x
  ret void
nine:
  %p = getelementptr i32, ptr %x, i64 4
  store i32 8, ptr %p
  ret void
other:
  store float 2.0, ptr %x
  ret void
}
