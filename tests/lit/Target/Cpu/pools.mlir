// RUN: metate-opt %s --start-from=import --stop-after=map | FileCheck %s

// The entry reads the pools' addresses from its second argument; a worker's part is as far behind the pool as his number says.
// CHECK-LABEL: llvm.func internal @metate_entry_parts_task0(%arg0: !llvm.ptr
// CHECK: %[[WORKER:.*]] = llvm.zext %arg3 : i32 to i64
// CHECK: %[[OFFSET:.*]] = llvm.mul %[[WORKER]], %{{.*}} : i64
// CHECK: llvm.getelementptr %{{.*}}[%[[OFFSET]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK-LABEL: llvm.func @metate_entry_parts(%arg0: !llvm.ptr
// CHECK: llvm.load %arg1 : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.getelementptr inbounds %arg1[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// The size of a part, rounded up to its alignment, of the slot that holds n.
// CHECK: %[[COUNT:.*]] = llvm.intr.smax(%{{.*}}, %{{.*}})
// CHECK: %[[BYTES:.*]] = llvm.mul %[[COUNT]], %{{.*}}
// CHECK: %[[SUM:.*]] = llvm.add %[[BYTES]], %{{.*}}
// CHECK: llvm.and %[[SUM]], %{{.*}}
// As many workers as the host's pools are for: one where it says none.
// CHECK: %[[MOST:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i32
// CHECK: llvm.intr.umax(%[[MOST]], %{{.*}})
metate.kernel @parts(%n: i64, %x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %end = arith.index_cast %n : i64 to index
  metate.range (%i) = (%c0) to (%end) {
    %all = metate.pool "all" launch bytes 64 align 64
    %tile = metate.pool "tile" worker bytes 24 align 64 scale 4 by (%n : i64)
    %v = memref.load %x[%i] : memref<?xf32>
    metate.write %v, %tile[%c0] scope -1 : f32
    metate.write %v, %all[%c0] scope -1 : f32
    metate.yield
  }
  metate.return
}
