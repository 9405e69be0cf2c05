// RUN: metate-opt %s --start-from=import --stop-after=map | FileCheck %s
// RUN: metate-opt %s --start-from=import --stop-after=emit | FileCheck %s --check-prefix=OBJECT
// OBJECT: metate.payload

// Two parts: turns up to %k and those behind it each read d[%k] once, before their loop.
// The turn %k is asked first what it writes: where that is what is there, the first part has all turns.
// CHECK-LABEL: llvm.func @metate_entry_relax(
// CHECK: %[[NEXT:.*]] = llvm.add %{{.*}}, %
// CHECK: llvm.intr.smax(%[[NEXT]], %
// CHECK-NEXT: %[[CUT:.*]] = llvm.intr.smin(
// CHECK-NOT: llvm.intr.smax
// CHECK: %[[TURN:.*]] = llvm.load {{.*}} : !llvm.ptr -> f32
// CHECK: %[[THERE:.*]] = llvm.load {{.*}} : !llvm.ptr -> f32
// CHECK: %[[WRITTEN:.*]] = llvm.fadd %[[TURN]], %[[THERE]]
// CHECK: llvm.bitcast %[[WRITTEN]] : f32 to i32
// CHECK: llvm.icmp "eq" %{{.*}}, %{{.*}} : i32
// CHECK: llvm.select %{{.*}}, %{{.*}}, %[[CUT]] : i1, i64
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
// CHECK: llvm.icmp "eq" %{{.*}}, %{{.*}} : i32
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

// Turn %k reads what the turn %far before it wrote, unless %far is at least 0 or that lies before the loop: asked at the launch.
// CHECK-LABEL: llvm.func @metate_entry_shifted(
// CHECK: llvm.intr.smax
// CHECK: llvm.icmp "sge" %[[DISTANCE:[0-9]+]], %
// CHECK: llvm.icmp "sle" %
// CHECK: llvm.or
// CHECK: llvm.icmp "eq" %{{.*}}, %{{.*}} : i32
// CHECK: llvm.return
metate.kernel @shifted(%d: memref<?xf32>, %k: index, %far: index) {
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %n = memref.dim %d, %c0 : memref<?xf32>
  scf.for %j = %c4 to %n step %c1 {
    %at = arith.addi %j, %far : index
    %v = memref.load %d[%at] : memref<?xf32>
    %fixed = memref.load %d[%k] : memref<?xf32>
    %sum = arith.addf %v, %fixed : f32
    memref.store %sum, %d[%j] : memref<?xf32>
  }
  metate.return
}

// What is summed up is not known before the loop: nobody is asked.
// CHECK-LABEL: llvm.func @metate_entry_carried(
// CHECK: llvm.intr.smax
// CHECK-NOT: llvm.icmp "eq" %{{.*}}, %{{.*}} : i32
// CHECK: llvm.return
metate.kernel @carried(%d: memref<?xf32>, %k: index) {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %d, %c0 : memref<?xf32>
  %all = scf.for %j = %c0 to %n step %c1 iter_args(%so = %zero) -> f32 {
    %fixed = memref.load %d[%k] : memref<?xf32>
    %sum = arith.addf %so, %fixed : f32
    memref.store %sum, %d[%j] : memref<?xf32>
    scf.yield %sum : f32
  }
  metate.return
}
