// RUN: metate-opt %s --start-from=import --stop-after=map | FileCheck %s
// RUN: metate-opt %s --start-from=import --stop-after=emit | FileCheck %s --check-prefix=OBJECT

// An array of the iteration's own is a row of vectors: an element that the loops' variables name is one for all lanes.
// CHECK-LABEL: llvm.func internal @metate_entry_sums_task0(
// CHECK: %[[ROWS:.*]] = llvm.alloca %{{.*}} x vector<16xf32> {alignment = 64 : i64}
// CHECK: %[[AT:.*]] = llvm.getelementptr inbounds %[[ROWS]][%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, vector<16xf32>
// CHECK: llvm.store %{{.*}}, %[[AT]] {alignment = 64 : i64} : vector<16xf32>, !llvm.ptr
// CHECK: llvm.load %{{.*}} {alignment = 64 : i64} : !llvm.ptr -> vector<16xf32>
// CHECK: llvm.fadd {{.*}} : vector<16xf32>
// Those that are left write theirs where they are alive.
// CHECK: %[[OLD:.*]] = llvm.load %[[PLACE:.*]] {alignment = 64 : i64} : !llvm.ptr -> vector<16xf32>
// CHECK: %[[NEW:.*]] = llvm.select %{{.*}}, %{{.*}}, %[[OLD]] : vector<16xi1>, vector<16xf32>
// CHECK: llvm.store %[[NEW]], %[[PLACE]] {alignment = 64 : i64}
// OBJECT: metate.payload
metate.kernel @sums(%x: memref<?xf32>, %y: memref<25xf32>, %out: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    %own = memref.load %x[%i] : memref<?xf32>
    %row = memref.alloca() : memref<25xf32>
    memref.store %own, %row[%c0] : memref<25xf32>
    scf.for %j = %c0 to %c24 step %c1 {
      %before = memref.load %row[%j] : memref<25xf32>
      %y1 = memref.load %y[%j] : memref<25xf32>
      %sum = arith.addf %before, %y1 : f32
      %k = arith.addi %j, %c1 : index
      memref.store %sum, %row[%k] : memref<25xf32>
    }
    %last = memref.load %row[%c24] : memref<25xf32>
    memref.store %last, %out[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// One that data names differs from lane to lane: a column each, read and written one by one.
// CHECK-LABEL: llvm.func internal @metate_entry_named_task0(
// CHECK: llvm.alloca %{{.*}} x vector<16xi32>
// CHECK: %[[FIRST:.*]] = llvm.mul %{{.*}}, %{{.*}} : vector<16xi64>
// CHECK: %[[ELEMENT:.*]] = llvm.add %[[FIRST]], %{{.*}} : vector<16xi64>
// CHECK: %[[POINTERS:.*]] = llvm.getelementptr %{{.*}}[%[[ELEMENT]]] : (!llvm.ptr, vector<16xi64>) -> vector<16x!llvm.ptr>, i32
// CHECK: llvm.extractelement %[[POINTERS]]
metate.kernel @named(%x: memref<?xi32>, %out: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %pi = arith.constant 3.14 : f32
  %seven = arith.constant 7 : i32
  %zero = arith.constant 0 : i32
  %n = memref.dim %x, %c0 : memref<?xi32>
  metate.range (%i) = (%c0) to (%n) {
    %own = memref.load %x[%i] : memref<?xi32>
    %row = memref.alloca() : memref<9xi32>
    scf.for %j = %c0 to %c9 step %c1 {
      memref.store %zero, %row[%j] : memref<9xi32>
    }
    %s = scf.for %j = %c0 to %n step %c1 iter_args(%a = %own) -> i32 {
      %f0 = arith.sitofp %a : i32 to f32
      %f1 = arith.divf %f0, %pi : f32
      %f2 = arith.divf %pi, %f1 : f32
      %f3 = arith.addf %f2, %f1 : f32
      %f4 = arith.divf %f3, %f2 : f32
      %f5 = arith.divf %pi, %f4 : f32
      %f6 = arith.addf %f5, %f4 : f32
      %f7 = arith.divf %f6, %f5 : f32
      %f8 = arith.divf %pi, %f7 : f32
      %f9 = arith.addf %f8, %f7 : f32
      %g0 = arith.divf %f9, %f8 : f32
      %g1 = arith.divf %pi, %g0 : f32
      %g2 = arith.addf %g1, %g0 : f32
      %g3 = arith.divf %g2, %g1 : f32
      %g4 = arith.divf %pi, %g3 : f32
      %g5 = arith.addf %g4, %g3 : f32
      %g = arith.fptosi %g5 : f32 to i32
      %k = arith.andi %g, %seven : i32
      %at = arith.index_castui %k : i32 to index
      %old = memref.load %row[%at] : memref<9xi32>
      %new = arith.addi %old, %g : i32
      memref.store %new, %row[%at] : memref<9xi32>
      scf.yield %new : i32
    }
    memref.store %s, %out[%i] : memref<?xi32>
    metate.yield
  }
  metate.return
}

// One that is large stays an array, and the iterations run one after the other.
// CHECK-LABEL: llvm.func internal @metate_entry_large_task0(
// CHECK-NOT: vector<16x
// CHECK-LABEL: llvm.func @metate_entry_large(
metate.kernel @large(%x: memref<?xf32>, %out: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c300 = arith.constant 300 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    %own = memref.load %x[%i] : memref<?xf32>
    %row = memref.alloca() : memref<301xf32>
    memref.store %own, %row[%c0] : memref<301xf32>
    scf.for %j = %c0 to %c300 step %c1 {
      %before = memref.load %row[%j] : memref<301xf32>
      %sum = arith.mulf %before, %own : f32
      %k = arith.addi %j, %c1 : index
      memref.store %sum, %row[%k] : memref<301xf32>
    }
    %last = memref.load %row[%c300] : memref<301xf32>
    memref.store %last, %out[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// What a loop around would gather again in each turn is read once, into an array of the iteration's own.
// CHECK-LABEL: llvm.func internal @metate_entry_again_task0(
// CHECK: llvm.alloca %{{.*}} x vector<16xf32>
// CHECK: llvm.extractelement {{.*}} : vector<16x!llvm.ptr>
// CHECK: llvm.store %{{.*}} {alignment = 64 : i64} : vector<16xf32>, !llvm.ptr
// CHECK-LABEL: llvm.func @metate_entry_again(
metate.kernel @again(%x: memref<?x20xf32>, %out: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  %n = memref.dim %x, %c0 : memref<?x20xf32>
  metate.range (%i) = (%c0) to (%n) {
    %own = memref.load %out[%i] : memref<?xf32>
    %s = scf.for %k = %c0 to %c20 step %c1 iter_args(%a = %own) -> f32 {
      %t = scf.for %j = %c0 to %c20 step %c1 iter_args(%b = %a) -> f32 {
        %v = memref.load %x[%i, %j] : memref<?x20xf32>
        %p = arith.mulf %b, %v : f32
        %q = arith.divf %p, %own : f32
        %r = arith.divf %v, %q : f32
        %u = arith.divf %own, %r : f32
        %w = arith.divf %v, %u : f32
        %e = arith.divf %own, %w : f32
        scf.yield %e : f32
      }
      scf.yield %t : f32
    }
    memref.store %s, %out[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// Whether lanes pay is asked again where reading once leaves little to gather. The row that only its iteration touches is an array of its own.
// CHECK-LABEL: llvm.func internal @metate_entry_table_task0(
// CHECK-DAG: llvm.alloca %{{.*}} x vector<16xi32>
// CHECK-DAG: llvm.alloca %{{.*}} x vector<16xi32>
// CHECK: llvm.intr.smin({{.*}}) : (vector<16xi32>, vector<16xi32>) -> vector<16xi32>
// CHECK-LABEL: llvm.func @metate_entry_table(
metate.kernel @table(%a: memref<?x?xi32>, %b: memref<?x?xi32>, %row: memref<?x?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  %c25 = arith.constant 25 : index
  %one = arith.constant 1 : i32
  %n = memref.dim %row, %c0 : memref<?x?xi32>
  metate.range (%p) = (%c0) to (%n) {
    scf.for %j = %c0 to %c25 step %c1 {
      %v = arith.index_cast %j : index to i32
      memref.store %v, %row[%p, %j] : memref<?x?xi32>
    }
    scf.for %i = %c0 to %c24 step %c1 {
      %first = memref.load %row[%p, %c0] : memref<?x?xi32>
      %letter = memref.load %a[%p, %i] : memref<?x?xi32>
      %last = scf.for %j = %c0 to %c24 step %c1 iter_args(%above = %first) -> i32 {
        %other = memref.load %b[%p, %j] : memref<?x?xi32>
        %differs = arith.cmpi ne, %letter, %other : i32
        %cost = arith.extui %differs : i1 to i32
        %changed = arith.addi %above, %cost : i32
        %next = arith.addi %j, %c1 : index
        %up = memref.load %row[%p, %next] : memref<?x?xi32>
        %left = memref.load %row[%p, %j] : memref<?x?xi32>
        %less = arith.minsi %up, %left : i32
        %longer = arith.addi %less, %one : i32
        %best = arith.minsi %changed, %longer : i32
        memref.store %best, %row[%p, %next] : memref<?x?xi32>
        scf.yield %up : i32
      }
    }
    metate.yield
  }
  metate.return
}
