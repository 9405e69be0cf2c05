// RUN: metate-opt %s --metate-delinearize-ranges --canonicalize --cse | FileCheck %s

// c // 1021 and c % 1021, as Python rounds: a nest, and no number is taken apart.
// CHECK-LABEL: metate.kernel @rows
// CHECK: metate.range (%[[I:.*]], %[[J:.*]]) = (%c0, %c0) to (%c509, %c1021) {
// CHECK-NEXT: %[[FIRST:.*]] = arith.muli %[[I]], %c1021
// CHECK-NEXT: %[[C:.*]] = arith.addi %[[FIRST]], %[[J]]
// CHECK-NEXT: %[[VALUE:.*]] = memref.load %arg0[%[[I]], %[[J]]]
// CHECK-NEXT: memref.store %[[VALUE]], %arg1[%[[C]]]
metate.kernel @rows(%x: memref<?x?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %m = arith.constant 1021 : i32
  %n = arith.constant 519689 : index
  metate.range (%c) = (%c0) to (%n) {
    %v = arith.index_cast %c : index to i32
    %d = arith.divsi %v, %m : i32
    %r = arith.remsi %v, %m : i32
    %s = arith.xori %r, %m : i32
    %differ = arith.cmpi slt, %s, %zero : i32
    %some = arith.cmpi ne, %r, %zero : i32
    %below = arith.andi %differ, %some : i1
    %less = arith.subi %d, %one : i32
    %i = arith.select %below, %less, %d : i32
    %more = arith.addi %r, %m : i32
    %j = arith.select %below, %more, %r : i32
    %p = arith.index_cast %i : i32 to index
    %q = arith.index_cast %j : i32 to index
    %value = memref.load %x[%p, %q] : memref<?x?xf32>
    memref.store %value, %y[%c] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// Shifts and masks of the second variable; its parity is computed, and so is the number itself.
// CHECK-LABEL: metate.kernel @leaf
// CHECK: metate.range (%[[B:.*]], %[[I:.*]], %[[J:.*]], %[[K:.*]]) = (%c0, %c0, %c0, %c0) to (%arg1, %c8, %c8, %c8)
// CHECK-DAG: arith.muli %[[J]], %c8
// CHECK-DAG: arith.muli %[[I]], %c64
// CHECK: %[[PARITY:.*]] = arith.remsi %{{.*}}, %c2_i32
// CHECK: memref.store %[[PARITY]], %arg0[%[[B]], %[[I]], %[[J]], %[[K]]]
metate.kernel @leaf(%x: memref<?x?x?x?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c512 = arith.constant 512 : index
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %six = arith.constant 6 : i32
  %seven = arith.constant 7 : i32
  metate.range (%b, %c) = (%c0, %c0) to (%n, %c512) {
    %v = arith.index_cast %c : index to i32
    %i = arith.shrsi %v, %six : i32
    %h = arith.shrsi %v, %three : i32
    %j = arith.andi %h, %seven : i32
    %k = arith.andi %v, %seven : i32
    %parity = arith.remsi %v, %two : i32
    %p = arith.index_cast %i : i32 to index
    %q = arith.index_cast %j : i32 to index
    %r = arith.index_cast %k : i32 to index
    memref.store %parity, %x[%b, %p, %q, %r] : memref<?x?x?x?xi32>
    metate.yield
  }
  metate.return
}

// Rows that do not divide the number, rows of three, a loop from one, two rows of many: as they are.
// CHECK-LABEL: metate.kernel @not
// CHECK-COUNT-4: metate.range (%{{[a-z0-9]+}}) =
metate.kernel @not(%x: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 300000 : index
  %half = arith.constant 150000 : i32
  %three = arith.constant 3 : i32
  %odd = arith.constant 17 : i32
  metate.range (%c) = (%c0) to (%n) {
    %v = arith.index_cast %c : index to i32
    %d = arith.divsi %v, %odd : i32
    memref.store %d, %x[%c] : memref<?xi32>
    metate.yield
  }
  metate.range (%c) = (%c0) to (%n) {
    %v = arith.index_cast %c : index to i32
    %d = arith.divsi %v, %three : i32
    memref.store %d, %x[%c] : memref<?xi32>
    metate.yield
  }
  metate.range (%c) = (%c1) to (%n) {
    %v = arith.index_cast %c : index to i32
    %d = arith.divsi %v, %half : i32
    memref.store %d, %x[%c] : memref<?xi32>
    metate.yield
  }
  metate.range (%c) = (%c0) to (%n) {
    %v = arith.index_cast %c : index to i32
    %d = arith.divsi %v, %half : i32
    memref.store %d, %x[%c] : memref<?xi32>
    metate.yield
  }
  metate.return
}

// Short rows are summed: what tells two columns of one sum apart is a variable.
// CHECK-LABEL: metate.kernel @means
// CHECK: metate.range (%[[I:.*]], %[[J:.*]], %[[K:.*]]) = (%c0, %c0, %c0) to (%c100, %c45, %c2) {
// CHECK: %[[TWICE:.*]] = arith.muli %[[J]], %c2
// CHECK: %[[COLUMN:.*]] = arith.addi %[[TWICE]], %[[K]]
// CHECK: memref.load %arg0[%[[I]], %[[COLUMN]]]
// CHECK: memref.atomic_rmw addf %{{.*}}, %arg1[%[[I]], %[[J]]]
metate.kernel @means(%x: memref<?x?xf32>, %y: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %n = arith.constant 100 : index
  %m = arith.constant 90 : index
  metate.range (%i, %c) = (%c0, %c0) to (%n, %m) {
    %v = arith.index_cast %c : index to i32
    %half = arith.shrsi %v, %one : i32
    %j = arith.index_cast %half : i32 to index
    %value = memref.load %x[%i, %c] : memref<?x?xf32>
    %old = memref.atomic_rmw addf %value, %y[%i, %j] : (f32, memref<?x?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// Not where only other variables are summed along: the last one is a row.
// CHECK-LABEL: metate.kernel @rows_stay
// CHECK: metate.range (%{{.*}}, %{{.*}}) = (%c0, %c0) to (%c90, %c100) {
metate.kernel @rows_stay(%x: memref<?x?xf32>, %y: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %n = arith.constant 100 : index
  %m = arith.constant 90 : index
  metate.range (%c, %j) = (%c0, %c0) to (%m, %n) {
    %v = arith.index_cast %c : index to i32
    %half = arith.shrsi %v, %one : i32
    %i = arith.index_cast %half : i32 to index
    %value = memref.load %x[%c, %j] : memref<?x?xf32>
    %old = memref.atomic_rmw addf %value, %y[%i, %j] : (f32, memref<?x?xf32>) -> f32
    metate.yield
  }
  metate.return
}
