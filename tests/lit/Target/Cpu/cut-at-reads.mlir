// RUN: metate-opt %s --start-from=import --stop-after=map | FileCheck %s
// RUN: metate-opt %s --start-from=import --stop-after=emit | FileCheck %s --check-prefix=OBJECT
// OBJECT: metate.payload

// Three parts: turns before %k and behind it read d[%k] once, before their loop; turn %k is as it was.
// CHECK-LABEL: llvm.func @metate_entry_relax(
// CHECK: llvm.intr.smax(%[[TURN:.*]], %[[LOW:.*]]) :
// CHECK: %[[NEXT:.*]] = llvm.add %[[TURN]], %
// CHECK: llvm.intr.smax(%[[NEXT]], %[[LOW]]) :
// CHECK: llvm.icmp "eq"
// The middle one reads two numbers a turn, the other ones one.
// CHECK: llvm.load {{.*}} : !llvm.ptr -> f32
// CHECK: llvm.load {{.*}} : !llvm.ptr -> f32
// CHECK: llvm.store
// CHECK: %[[ONCE:.*]] = llvm.load {{.*}} : !llvm.ptr -> f32
// CHECK-NEXT: llvm.br
// CHECK: llvm.load {{.*}} : !llvm.ptr -> f32
// CHECK: llvm.fadd %{{.*}}, %[[ONCE]]
// CHECK-NOT: llvm.load {{.*}} : !llvm.ptr -> f32
// CHECK: llvm.return
metate.kernel @relax(%d: memref<?xf32>, %k: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %d, %c0 : memref<?xf32>
  scf.for %j = %c0 to %n step %c1 {
    %v = memref.load %d[%j] : memref<?xf32>
    %fixed = memref.load %d[%k] : memref<?xf32>
    %sum = arith.addf %v, %fixed : f32
    memref.store %sum, %d[%j] : memref<?xf32>
  }
  metate.return
}

// What is written lies two numbers apart from turn to turn.
// CHECK-LABEL: llvm.func @metate_entry_apart(
// CHECK-NOT: llvm.intr.smax
// CHECK: llvm.return
metate.kernel @apart(%d: memref<?xf32>, %k: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %d, %c0 : memref<?xf32>
  scf.for %j = %c0 to %n step %c1 {
    %at = arith.muli %j, %c2 : index
    %fixed = memref.load %d[%k] : memref<?xf32>
    memref.store %fixed, %d[%at] : memref<?xf32>
  }
  metate.return
}
