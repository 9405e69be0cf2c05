// What passes and LLVM say of loops where somebody asks (metate/Remarks/Remarks.h): what was done, and why not.
// RUN: metate-opt %s --metate-stage-offload="target=x86-64-v3" --metate-stage-layout="target=x86-64-v3" --metate-stage-map="target=x86-64-v3" --metate-emit="target=x86-64-v3" --remarks-filter=".*" --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s
// Nobody asks: nothing is said.
// RUN: metate-opt %s --metate-stage-offload -o /dev/null 2>&1 | FileCheck %s --check-prefix=QUIET --allow-empty
// QUIET-NOT: remark

!bits = !metate.tree<#metate.pointer<"ij", [64, 64], [#metate.bitmasked<"ij", [16, 16], [#metate.place<"a" : f32>, #metate.place<"b" : f32>]>]>>
!full = !metate.tree<#metate.pointer<"ij", [64, 64], [#metate.dense<"ij", [16, 16], [#metate.place<"a" : f32>, #metate.place<"b" : f32>]>]>>

// CHECK: :[[#OWN:]]:{{[0-9]+}}: remark: [Passed] atomics | Category:demote-atomics |{{.*}}Remark=x, Remark="' is demoted to a plain load and store
// CHECK-DAG: [[#OWN+7]]:{{[0-9]+}}: remark: [Missed] atomics | Category:demote-atomics |{{.*}}other places than the iteration's own
// CHECK-DAG: [[#OWN+7]]:{{[0-9]+}}: remark: [Missed] reductions | Category:private-reductions |{{.*}}Remark="its place depends on the iteration"
// CHECK-DAG: [[#OWN+12]]:{{[0-9]+}}: remark: [Passed] reductions | Category:private-reductions |{{.*}}Remark=sum, Remark="' gets a partial result for each chunk
// CHECK-DAG: [[#OWN-1]]:{{[0-9]+}}: remark: [Passed] tasks | Category:offload |{{.*}}a parallel task over a range of {{.*}}dimensions=1
// CHECK-DAG: [[#OWN-1]]:{{[0-9]+}}: remark: [Analysis] work | Category:count-work |{{.*}}#cells=1{{.*}}operations=1{{.*}}read=4{{.*}}written=4
// CHECK-DAG: [[#OWN-1]]:{{[0-9]+}}: remark: [Passed] chunks | Category:map-tasks-cpu |{{.*}}Remark="at least "{{.*}}iterations={{[0-9]+}}
// CHECK-DAG: [[#OWN-1]]:{{[0-9]+}}: remark: [Missed] nontemporal stores |{{.*}}it reads an argument that it writes
// CHECK-DAG: [[#OWN+3]]:{{[0-9]+}}: remark: [Passed] atomics | Category:map-tasks-cpu |{{.*}}a second version of the loop
// CHECK-DAG: [[#OWN-1]]:{{[0-9]+}}: remark: [Passed] vectors | Category:loop-vectorize |{{.*}}width=8
// CHECK-DAG: [[#OWN+3]]:{{[0-9]+}}: remark: [Missed] vectors | Category:loop-vectorize |{{.*}}an operation that vectors have not
metate.kernel @arrays(%x: memref<?xf32> {metate.access = 3, metate.name = "x"}, %h: memref<?xi32> {metate.access = 3, metate.name = "h"}, %n: index, %v: f32, %one: i32, %sum: memref<f32> {metate.access = 3, metate.name = "sum"}) {
  %zero = arith.constant 0 : index
  metate.range (%i) = (%zero) to (%n) {
    %old = memref.atomic_rmw addf %v, %x[%i] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.range (%i) = (%zero) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %c = arith.fptosi %a : f32 to i32
    %k = arith.index_cast %c : i32 to index
    %old = memref.atomic_rmw addi %one, %h[%k] : (i32, memref<?xi32>) -> i32
    metate.yield
  }
  metate.range (%i) = (%zero) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %old = memref.atomic_rmw addf %a, %sum[] : (f32, memref<f32>) -> f32
    metate.yield
  }
  metate.return
}

// CHECK-DAG: remark: [Analysis] work | Category:count-work |{{.*}}#cells=256{{.*}}operations=2{{.*}}read=4{{.*}}written=4
// CHECK-DAG: remark: [Passed] masks | Category:scan-masks |{{.*}}bits of a row of the leaf are read at once
// CHECK-DAG: remark: [Passed] full leaves | Category:scan-masks
// CHECK-DAG: remark: [Missed] rows | Category:stage-leaves |{{.*}}its cells are read in place
// CHECK-DAG: remark: [Passed] rows | Category:stage-leaves |{{.*}}staged by rows of{{.*}}cells=16{{.*}}loads=2
// CHECK-DAG: remark: [Missed] rows | Category:stage-leaves |{{.*}}beyond the neighbouring leaves
// CHECK-DAG: remark: [Passed] tasks | Category:offload |{{.*}}over the slots of '
// CHECK-DAG: remark: [Passed] conditionals | Category:unswitch-nests
// CHECK-DAG: remark: [Passed] conditionals | Category:flatten-rows
metate.kernel @trees(%f: !bits {metate.access = 3, metate.name = "f"}, %g: !full {metate.access = 3, metate.name = "g"}) {
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : index
  metate.for_each (%i, %j) in %f["a"] : !bits {
    %a = metate.load %f["a"][%i, %j] : !bits -> f32
    metate.store %a, %f["b"][%i, %j] active : f32, !bits
    metate.yield
  }
  metate.for_each (%i, %j) in %g["a"] : !full {
    %up = arith.subi %i, %c1 : index
    %right = arith.addi %j, %c1 : index
    %far = arith.addi %j, %c40 : index
    %a = metate.load %g["a"][%up, %j] : !full -> f32
    %b = metate.load %g["a"][%i, %right] : !full -> f32
    %c = metate.load %g["a"][%i, %far] : !full -> f32
    %d = arith.addf %a, %b : f32
    %e = arith.addf %c, %d : f32
    metate.store %e, %g["b"][%i, %j] active : f32, !full
    metate.yield
  }
  metate.return
}
