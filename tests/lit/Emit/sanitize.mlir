// Instrumented code says so; its runtime's symbols are allowed to it alone.
// RUN: metate-opt %s --metate-emit="target=x86-64-v3 sanitizer=thread" | FileCheck %s --check-prefix=THREAD
// RUN: metate-opt %s --metate-emit="target=aarch64 sanitizer=address opt-level=0" | FileCheck %s --check-prefix=ADDRESS
// RUN: not metate-opt %s --metate-emit="target=x86-64-v3 sanitizer=memory" 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// THREAD: metate.payload @payload0 "cpu" "x86_64-unknown-linux-gnu" "x86-64-v3" "" [array<i8: 127, 69, 76, 70,
// THREAD-SAME: sanitizer "thread"
// ADDRESS: metate.payload @payload0 "cpu" "aarch64-unknown-linux-gnu" "generic" "" [array<i8: 127, 69, 76, 70,
// ADDRESS-SAME: sanitizer "address"
// UNKNOWN: sanitizer: expected 'address' or 'thread', got 'memory'
module {
  metate.interface @scale entry "metate_entry_scale" tasks 0 []
  llvm.func @metate_entry_scale(%slots: !llvm.ptr, %scratch: !llvm.ptr, %host: !llvm.ptr) -> i32 {
    %value = llvm.load %slots : !llvm.ptr -> f32
    %old = llvm.atomicrmw fadd %slots, %value monotonic : !llvm.ptr, f32
    llvm.store %old, %slots : f32, !llvm.ptr
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
}
