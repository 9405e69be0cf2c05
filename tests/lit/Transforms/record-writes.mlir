// RUN: metate-opt %s "--pass-pipeline=builtin.module(metate.kernel(metate-record-writes))" | FileCheck %s

!grid = !metate.tree<#metate.pointer<"i", [4], [#metate.dense<"i", [8], [#metate.place<"a" : f32>, #metate.place<"v" : vector<3xf32>>]>]>>
!numbers = !metate.tree<#metate.pointer<"i", [4], [#metate.dense<"i", [8], [#metate.place<"a" : si64>, #metate.place<"v" : vector<3xsi64>>]>]>>

// Behind each write stands that of its number: of the call, and the write's own. Additions have no order: the greatest number stays.
// CHECK-LABEL: metate.kernel @array
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?xf32>, %[[N:[a-z0-9]+]]: memref<?xi64>, %[[Y:[a-z0-9]+]]: memref<?xf32>, %[[CALL:[a-z0-9]+]]: i64
// CHECK-NOT: metate.written
// CHECK: memref.store %{{.*}}, %[[X]][%[[I:.*]]] : memref<?xf32>
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : i64
// CHECK-NEXT: %[[FIRST:.*]] = arith.addi %[[CALL]], %[[ZERO]] : i64
// CHECK-NEXT: memref.store %[[FIRST]], %[[N]][%[[I]]] : memref<?xi64>
// CHECK-NEXT: memref.store %{{.*}}, %[[Y]]
// CHECK-NEXT: memref.atomic_rmw addf %{{.*}}, %[[X]][%[[I]]]
// CHECK-NEXT: %[[TWO:.*]] = arith.constant 2 : i64
// CHECK-NEXT: %[[THIRD:.*]] = arith.addi %[[CALL]], %[[TWO]] : i64
// CHECK-NEXT: memref.atomic_rmw maxs %[[THIRD]], %[[N]][%[[I]]]
metate.kernel @array(%x: memref<?xf32>, %n: memref<?xi64>, %y: memref<?xf32>, %call: i64, %i: index, %v: f32) {
  metate.written %x, %n, %call : memref<?xf32>, memref<?xi64>
  memref.store %v, %x[%i] : memref<?xf32>
  memref.store %v, %y[%i] : memref<?xf32>
  %old = memref.atomic_rmw addf %v, %x[%i] : (f32, memref<?xf32>) -> f32
  metate.return
}

// A vector has a number for each component; one component that is written has its own.
// CHECK-LABEL: metate.kernel @vectors
// CHECK-SAME: %[[T:[a-z0-9]+]]: !metate.tree<{{.*}}>, %[[N:[a-z0-9]+]]: !metate.tree<{{.*}}>, %[[CALL:[a-z0-9]+]]: i64
// CHECK: metate.store %{{.*}}, %[[T]]["v"]
// CHECK: %[[ALL:.*]] = vector.broadcast %{{.*}} : i64 to vector<3xi64>
// CHECK-NEXT: metate.store %[[ALL]], %[[N]]["v"]
// CHECK-NEXT: metate.atomic addf %{{.*}}, %[[T]]["v"] [%{{.*}}] component[%[[C:.*]]] :
// CHECK: metate.atomic maxs %{{.*}}, %[[N]]["v"] [%{{.*}}] component[%[[C]]] :
metate.kernel @vectors(%t: !grid, %n: !numbers, %call: i64, %i: index, %c: index, %v: vector<3xf32>, %s: f32) {
  metate.written %t, %n, %call : !grid, !numbers
  metate.store %v, %t["v"][%i] : vector<3xf32>, !grid
  %old = metate.atomic addf %s, %t["v"][%i] component [%c] : f32, !grid
  metate.return
}

// What a cell holds that is deactivated was written there, where it was active.
// CHECK-LABEL: metate.kernel @deactivated
// CHECK-SAME: %[[T:[a-z0-9]+]]: !metate.tree<{{.*}}>, %[[N:[a-z0-9]+]]: !metate.tree<{{.*}}>, %[[CALL:[a-z0-9]+]]: i64
// CHECK: %[[CELL:.*]] = arith.floordivsi %{{.*}}, %{{.*}} : index
// CHECK: %[[BEGIN:.*]] = arith.muli %[[CELL]], %{{.*}} : index
// CHECK: scf.for %[[K:.*]] =
// CHECK:   %[[AT:.*]] = arith.addi %[[BEGIN]], %[[K]] : index
// CHECK:   %[[IS:.*]] = metate.is_active %[[T]]["a"] [%[[AT]]]
// CHECK:   scf.if %[[IS]]
// CHECK:     metate.store %{{.*}}, %[[N]]["a"] [%[[AT]]]
// CHECK: scf.for
// CHECK:     metate.store %{{.*}}, %[[N]]["v"]
// CHECK: metate.deactivate %[[T]]["a"]
metate.kernel @deactivated(%t: !grid, %n: !numbers, %call: i64, %i: index) {
  metate.written %t, %n, %call : !grid, !numbers
  metate.deactivate %t["a"][%i] : !grid
  metate.return
}
