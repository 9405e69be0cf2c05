// RUN: metate-opt %s --start-from=import --stop-after=map | FileCheck %s
// RUN: metate-opt %s --start-from=import --stop-after=emit | FileCheck %s --check-prefix=OBJECT
// RUN: metate-opt %s --metate-record-interfaces --metate-lower-layout --metate-outline-tasks --metate-map-tasks-cpu=across-iterations=false | FileCheck %s --check-prefix=OFF

// Sixteen sums side by side: what all of them read is read once; those that are left run the same under a mask.
// CHECK-LABEL: llvm.func internal @metate_entry_sums_task0(
// CHECK: %[[X:.*]] = llvm.load %{{.*}} : !llvm.ptr -> f32
// CHECK: llvm.insertelement %[[X]]
// CHECK: llvm.fsub {{.*}} : vector<16xf32>
// CHECK: llvm.fadd {{.*}} : vector<16xf32>
// CHECK: llvm.store {{.*}} {{{.*}}alias_scopes = {{.*}}, alignment = 4 : i64, {{.*}}} : vector<16xf32>, !llvm.ptr
// CHECK: llvm.intr.masked.load %{{.*}}, %[[LEFT:[^,]*]], %{{.*}} {alignment = 4 : i32} : (!llvm.ptr, vector<16xi1>, vector<16xf32>) -> vector<16xf32>
// CHECK-NOT: llvm.fadd {{.*}} : f32
// CHECK: llvm.intr.masked.store %{{.*}}, %{{.*}}, %[[LEFT]] {alignment = 4 : i32} : vector<16xf32>, vector<16xi1> into !llvm.ptr
// OFF-LABEL: llvm.func internal @metate_entry_sums_task0(
// OFF-NOT: vector<16x
// OBJECT: metate.payload
metate.kernel @sums(%x: memref<?xf32>, %out: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    %own = memref.load %x[%i] : memref<?xf32>
    %s = scf.for %j = %c0 to %n step %c1 iter_args(%a = %zero) -> f32 {
      %v = memref.load %x[%j] : memref<?xf32>
      %d = arith.subf %v, %own : f32
      %b = arith.addf %a, %d : f32
      scf.yield %b : f32
    }
    memref.store %s, %out[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// What waits for itself in a row runs as lanes, what is a row's own loop each lane alone: LLVM makes vectors of that.
// CHECK-LABEL: llvm.func internal @metate_entry_normed_task0(
// CHECK: llvm.fmul {{.*}} : vector<16xf32>
// CHECK: %[[S:.*]] = llvm.extractelement %{{.*}}[%{{.*}} : i64] : vector<16xf32>
// CHECK: llvm.fmul %{{.*}}, %[[S]] {{.*}}: f32
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr
// OFF-LABEL: llvm.func internal @metate_entry_normed_task0(
metate.kernel @normed(%x: memref<64x100xf32>, %y: memref<64x100xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = arith.constant 100 : index
  %n = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  metate.range (%i) = (%c0) to (%n) {
    %s = scf.for %j = %c0 to %m step %c1 iter_args(%a = %zero) -> f32 {
      %v = memref.load %x[%i, %j] : memref<64x100xf32>
      %d = arith.subf %v, %a : f32
      %e = metate.elementary exp(%d) : f32
      %b = arith.mulf %e, %v : f32
      scf.yield %b : f32
    }
    scf.for %j = %c0 to %m step %c1 {
      %v = memref.load %x[%i, %j] : memref<64x100xf32>
      %p = arith.mulf %v, %s : f32
      memref.store %p, %y[%i, %j] : memref<64x100xf32>
    }
    metate.yield
  }
  metate.return
}

// Each iteration reads elements that lie apart, which costs more than the lanes gain.
// CHECK-LABEL: llvm.func internal @metate_entry_apart_task0(
// CHECK-NOT: vector<16x
// CHECK-LABEL: llvm.func @metate_entry_apart(
metate.kernel @apart(%x: memref<?xf32>, %y: memref<?x?xf32>, %out: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    %s = scf.for %j = %c0 to %n step %c1 iter_args(%a = %zero) -> f32 {
      %v = memref.load %y[%i, %j] : memref<?x?xf32>
      %b = arith.addf %a, %v : f32
      scf.yield %b : f32
    }
    memref.store %s, %out[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// Coordinates of 32 bits: those that are of an element are neither negative nor wrap, so lanes read a row, under the mask of their condition. The loop
// of a window is not cut in border and interior for each iteration.
// CHECK-LABEL: llvm.func internal @metate_entry_window_task0(
// CHECK: llvm.intr.masked.load {{.*}} : (!llvm.ptr, vector<16xi1>, vector<16xf32>) -> vector<16xf32>
// CHECK: llvm.fadd {{.*}} : vector<16xf32>
// CHECK-LABEL: llvm.func @metate_entry_window(
metate.kernel @window(%x: memref<?xf32, strided<[1]>>, %out: memref<?xf32, strided<[1]>>, %turns: index, %shift: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i32
  %n = memref.dim %x, %c0 : memref<?xf32, strided<[1]>>
  %size = arith.index_cast %n : index to i32
  metate.range (%i) = (%c0) to (%n) {
    %i32 = arith.index_cast %i : index to i32
    %s = scf.for %j = %c0 to %turns step %c1 iter_args(%a = %zero) -> f32 {
      %j32 = arith.index_cast %j : index to i32
      %sum = arith.addi %i32, %j32 : i32
      %at = arith.subi %sum, %shift : i32
      %least = arith.cmpi sge, %at, %none : i32
      %most = arith.cmpi slt, %at, %size : i32
      %inside = arith.andi %least, %most : i1
      %b = scf.if %inside -> f32 {
        %where = arith.index_cast %at : i32 to index
        %v = memref.load %x[%where] : memref<?xf32, strided<[1]>>
        %more = arith.addf %a, %v : f32
        scf.yield %more : f32
      } else {
        scf.yield %a : f32
      }
      scf.yield %b : f32
    }
    memref.store %s, %out[%i] : memref<?xf32, strided<[1]>>
    metate.yield
  }
  metate.return
}
