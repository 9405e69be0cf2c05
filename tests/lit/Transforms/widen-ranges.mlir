// RUN: metate-opt %s --metate-widen-ranges --canonicalize | FileCheck %s

!leaf = !metate.tree<#metate.pointer<"ij", [4, 4], [#metate.dense<"ij", [8, 8], [#metate.place<"x" : f32>]>]>>
!list = !metate.tree<#metate.dense<"i", [9], [#metate.place<"b" : i32>]>>
!row = !metate.tree<#metate.dense<"i", [300], [#metate.place<"x" : f32>]>>

// A struct-for over a dense list, a box from bounds that the list says, with a number inside that is taken apart.
// CHECK-LABEL: metate.kernel @box
// CHECK: metate.range (%[[B:.*]], %[[I:.*]], %[[J:.*]]) = (%c0, %c0, %c0) to (%c9, %c8, %c8) {
// CHECK-NOT: scf.for
metate.kernel @box(%x: !leaf, %blocks: !list) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %three = arith.constant 3 : i32
  %seven = arith.constant 7 : i32
  %eight = arith.constant 8 : i32
  %v = arith.constant 1.0 : f32
  metate.for_each (%b) in %blocks["b"] : !list {
    %block = metate.load %blocks["b"][%b] : !list -> i32
    %corner = arith.muli %block, %eight : i32
    scf.for %q = %c0 to %c64 step %c1 {
      %n = arith.index_cast %q : index to i32
      %i = arith.shrsi %n, %three : i32
      %j = arith.andi %n, %seven : i32
      %k = arith.addi %corner, %i : i32
      %p = arith.index_cast %k : i32 to index
      %r = arith.index_cast %j : i32 to index
      metate.store %v, %x["x"][%p, %r] : f32, !leaf
    }
    metate.yield
  }
  metate.return
}

// A turn that reads what another one wrote, one place for all turns, bounds that may wrap: in order.
// CHECK-LABEL: metate.kernel @not
// CHECK-COUNT-3: scf.for
metate.kernel @not(%x: !leaf, %n: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %v = arith.constant 1.0 : f32
  %eight = arith.constant 8 : i32
  metate.range (%b) = (%c0) to (%c4) {
    scf.for %i = %c0 to %c8 step %c1 {
      %next = arith.addi %i, %c1 : index
      %old = metate.load %x["x"][%next, %b] : !leaf -> f32
      metate.store %old, %x["x"][%i, %b] : f32, !leaf
    }
    metate.yield
  }
  metate.range (%b) = (%c0) to (%c4) {
    scf.for %i = %c0 to %c8 step %c1 {
      %value = arith.index_cast %i : index to i32
      %float = arith.sitofp %value : i32 to f32
      metate.store %float, %x["x"][%b, %b] : f32, !leaf
    }
    metate.yield
  }
  metate.range (%b) = (%c0) to (%c4) {
    %end = arith.addi %n, %eight : i32
    %from = arith.index_cast %n : i32 to index
    %to = arith.index_cast %end : i32 to index
    scf.for %i = %from to %to step %c1 {
      metate.store %v, %x["x"][%i, %b] : f32, !leaf
    }
    metate.yield
  }
  metate.return
}

// Turns that have loops of their own can be lanes, in fields without slots as well.
// CHECK-LABEL: metate.kernel @rows_of_sums(
// CHECK: metate.range (%{{.*}}, %{{.*}}) =
// CHECK: scf.for
// CHECK-NOT: scf.for
metate.kernel @rows_of_sums(%a: memref<?x?xf32>, %c: memref<64x32xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  metate.range (%i) = (%c0) to (%c64) {
    scf.for %j = %c0 to %c32 step %c1 {
      %s = scf.for %k = %c0 to %c64 step %c1 iter_args(%old = %zero) -> f32 {
        %x = memref.load %a[%k, %j] : memref<?x?xf32>
        %new = arith.addf %old, %x : f32
        scf.yield %new : f32
      }
      memref.store %s, %c[%i, %j] : memref<64x32xf32>
    }
    metate.yield
  }
  metate.return
}

// Workers that each take every third turn: the loop that they share, from the first one's first turn on.
// CHECK-LABEL: metate.kernel @strides(
// CHECK: metate.range (%[[I:.*]]) = (%c2) to (%{{.*}}) {
// CHECK-NOT: scf.for
// CHECK: memref.load %{{.*}}[%[[I]]]
// CHECK: metate.store %{{.*}}["x"] [%[[I]]]
metate.kernel @strides(%a: memref<?xf32>, %x: !row) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %two = arith.constant 2 : i32
  %n = memref.dim %a, %c0 : memref<?xf32>
  metate.range (%w) = (%c0) to (%c3) {
    %worker = arith.index_cast %w : index to i32
    %first = arith.addi %worker, %two : i32
    %from = arith.index_cast %first : i32 to index
    scf.for %i = %from to %n step %c3 {
      %v = memref.load %a[%i] : memref<?xf32>
      metate.store %v, %x["x"][%i] : f32, !row
    }
    metate.yield
  }
  metate.return
}

// Strides that are not the number of workers, turns that ask for the worker, that read what another one wrote, that end with the worker: in
// order.
// CHECK-LABEL: metate.kernel @not_strides(
// CHECK-COUNT-4: scf.for
metate.kernel @not_strides(%n: index, %x: !row, %y: !row) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %v = arith.constant 1.0 : f32
  metate.range (%w) = (%c0) to (%c3) {
    scf.for %i = %w to %n step %c4 {
      metate.store %v, %x["x"][%i] : f32, !row
    }
    metate.yield
  }
  metate.range (%w) = (%c0) to (%c3) {
    scf.for %i = %w to %n step %c3 {
      %own = metate.load %y["x"][%w] : !row -> f32
      metate.store %own, %x["x"][%i] : f32, !row
    }
    metate.yield
  }
  metate.range (%w) = (%c0) to (%c3) {
    scf.for %i = %w to %n step %c3 {
      %next = arith.addi %i, %c1 : index
      %old = metate.load %x["x"][%next] : !row -> f32
      metate.store %old, %x["x"][%i] : f32, !row
    }
    metate.yield
  }
  metate.range (%w) = (%c0) to (%c3) {
    %end = arith.addi %w, %n : index
    scf.for %i = %w to %end step %c3 {
      metate.store %v, %x["x"][%i] : f32, !row
    }
    metate.yield
  }
  metate.return
}
