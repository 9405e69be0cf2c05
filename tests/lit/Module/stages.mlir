// A dump of any stage, fed back, gives the same module bytes; and the module runs.
// RUN: metate-opt %s --start-from=import --stop-after=pack --target=x86-64-v3 -o %t.metate
// RUN: metate-run verify %t.metate
// RUN: metate-opt %s --start-from=import --stop-after=simplify -o %t.simplify
// RUN: metate-opt %t.simplify --start-from=simplify --stop-after=pack --target=x86-64-v3 -o %t.1 && cmp %t.metate %t.1
// RUN: metate-opt %t.simplify --start-from=simplify --stop-after=activate -o %t.activate
// RUN: metate-opt %t.activate --start-from=activate --stop-after=pack --target=x86-64-v3 -o %t.2 && cmp %t.metate %t.2
// RUN: metate-opt %t.activate --start-from=activate --stop-after=offload -o %t.offload
// RUN: metate-opt %t.offload --start-from=offload --stop-after=pack --target=x86-64-v3 -o %t.3 && cmp %t.metate %t.3
// RUN: metate-opt %t.offload --start-from=offload --stop-after=layout -o %t.layout
// RUN: metate-opt %t.layout --start-from=layout --stop-after=pack --target=x86-64-v3 -o %t.4 && cmp %t.metate %t.4
// RUN: metate-opt %t.layout --start-from=layout --stop-after=map -o %t.map
// RUN: metate-opt %t.map --start-from=map --stop-after=pack --target=x86-64-v3 -o %t.5 && cmp %t.metate %t.5
// RUN: metate-opt %t.map --start-from=map --stop-after=emit --target=x86-64-v3 -o %t.emit
// RUN: metate-opt %t.emit --start-from=emit --stop-after=pack -o %t.6 && cmp %t.metate %t.6
// RUN: metate-run inspect %t.metate | FileCheck %s
// RUN: metate-run run %t.metate fill,double f=new n=10 | FileCheck %s --check-prefix=VALUES

// CHECK: cells
// CHECK: fill
// CHECK: double
// CHECK: x86-64-v3

// 0 + 2 + 4 + ... + 18 = 90, over the 16 cells of two leaves.
// VALUES: v: 16 active cells: min 0, max 18, mean 5.625

!tree = !metate.tree<#metate.pointer<"i", [64], [#metate.dense<"i", [8], [#metate.place<"v" : f32>]>]>>

metate.named_type @cells = !tree

metate.kernel @fill(%f: !tree {metate.name = "f"}, %n: i32 {metate.name = "n"}) {
  %zero = arith.constant 0 : index
  %end = arith.index_cast %n : i32 to index
  metate.range (%i) = (%zero) to (%end) {
    %integer = arith.index_cast %i : index to i32
    %value = arith.sitofp %integer : i32 to f32
    metate.store %value, %f["v"][%i] : f32, !tree
    metate.yield
  }
  metate.return
}

metate.kernel @double(%f: !tree {metate.name = "f"}) {
  metate.for_each (%i) in %f["v"] : !tree {
    %old = metate.load %f["v"][%i] : !tree -> f32
    %new = arith.addf %old, %old : f32
    metate.store %new, %f["v"][%i] : f32, !tree
    metate.yield
  }
  metate.return
}
