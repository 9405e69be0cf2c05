// RUN: metate-opt %s -metate-record-interfaces -metate-lower-layout | FileCheck %s

// Kernels of a graph have no interface, what they check is told by their name.
// CHECK-LABEL: metate.kernel private @g.0.grow(%arg0: f32, %arg1: !metate.block)
// CHECK: metate.assert {{.*}}, "grow\1Fpositive"
// CHECK-NOT: metate.interface
metate.kernel private @g.0.grow(%v: f32, %t: !metate.tree<#metate.dense<"i", [4], [#metate.place<"a" : f32>]>> {metate.access = 3 : i64}) {
  %zero = arith.constant 0.0 : f32
  %c = arith.cmpf ogt, %v, %zero : f32
  metate.serial {
    metate.assert %c, "positive"
    metate.yield
  }
  metate.return
}

// CHECK-LABEL: metate.kernel private @g.1.copy(%arg0: !metate.block, %arg1: index, %arg2: index)
metate.kernel private @g.1.copy(%x: memref<?xf32> {metate.access = 2 : i64}) {
  metate.return
}

// Its operands are flat, its access is that of its kernels, its tasks are theirs.
// CHECK-LABEL: metate.kernel @metate_graph_g(%arg0: !metate.block, %arg1: index, %arg2: index, %arg3: f32, %arg4: !metate.block)
// CHECK: metate.run @g.0.grow(%arg3, %arg4) : f32, !metate.block
// CHECK: metate.run @g.1.copy(%arg0, %arg1, %arg2) : !metate.block, index, index
// CHECK: metate.interface @g entry "metate_graph_g" tasks 1
// CHECK-SAME: #metate.argument<"x", "ndarray", f32 rank = 1 access = 2 flags = 1>
// CHECK-SAME: #metate.argument<"t", "tree",
// CHECK-SAME: access = 3
metate.kernel @g(%x: memref<?xf32> {metate.name = "x", metate.access = 0 : i64}, %v: f32 {metate.name = "v"},
                 %t: !metate.tree<#metate.dense<"i", [4], [#metate.place<"a" : f32>]>> {metate.name = "t", metate.access = 0 : i64}) {
  metate.serial {
    metate.run @g.0.grow(%v, %t) : f32, !metate.tree<#metate.dense<"i", [4], [#metate.place<"a" : f32>]>>
    metate.run @g.1.copy(%x) : memref<?xf32>
    metate.yield
  }
  metate.return
}
