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

// Levels above the last are shared out in the order of memory; the last one's cells are a nest inside.
!blocks = !metate.tree<#metate.dense<"ij", [64, 32], [#metate.dense<"ij", [4, 8], [#metate.place<"a" : f32>]>]>>
// CHECK-LABEL: metate.kernel @blocks
// CHECK: metate.range (%[[BI:.*]], %[[BJ:.*]]) =
// CHECK: %[[I0:.*]] = arith.muli %[[BI]]
// CHECK: %[[J0:.*]] = arith.muli %[[BJ]]
// CHECK: scf.for %[[LI:.*]] =
// CHECK: %[[I:.*]] = arith.addi %[[I0]], %[[LI]]
// CHECK: scf.for %[[LJ:.*]] =
// CHECK: %[[J:.*]] = arith.addi %[[J0]], %[[LJ]]
// CHECK: metate.load %{{.*}}["a"] [%[[I]], %[[J]]]
metate.kernel @blocks(%f: !blocks, %x: memref<?xf32>) {
  metate.for_each (%i, %j) in %f["a"] : !blocks {
    %v = metate.load %f["a"][%i, %j] : !blocks -> f32
    memref.store %v, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// Columns first where the tree's levels say so.
!columns = !metate.tree<#metate.dense<"j", [500], [#metate.dense<"i", [70], [#metate.place<"a" : f32>]>]>>
// CHECK-LABEL: metate.kernel @columns
// CHECK: metate.range (%[[J:.*]]) =
// CHECK: scf.for %[[I:.*]] =
// CHECK: metate.load %{{.*}}["a"] [%[[I]], %[[J]]]
metate.kernel @columns(%f: !columns, %x: memref<?xf32>) {
  metate.for_each (%i, %j) in %f["a"] : !columns {
    %v = metate.load %f["a"][%i, %j] : !columns -> f32
    memref.store %v, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}
