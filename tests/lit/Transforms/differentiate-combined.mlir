// RUN: metate-opt %s "--pass-pipeline=builtin.module(metate-differentiate,metate.kernel(metate-promote-locals,canonicalize,cse))" | FileCheck %s

// The first iteration whose number equals the result takes the gradient, and leaves zero.
// CHECK-LABEL: metate.kernel @least
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>, %[[DX:[a-z0-9]+]]: memref<?xf32>, %[[DY:[a-z0-9]+]]: memref<?xf32>
// CHECK: metate.range (%[[I:.*]]) =
// CHECK-DAG: %[[A:.*]] = memref.load %[[X]][%[[I]]]
// CHECK-DAG: %[[R:.*]] = memref.load %[[Y]]
// CHECK: %[[E:.*]] = arith.cmpf oeq, %[[A]], %[[R]]
// CHECK: %[[G:.*]] = scf.if %[[E]] -> (f32) {
// CHECK:   %[[T:.*]] = memref.atomic_rmw assign %{{.*}}, %[[DY]]
// CHECK:   scf.yield %[[T]]
// CHECK: memref.atomic_rmw addf %[[G]], %[[DX]][%[[I]]]
metate.kernel @least(%x: memref<?xf32>, %y: memref<?xf32>, %dx: memref<?xf32>, %dy: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  metate.derivative %y[""], %dy[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %old = memref.atomic_rmw minnumf %a, %y[%c0] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// Each factor gets the result by itself; behind all, what was there before gets the product of all.
// CHECK-LABEL: metate.kernel @product
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>, %[[DX:[a-z0-9]+]]: memref<?xf32>, %[[DY:[a-z0-9]+]]: memref<?xf32>
// CHECK: metate.range (%[[I:.*]]) =
// CHECK-DAG: %[[A:.*]] = memref.load %[[X]][%[[I]]]
// CHECK-DAG: %[[G:.*]] = memref.load %[[DY]]
// CHECK-DAG: %[[R:.*]] = memref.load %[[Y]]
// CHECK: %[[Q:.*]] = arith.divf %[[R]], %[[A]]
// CHECK: %[[D:.*]] = arith.mulf %[[G]], %[[Q]]
// CHECK: memref.atomic_rmw addf %[[D]], %[[DX]][%[[I]]]
// CHECK-NOT: mulf
// CHECK: metate.range (%[[K:.*]]) =
// CHECK: %[[B:.*]] = memref.load %[[X]][%[[K]]]
// CHECK: memref.atomic_rmw mulf %[[B]], %[[DY]]
metate.kernel @product(%x: memref<?xf32>, %y: memref<?xf32>, %dx: memref<?xf32>, %dy: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  metate.derivative %y[""], %dy[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %old = memref.atomic_rmw mulf %a, %y[%c0] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// A constant that is least has no gradient, and leaves none to what was there. Of a vector each component has its own least.
!points = !metate.tree<#metate.dense<"i", [8], [#metate.place<"v" : vector<2xf32>>]>>
// CHECK-LABEL: metate.kernel @clamped
// CHECK: scf.if
// CHECK: metate.atomic assign %{{.*}}, %arg1["v"] [%{{.*}}] component[%{{.*}}] : f32
// CHECK: scf.if
// CHECK: metate.atomic assign %{{.*}}, %arg1["v"] [%{{.*}}] component[%{{.*}}] : f32
metate.kernel @clamped(%y: !points, %dy: !points, %v: vector<2xf32>) attributes {metate.differentiate = "reverse"} {
  metate.derivative %y["v"], %dy["v"] : !points, !points
  metate.for_each (%i) in %y["v"] : !points {
    %old = metate.atomic minnumf %v, %y["v"] [%i] : vector<2xf32>, !points
    metate.yield
  }
  metate.return
}

// In forward mode the number and its dual are one pair: the loop is one in order.
// CHECK-LABEL: metate.kernel @pairs
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>, %[[DX:[a-z0-9]+]]: memref<?xf32>, %[[DY:[a-z0-9]+]]: memref<?xf32>
// CHECK-NOT: metate.range
// CHECK: scf.for %[[I:.*]] =
// CHECK: %[[A:.*]] = memref.load %[[X]][%[[I]]]
// CHECK: %[[DA:.*]] = memref.load %[[DX]][%[[I]]]
// CHECK: %[[OLD:.*]] = memref.atomic_rmw maxnumf %[[A]], %[[Y]]
// CHECK: %[[DOLD:.*]] = memref.load %[[DY]]
// CHECK: %[[S:.*]] = arith.cmpf ogt, %[[OLD]], %[[A]]
// CHECK: %[[D:.*]] = arith.select %[[S]], %[[DOLD]], %[[DA]]
// CHECK: memref.store %[[D]], %[[DY]]
metate.kernel @pairs(%x: memref<?xf32>, %y: memref<?xf32>, %dx: memref<?xf32>, %dy: memref<?xf32>, %n: index) attributes {metate.differentiate = "forward"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  metate.derivative %y[""], %dy[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %old = memref.atomic_rmw maxnumf %a, %y[%c0] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// CHECK-LABEL: metate.kernel @factors
// CHECK-NOT: metate.range
// CHECK: scf.for
// CHECK: %[[OLD:.*]] = memref.atomic_rmw mulf %[[A:.*]], %{{.*}}
// CHECK: arith.mulf %{{.*}}, %[[A]]
// CHECK: arith.mulf %[[OLD]], %{{.*}}
metate.kernel @factors(%t: !metate.tree<#metate.dense<"i", [8], [#metate.place<"a" : f32>]>>, %dt: !metate.tree<#metate.dense<"i", [8], [#metate.place<"a" : f32>]>>, %y: memref<f32>, %dy: memref<f32>) attributes {metate.differentiate = "forward"} {
  metate.derivative %t["a"], %dt["a"] : !metate.tree<#metate.dense<"i", [8], [#metate.place<"a" : f32>]>>, !metate.tree<#metate.dense<"i", [8], [#metate.place<"a" : f32>]>>
  metate.derivative %y[""], %dy[""] : memref<f32>, memref<f32>
  metate.for_each (%i) in %t["a"] : !metate.tree<#metate.dense<"i", [8], [#metate.place<"a" : f32>]>> {
    %a = metate.load %t["a"] [%i] : !metate.tree<#metate.dense<"i", [8], [#metate.place<"a" : f32>]>> -> f32
    %old = memref.atomic_rmw mulf %a, %y[] : (f32, memref<f32>) -> f32
    metate.yield
  }
  metate.return
}
