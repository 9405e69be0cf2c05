// RUN: metate-opt %s --metate-fold-index-casts | FileCheck %s

// CHECK-LABEL: metate.kernel @neighbour
// CHECK: metate.range (%[[I:.*]]) =
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %{{.*}} : index
// CHECK: memref.load %{{.*}}[%[[NEXT]]]
metate.kernel @neighbour(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : i32
  metate.range (%i) = (%zero) to (%n) {
    %i32 = arith.index_cast %i : index to i32
    %next = arith.addi %i32, %one : i32
    %at = arith.index_cast %next : i32 to index
    %v = memref.load %x[%at] : memref<?xf32>
    %own = arith.index_cast %i32 : i32 to index
    memref.store %v, %y[%own] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// A product that wraps may come back inside the array: it stays in 32 bits.
// CHECK-LABEL: metate.kernel @product
// CHECK: arith.muli %{{.*}}, %{{.*}} : i32
// CHECK: arith.index_cast %{{.*}} : i32 to index
metate.kernel @product(%x: memref<?xf32>, %n: index, %k: i32, %a: f32) {
  %zero = arith.constant 0 : index
  metate.range (%i) = (%zero) to (%n) {
    %i32 = arith.index_cast %i : index to i32
    %scaled = arith.muli %i32, %k : i32
    %at = arith.index_cast %scaled : i32 to index
    memref.store %a, %x[%at] : memref<?xf32>
    metate.yield
  }
  metate.return
}
