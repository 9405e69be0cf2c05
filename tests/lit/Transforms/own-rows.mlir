// RUN: metate-opt %s --metate-own-rows="most-bytes=1024" | FileCheck %s
// RUN: metate-opt %s --metate-own-rows="most-bytes=30" | FileCheck %s --check-prefix=SMALL
// SMALL-NOT: memref.alloca

!squares = !metate.tree<#metate.dense<"ijk", [100, 8, 8], [#metate.place<"x" : f32>]>>
!rows = !metate.tree<#metate.dense<"ij", [100, 24], [#metate.place<"x" : f32>]>>

// The part of the row that the loops are at is read before and written back behind.
// CHECK-LABEL: metate.kernel @sums
// CHECK: metate.range (%[[P:.*]]) =
// CHECK:   %[[ROW:.*]] = memref.alloca() : memref<21xf32>
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
// CHECK:   scf.for %[[K:.*]] = %c1{{.*}} to %c21
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
// CHECK-NEXT: %[[ROW:.*]] = memref.alloca() : memref<16xi32>
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

// Where the loop has no turn nothing is touched. The lower triangle is copied number by number.
// CHECK-LABEL: metate.kernel @triangle
// CHECK: memref.alloca() : memref<9xf32>
// CHECK: %[[RUNS:.*]] = arith.cmpi sgt, %arg1, %c0
// CHECK-NEXT: scf.if %[[RUNS]] {
// CHECK-COUNT-6: metate.load
// CHECK-NOT: metate.load
// CHECK: scf.for
// CHECK: scf.if
// CHECK-COUNT-6: metate.store
// CHECK-NOT: metate.store
// CHECK: metate.return
metate.kernel @triangle(%f: !squares, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c100 = arith.constant 100 : index
  metate.range (%p) = (%c0) to (%c100) {
    scf.for %t = %c0 to %n step %c1 {
      scf.for %i = %c0 to %c3 step %c1 {
        %end = arith.addi %i, %c1 : index
        scf.for %j = %c0 to %end step %c1 {
          %a = metate.load %f["x"] [%p, %i, %j] : !squares -> f32
          %b = metate.load %f["x"] [%p, %i, %c0] : !squares -> f32
          %sum = arith.addf %a, %b : f32
          metate.store %sum, %f["x"] [%p, %i, %j] active : f32, !squares
        }
      }
    }
    metate.yield
  }
  metate.return
}

// Not: another iteration reads it, some iterations may touch more than others, few accesses.
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
metate.kernel @some(%x: memref<?x?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c16 = arith.constant 16 : index
  metate.range (%p) = (%c0) to (%n) {
    scf.for %t = %c0 to %c10 step %c1 {
      scf.for %j = %c0 to %c16 step %c1 {
        %a = memref.load %x[%p, %j] : memref<?x?xi32>
        %is = arith.cmpi eq, %a, %a : i32
        scf.if %is {
          %next = arith.addi %j, %c1 : index
          memref.store %a, %x[%p, %next] : memref<?x?xi32>
        }
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
