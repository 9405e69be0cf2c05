// RUN: metate-opt %s --metate-mark-bins | FileCheck %s
// RUN: metate-opt %s --metate-mark-bins | metate-opt | FileCheck %s
// RUN: metate-opt %s --metate-mark-bins=most=1023 | FileCheck %s --check-prefix=LESS
// RUN: metate-opt %s --metate-mark-bins=wide=false | FileCheck %s --check-prefix=WORDS

!histogram = !metate.tree<#metate.dense<"i", [256], [#metate.place<"n" : i32>]>>
!cells = !metate.tree<#metate.dense<"i", [4], [#metate.place<"first" : f64>, #metate.dense<"j", [3], [#metate.place<"a" : i32>, #metate.place<"b" : f64>, #metate.place<"v" : vector<2xf32>>]>]>>
!large = !metate.tree<#metate.dense<"i", [2049], [#metate.place<"n" : i32>]>>

// Where data says to which place a loop adds, the atomic operation gets the byte at which its member's cells begin and how many they take.
// CHECK-LABEL: metate.kernel @histogram
// CHECK: metate.atomic addi %{{.*}}, %{{.*}}["n"] [%{{.*}}] active {metate.bins = array<i64: 128, 1024>}
// LESS-LABEL: metate.kernel @histogram
// LESS-NOT: metate.bins
metate.kernel @histogram(%x: memref<?xi32>, %h: !histogram, %n: index) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  metate.range (%i) = (%c0) to (%n) {
    %key = memref.load %x[%i] : memref<?xi32>
    %at = arith.index_cast %key : i32 to index
    %old = metate.atomic addi %one, %h["n"] [%at] active : i32, <#metate.dense<"i", [256], [#metate.place<"n" : i32>]>>
    metate.yield
  }
  metate.return
}

// Of a member among others what stands between its cells is there too: of four cells of 80 bytes each, in which are three of 24.
// CHECK-LABEL: metate.kernel @members
// LESS-LABEL: metate.kernel @members
// LESS: metate.bins = array<i64: 136, 292>
// WORDS-LABEL: metate.kernel @members
// WORDS: metate.atomic addi {{.*}}metate.bins
// WORDS-NOT: metate.atomic addf {{.*}}["b"] {{.*}}metate.bins
// WORDS: metate.atomic addf {{.*}}["v"] {{.*}}metate.bins
// CHECK: metate.atomic addi %{{.*}}["a"] {{.*}} {metate.bins = array<i64: 136, 292>}
// CHECK: metate.atomic addf %{{.*}}["b"] {{.*}} {metate.bins = array<i64: 144, 296>}
// CHECK: metate.atomic addf %{{.*}}["v"] {{.*}} {metate.bins = array<i64: 152, 296>}
metate.kernel @members(%x: memref<?xi32>, %h: !cells, %n: index, %d: f64, %w: vector<2xf32>) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %one = arith.constant 1 : i32
  metate.range (%i) = (%c0) to (%n) {
    %key = memref.load %x[%i] : memref<?xi32>
    %at = arith.index_cast %key : i32 to index
    %j = arith.remui %i, %c3 : index
    %0 = metate.atomic addi %one, %h["a"] [%at, %j] active : i32, !cells
    %1 = metate.atomic addf %d, %h["b"] [%at, %j] active : f64, !cells
    %2 = metate.atomic addf %w, %h["v"] [%at, %j] active : vector<2xf32>, !cells
    metate.yield
  }
  metate.return
}

// An array's extents may be known.
// CHECK-LABEL: metate.kernel @array
// CHECK: memref.atomic_rmw maxs %{{.*}}, %{{.*}}[%{{.*}}] {metate.bins = array<i64: 0, 128>} : (i64, memref<16xi64>) -> i64
metate.kernel @array(%x: memref<?xi32>, %h: memref<16xi64>, %n: index, %v: i64) {
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %key = memref.load %x[%i] : memref<?xi32>
    %at = arith.index_cast %key : i32 to index
    %old = memref.atomic_rmw maxs %v, %h[%at] : (i64, memref<16xi64>) -> i64
    metate.yield
  }
  metate.return
}

// Not of a target that is larger, whose old value is used, that the loop reads too, and where places are the iterations'.
// CHECK-LABEL: metate.kernel @others
// CHECK-NOT: metate.bins
metate.kernel @others(%x: memref<?xi32>, %large: !large, %used: !histogram, %read: !histogram, %own: !histogram, %n: index) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  metate.range (%i, %j) = (%c0, %c0) to (%n, %n) {
    %key = memref.load %x[%i] : memref<?xi32>
    %at = arith.index_cast %key : i32 to index
    %0 = metate.atomic addi %one, %large["n"] [%at] active : i32, !large
    %1 = metate.atomic addi %one, %used["n"] [%at] active : i32, !histogram
    memref.store %1, %x[%i] : memref<?xi32>
    %2 = metate.load %read["n"] [%c0] : !histogram -> i32
    %3 = metate.atomic addi %2, %read["n"] [%at] active : i32, !histogram
    %k = arith.addi %i, %j : index
    %4 = metate.atomic addi %one, %own["n"] [%k] active : i32, !histogram
    metate.yield
  }
  metate.return
}

// Nor of a loop of few iterations.
// CHECK-LABEL: metate.kernel @few
// CHECK-NOT: metate.bins
metate.kernel @few(%x: memref<?xi32>, %h: !histogram) {
  %c0 = arith.constant 0 : index
  %c1023 = arith.constant 1023 : index
  %one = arith.constant 1 : i32
  metate.range (%i) = (%c0) to (%c1023) {
    %key = memref.load %x[%i] : memref<?xi32>
    %at = arith.index_cast %key : i32 to index
    %old = metate.atomic addi %one, %h["n"] [%at] active : i32, !histogram
    metate.yield
  }
  metate.return
}

// Rounded sums of deterministic kernels are in order; integers may be added in any.
// CHECK-LABEL: metate.kernel @deterministic
// CHECK: metate.atomic addi {{.*}}metate.bins
// CHECK: metate.atomic addf
// CHECK-NOT: metate.bins
metate.kernel @deterministic(%x: memref<?xi32>, %h: !cells, %n: index, %d: f64) attributes {metate.deterministic} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  metate.range (%i) = (%c0) to (%n) {
    %key = memref.load %x[%i] : memref<?xi32>
    %at = arith.index_cast %key : i32 to index
    %0 = metate.atomic addi %one, %h["a"] [%at, %c0] active : i32, !cells
    %1 = metate.atomic addf %d, %h["b"] [%at, %c0] active : f64, !cells
    metate.yield
  }
  metate.return
}
