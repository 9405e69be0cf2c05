// RUN: metate-opt %s --canonicalize | FileCheck %s

// A check that cannot fail is none; what may fail stays, in its order.
// CHECK-LABEL: metate.kernel @checks
// CHECK-SAME: %[[OK:[a-z0-9]+]]: i1
// CHECK-NEXT: arith.constant false
// CHECK-NEXT: metate.check division_by_zero %[[OK]]
// CHECK-NEXT: memref.store
// CHECK-NEXT: metate.poll
// CHECK-NEXT: metate.check out_of_range %false
// CHECK-NEXT: metate.return
metate.kernel @checks(%ok: i1, %i: index, %v: f32, %x: memref<?xf32>) {
  %true = arith.constant true
  %false = arith.constant false
  metate.check out_of_range %true, "x" index(%i) shape(%i)
  metate.check division_by_zero %ok, ""
  memref.store %v, %x[%i] : memref<?xf32>
  metate.poll
  metate.check out_of_range %false, "x" index(%i) shape(%i)
  metate.return
}
