// RUN: metate-opt %s --start-from=import --stop-after=map | FileCheck %s

!t = !metate.tree<#metate.pointer<"i", [16], [#metate.dense<"i", [8], [#metate.place<"a" : f32>]>]>>

// CHECK-LABEL: llvm.func internal @metate_entry_saxpy_task0(%arg0: !llvm.ptr
// Each chunk first looks whether the host wants it to stop.
// CHECK: %[[ASKED:.*]] = llvm.load %{{.*}} atomic monotonic {alignment = 4 : i64} : !llvm.ptr -> i32
// CHECK: %[[OFF:.*]] = llvm.icmp "eq" %[[ASKED]]
// CHECK: llvm.cond_br %[[OFF]] weights([1048576, 1])
// CHECK: llvm.load %{{.*}} {{{.*}}alias_scopes = [#[[X:[a-z_0-9]+]]], alignment = 4 : i64, noalias_scopes = [#[[Y:[a-z_0-9]+]]]}
// CHECK: llvm.store %{{.*}}, %{{.*}} {{{.*}}alias_scopes = [#[[Y]]], alignment = 4 : i64, noalias_scopes = [#[[X]]]}
// CHECK-LABEL: llvm.func @metate_entry_saxpy(%arg0: !llvm.ptr
// CHECK: llvm.mlir.addressof @metate_entry_saxpy_task0
// CHECK: llvm.call @metate_run_task
metate.kernel @saxpy(%a: f32, %x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    %v = memref.load %x[%i] : memref<?xf32>
    %m = arith.mulf %a, %v : f32
    %o = memref.atomic_rmw addf %m, %y[%i] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// Bounds that are known are constants of the task, no part of its context: what is captured is the array.
// CHECK-LABEL: llvm.func internal @metate_entry_known_task0(%arg0: !llvm.ptr
// CHECK-DAG: llvm.mlir.constant(48 : index) : i64
// CHECK: llvm.return
// CHECK-LABEL: llvm.func @metate_entry_known(
// CHECK: llvm.alloca %{{.*}} x !llvm.struct<(ptr, i64, ptr)> {alignment = 64 : i64}
metate.kernel @known(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : index
  %v = arith.constant 1.0 : f32
  metate.range (%i, %j) = (%c0, %c0) to (%c48, %c48) {
    memref.store %v, %x[%j] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// Overlapping arguments get no alias scopes.
// CHECK-LABEL: llvm.func @metate_entry_overlapping
// CHECK-NOT: alias_scopes
// CHECK: llvm.return
metate.kernel @overlapping(%x: memref<?xf32>, %y: memref<?xf32>) attributes {may_alias} {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<?xf32>
  memref.store %v, %y[%c0] : memref<?xf32>
  metate.return
}

// A failed assert records its text and leaves.
// CHECK-LABEL: llvm.func @metate_entry_checked
// CHECK: llvm.cond_br %{{.*}}, ^[[GO:bb[0-9]+]], ^[[FAILED:bb[0-9]+]]
// CHECK: ^[[FAILED]]:
// CHECK: %[[STATUS:[0-9]+]] = llvm.call @metate_record_failure
// CHECK-NEXT: llvm.return %[[STATUS]]
metate.kernel @checked(%ok: i1) {
  metate.assert %ok, "not ok"
  metate.return
}

// A check says which index of which shape.
// CHECK-LABEL: llvm.func @metate_entry_bounds
// CHECK: %[[ROOM:.*]] = llvm.alloca %{{.*}} x !llvm.array<24 x i64>
// CHECK: %[[TO:.*]] = llvm.getelementptr inbounds %[[ROOM]][96]
// CHECK: llvm.store %{{.*}}, %[[TO]]
// CHECK: llvm.call @metate_record_failure
metate.kernel @bounds(%ok: i1, %i: index, %n: index) {
  metate.check out_of_range %ok, "x" index(%i) shape(%n)
  metate.return
}

// CHECK-LABEL: llvm.func @metate_entry_say
// CHECK: llvm.call @metate_print_items
metate.kernel @say(%v: f32) {
  metate.print ["v = ", unit, "\n"] unsigned [false] (%v : f32)
  metate.return
}

// Workers are bounded by the slack slots of the tree that may be activated.
// CHECK-LABEL: llvm.func @metate_entry_fill
// CHECK: llvm.getelementptr inbounds %{{.*}}[48]
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> i32
metate.kernel @fill(%f: !t, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    metate.store %v, %f["a"][%i] : f32, !t
    metate.yield
  }
  metate.return
}

// The loop over blocks is no loop to vectorise: the cells of a block are.
// CHECK-LABEL: llvm.func internal @metate_entry_blocks_task0(
// CHECK: llvm.br {{.*}} {loop_annotation = #[[BLOCKS:[a-z_0-9]+]]}
!blocks = !metate.tree<#metate.dense<"ij", [64, 32], [#metate.dense<"ij", [4, 8], [#metate.place<"a" : f32>]>]>>
metate.kernel @blocks(%f: !blocks, %v: f32) {
  metate.for_each (%i, %j) in %f["a"] : !blocks {
    metate.store %v, %f["a"][%i, %j] : f32, !blocks
    metate.yield
  }
  metate.return
}

// A kernel that deactivates collects what it gave up also where it fails, wherever that is.
// CHECK-LABEL: llvm.func internal @metate_entry_stops_run(
// CHECK: llvm.call @metate_deactivate_
// CHECK: llvm.call @metate_record_failure
// CHECK: llvm.call @metate_collect_[[TYPE:[0-9a-f]+]]_0(
// CHECK: llvm.func @metate_entry_stops(%[[SLOTS:.*]]: !llvm.ptr {{.*}}
// CHECK: %[[STATUS:.*]] = llvm.call @metate_entry_stops_run(
// CHECK: llvm.icmp "ne" %[[STATUS]]
// CHECK: llvm.cond_br
// CHECK: llvm.call @metate_collect_[[TYPE]]_1(
// CHECK: llvm.call @metate_settle_[[TYPE]]_0(
// CHECK-NEXT: llvm.return %[[STATUS]]
metate.kernel @stops(%f: !t, %i: index, %b: i1) {
  metate.deactivate %f["a"][%i] : !t
  metate.assert %b, "b"
  metate.return
}

// Wherever a kernel ends that may activate cells, it settles the tree: topology is another number if it did.
// CHECK-LABEL: llvm.func @metate_entry_claims(
// CHECK: llvm.cond_br
// CHECK: llvm.call @metate_settle_[[TYPE]]_0(
// CHECK-NEXT: llvm.return
// CHECK: llvm.call @metate_settle_[[TYPE]]_0(
// CHECK-NEXT: llvm.return
// One that only reads has nothing to settle.
// CHECK-LABEL: llvm.func @metate_entry_reads(
// CHECK-NOT: metate_settle_
metate.kernel @claims(%f: !t, %i: index, %v: f32, %b: i1) {
  metate.store %v, %f["a"][%i] : f32, !t
  metate.assert %b, "b"
  metate.return
}
metate.kernel @reads(%f: !t, %x: memref<?xf32>, %i: index) {
  %v = metate.load %f["a"][%i] : !t -> f32
  memref.store %v, %x[%i] : memref<?xf32>
  metate.return
}

// CHECK: metate.text 0 "{{.*}}map.mlir" : {{.*}} "not ok"
