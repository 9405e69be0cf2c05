// A C file and its header: the entries of every level; from a dump the same text.
// RUN: metate-opt %s --start-from=import --stop-after=pack --target=c --emit=c -o %t.c
// RUN: FileCheck %s < %t.c
// RUN: metate-opt %s --start-from=import --stop-after=emit --target=c -o %t.emit
// RUN: metate-opt %t.emit --start-from=emit --stop-after=pack --emit=c -o %t.again && cmp %t.c %t.again
// RUN: metate-opt %s --start-from=import --stop-after=map --target=c -o %t.map
// RUN: metate-opt %t.map --start-from=map --stop-after=pack --target=c --emit=c -o %t.again && cmp %t.c %t.again
// RUN: mkdir -p %t.folder
// RUN: metate-opt %s --start-from=import --stop-after=pack --target=c --emit=h -o %t.folder/demo.h
// RUN: gcc -std=c99 -Wall -Wextra -Wpedantic -Werror -I%t.folder -c %t.c -o %t.o
// RUN: llvm-nm %t.o | FileCheck %s --check-prefix=SYMBOLS
// RUN: not metate-opt %s --start-from=import --stop-after=pack --target=c --emit=o 2>&1 | FileCheck %s --check-prefix=OBJECT
// RUN: not metate-opt %s --start-from=import --stop-after=pack --target=c 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not metate-opt %s --start-from=import --stop-after=pack --target=c --target=x86-64 --emit=h 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not metate-opt %s --start-from=import --stop-after=emit --target=c --option=sanitizer=address 2>&1 | FileCheck %s --check-prefix=SANITIZER

// CHECK: /* The code of demo.h. Generated: do not edit.
// CHECK: #include "demo.h"
// CHECK: static int32_t metate_entry_fill(const union metate_slot *, void *const *,
// CHECK: const struct metate_static_module demo_module = {metate_data_descriptor.bytes,
// CHECK: int32_t demo_cells_reset(void *p0, uint64_t p1) {
// CHECK: int32_t demo_fill(void *p0, double p1, uint8_t p2, void *const *p3,
// CHECK: int32_t __tvm_ffi_demo_fill(void *p0, const void *p1, int32_t p2, void *p3) {

// SYMBOLS-DAG: w TVMFFIErrorSetRaisedFromCStr
// SYMBOLS-DAG: T __tvm_ffi_demo_fill
// SYMBOLS-DAG: T demo_cells_reset
// SYMBOLS-DAG: T demo_fill
// SYMBOLS-DAG: {{[DR]}} demo_module
// SYMBOLS-NOT: T metate

// OBJECT: emit: 'o' is not what the target's code becomes: expected c
// FILE: code of target 'c' is C, which no .metate file holds: save it as a .c file
// BOTH: objects and C source have one header each: save them apart
// SANITIZER: sanitizer: code of target 'c' is instrumented by its own compiler

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
