// RUN: metate-opt %s --metate-record-interfaces --metate-lower-layout --metate-alias-scopes --metate-outline-tasks --metate-map-tasks-cpu=nontemporal-bytes=67108864 | FileCheck %s
// RUN: metate-opt %s --metate-record-interfaces --metate-lower-layout --metate-alias-scopes --metate-outline-tasks --metate-map-tasks-cpu=nontemporal-bytes=-1 | FileCheck %s --check-prefix=OFF
// RUN: metate-opt %s --start-from=import --stop-after=map | FileCheck %s --check-prefix=LLVM
// RUN: metate-opt %s --start-from=import --stop-after=emit | FileCheck %s --check-prefix=OBJECT

// What is only written goes around the caches if the launch writes 64 MiB: up to the first line one by one,
// then whole lines, then the rest.
// CHECK-LABEL: llvm.func internal @metate_entry_copy_task0(
// CHECK-SAME: passthrough = ["metate-lanes"]
// CHECK: %[[AROUND:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i1
// CHECK: %[[ENOUGH:.*]] = arith.cmpi sge
// CHECK: arith.andi %[[AROUND]], %[[ENOUGH]]
// CHECK: llvm.ptrtoint
// CHECK: scf.for
// CHECK: metate.write %{{.*}} scope 1 {{.*}} : f32
// CHECK: loop_annotation
// CHECK: scf.for
// CHECK: metate.read %{{.*}} : vector<16xf32>
// CHECK: metate.write %{{.*}} metate.nontemporal{{.*}} : vector<16xf32>
// CHECK: scf.for
// CHECK: metate.write %{{.*}} scope 1 {{.*}} : f32
// CHECK: scf.if %[[AROUND]]
// CHECK: llvm.fence seq_cst
// CHECK-LABEL: llvm.func @metate_entry_copy(
// CHECK: %[[FOUR:.*]] = arith.constant 4 : index
// CHECK: %[[BYTES:.*]] = arith.muli %{{.*}}, %[[FOUR]]
// CHECK: %[[LEAST:.*]] = arith.constant 67108864 : index
// CHECK: arith.cmpi sge, %[[BYTES]], %[[LEAST]]
// OFF-NOT: metate.nontemporal
// OFF-NOT: llvm.fence
// LLVM-LABEL: llvm.func internal @metate_entry_copy_task0(
// LLVM: llvm.store {{.*}} {{{.*}}alias_scopes = {{.*}}, alignment = 64 : i64, {{.*}}nontemporal} : vector<16xf32>, !llvm.ptr
// LLVM: llvm.fence seq_cst
// OBJECT: metate.payload
metate.kernel @copy(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// Rows of bytes: a line holds 64 of them. Their bytes are all dimensions'.
// CHECK-LABEL: llvm.func internal @metate_entry_fill_task0(
// CHECK: metate.write %{{.*}} metate.nontemporal{{.*}} : vector<64xi8>
// CHECK-LABEL: llvm.func @metate_entry_fill(
metate.kernel @fill(%y: memref<?x?xi8>, %v: i8) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %y, %c0 : memref<?x?xi8>
  %m = memref.dim %y, %c1 : memref<?x?xi8>
  metate.range (%i, %j) = (%c0, %c0) to (%n, %m) {
    memref.store %v, %y[%i, %j] : memref<?x?xi8>
    metate.yield
  }
  metate.return
}

// None of these: what is read too, what is known to be small, what does not lie in a row, what is written
// under a condition, what may overlap.
// CHECK-NOT: metate.nontemporal
metate.kernel @adds(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    %v = memref.load %x[%i] : memref<?xf32>
    %w = memref.load %y[%i] : memref<?xf32>
    %s = arith.addf %v, %w : f32
    memref.store %s, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

metate.kernel @small(%y: memref<?xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %n = arith.constant 1000 : index
  metate.range (%i) = (%c0) to (%n) {
    memref.store %v, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

metate.kernel @column(%y: memref<?x?xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %y, %c0 : memref<?x?xf32>
  %m = memref.dim %y, %c1 : memref<?x?xf32>
  metate.range (%j, %i) = (%c0, %c0) to (%m, %n) {
    memref.store %v, %y[%i, %j] : memref<?x?xf32>
    metate.yield
  }
  metate.return
}

metate.kernel @some(%x: memref<?xf32>, %y: memref<?xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    %w = memref.load %x[%i] : memref<?xf32>
    %is = arith.cmpf olt, %w, %v : f32
    scf.if %is {
      memref.store %v, %y[%i] : memref<?xf32>
    }
    metate.yield
  }
  metate.return
}

metate.kernel @overlapping(%x: memref<?xf32>, %y: memref<?xf32>) attributes {may_alias} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}
