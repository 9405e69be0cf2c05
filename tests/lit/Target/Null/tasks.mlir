// RUN: metate-null-opt %s --start-from=import --stop-after=map --target=null | FileCheck %s
// RUN: metate-null-opt %s --metate-stage-map=target=null | FileCheck %s --check-prefix=PASSES
// RUN: metate-null-opt %s --start-from=import --stop-after=map --target=x86-64 | FileCheck %s --check-prefix=CPU
// RUN: not metate-null-opt %s --start-from=import --stop-after=emit --target=null 2>&1 | FileCheck %s --check-prefix=EMIT
// RUN: not metate-null-opt %s --start-from=import --stop-after=map --target=abacus 2>&1 | FileCheck %s --check-prefix=NAMES
// RUN: not metate-opt %s --start-from=import --stop-after=map --target=null 2>&1 | FileCheck %s --check-prefix=OWN

// A family from outside has the tool with its targets, and the half of stage map that is shared: serial tasks are functions too.
// CHECK: after map for null
// CHECK-NOT: llvm.
// CHECK-LABEL: func.func private @metate_entry_k_task0(
// CHECK-NOT: llvm.
// CHECK: metate.range
// CHECK-LABEL: func.func private @metate_entry_k_task1(
// CHECK-NOT: metate.range
// CHECK: metate.write
// CHECK-LABEL: metate.kernel @metate_entry_k(
// CHECK: metate.launch @metate_entry_k_task0(
// CHECK: metate.launch @metate_entry_k_task1(
// PASSES: metate.launch @k_task0(
// CPU: llvm.func internal @metate_entry_k_task0(
// EMIT: target 'null' emits no code
// NAMES: unknown target 'abacus'; expected native, {{.*}}ARCHITECTURE:CPU, {{.*}}null
// OWN: unknown target 'null'
metate.kernel @k(%v: f32, %x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    memref.store %v, %x[%i] : memref<?xf32>
    metate.yield
  }
  memref.store %v, %x[%c0] : memref<?xf32>
  metate.return
}
