// RUN: metate-opt %s --start-from=import --stop-after=map | FileCheck %s
// RUN: metate-opt %s --start-from=import --stop-after=emit | FileCheck %s --check-prefix=OBJECT
// OBJECT: metate.payload

// Four vectors of questions; the turns of a block where one says yes, and those that are left.
// CHECK-LABEL: llvm.func internal @metate_entry_find_task0(
// CHECK-COUNT-4: llvm.fcmp "oeq" {{.*}} : vector<16xf32>
// CHECK: %[[ANY:.*]] = "llvm.intr.vector.reduce.or"(%{{.*}}) : (vector<16xi1>) -> i1
// CHECK: llvm.cond_br %[[ANY]]
// CHECK: llvm.fcmp "oeq" {{.*}} : f32
// CHECK: llvm.store {{.*}} : i32
// CHECK: llvm.fcmp "oeq" {{.*}} : f32
// CHECK: llvm.store {{.*}} : i32
metate.kernel @find(%x: memref<?xf32>, %found: memref<?xi32>, %value: f32) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    %v = memref.load %x[%i] : memref<?xf32>
    %same = arith.cmpf oeq, %v, %value : f32
    scf.if %same {
      %number = arith.index_cast %i : index to i32
      memref.store %number, %found[%c0] : memref<?xi32>
    }
    metate.yield
  }
  metate.return
}

// A place that data says, which an earlier turn may change; a division, which may be one by what an earlier turn changes; a store to each
// turn's own place, for which there are masked stores.
// CHECK-LABEL: llvm.func @metate_entry_left(
// CHECK-NOT: vector<16x
metate.kernel @left(%x: memref<?xi32>, %at: memref<?xi32>, %found: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %n = memref.dim %at, %c0 : memref<?xi32>
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %at[%i] : memref<?xi32>
    %index = arith.index_cast %a : i32 to index
    %v = memref.load %x[%index] : memref<?xi32>
    %more = arith.cmpi sgt, %v, %zero : i32
    scf.if %more {
      memref.store %v, %found[%c0] : memref<?xi32>
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %at[%i] : memref<?xi32>
    %v = memref.load %x[%i] : memref<?xi32>
    %q = arith.divui %v, %a : i32
    %more = arith.cmpi sgt, %q, %zero : i32
    scf.if %more {
      memref.store %v, %found[%c0] : memref<?xi32>
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xi32>
    %more = arith.cmpi sgt, %v, %zero : i32
    scf.if %more {
      memref.store %v, %found[%i] : memref<?xi32>
    }
  }
  metate.return
}
