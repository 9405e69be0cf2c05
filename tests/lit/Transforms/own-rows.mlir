// RUN: metate-opt %s --metate-own-rows="most-bytes=1024" | FileCheck %s
// RUN: metate-opt %s --metate-own-rows="most-bytes=60" | FileCheck %s --check-prefix=SMALL
// SMALL-NOT: memref.alloca

!rows = !metate.tree<#metate.dense<"ij", [100, 24], [#metate.place<"x" : f32>]>>

// The part of the row that the loops are at is read before and written back behind.
// CHECK-LABEL: metate.kernel @sums
// CHECK: metate.range (%[[P:.*]]) =
// CHECK:   %[[ROW:.*]] = memref.alloca() : memref<22xf32>
// CHECK:   scf.for %[[J:.*]] = %c1{{.*}} to %c22
// CHECK:     %[[AT:.*]] = arith.addi %[[J]], %c-1
// CHECK:     %[[OLD:.*]] = metate.load %{{.*}}["x"] [%[[P]], %[[J]]]
// CHECK:     memref.store %[[OLD]], %[[ROW]][%[[AT]]]
// CHECK:   scf.for
// CHECK:     scf.for
// CHECK-NOT:   metate.load
// CHECK:       memref.load %[[ROW]]
// CHECK:       memref.load %[[ROW]]
// CHECK:       memref.store %{{.*}}, %[[ROW]]
// CHECK:   scf.for %[[K:.*]] = %c1{{.*}} to %c22
// CHECK:     %[[NEW:.*]] = memref.load %[[ROW]]
// CHECK:     metate.store %[[NEW]], %{{.*}}["x"] [%[[P]], %[[K]]] active
metate.kernel @sums(%f: !rows) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c21 = arith.constant 21 : index
  %c100 = arith.constant 100 : index
  metate.range (%p) = (%c0) to (%c100) {
    scf.for %t = %c0 to %c10 step %c1 {
      scf.for %j = %c1 to %c21 step %c1 {
        %next = arith.addi %j, %c1 : index
        %a = metate.load %f["x"] [%p, %j] : !rows -> f32
        %b = metate.load %f["x"] [%p, %next] : !rows -> f32
        %sum = arith.addf %a, %b : f32
        metate.store %sum, %f["x"] [%p, %j] active : f32, !rows
      }
    }
    metate.yield
  }
  metate.return
}

// Of an array extents are not known: all that the iteration stores is there. It stores it before it reads.
// CHECK-LABEL: metate.kernel @array
// CHECK: metate.range (%[[P:.*]]) =
// CHECK-NEXT: %[[ROW:.*]] = memref.alloca() : memref<17xi32>
// CHECK:   scf.for
// CHECK-NOT: memref.load
// CHECK:     memref.store %c7_i32, %[[ROW]]
// CHECK:   memref.load %[[ROW]]
// CHECK:   scf.for %[[K:.*]] = %c0{{.*}} to %c16
// CHECK:     %[[NEW:.*]] = memref.load %[[ROW]]
// CHECK:     memref.store %[[NEW]], %{{.*}}[%[[P]], %[[K]]] : memref<?x?xi32>
metate.kernel @array(%x: memref<?x?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c16 = arith.constant 16 : index
  %seven = arith.constant 7 : i32
  metate.range (%p) = (%c0) to (%n) {
    scf.for %j = %c0 to %c16 step %c1 {
      memref.store %seven, %x[%p, %j] : memref<?x?xi32>
    }
    scf.for %t = %c0 to %c10 step %c1 {
      scf.for %j = %c0 to %c16 step %c1 {
        %a = memref.load %x[%p, %j] : memref<?x?xi32>
        %sum = arith.addi %a, %a : i32
        memref.store %sum, %x[%p, %j] : memref<?x?xi32>
      }
    }
    metate.yield
  }
  metate.return
}

// A place that data says may be outside, where it is nobody's.
// CHECK-LABEL: metate.kernel @asked
// CHECK: memref.alloca() : memref<25xf32>
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %{{.*}}, %c24
// CHECK: arith.select %[[INSIDE]], %{{.*}}, %c24
metate.kernel @asked(%f: !rows, %keys: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %c500 = arith.constant 500 : index
  metate.range (%p) = (%c0) to (%c100) {
    scf.for %t = %c0 to %c500 step %c1 {
      %key = memref.load %keys[%t] : memref<?xi32>
      %j = arith.index_cast %key : i32 to index
      %a = metate.load %f["x"] [%p, %j] : !rows -> f32
      %sum = arith.addf %a, %a : f32
      metate.store %sum, %f["x"] [%p, %j] active : f32, !rows
    }
    metate.yield
  }
  metate.return
}

// Not: another iteration reads it, the row may be outside of the array, few accesses, a message in between.
// CHECK-LABEL: metate.kernel @neighbour
// CHECK-NOT: memref.alloca
metate.kernel @neighbour(%f: !rows) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  %c99 = arith.constant 99 : index
  metate.range (%p) = (%c0) to (%c99) {
    %other = arith.addi %p, %c1 : index
    scf.for %t = %c0 to %c20 step %c1 {
      scf.for %j = %c0 to %c20 step %c1 {
        %a = metate.load %f["x"] [%p, %j] : !rows -> f32
        %b = metate.load %f["x"] [%other, %j] : !rows -> f32
        %sum = arith.addf %a, %b : f32
        metate.store %sum, %f["x"] [%p, %j] active : f32, !rows
      }
    }
    metate.yield
  }
  metate.return
}

// CHECK-LABEL: metate.kernel @some
// CHECK-NOT: memref.alloca
metate.kernel @some(%x: memref<?x?xi32>, %n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c16 = arith.constant 16 : index
  metate.range (%p) = (%c0) to (%n) {
    scf.for %t = %c0 to %m step %c1 {
      scf.for %j = %c0 to %c16 step %c1 {
        %a = memref.load %x[%p, %j] : memref<?x?xi32>
        %sum = arith.addi %a, %a : i32
        memref.store %sum, %x[%p, %j] : memref<?x?xi32>
      }
    }
    metate.yield
  }
  metate.return
}

// CHECK-LABEL: metate.kernel @once
// CHECK-NOT: memref.alloca
metate.kernel @once(%f: !rows) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  %c100 = arith.constant 100 : index
  metate.range (%p) = (%c0) to (%c100) {
    scf.for %j = %c0 to %c24 step %c1 {
      %a = metate.load %f["x"] [%p, %j] : !rows -> f32
      %sum = arith.addf %a, %a : f32
      metate.store %sum, %f["x"] [%p, %j] active : f32, !rows
    }
    metate.yield
  }
  metate.return
}
