// An object for a linker, and its header: the entries of every level, nothing else visible; from a dump the same bytes.
// RUN: metate-opt %s --start-from=import --stop-after=pack --target=x86-64-v3 --emit=o -o %t.o
// RUN: metate-opt %s --start-from=import --stop-after=pack --target=x86-64-v3 --emit=h | FileCheck %s
// RUN: metate-opt %s --start-from=import --stop-after=emit --target=x86-64-v3 -o %t.emit
// RUN: metate-opt %t.emit --start-from=emit --stop-after=pack --emit=o -o %t.again && cmp %t.o %t.again
// RUN: llvm-nm %t.o | FileCheck %s --check-prefix=SYMBOLS
// RUN: metate-opt %s --start-from=import --stop-after=pack --target=aarch64 --emit=o -o %t.arm
// RUN: llvm-readobj --file-header %t.arm | FileCheck %s --check-prefix=ARM
// RUN: not metate-opt %s --start-from=import --stop-after=pack --emit=o --target=aarch64 --target=x86-64 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not metate-opt %s --start-from=import --stop-after=pack --emit=exe 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// CHECK: extern const struct metate_static_module demo_module;
// CHECK: Tree type 'cells'
// CHECK: #define demo_cells_BYTES UINT64_C(
// CHECK: int32_t demo_cells_reset(void *block, uint64_t bytes);
// CHECK: block of a tree 'cells' (demo_cells_BYTES bytes); written, cells are activated
// CHECK: by: f64
// CHECK: long_: u8
// CHECK: int32_t demo_fill(void *f, double by, uint8_t long_, void *const *pools,
// CHECK: int32_t __tvm_ffi_demo_fill(

// SYMBOLS-DAG: w TVMFFIErrorSetRaisedFromCStr
// SYMBOLS-DAG: T __tvm_ffi_demo_fill
// SYMBOLS-DAG: T demo_cells_reset
// SYMBOLS-DAG: T demo_fill
// SYMBOLS-DAG: D demo_module
// SYMBOLS-DAG: t metate_entry_fill
// SYMBOLS-DAG: t metate_support_call_packed

// ARM: Machine: EM_AARCH64
// TWO: such a file is for one target, got 2
// UNKNOWN: emit: expected metate, so, o, c or h, got 'exe'

!tree = !metate.tree<#metate.pointer<"i", [64], [#metate.dense<"i", [8], [#metate.place<"v" : f64>]>]>>

module @demo {
  metate.named_type @cells = !tree
  metate.kernel @fill(%f: !tree {metate.name = "f"}, %by: f64 {metate.name = "by"}, %n: i8 {metate.name = "long", metate.type = ui8}) {
    %zero = arith.constant 0 : index
    %end = arith.index_castui %n : i8 to index
    metate.range (%i) = (%zero) to (%end) {
      metate.store %by, %f["v"][%i] : f64, !tree
      metate.yield
    }
    metate.return
  }
}
