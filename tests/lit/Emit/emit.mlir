// Functions become one payload a target, with everything that pack needs; what a kernel may not call is refused.
// RUN: metate-opt %s --split-input-file --verify-diagnostics --metate-emit="target=x86-64-v3,aarch64" | FileCheck %s

// CHECK-NOT: llvm.func
// CHECK: metate.interface @root entry "metate_entry_root"
// CHECK-NOT: llvm.func
// CHECK: metate.payload @payload0 "cpu" "x86_64-unknown-linux-gnu" "x86-64-v3" "" [array<i8: 127, 69, 76, 70,
// CHECK: metate.payload @payload1 "cpu" "aarch64-unknown-linux-gnu" "generic" "" [array<i8: 127, 69, 76, 70,
module {
  metate.interface @root entry "metate_entry_root" tasks 0 []
  llvm.func @sqrtf(f32) -> f32
  llvm.func @metate_entry_root(%slots: !llvm.ptr, %scratch: !llvm.ptr, %host: !llvm.ptr) -> i32 {
    %value = llvm.load %slots : !llvm.ptr -> f32
    %root = llvm.call @sqrtf(%value) : (f32) -> f32
    llvm.store %root, %slots : f32, !llvm.ptr
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
}

// -----

// expected-error @below {{undefined symbol 'malloc' in the object code: a kernel calls only its host's hooks and the C library's memory and math functions}}
module {
  metate.interface @k entry "metate_entry_k" tasks 0 []
  llvm.func @malloc(i64) -> !llvm.ptr
  llvm.func @metate_entry_k(%slots: !llvm.ptr, %scratch: !llvm.ptr, %host: !llvm.ptr) -> i32 {
    %bytes = llvm.load volatile %slots : !llvm.ptr -> i64
    %memory = llvm.call @malloc(%bytes) : (i64) -> !llvm.ptr
    llvm.store volatile %memory, %slots : !llvm.ptr, !llvm.ptr
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
}

// -----

// expected-error @below {{entry 'elsewhere' is not defined in the object code}}
module {
  metate.interface @k entry "elsewhere" tasks 0 []
  llvm.func @metate_entry_k(%slots: !llvm.ptr, %scratch: !llvm.ptr, %host: !llvm.ptr) -> i32 {
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
  }
}
