// RUN: metate-opt %s --metate-offload | FileCheck %s

!sparse = !metate.tree<#metate.pointer<"ij", [16, 16], [#metate.dense<"ij", [4, 8], [#metate.place<"a" : f32>]>]>>
!dense = !metate.tree<#metate.dense<"ij", [6, 7], [#metate.place<"a" : f32>]>>

// Slots outside, the leaf's rows inside, coordinates base + local.
// CHECK-LABEL: metate.kernel @cells
// CHECK: metate.cells (%{{.*}}, %[[SI:.*]], %[[SJ:.*]]) in %{{.*}}["a@0"]
// CHECK-DAG: %[[BI:.*]] = arith.muli %[[SI]], %{{.*}} : index
// CHECK-DAG: %[[BJ:.*]] = arith.muli %[[SJ]], %{{.*}} : index
// CHECK: scf.for %[[LI:.*]] =
// CHECK: %[[I:.*]] = arith.addi %[[BI]], %[[LI]]
// CHECK: scf.for %[[LJ:.*]] =
// CHECK: %[[J:.*]] = arith.addi %[[BJ]], %[[LJ]]
// CHECK: metate.load %{{.*}}["a"] [%[[I]], %[[J]]]
// CHECK: } {metate.nest, metate.row}
// CHECK: } {metate.nest}
metate.kernel @cells(%f: !sparse, %x: memref<?xf32>) {
  metate.for_each (%i, %j) in %f["a"] : !sparse {
    %v = metate.load %f["a"][%i, %j] : !sparse -> f32
    memref.store %v, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// CHECK-LABEL: metate.kernel @all_active
// CHECK: metate.range (%{{.*}}, %{{.*}}) =
// CHECK-NOT: metate.cells
metate.kernel @all_active(%f: !dense, %x: memref<?xf32>) {
  metate.for_each (%i, %j) in %f["a"] : !dense {
    %v = metate.load %f["a"][%i, %j] : !dense -> f32
    memref.store %v, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// Effects between loops are a task; what a later one needs is its result.
// CHECK-LABEL: metate.kernel @between
// CHECK: %[[V:.*]] = metate.serial -> f32 {
// CHECK:   memref.load
// CHECK:   metate.yield
// CHECK: metate.range
// CHECK:   memref.store %[[V]]
metate.kernel @between(%x: memref<?xf32>, %n: index) {
  %zero = arith.constant 0 : index
  %v = memref.load %x[%zero] : memref<?xf32>
  metate.range (%i) = (%zero) to (%n) {
    memref.store %v, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}
