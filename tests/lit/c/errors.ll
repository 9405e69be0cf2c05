; What C cannot say is an error that names the function.
; RUN: not metate-c %s %t.c 2>&1 | FileCheck %s
target datalayout = "e-m:e-p:64:64-i64:64-n8:16:32:64-S128"
; CHECK: error: C has no code for this: an integer of 100 bits, where C has at most 64
define i64 @wide(i64 %a, i64 %b) {
  %x = zext i64 %a to i100
  %y = zext i64 %b to i100
  %p = mul i100 %x, %y
  %h = lshr i100 %p, 60
  %t = trunc i100 %h to i64
  ret i64 %t
}
