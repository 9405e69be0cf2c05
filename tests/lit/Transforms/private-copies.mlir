// RUN: metate-opt %s --metate-private-copies="most-bytes=1048576 least-adds=1000" | FileCheck %s

!grid = !metate.tree<#metate.dense<"ij", [16, 16], [#metate.place<"m" : f32>, #metate.place<"v" : vector<2xf32>>]>>

// Members of one shape, kind and type stand side by side in a copy; no atomic is left, and copies are combined row by row.
// CHECK-LABEL: metate.kernel @scatter
// CHECK: metate.range (%[[PIECE:.*]]) = (%{{.*}}) to (%c16{{.*}}) {
// CHECK:   %[[POOL:.*]] = metate.pool "private_copies" launch bytes 49152 align 64
// CHECK:   %[[COPY:.*]] = arith.muli %[[PIECE]], %c3072
// CHECK:   scf.for {{.*}} to %c768
// CHECK:     metate.write %{{.*}}, %[[POOL]]
// CHECK:   scf.for
// CHECK:     memref.load
// CHECK:     %[[OLD:.*]] = metate.read %[[POOL]]
// CHECK:     %[[NEW:.*]] = arith.addf %[[OLD]], %{{.*}} fastmath<contract>
// CHECK:     metate.write %[[NEW]], %[[POOL]]
// CHECK-NOT: metate.atomic
// CHECK: metate.range (%[[ROW:.*]]) = (%{{.*}}) to (%c16
// CHECK:   scf.for {{.*}} to %c16
// CHECK:     scf.for %[[COLUMN:.*]] = {{.*}} to %c16
// CHECK:       metate.load %{{.*}}["m"] [%[[ROW]], %[[COLUMN]]]
// CHECK:       metate.store %{{.*}}["m"] [%[[ROW]], %[[COLUMN]]] active
// CHECK:       metate.store %{{.*}}["v"] [%[[ROW]], %[[COLUMN]]] component[%c0{{.*}}] active
// CHECK:       metate.store %{{.*}}["v"] [%[[ROW]], %[[COLUMN]]] component[%c1{{.*}}] active
metate.kernel @scatter(%x: memref<?xi32>, %g: !grid) {
  %zero = arith.constant 0 : index
  %n = arith.constant 100000 : index
  %one = arith.constant 1.0 : f32
  metate.range (%i) = (%zero) to (%n) {
    %a = memref.load %x[%i] : memref<?xi32>
    %at = arith.index_cast %a : i32 to index
    %v = vector.from_elements %one, %one : vector<2xf32>
    %0 = metate.atomic addf %one, %g["m"] [%at, %at] active : f32, !grid
    %1 = metate.atomic addf %v, %g["v"] [%at, %zero] active : vector<2xf32>, !grid
    metate.yield
  }
  metate.return
}

// What only a launch knows: the loop as it was has no iterations where there are pieces.
// CHECK-LABEL: metate.kernel @histogram
// CHECK: %[[N:.*]] = memref.dim
// CHECK: %[[END:.*]] = arith.select %{{.*}}, %{{.*}}, %[[N]] : index
// CHECK: metate.range (%{{.*}}) = (%{{.*}}) to (%[[END]]) {
// CHECK:   memref.atomic_rmw addi
// CHECK: metate.range
// CHECK:   metate.pool "private_copies" launch bytes 2097152 align 64
// CHECK-NOT: memref.atomic_rmw
// CHECK: memref.load %arg1
// CHECK: memref.store %{{.*}}, %arg1
metate.kernel @histogram(%x: memref<?xi32>, %h: memref<?xi32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %n = memref.dim %x, %zero : memref<?xi32>
  metate.range (%i) = (%zero) to (%n) {
    %a = memref.load %x[%i] : memref<?xi32>
    %at = arith.index_cast %a : i32 to index
    %0 = memref.atomic_rmw addi %one, %h[%at] : (i32, memref<?xi32>) -> i32
    metate.yield
  }
  metate.return
}

// Few iterations; what the loop reads; an old value that is used; two kinds; a bit of a sparse tree; arguments that overlap.
// CHECK-LABEL: metate.kernel @few
// CHECK-NOT: metate.pool
metate.kernel @few(%x: memref<64xi32>, %h: memref<64xi32>) {
  %zero = arith.constant 0 : index
  %n = arith.constant 100 : index
  %one = arith.constant 1 : i32
  metate.range (%i) = (%zero) to (%n) {
    %a = memref.load %x[%i] : memref<64xi32>
    %at = arith.index_cast %a : i32 to index
    %0 = memref.atomic_rmw addi %one, %h[%at] : (i32, memref<64xi32>) -> i32
    metate.yield
  }
  metate.return
}

// CHECK-LABEL: metate.kernel @kept
// CHECK-NOT: metate.pool
metate.kernel @kept(%x: memref<64xi32>, %read: memref<64xi32>, %used: memref<64xi32>, %kinds: memref<64xi32>,
                    %f: !metate.tree<#metate.bitmasked<"i", [64], [#metate.place<"a" : i32>]>>) {
  %zero = arith.constant 0 : index
  %n = arith.constant 100000 : index
  metate.range (%i) = (%zero) to (%n) {
    %a = memref.load %x[%i] : memref<64xi32>
    %at = arith.index_cast %a : i32 to index
    %b = memref.load %read[%i] : memref<64xi32>
    %0 = memref.atomic_rmw addi %b, %read[%at] : (i32, memref<64xi32>) -> i32
    %1 = memref.atomic_rmw addi %b, %used[%at] : (i32, memref<64xi32>) -> i32
    %2 = memref.atomic_rmw addi %1, %kinds[%at] : (i32, memref<64xi32>) -> i32
    %3 = memref.atomic_rmw maxs %b, %kinds[%at] : (i32, memref<64xi32>) -> i32
    %4 = metate.atomic addi %b, %f["a"] [%at] : i32, !metate.tree<#metate.bitmasked<"i", [64], [#metate.place<"a" : i32>]>>
    metate.yield
  }
  metate.return
}

// CHECK-LABEL: metate.kernel @overlapping
// CHECK-NOT: metate.pool
metate.kernel @overlapping(%x: memref<64xi32>, %h: memref<64xi32>) attributes {may_alias} {
  %zero = arith.constant 0 : index
  %n = arith.constant 100000 : index
  %one = arith.constant 1 : i32
  metate.range (%i) = (%zero) to (%n) {
    %a = memref.load %x[%i] : memref<64xi32>
    %at = arith.index_cast %a : i32 to index
    %0 = memref.atomic_rmw addi %one, %h[%at] : (i32, memref<64xi32>) -> i32
    metate.yield
  }
  metate.return
}
