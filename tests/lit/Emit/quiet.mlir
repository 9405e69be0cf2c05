// A loop that LLVM is asked to vectorise and cannot: its warning about that is not the user's.
// RUN: metate-opt %s --metate-emit="target=x86-64-v3" 2>&1 | FileCheck %s

// CHECK-NOT: loop not vectorized
// CHECK: metate.payload @payload0
// CHECK-NOT: loop not vectorized
#yes = #llvm.loop_vectorize<disable = false>
#row = #llvm.loop_annotation<vectorize = #yes>
module {
  metate.interface @k entry "metate_entry_k" tasks 0 []
  llvm.func @metate_entry_k(%slots: !llvm.ptr, %scratch: !llvm.ptr, %host: !llvm.ptr) -> i32 {
    %zero = llvm.mlir.constant(0 : i64) : i64
    %one = llvm.mlir.constant(1 : i64) : i64
    %count = llvm.load %slots : !llvm.ptr -> i64
    llvm.br ^head(%zero : i64)
  ^head(%i: i64):
    %here = llvm.getelementptr %scratch[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %value = llvm.load volatile %here : !llvm.ptr -> i64
    llvm.store volatile %value, %slots : i64, !llvm.ptr
    %next = llvm.add %i, %one : i64
    %more = llvm.icmp "slt" %next, %count : i64
    llvm.cond_br %more, ^head(%next : i64), ^end {loop_annotation = #row}
  ^end:
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
}
