// RUN: metate-opt %s | metate-opt | FileCheck %s

!grid = !metate.tree<#metate.dense<"i", [8], [#metate.place<"a" : f32>, #metate.place<"v" : vector<3xf32>>]>>
!numbers = !metate.tree<#metate.dense<"i", [8], [#metate.place<"a" : si64>, #metate.place<"v" : vector<3xsi64>>]>>

// CHECK-LABEL: metate.kernel @k
// CHECK: metate.written %{{.*}}, %{{.*}}, %[[CALL:.*]] : memref<?xf32>, memref<?xi64>
// CHECK: metate.written %{{.*}}, %{{.*}}, %[[CALL]] : !metate.tree<{{.*}}>, !metate.tree<{{.*}}>
metate.kernel @k(%x: memref<?xf32>, %nx: memref<?xi64>, %t: !grid, %nt: !numbers, %call: i64) {
  metate.written %x, %nx, %call : memref<?xf32>, memref<?xi64>
  metate.written %t, %nt, %call : !grid, !numbers
  metate.return
}
