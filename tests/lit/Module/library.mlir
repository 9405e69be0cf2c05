// A shared object, and its header: packed entries are called as their kernels, the descriptor is in a section; from a dump the same bytes.
// RUN: metate-opt %s --start-from=import --stop-after=pack --target=x86-64-v3 --emit=so -o %t.so
// RUN: metate-opt %s --start-from=import --stop-after=emit --target=x86-64-v3 -o %t.emit
// RUN: metate-opt %t.emit --start-from=emit --stop-after=pack --emit=so -o %t.again && cmp %t.so %t.again
// RUN: llvm-nm --dynamic %t.so | FileCheck %s --check-prefix=SYMBOLS
// RUN: llvm-readobj --file-header --section-headers --needed-libs %t.so | FileCheck %s
// RUN: metate-run verify %t.so
// RUN: metate-run inspect %t.so | FileCheck %s --check-prefix=INSPECT
// RUN: metate-opt %s --start-from=import --stop-after=pack --target=aarch64 --emit=so -o %t.arm
// RUN: llvm-readobj --file-header %t.arm | FileCheck %s --check-prefix=ARM
// RUN: metate-run verify %t.arm

// CHECK: Type: SharedObject
// CHECK: Name: .metate
// CHECK-NEXT: Type: SHT_PROGBITS
// CHECK-NEXT: Flags [
// CHECK-NEXT: SHF_ALLOC
// CHECK-NEXT: ]
// CHECK: NeededLibraries [
// CHECK-NEXT: libc.so.6
// CHECK-NEXT: ]

// SYMBOLS-DAG: w TVMFFIErrorSetRaisedFromCStr
// SYMBOLS-DAG: T __tvm_ffi_fill
// SYMBOLS-DAG: T __tvm_ffi__metadata_fill
// SYMBOLS-DAG: T __tvm_ffi__doc_fill
// SYMBOLS-DAG: T __tvm_ffi_session_run
// SYMBOLS-DAG: T demo_cells_reset
// SYMBOLS-DAG: T demo_fill
// SYMBOLS-DAG: D demo_module
// SYMBOLS-NOT: metate_

// INSPECT: module demo:
// INSPECT: section .metate: descriptor,
// ARM: Machine: EM_AARCH64

!tree = !metate.tree<#metate.pointer<"i", [64], [#metate.dense<"i", [8], [#metate.place<"v" : f64>]>]>>

module @demo {
  metate.named_type @cells = !tree
  metate.kernel @fill(%f: !tree {metate.name = "f"}, %by: f64 {metate.name = "by"}) attributes {metate.documentation = "Fills a row."} {
    %zero = arith.constant 0 : index
    %end = arith.constant 8 : index
    metate.range (%i) = (%zero) to (%end) {
      metate.store %by, %f["v"][%i] : f64, !tree
      metate.yield
    }
    metate.return
  } loc("demo.py":3:1)
}
