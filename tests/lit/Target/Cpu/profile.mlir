// RUN: metate-opt %s --metate-outline-tasks --metate-map-tasks-cpu=profile=true --canonicalize | FileCheck %s
// RUN: metate-opt %s --metate-outline-tasks --metate-map-tasks-cpu --canonicalize | FileCheck %s --check-prefix=OFF

// The host hears of each task as it begins and when it has ended, with its number, its line and its iterations.
// CHECK-LABEL: llvm.func @two(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %[[HOST:.*]]: !llvm.ptr
// CHECK-DAG: %[[FIRST:.*]] = llvm.mlir.constant(0 : i32)
// CHECK-DAG: %[[SECOND:.*]] = llvm.mlir.constant(1 : i32)
// CHECK: llvm.call @metate_begin_task(%[[HOST]], %[[FIRST]], %{{.*}}, %{{.*}})
// CHECK: llvm.call @metate_run_task(
// CHECK: llvm.call @metate_end_task(%[[HOST]], %[[FIRST]])
// CHECK: llvm.call @metate_begin_task(%[[HOST]], %[[SECOND]], %{{.*}}, %{{.*}})
// CHECK: metate.write
// CHECK: llvm.call @metate_end_task(%[[HOST]], %[[SECOND]])
// OFF-NOT: metate_begin_task
metate.kernel @two(%x: !metate.block, %n: index) {
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  metate.range (%i) = (%zero) to (%n) {
    metate.write %none, %x[%i] scope 0 : f32
    metate.yield
  }
  metate.serial {
    metate.write %none, %x[%zero] scope 0 : f32
    metate.yield
  }
  metate.return
}
