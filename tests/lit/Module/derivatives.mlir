// Which kernel is the derivative of which goes from the module's IR to the descriptor, through every stage and in any order.
// RUN: split-file %s %t
// RUN: metate-opt %t/sound.mlir --start-from=import --stop-after=pack --target=x86-64-v3 --target=aarch64 -o %t/m.metate
// RUN: metate-run verify %t/m.metate
// RUN: metate-run inspect %t/m.metate | FileCheck %s
// RUN: metate-opt %t/sound.mlir --start-from=import --stop-after=emit --target=x86-64-v3 --target=aarch64 -o %t/emit
// RUN: metate-opt %t/emit --start-from=emit --stop-after=pack -o %t/2.metate && cmp %t/m.metate %t/2.metate
// RUN: not metate-opt %t/missing.mlir --start-from=import --stop-after=pack -o %t/x 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not metate-opt %t/twice.mlir --start-from=import --stop-after=pack -o %t/x 2>&1 | FileCheck %s --check-prefix=TWICE

// CHECK: other: 1 task
// CHECK-NEXT: x {{.*}}
// CHECK-NOT: derivative
// CHECK: up: 1 task
// CHECK-NEXT: x {{.*}}
// CHECK-NEXT: derivative reverse: down
// CHECK-NEXT: derivative forward: beside
// MISSING: (V6) derivative of 'up': the module has no kernel 'up_grad'
// TWICE: (V6) kernel 'up' has two derivatives (reverse)

//--- sound.mlir
metate.derived @beside "forward" of @up
metate.derived @down "reverse" of @up
metate.kernel @down(%x: memref<?xf32> {metate.name = "x"}) {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<?xf32>
  memref.store %v, %x[%c0] : memref<?xf32>
  metate.return
}
metate.kernel @other(%x: memref<?xf32> {metate.name = "x"}) {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<?xf32>
  memref.store %v, %x[%c0] : memref<?xf32>
  metate.return
}
metate.kernel @up(%x: memref<?xf32> {metate.name = "x"}) {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<?xf32>
  memref.store %v, %x[%c0] : memref<?xf32>
  metate.return
}
metate.kernel @beside(%x: memref<?xf32> {metate.name = "x"}) {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<?xf32>
  memref.store %v, %x[%c0] : memref<?xf32>
  metate.return
}

//--- missing.mlir
metate.kernel @up(%x: memref<?xf32> {metate.name = "x"}) {
  metate.return
}
metate.derived @up_grad "reverse" of @up

//--- twice.mlir
metate.kernel @up(%x: memref<?xf32> {metate.name = "x"}) {
  metate.return
}
metate.kernel @a(%x: memref<?xf32> {metate.name = "x"}) {
  metate.return
}
metate.kernel @b(%x: memref<?xf32> {metate.name = "x"}) {
  metate.return
}
metate.derived @a "reverse" of @up
metate.derived @b "reverse" of @up
