// RUN: metate-opt %s --start-from=import --stop-after=map | FileCheck %s
// RUN: metate-opt %s --start-from=import --stop-after=emit | FileCheck %s --check-prefix=OBJECT
// OBJECT: metate.payload

// Two parts: turns up to %k and those behind it each read d[%k] once, before their loop.
// CHECK-LABEL: llvm.func @metate_entry_relax(
// CHECK: %[[NEXT:.*]] = llvm.add %{{.*}}, %
// CHECK: llvm.intr.smax(%[[NEXT]], %
// CHECK-NOT: llvm.intr.smax
// CHECK: %[[ONCE:.*]] = llvm.load {{.*}} : !llvm.ptr -> f32
// CHECK-NEXT: llvm.br
// CHECK: llvm.load {{.*}} : !llvm.ptr -> f32
// CHECK: llvm.fadd %{{.*}}, %[[ONCE]]
// CHECK: llvm.store
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

// Numbers of a row lie as the launch says: where they lie side by side the loop is cut, else it is as it was.
// CHECK-LABEL: llvm.func @metate_entry_strided(
// CHECK: llvm.icmp "eq" %{{.*}}, %{{.*}} : i64
// CHECK: llvm.intr.smax
// CHECK: %[[ONE:.*]] = llvm.load {{.*}} : !llvm.ptr -> f32
// CHECK-NEXT: llvm.br
// CHECK: llvm.fadd %{{.*}}, %[[ONE]]
// The other one reads both in each turn.
// CHECK: llvm.load {{.*}} : !llvm.ptr -> f32
// CHECK: llvm.load {{.*}} : !llvm.ptr -> f32
// CHECK: llvm.fadd
// CHECK: llvm.return
metate.kernel @strided(%d: memref<?xf32, strided<[?]>>, %k: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %d, %c0 : memref<?xf32, strided<[?]>>
  scf.for %j = %c0 to %n step %c1 {
    %v = memref.load %d[%j] : memref<?xf32, strided<[?]>>
    %fixed = memref.load %d[%k] : memref<?xf32, strided<[?]>>
    %sum = arith.addf %v, %fixed : f32
    memref.store %sum, %d[%j] : memref<?xf32, strided<[?]>>
  }
  metate.return
}

// What is read again after the turn has written may be what it wrote.
// CHECK-LABEL: llvm.func @metate_entry_again(
// CHECK-NOT: llvm.intr.smax
// CHECK: llvm.return
metate.kernel @again(%d: memref<?xf32>, %e: memref<?xf32>, %k: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %d, %c0 : memref<?xf32>
  scf.for %j = %c0 to %n step %c1 {
    %v = memref.load %e[%j] : memref<?xf32>
    memref.store %v, %d[%j] : memref<?xf32>
    %fixed = memref.load %d[%k] : memref<?xf32>
    memref.store %fixed, %e[%j] : memref<?xf32>
  }
  metate.return
}
