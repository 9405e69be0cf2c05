// RUN: metate-opt %s --metate-order-dimensions | FileCheck %s
// RUN: metate-opt %s --metate-order-dimensions=deterministic=true | FileCheck %s --check-prefix=ORDERED

// The first variable names what lies side by side of what is written and read: it becomes the last one.
// CHECK-LABEL: metate.kernel @turned
// CHECK: metate.range (%[[I:.*]], %[[J:.*]]) = (%{{.*}}, %{{.*}}) to (%[[N:.*]], %[[M:.*]]) {
// CHECK: memref.load %{{.*}}[%[[I]], %[[J]]]
metate.kernel @turned(%a: memref<?x?xf32>, %b: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  %m = memref.dim %a, %c1 : memref<?x?xf32>
  metate.range (%j, %i) = (%c0, %c0) to (%m, %n) {
    %v = memref.load %a[%i, %j] : memref<?x?xf32>
    memref.store %v, %b[%i, %j] : memref<?x?xf32>
    metate.yield
  }
  metate.return
}

// Of three, the others follow the order of memory, as in fields whose second axis is the slowest.
// CHECK-LABEL: metate.kernel @three
// CHECK: metate.range (%[[I:.*]], %[[J:.*]], %[[K:.*]]) = {{.*}} to (%c200, %c300, %c100) {
// CHECK: metate.load %{{.*}}["v"] [%[[K]], %[[I]], %[[J]]]
metate.kernel @three(%a: !metate.tree<#metate.dense<"j", [200], [#metate.dense<"k", [300], [#metate.dense<"i", [100], [#metate.place<"v" : f32>]>]>]>>, %b: memref<?x?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c100 = arith.constant 100 : index
  %c200 = arith.constant 200 : index
  %c300 = arith.constant 300 : index
  metate.range (%x, %z, %y) = (%c0, %c0, %c0) to (%c100, %c300, %c200) {
    %v = metate.load %a["v"] [%x, %y, %z] : <#metate.dense<"j", [200], [#metate.dense<"k", [300], [#metate.dense<"i", [100], [#metate.place<"v" : f32>]>]>]>> -> f32
    %w = arith.addf %v, %v : f32
    metate.store %w, %a["v"] [%x, %y, %z] : f32, <#metate.dense<"j", [200], [#metate.dense<"k", [300], [#metate.dense<"i", [100], [#metate.place<"v" : f32>]>]>]>>
    metate.yield
  }
  metate.return
}

// A transposition goes along one of both in any order; few rows would leave workers idle, and short ones are no vectors.
// CHECK-LABEL: metate.kernel @stay
// CHECK: to (%c100, %c1000)
// CHECK: to (%c1000, %c3)
// CHECK: to (%c3, %c1000)
metate.kernel @stay(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %f: f32) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c100 = arith.constant 100 : index
  %c1000 = arith.constant 1000 : index
  metate.range (%i, %j) = (%c0, %c0) to (%c100, %c1000) {
    %v = memref.load %a[%i, %j] : memref<?x?xf32>
    memref.store %v, %b[%j, %i] : memref<?x?xf32>
    metate.yield
  }
  metate.range (%j, %i) = (%c0, %c0) to (%c1000, %c3) {
    memref.store %f, %b[%i, %j] : memref<?x?xf32>
    metate.yield
  }
  metate.range (%j, %i) = (%c0, %c0) to (%c3, %c1000) {
    memref.store %f, %b[%i, %j] : memref<?x?xf32>
    metate.yield
  }
  metate.return
}

// Sums of floats show in which order they are taken.
// CHECK-LABEL: metate.kernel @sums
// CHECK: to (%c1000, %c100)
// ORDERED-LABEL: metate.kernel @turned
// ORDERED: metate.range (%{{.*}}, %[[J:.*]]) =
// ORDERED: memref.load %{{.*}}[%{{.*}}, %[[J]]]
// ORDERED-LABEL: metate.kernel @sums
// ORDERED: to (%c100, %c1000)
metate.kernel @sums(%a: memref<?x?xf32>, %s: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c100 = arith.constant 100 : index
  %c1000 = arith.constant 1000 : index
  metate.range (%j, %i) = (%c0, %c0) to (%c100, %c1000) {
    %v = memref.load %a[%i, %j] : memref<?x?xf32>
    %old = memref.atomic_rmw addf %v, %s[%j] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}
