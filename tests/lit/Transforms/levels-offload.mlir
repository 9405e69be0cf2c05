// RUN: metate-opt %s --metate-offload | FileCheck %s

!leaf = !metate.tree<#metate.pointer<"i", [16], [#metate.bitmasked<"i", [8], [#metate.place<"a" : f32>]>]>>
!root = !metate.tree<#metate.bitmasked<"i", [4096], [#metate.place<"a" : f32>]>>
!lists = !metate.tree<#metate.dense<"i", [16], [#metate.dynamic<"j", [64], [#metate.place<"x" : f32>], chunk = 8>]>>
!hash = !metate.tree<#metate.hash<"ij", [#metate.dense<"ij", [4, 4], [#metate.place<"a" : f32>]>]>>

// CHECK-LABEL: metate.kernel @leaf
// CHECK: metate.cells (%{{.*}}, %[[S:.*]]) in %{{.*}}["a@0"]
// CHECK: scf.for %[[L:.*]] =
// CHECK: %[[I:.*]] = arith.addi
// CHECK: %[[ON:.*]] = metate.is_active %{{.*}}["a"] [%[[I]]] {metate.own}
// CHECK: scf.if %[[ON]] {
// CHECK:   metate.load
metate.kernel @leaf(%f: !leaf, %x: memref<?xf32>) {
  metate.for_each (%i) in %f["a"] : !leaf {
    %v = metate.load %f["a"][%i] : !leaf -> f32
    memref.store %v, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// A loop that changes what it walks: bits are copied before, tested as they were, slots freed after.
// CHECK-LABEL: metate.kernel @changed
// CHECK: metate.serial {
// CHECK:   metate.snapshot %{{.*}}["a@1"]
// CHECK: metate.cells {{.*}} attributes {changes_topology}
// CHECK:   metate.is_active %{{.*}} entry {metate.own}
// CHECK:   metate.deactivate
// CHECK: metate.serial {
// CHECK:   metate.collect %{{[^ ]*}} :
metate.kernel @changed(%f: !leaf, %n: index) {
  metate.for_each (%i) in %f["a"] : !leaf attributes {metate.changes_topology} {
    %k = arith.addi %i, %n : index
    metate.deactivate %f["a"][%k] : !leaf
    metate.yield
  }
  metate.return
}

// What it stores may land in a cell that another worker has given up.
// CHECK-LABEL: metate.kernel @swept
// CHECK: metate.cells
// CHECK: metate.serial {
// CHECK:   metate.collect %{{[^ ]*}} sweep
metate.kernel @swept(%f: !leaf, %v: f32, %n: index) {
  metate.for_each (%i) in %f["a"] : !leaf {
    %k = arith.addi %i, %n : index
    metate.store %v, %f["a"][%k] active : f32, !leaf
    metate.deactivate %f["a"][%i] : !leaf
    metate.yield
  }
  metate.return
}

// Without slots: a range over the cells, with the test.
// CHECK-LABEL: metate.kernel @root
// CHECK: metate.range
// CHECK: metate.is_active %{{.*}}["a"] [%{{.*}}] {metate.own}
metate.kernel @root(%f: !root, %x: memref<?xf32>) {
  metate.for_each (%i) in %f["a"] : !root {
    %v = metate.load %f["a"][%i] : !root -> f32
    memref.store %v, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// A list's chunk: its slot outside, its cells as a nest, under the length.
// CHECK-LABEL: metate.kernel @lists
// CHECK: metate.cells (%{{.*}}, %[[SI:.*]], %[[SJ:.*]]) in %{{.*}}["x@1"]
// CHECK: %[[EIGHT:.*]] = arith.constant 8
// CHECK: scf.for %[[L:.*]] = %{{.*}} to %[[EIGHT]]
// CHECK: %[[J:.*]] = arith.addi %[[SJ]], %[[L]]
// CHECK: metate.is_active %{{.*}}["x"] [%[[SI]], %[[J]]] {metate.own}
metate.kernel @lists(%f: !lists, %x: memref<?xf32>) {
  metate.for_each (%i, %j) in %f["x"] : !lists {
    %v = metate.load %f["x"][%i, %j] : !lists -> f32
    memref.store %v, %x[%j] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// In a hash level's slots every cell is active.
// CHECK-LABEL: metate.kernel @hash
// CHECK: metate.cells (%{{.*}}, %{{.*}}, %{{.*}}) in %{{.*}}["a@0"]
// CHECK-NOT: metate.is_active
metate.kernel @hash(%f: !hash) {
  metate.for_each (%i, %j) in %f["a"] : !hash {
    %v = metate.load %f["a"][%i, %j] : !hash -> f32
    metate.store %v, %f["a"][%i, %j] active : f32, !hash
    metate.yield
  }
  metate.return
}

// A serial task frees what it gave up when it ends.
// CHECK-LABEL: metate.kernel @serial
// CHECK: metate.serial {
// CHECK:   metate.deactivate
// CHECK:   metate.collect %{{[^ ]*}} :
// CHECK-NEXT: metate.yield
metate.kernel @serial(%f: !leaf, %i: index) {
  metate.deactivate %f["a"][%i] : !leaf
  metate.return
}
