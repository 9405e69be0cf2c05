// Levels beside dense and pointer, and the operations that they bring.
// RUN: metate-opt %s | metate-opt | FileCheck %s
// RUN: metate-opt %s --mlir-print-op-generic | metate-opt | FileCheck %s

!list = !metate.tree<#metate.bitmasked<"i", [8], [#metate.dynamic<"j", [64], [#metate.place<"x" : i32>], chunk = 16, name = "list">]>>
!cloud = !metate.tree<#metate.hash<"ij", [#metate.dense<"ij", [4, 4], [#metate.place<"d" : f32>]>], name = "cloud">, #metate.hash<"k", [#metate.place<"e" : f32>]>>
// CHECK: metate.named_type @cloud = !metate.tree<#metate.hash<"ij", [#metate.dense<"ij", [4, 4], [#metate.place<"d" : f32>]>], name = "cloud">, #metate.hash<"k", [#metate.place<"e" : f32>]>>
metate.named_type @cloud = !cloud

// CHECK-LABEL: metate.kernel @lists
// CHECK-SAME: (%[[F:.*]]: !metate.tree<#metate.bitmasked<"i", [8], [#metate.dynamic<"j", [64], [#metate.place<"x" : i32>], chunk = 16, name = "list">]>>, %[[H:.*]]: !metate.tree
metate.kernel @lists(%f: !list, %h: !cloud, %i: index, %counts: i64) {
  metate.serial {
    // CHECK: metate.snapshot %[[F]]["list"] : <
    metate.snapshot %f["list"] : !list
    metate.yield
  }
  metate.for_each (%a, %b) in %f["x"] : !list {
    // CHECK: metate.append %[[F]]["list"] [%[[A:.*]]] : <
    %k = metate.append %f["list"][%a] : !list
    // CHECK: metate.reserve %[[F]]["list"] [%[[A]]] in %{{.*}} append : <
    metate.reserve %f["list"][%a] in %counts append : !list
    // CHECK: metate.length %[[F]]["list"] [%[[A]]] : <
    %n = metate.length %f["list"][%a] : !list
    // CHECK: metate.used %[[F]]["list"] : <
    %slots = metate.used %f["list"] : !list
    // CHECK: metate.is_active %[[F]]["x"] [%[[A]], %{{.*}}] entry : <
    %was = metate.is_active %f["x"][%a, %b] entry : !list
    // CHECK: metate.deactivate %[[F]]["list"] [%[[A]]] : <
    metate.deactivate %f["list"][%a] : !list
    // CHECK: metate.deactivate %[[F]]["bitmasked0"] [%[[A]]] : <
    metate.deactivate %f["bitmasked0"][%a] : !list
    // CHECK: metate.deactivate %[[H]]["d"] [%[[A]], %{{.*}}] : <
    metate.deactivate %h["d"][%a, %b] : !cloud
    metate.yield
  }
  metate.serial {
    // CHECK: metate.collect %[[F]] sweep : <
    metate.collect %f sweep : !list
    // CHECK: metate.collect %[[H]] : <
    metate.collect %h : !cloud
    metate.yield
  }
  metate.return
}
