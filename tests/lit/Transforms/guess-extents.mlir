// RUN: metate-opt %s --metate-guess-extents --split-input-file | FileCheck %s

// Arrays whose last extents are 3 and 3 have a loop of their own, which writes out the small dimensions; one of the two is empty.
// CHECK-LABEL: @turned(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<?x?x?xf32>
// CHECK: %[[N:.*]] = memref.dim %[[A]], %[[ZERO:.*]] :
// CHECK: %[[D:.*]] = memref.dim %[[A]], %{{.*}}
// CHECK: arith.cmpi eq, %[[D]], %{{.*}}
// CHECK-COUNT-2: arith.andi
// CHECK: %[[HOLDS:.*]] = arith.andi
// CHECK-NEXT: %[[KNOWN:.*]] = arith.select %[[HOLDS]], %[[N]], %[[ZERO]] : index
// CHECK: metate.range (%[[P:.*]]) = (%[[ZERO]]) to (%[[KNOWN]]) {
// CHECK: memref.load %[[A]][%[[P]], %{{.*}}, %{{.*}}] {metate.extents = array<i64: 3, 3>}
// CHECK-COUNT-9: memref.store {{.*}} {metate.extents = array<i64: 3, 3>}
// CHECK: %[[OTHER:.*]] = arith.select %[[HOLDS]], %[[ZERO]], %[[N]] : index
// CHECK: metate.range (%{{.*}}, %{{.*}}, %{{.*}}) = (%[[ZERO]], %{{.*}}, %{{.*}}) to (%[[OTHER]], %{{.*}}, %{{.*}}) {
// CHECK-NOT: metate.extents
metate.kernel @turned(%a: memref<?x?x?xf32>, %c: memref<?x?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %n = memref.dim %a, %c0 : memref<?x?x?xf32>
  metate.range (%p, %i, %j) = (%c0, %c0, %c0) to (%n, %c3, %c3) {
    %value = memref.load %a[%p, %j, %i] : memref<?x?x?xf32>
    memref.store %value, %c[%p, %i, %j] : memref<?x?x?xf32>
    metate.yield
  }
  metate.return
}

// -----

// Rows of three are no small matrices, views have strides of their own, and what has an effect besides is not copied.
// CHECK-NOT: metate.extents
metate.kernel @rows(%a: memref<?x?xf32>, %v: memref<?x?x?xf32, strided<[?, ?, ?]>>, %s: memref<?x?x?xf32>, %f: f32) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  metate.range (%p, %i) = (%c0, %c0) to (%n, %c3) {
    memref.store %f, %a[%p, %i] : memref<?x?xf32>
    memref.store %f, %v[%p, %i, %c2] : memref<?x?x?xf32, strided<[?, ?, ?]>>
    metate.yield
  }
  metate.range (%p, %i) = (%c0, %c0) to (%n, %c3) {
    memref.store %f, %s[%p, %i, %c2] : memref<?x?x?xf32>
    %old = memref.atomic_rmw addf %f, %s[%p, %i, %c2] : (f32, memref<?x?x?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// -----

// All numbers of a row are named, so it is a point; a sum over all turns does not mind being in two loops.
// CHECK-LABEL: @points(
// CHECK: metate.range
// CHECK-COUNT-2: memref.load {{.*}} {metate.extents = array<i64: 2>}
// CHECK: memref.atomic_rmw
// CHECK: metate.range
// CHECK-NOT: metate.extents
// CHECK: memref.atomic_rmw
metate.kernel @points(%at: memref<?x?xf32>, %sum: memref<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %at, %c0 : memref<?x?xf32>
  metate.range (%q) = (%c0) to (%n) {
    %x = memref.load %at[%q, %c0] : memref<?x?xf32>
    %y = memref.load %at[%q, %c1] : memref<?x?xf32>
    %xy = arith.mulf %x, %y : f32
    %old = memref.atomic_rmw addf %xy, %sum[] {metate.reduction} : (f32, memref<f32>) -> f32
    metate.yield
  }
  metate.return
}

// -----

// Numbers that leave gaps are a picture's columns, a point of all turns of an inner dimension is read once, and where much else is read
// (here seven numbers for two of a point) nothing is copied.
// CHECK-LABEL: @others(
// CHECK-NOT: metate.extents
metate.kernel @others(%a: memref<?x?xf32>, %at: memref<?x?xindex>, %b: memref<?x?xf32>, %out: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  metate.range (%q) = (%c0) to (%n) {
    %value = memref.load %a[%q, %c2] : memref<?x?xf32>
    memref.store %value, %a[%q, %c0] : memref<?x?xf32>
    metate.yield
  }
  metate.range (%q, %k) = (%c0, %c0) to (%n, %n) {
    %x = memref.load %a[%q, %c0] : memref<?x?xf32>
    %y = memref.load %a[%q, %c1] : memref<?x?xf32>
    %xy = arith.mulf %x, %y : f32
    memref.store %xy, %b[%q, %k] : memref<?x?xf32>
    metate.yield
  }
  metate.range (%q) = (%c0) to (%n) {
    %i = memref.load %at[%q, %c0] : memref<?x?xindex>
    %j = memref.load %at[%q, %c1] : memref<?x?xindex>
    %i1 = arith.addi %i, %c1 : index
    %i2 = arith.addi %i, %c2 : index
    %j1 = arith.addi %j, %c1 : index
    %j2 = arith.addi %j, %c2 : index
    %v0 = memref.load %b[%i, %j] : memref<?x?xf32>
    %v1 = memref.load %b[%i, %j1] : memref<?x?xf32>
    %v2 = memref.load %b[%i, %j2] : memref<?x?xf32>
    %v3 = memref.load %b[%i1, %j] : memref<?x?xf32>
    %v4 = memref.load %b[%i1, %j1] : memref<?x?xf32>
    %v5 = memref.load %b[%i1, %j2] : memref<?x?xf32>
    %v6 = memref.load %b[%i2, %j] : memref<?x?xf32>
    %s1 = arith.addf %v0, %v1 : f32
    %s2 = arith.addf %s1, %v2 : f32
    %s3 = arith.addf %s2, %v3 : f32
    %s4 = arith.addf %s3, %v4 : f32
    %s5 = arith.addf %s4, %v5 : f32
    %s6 = arith.addf %s5, %v6 : f32
    memref.store %s6, %out[%q] : memref<?xf32>
    metate.yield
  }
  metate.return
}
