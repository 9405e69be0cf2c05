// RUN: metate-opt %s --metate-record-interfaces --metate-lower-layout --metate-plan-pools --metate-alias-scopes --metate-outline-tasks --metate-map-tasks-cpu=nontemporal-bytes=1000000 | FileCheck %s

// Two ranges that differ in bounds alone: one body, whose frame holds the bounds of each launch.
// CHECK: llvm.func internal @metate_entry_two_task0(
// CHECK-NOT: llvm.func internal @metate_entry_two_task
// CHECK: llvm.func @metate_entry_two(
// CHECK: %[[FIRST:.*]] = llvm.mlir.addressof @metate_entry_two_task0
// CHECK: llvm.call @metate_run_task({{.*}}%[[FIRST]]
// CHECK: %[[SECOND:.*]] = llvm.mlir.addressof @metate_entry_two_task0
// CHECK: llvm.call @metate_run_task({{.*}}%[[SECOND]]
metate.kernel @two(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %c9 = arith.constant 9 : index
  %v = arith.constant 1.0 : f32
  metate.range (%i) = (%c0) to (%c5) attributes {metate.one_body} {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.addf %a, %v : f32
    memref.store %b, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.range (%i) = (%c5) to (%c9) attributes {metate.one_body} {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.addf %a, %v : f32
    memref.store %b, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// The first launch writes around the caches, and its frame says whether: the second one, whose frame does not, has a body of its own.
// CHECK: llvm.func internal @metate_entry_streams_task0(
// CHECK: llvm.getelementptr {{.*}}[0, 5] : {{.*}}struct<(ptr, i64, ptr, i64, i64, i1)>
// CHECK: llvm.func internal @metate_entry_streams_task0_again0(
// CHECK-NOT: [0, 5]
// CHECK: llvm.func @metate_entry_streams(
// CHECK: llvm.mlir.addressof @metate_entry_streams_task0
// CHECK: llvm.mlir.addressof @metate_entry_streams_task0_again0
metate.kernel @streams(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5000000 : index
  %c9 = arith.constant 5000009 : index
  %v = arith.constant 1.0 : f32
  metate.range (%i) = (%c0) to (%c5) attributes {metate.one_body} {
    memref.store %v, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.range (%i) = (%c5) to (%c9) attributes {metate.one_body} {
    memref.store %v, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// A task with writes that are marked has a fence behind its loops: they are to be seen before it counts as done.
// CHECK: llvm.func internal @metate_entry_fenced_task0(
// CHECK: metate.write {{.*}}metate.nontemporal
// CHECK: llvm.fence seq_cst
// CHECK: llvm.return
metate.kernel @fenced(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %n = arith.constant 100 : index
  metate.range (%i) = (%c0) to (%n) attributes {metate.side_by_side} {
    %p = metate.pool "records" launch bytes 6400 align 64
    %at = arith.muli %i, %c64 : index
    %line = metate.read %p[%c0] scope 1 : vector<16xi32>
    metate.write %line, %p[%at] scope 1 {metate.nontemporal} : vector<16xi32>
    metate.yield
  }
  metate.return
}
