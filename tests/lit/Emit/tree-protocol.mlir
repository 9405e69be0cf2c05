// What a kernel calls of the tree protocol becomes part of its payload, instrumented like the rest; nothing else of it does.
// RUN: metate-opt %s --split-input-file --verify-diagnostics --metate-emit="target=x86-64-v3,aarch64" | FileCheck %s
// RUN: metate-opt %s --split-input-file --verify-diagnostics --metate-emit="target=x86-64-v3 sanitizer=thread opt-level=0" | FileCheck %s --check-prefix=THREAD

// CHECK: metate.interface @claim
// CHECK: metate.payload @payload0 "cpu" "x86_64-unknown-linux-gnu"
// CHECK: metate.payload @payload1 "cpu" "aarch64-unknown-linux-gnu"
// THREAD: metate.payload @payload0 {{.*}} sanitizer "thread"
module {
  metate.interface @claim entry "metate_entry_claim" tasks 0 []
  llvm.mlir.global internal constant @type(dense<0> : tensor<1024xi8>) : !llvm.array<1024 x i8>
  llvm.func @metate_rt_claim(!llvm.ptr, !llvm.ptr, i32, i64, !llvm.ptr, i32, i32) -> i32
  llvm.func @metate_entry_claim(%slots: !llvm.ptr, %scratch: !llvm.ptr, %host: !llvm.ptr) -> i32 {
    %type = llvm.mlir.addressof @type : !llvm.ptr
    %level = llvm.mlir.constant(1 : i32) : i32
    %link = llvm.mlir.constant(256 : i64) : i64
    %slot = llvm.call @metate_rt_claim(%slots, %type, %level, %link, %scratch, %level, %level) : (!llvm.ptr, !llvm.ptr, i32, i64, !llvm.ptr, i32, i32) -> i32
    llvm.return %slot : i32
  }
}

// -----

// expected-error @below {{the tree protocol has no function 'metate_rt_nothing'}}
module {
  metate.interface @nothing entry "metate_entry_nothing" tasks 0 []
  llvm.func @metate_rt_nothing(!llvm.ptr) -> i32
  llvm.func @metate_entry_nothing(%slots: !llvm.ptr, %scratch: !llvm.ptr, %host: !llvm.ptr) -> i32 {
    %slot = llvm.call @metate_rt_nothing(%slots) : (!llvm.ptr) -> i32
    llvm.return %slot : i32
  }
}
