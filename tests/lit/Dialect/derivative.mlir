// RUN: metate-opt %s | metate-opt | FileCheck %s

// CHECK-LABEL: metate.kernel @k
// CHECK-SAME: attributes {metate.differentiate = "reverse"}
// CHECK: metate.derivative %{{.*}}[""], %{{.*}}[""] : memref<?xf32>, memref<?xf32>
// CHECK: metate.derivative %[[T:.*]]["a"], %[[T]]["b"] :
// CHECK: metate.stop_gradient %{{.*}} : f32
metate.kernel @k(%x: memref<?xf32>, %dx: memref<?xf32>, %t: !metate.tree<#metate.dense<"i", [8], [#metate.place<"a" : f32>, #metate.place<"b" : f32>]>>)
    attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  metate.derivative %t["a"], %t["b"] : !metate.tree<#metate.dense<"i", [8], [#metate.place<"a" : f32>, #metate.place<"b" : f32>]>>, !metate.tree<#metate.dense<"i", [8], [#metate.place<"a" : f32>, #metate.place<"b" : f32>]>>
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<?xf32>
  %w = metate.stop_gradient %v : f32
  memref.store %w, %x[%c0] : memref<?xf32>
  metate.return
}
