// RUN: metate-opt %s --canonicalize --metate-record-interfaces --metate-lower-layout --metate-outline-tasks --metate-map-tasks-cpu=across-iterations=true --canonicalize --cse | FileCheck %s

// Columns in parallel: a chunk of them takes each row together.
// CHECK-LABEL: llvm.func internal @metate_entry_columns_task0
// CHECK: scf.for %[[I:.*]] = %c0 to %{{.*}} step %c1 {
// CHECK-NEXT: scf.for %[[J:.*]] = %{{.*}} to %{{.*}} step %c1 {
// CHECK: metate.write
// CHECK-NOT: scf.for
// CHECK: llvm.return
metate.kernel @columns(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  metate.range (%j) = (%c0) to (%m) {
    scf.for %i = %c0 to %n step %c1 {
      %a = memref.load %x[%i, %j] : memref<?x?xf32>
      memref.store %a, %y[%i, %j] : memref<?x?xf32>
    }
    metate.yield
  }
  metate.return
}

// Rows in parallel: as they are. A bound of each iteration's own: lanes.
// CHECK-LABEL: llvm.func internal @metate_entry_rows_task0
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %c1 {
// CHECK: scf.for %[[J:.*]] = %c0 to %{{.*}} step %c1 {
// CHECK-LABEL: llvm.func internal @metate_entry_triangle_task0
// CHECK: scf.for %[[J:.*]] = %{{.*}} to %{{.*}} step %c16 {
metate.kernel @rows(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  metate.range (%i) = (%c0) to (%n) {
    scf.for %j = %c0 to %m step %c1 {
      %a = memref.load %x[%i, %j] : memref<?x?xf32>
      memref.store %a, %y[%i, %j] : memref<?x?xf32>
    }
    metate.yield
  }
  metate.return
}
metate.kernel @triangle(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  metate.range (%j) = (%c0) to (%m) {
    scf.for %i = %c0 to %j step %c1 {
      %a = memref.load %x[%i, %j] : memref<?x?xf32>
      memref.store %a, %y[%i, %j] : memref<?x?xf32>
    }
    metate.yield
  }
  metate.return
}
