// RUN: metate-opt %s --metate-private-copies="most-bytes=1048576 least-adds=1000" | FileCheck %s

!grid = !metate.tree<#metate.dense<"ij", [16, 16], [#metate.place<"m" : f32>, #metate.place<"v" : vector<2xf32>>]>>

// Members of one shape, kind and type stand side by side in a copy, with one number that is nobody's where a vector is whole with it: what is
// added to one cell is one vector. No atomic is left, and copies are combined row by row.
// CHECK-LABEL: metate.kernel @scatter
// CHECK: metate.range (%[[PIECE:.*]]) = (%{{.*}}) to (%c16{{.*}}) attributes {metate.side_by_side} {
// CHECK:   %[[POOL:.*]] = metate.pool "private_copies" launch bytes 65536 align 64
// CHECK:   %[[COPY:.*]] = arith.muli %[[PIECE]], %c4096
// CHECK:   scf.for {{.*}} to %c1024
// CHECK:     metate.write %{{.*}}, %[[POOL]]
// CHECK:   scf.for
// CHECK:     memref.load
// CHECK:     %[[OLD:.*]] = metate.read %[[POOL]]{{.*}} : vector<4xf32>
// CHECK:     %[[NEW:.*]] = arith.addf %[[OLD]], %{{.*}} fastmath<contract> : vector<4xf32>
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
    %1 = metate.atomic addf %v, %g["v"] [%at, %at] active : vector<2xf32>, !grid
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

// Elements of words: copies come back word by word, six elements each of 32 bits.
!five = !metate.tree<#metate.quant_array<"i", [960], [#metate.place<"c" : !metate.quant_int<5, false, i32>>], word = 32>>
// CHECK-LABEL: metate.kernel @words
// CHECK: metate.range (%[[PART:.*]]) = (%{{.*}}) to (%{{.*}}) {
// CHECK:   %[[FROM:.*]] = arith.muli %[[PART]], %[[WORDS:.*]] overflow<nsw>
// CHECK:   scf.for
// CHECK:     scf.for %[[WORD:.*]] = %[[FROM]] to
// CHECK:       %[[FIRST:.*]] = arith.muli %[[WORD]], %c6
// CHECK:       scf.for %[[K:.*]] = %{{.*}} to %c6
// CHECK:         %[[AT:.*]] = arith.addi %[[FIRST]], %[[K]]
// CHECK:         metate.load %arg1["c"] [%[[AT]]]
// CHECK:         metate.store %{{.*}}, %arg1["c"] [%[[AT]]]
metate.kernel @words(%x: memref<100000xi32>, %t: !five) {
  %zero = arith.constant 0 : index
  %n = arith.constant 100000 : index
  %one = arith.constant 1 : i5
  metate.range (%i) = (%zero) to (%n) {
    %a = memref.load %x[%i] : memref<100000xi32>
    %at = arith.index_cast %a : i32 to index
    %0 = metate.atomic addi %one, %t["c"] [%at] active : i5, !five
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

!cells = !metate.tree<#metate.dense<"i", [16], [#metate.place<"m" : f32>, #metate.place<"v" : vector<3xf32>>]>>

// Arithmetic that is alike is done once for all components; what is only the mass's is put in. Vectors of the program are taken apart.
// CHECK-LABEL: metate.kernel @momentum
// CHECK: metate.side_by_side
// CHECK: %[[OF:.*]] = metate.load {{.*}} -> vector<3xf32>
// CHECK: %[[FOUR:.*]] = vector.shuffle %[[OF]], %[[OF]] [0, 1, 2, 0]
// CHECK: %[[SUM:.*]] = arith.addf %[[FOUR]], %{{.*}} : vector<4xf32>
// CHECK: %[[ALL:.*]] = vector.insert %{{.*}}, %[[SUM]] [{{[0-3]}}]
// CHECK: %[[MUL:.*]] = arith.mulf %{{.*}}, %{{.*}} : vector<4xf32>
// CHECK: arith.addf %{{.*}}, %[[MUL]] fastmath<contract> : vector<4xf32>
// Of a cell that is added to twice, the second is another addition; one number alone is no vector.
// CHECK: metate.read {{.*}} : f32
metate.kernel @momentum(%x: memref<?xi32>, %p: !metate.tree<#metate.dense<"i", [100000], [#metate.place<"v" : vector<3xf32>>]>>, %g: !cells) {
  %zero = arith.constant 0 : index
  %n = arith.constant 100000 : index
  %ones = arith.constant dense<1.0> : vector<3xf32>
  metate.range (%i) = (%zero) to (%n) {
    %a = memref.load %x[%i] : memref<?xi32>
    %at = arith.index_cast %a : i32 to index
    %w = arith.sitofp %a : i32 to f32
    %v = metate.load %p["v"] [%i] : !metate.tree<#metate.dense<"i", [100000], [#metate.place<"v" : vector<3xf32>>]>> -> vector<3xf32>
    %moved = arith.addf %v, %ones : vector<3xf32>
    %weights = vector.broadcast %w : f32 to vector<3xf32>
    %momentum = arith.mulf %weights, %moved : vector<3xf32>
    %mass = arith.mulf %w, %w : f32
    %0 = metate.atomic addf %momentum, %g["v"] [%at] active : vector<3xf32>, !cells
    %1 = metate.atomic addf %mass, %g["m"] [%at] active : f32, !cells
    %2 = metate.atomic addf %w, %g["m"] [%at] active : f32, !cells
    metate.yield
  }
  metate.return
}

// Iterations that run a loop of their own may be lanes: a piece's loop says so, and what is added to its copy stays one operation until there are lanes.
// CHECK-LABEL: metate.kernel @of_loops
// CHECK: metate.range
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args
// CHECK: metate.rmw addf %{{.*}}, %{{.*}}[%{{.*}}] scope
// CHECK: } {metate.piece}
metate.kernel @of_loops(%x: memref<?xi32>, %sums: memref<16xf32>) {
  %zero = arith.constant 0 : index
  %step = arith.constant 1 : index
  %turns = arith.constant 100 : index
  %n = arith.constant 100000 : index
  %none = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  metate.range (%i) = (%zero) to (%n) {
    %sum = scf.for %j = %zero to %turns step %step iter_args(%s = %none) -> f32 {
      %t = arith.mulf %s, %half : f32
      %u = arith.addf %t, %half : f32
      scf.yield %u : f32
    }
    %k = memref.load %x[%i] : memref<?xi32>
    %at = arith.index_cast %k : i32 to index
    %old = memref.atomic_rmw addf %sum, %sums[%at] : (f32, memref<16xf32>) -> f32
    metate.yield
  }
  metate.return
}
