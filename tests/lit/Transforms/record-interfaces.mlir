// RUN: metate-opt %s --metate-record-interfaces | FileCheck %s

!t = !metate.tree<#metate.pointer<"i", [16], [#metate.dense<"i", [8], [#metate.place<"a" : f32>]>]>>

// The kernel becomes the entry; what its host sees stands behind it.
// CHECK: metate.kernel @metate_entry_all(
// CHECK: metate.interface @all entry "metate_entry_all" tasks 2
// CHECK-SAME: #metate.argument<"f", "tree", !{{.*}} access = 7>
// CHECK-SAME: #metate.argument<"x", "ndarray", ui8 element = [3] rank = 2 access = 1 flags = 1>
// CHECK-SAME: #metate.argument<"out", "ndarray", f32 flags = 3>
// CHECK-SAME: #metate.argument<"v", "vector", f32 element = [2]>
// CHECK-SAME: #metate.argument<"long", "ndarray", f32 rank = 1 flags = 5>
// CHECK-SAME: #metate.argument<"arg5", "scalar", i32>
// CHECK-SAME: may_alias
metate.kernel @all(%f: !t {metate.name = "f", metate.access = 7 : i64},
                   %x: memref<?x3xi8> {metate.name = "x", metate.type = ui8, metate.element = array<i64: 3>, metate.access = 1 : i64},
                   %out: memref<f32> {metate.name = "out", metate.result},
                   %v: vector<2xf32> {metate.name = "v"},
                   %long: memref<?xf32> {metate.name = "long", metate.long}, %n: i32) attributes {may_alias} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  metate.serial {
    metate.yield
  }
  metate.range (%i) = (%c0) to (%c8) {
    metate.yield
  }
  metate.return
}
