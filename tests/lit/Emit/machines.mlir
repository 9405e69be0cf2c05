// Payloads for architectures with and without a system: each row of Architectures.def says CPU, features and format. Without a system
// atomic operations are plain ones, and what stays undefined are names of the compiler's run-time library.
// RUN: metate-opt %s --metate-emit="target=riscv64,thumbv7em,thumbv7em-none-eabihf:cortex-m7,thumbv8m.main-none-eabihf,wasm32" | FileCheck %s
// RUN: not metate-opt %s --metate-emit="target=thumbv7em:pentium" 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not metate-opt %s --metate-emit="target=thumbv6m" 2>&1 | FileCheck %s --check-prefix=NAME

// CHECK: metate.payload @payload0 "cpu" "riscv64-unknown-linux-gnu" "generic-rv64" "+a,+c,+d,+f,+m" [array<i8: 127, 69, 76, 70, 2,
// CHECK: metate.payload @payload1 "cpu" "thumbv7em-unknown-none-eabi" "cortex-m4" "-fpregs" [array<i8: 127, 69, 76, 70, 1,
// CHECK: metate.payload @payload2 "cpu" "thumbv7em-unknown-none-eabihf" "cortex-m7" "" [array<i8: 127, 69, 76, 70, 1,
// CHECK: metate.payload @payload3 "cpu" "thumbv8m.main-unknown-none-eabihf" "cortex-m33" "" [array<i8: 127, 69, 76, 70, 1,
// CHECK: metate.payload @payload4 "cpu" "wasm32-unknown-unknown" "generic" "" [array<i8: 0, 97, 115, 109,
// CPU: unknown CPU 'pentium' for target 'thumbv7em-unknown-none-eabi'
// NAME: unknown target 'thumbv6m'; expected native, {{.*}}riscv64, thumbv7em-none-eabi, {{.*}}wasm32,
module {
  metate.interface @count entry "metate_entry_count" tasks 0 []
  llvm.func @metate_entry_count(%slots: !llvm.ptr, %pools: !llvm.ptr, %host: !llvm.ptr) -> i32 {
    %by = llvm.load %slots : !llvm.ptr -> i64
    %place = llvm.getelementptr inbounds %slots[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %at = llvm.load %place : !llvm.ptr -> !llvm.ptr
    %old = llvm.atomicrmw add %at, %by monotonic : !llvm.ptr, i64
    %rest = llvm.srem %old, %by : i64
    %status = llvm.trunc %rest : i64 to i32
    llvm.return %status : i32
  }
}
