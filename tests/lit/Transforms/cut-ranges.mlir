// RUN: metate-opt %s --metate-cut-ranges | FileCheck %s

!t = !metate.tree<#metate.pointer<"ij", [4, 4], [#metate.dense<"ij", [8, 2], [#metate.place<"a" : f32>]>]>>

// Leaves of 8 x 2: 4 x 4 of them, each of which is walked whole.
// CHECK-LABEL: metate.kernel @whole
// CHECK: metate.range (%[[BI:.*]], %[[BJ:.*]], %[[I:.*]], %[[J:.*]]) = ({{.*}}) to (%c4, %c4{{.*}}, %c8{{.*}}, %c2{{.*}})
// CHECK: %[[FI:.*]] = arith.muli %[[BI]], %c8
// CHECK: %[[X:.*]] = arith.addi %[[FI]], %[[I]] overflow<nsw> {metate.number}
// CHECK: %[[FJ:.*]] = arith.muli %[[BJ]], %c2
// CHECK: %[[Y:.*]] = arith.addi %[[FJ]], %[[J]] overflow<nsw> {metate.number}
// CHECK: metate.store %{{.*}}, %{{.*}}["a"] [%[[X]], %[[Y]]]
metate.kernel @whole(%f: !t, %v: f32) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  metate.range (%i, %j) = (%c0, %c0) to (%c32, %c8) {
    metate.store %v, %f["a"] [%i, %j] : f32, <#metate.pointer<"ij", [4, 4], [#metate.dense<"ij", [8, 2], [#metate.place<"a" : f32>]>]>>
    metate.yield
  }
  metate.return
}

// Part of a leaf, an extent that the launch knows, a neighbour alone, rows across the leaves: they stay.
// CHECK-LABEL: metate.kernel @others
// CHECK: metate.range (%{{[^,]*}}, %{{[^,]*}}) =
// CHECK: metate.range (%{{[^,]*}}, %{{[^,]*}}) =
// CHECK: metate.range (%{{[^,]*}}, %{{[^,]*}}) =
// CHECK: metate.range (%{{[^,]*}}) =
metate.kernel @others(%f: !t, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c31 = arith.constant 31 : index
  %c32 = arith.constant 32 : index
  metate.range (%i, %j) = (%c0, %c0) to (%c31, %c8) {
    metate.store %v, %f["a"] [%i, %j] : f32, <#metate.pointer<"ij", [4, 4], [#metate.dense<"ij", [8, 2], [#metate.place<"a" : f32>]>]>>
    metate.yield
  }
  metate.range (%i, %j) = (%c0, %c0) to (%n, %c8) {
    metate.store %v, %f["a"] [%i, %j] : f32, <#metate.pointer<"ij", [4, 4], [#metate.dense<"ij", [8, 2], [#metate.place<"a" : f32>]>]>>
    metate.yield
  }
  metate.range (%i, %j) = (%c0, %c0) to (%c32, %c8) {
    %k = arith.addi %i, %c1 : index
    metate.store %v, %f["a"] [%k, %j] : f32, <#metate.pointer<"ij", [4, 4], [#metate.dense<"ij", [8, 2], [#metate.place<"a" : f32>]>]>>
    metate.yield
  }
  metate.range (%i) = (%c0) to (%c32) {
    metate.store %v, %f["a"] [%i, %c1] : f32, <#metate.pointer<"ij", [4, 4], [#metate.dense<"ij", [8, 2], [#metate.place<"a" : f32>]>]>>
    metate.yield
  }
  metate.return
}
