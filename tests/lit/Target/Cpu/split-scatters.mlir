// RUN: metate-opt %s --start-from=import --stop-after=map | FileCheck %s
// RUN: metate-opt %s --start-from=import --stop-after=emit | FileCheck %s --check-prefix=OBJECT
// OBJECT: metate.payload

// Little is computed: two loops would not pay.
// CHECK-LABEL: llvm.func @metate_entry_little(
// CHECK-NOT: llvm.alloca
// CHECK: llvm.return
metate.kernel @little(%to: memref<?xf32>, %at: memref<?xi32>, %x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.for %j = %c0 to %n step %c1 {
    %place = memref.load %at[%j] : memref<?xi32>
    %k = arith.index_cast %place : i32 to index
    %v = memref.load %x[%j] : memref<?xf32>
    %old = memref.load %to[%k] : memref<?xf32>
    %sum = arith.addf %old, %v : f32
    memref.store %sum, %to[%k] : memref<?xf32>
  }
  metate.return
}

// A block of iterations computes what it adds and where into local arrays, a second loop adds it.
// CHECK-LABEL: llvm.func @metate_entry_scatter(
// CHECK-DAG: %[[AT:.*]] = llvm.alloca %{{.*}} x i64 {alignment = 64
// CHECK-DAG: %[[WHAT:.*]] = llvm.alloca %{{.*}} x f32 {alignment = 64
// CHECK: llvm.intr.smin
// CHECK: llvm.store %{{.*}} : i64, !llvm.ptr
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr
// CHECK: llvm.br
// CHECK: llvm.load {{.*}} -> i64
// CHECK: %[[OLD:.*]] = llvm.load %{{.*}} {alias_scopes{{.*}} -> f32
// CHECK: llvm.store {{.*}}alias_scopes
// CHECK: llvm.return
metate.kernel @scatter(%to: memref<?xf32>, %at: memref<?xi32>, %x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.for %j = %c0 to %n step %c1 {
    %place = memref.load %at[%j] : memref<?xi32>
    %k = arith.index_cast %place : i32 to index
    %v = memref.load %x[%j] : memref<?xf32>
    %once = metate.elementary exp(%v) : f32
    %twice = metate.elementary exp(%once) : f32
    %old = memref.load %to[%k] : memref<?xf32>
    %sum = arith.addf %old, %twice : f32
    memref.store %sum, %to[%k] : memref<?xf32>
  }
  metate.return
}

// What is added to is read besides: the additions of earlier turns must be in it.
// CHECK-LABEL: llvm.func @metate_entry_reads(
// CHECK-NOT: llvm.alloca
// CHECK: llvm.return
metate.kernel @reads(%to: memref<?xf32>, %at: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %at, %c0 : memref<?xi32>
  scf.for %j = %c0 to %n step %c1 {
    %place = memref.load %at[%j] : memref<?xi32>
    %k = arith.index_cast %place : i32 to index
    %v = memref.load %to[%j] : memref<?xf32>
    %once = metate.elementary exp(%v) : f32
    %twice = metate.elementary exp(%once) : f32
    %old = memref.load %to[%k] : memref<?xf32>
    %sum = arith.addf %old, %twice : f32
    memref.store %sum, %to[%k] : memref<?xf32>
  }
  metate.return
}

// Places of the loop's own variable meet no other turn's.
// CHECK-LABEL: llvm.func @metate_entry_own(
// CHECK-NOT: llvm.alloca
// CHECK: llvm.return
metate.kernel @own(%to: memref<?xf32>, %x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.for %j = %c0 to %n step %c1 {
    %v = memref.load %x[%j] : memref<?xf32>
    %once = metate.elementary exp(%v) : f32
    %twice = metate.elementary exp(%once) : f32
    %old = memref.load %to[%j] : memref<?xf32>
    %sum = arith.addf %old, %twice : f32
    memref.store %sum, %to[%j] : memref<?xf32>
  }
  metate.return
}
