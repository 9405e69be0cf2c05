// RUN: metate-opt %s --metate-fold-index-casts | FileCheck %s

// CHECK-LABEL: metate.kernel @neighbour
// CHECK: metate.range (%[[I:.*]]) =
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %{{.*}} : index
// CHECK: memref.load %{{.*}}[%[[NEXT]]]
metate.kernel @neighbour(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : i32
  metate.range (%i) = (%zero) to (%n) {
    %i32 = arith.index_cast %i : index to i32
    %next = arith.addi %i32, %one : i32
    %at = arith.index_cast %next : i32 to index
    %v = memref.load %x[%at] : memref<?xf32>
    %own = arith.index_cast %i32 : i32 to index
    memref.store %v, %y[%own] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// A product that wraps may come back inside the array: it stays in 32 bits.
// CHECK-LABEL: metate.kernel @product
// CHECK: arith.muli %{{.*}}, %{{.*}} : i32
// CHECK: arith.index_cast %{{.*}} : i32 to index
metate.kernel @product(%x: memref<?xf32>, %n: index, %k: i32, %a: f32) {
  %zero = arith.constant 0 : index
  metate.range (%i) = (%zero) to (%n) {
    %i32 = arith.index_cast %i : index to i32
    %scaled = arith.muli %i32, %k : i32
    %at = arith.index_cast %scaled : i32 to index
    memref.store %a, %x[%at] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// A check says where an access is: it widens with it. Any other comparison of the index does not.
// CHECK-LABEL: metate.kernel @checked
// CHECK: %[[NEXT:.*]] = arith.addi %{{.*}}, %{{.*}} : index
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[NEXT]], %{{.*}} : index
// CHECK: metate.check out_of_range %[[IN]], "x" index(%[[NEXT]])
// CHECK: memref.load %{{.*}}[%[[NEXT]]]
// CHECK: arith.addi %{{.*}}, %{{.*}} : i32
// CHECK: arith.cmpi ult
// CHECK: scf.if
metate.kernel @checked(%x: memref<?xf32>, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  metate.range (%i) = (%zero) to (%n) {
    %i32 = arith.index_cast %i : index to i32
    %next = arith.addi %i32, %one : i32
    %at = arith.index_cast %next : i32 to index
    %in = arith.cmpi ult, %at, %n : index
    metate.check out_of_range %in, "x" index(%at) shape(%n)
    %v = memref.load %x[%at] : memref<?xf32>
    %other = arith.addi %i32, %two : i32
    %index = arith.index_cast %other : i32 to index
    %small = arith.cmpi ult, %index, %n : index
    scf.if %small {
      memref.store %v, %x[%index] : memref<?xf32>
    }
    metate.yield
  }
  metate.return
}

// The product of extents that are dims, and of a loop up to one, fits 32 bits where their bounds say so.
// CHECK-LABEL: metate.kernel @bounded
// CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %{{.*}} : index
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[ROW]]]
metate.kernel @bounded(%x: memref<?xf32> {metate.shape = [#metate.dim<"n", 1 to 4096>]}, %y: memref<?xf32> {metate.shape = [#metate.dim<"m", 0 to 1000 by 8>]}, %a: f32) {
  %zero = arith.constant 0 : index
  %n = memref.dim %x, %zero : memref<?xf32>
  %m = memref.dim %y, %zero : memref<?xf32>
  %m32 = arith.index_cast %m : index to i32
  metate.range (%i) = (%zero) to (%n) {
    %i32 = arith.index_cast %i : index to i32
    %row = arith.muli %i32, %m32 : i32
    %at = arith.index_cast %row : i32 to index
    memref.store %a, %x[%at] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// One that may be larger stays.
// CHECK-LABEL: metate.kernel @large
// CHECK: arith.muli %{{.*}}, %{{.*}} : i32
metate.kernel @large(%x: memref<?xf32> {metate.shape = [#metate.dim<"n", 1 to 65536>]}, %y: memref<?xf32> {metate.shape = [#metate.dim<"m", 0 to 65536>]}, %a: f32) {
  %zero = arith.constant 0 : index
  %n = memref.dim %x, %zero : memref<?xf32>
  %m = memref.dim %y, %zero : memref<?xf32>
  %m32 = arith.index_cast %m : index to i32
  metate.range (%i) = (%zero) to (%n) {
    %i32 = arith.index_cast %i : index to i32
    %row = arith.muli %i32, %m32 : i32
    %at = arith.index_cast %row : i32 to index
    memref.store %a, %x[%at] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// An extent with 31 bits is the same number there and back.
// CHECK-LABEL: metate.kernel @back
// CHECK: %[[N:.*]] = memref.dim
// CHECK-NOT: arith.index_cast
// CHECK: metate.range (%{{.*}}) = (%{{.*}}) to (%[[N]])
metate.kernel @back(%x: memref<?xf32> {metate.shape = [#metate.dim<"n", 1 to 4096>]}, %a: f32) {
  %zero = arith.constant 0 : index
  %n = memref.dim %x, %zero : memref<?xf32>
  %n32 = arith.index_cast %n : index to i32
  %end = arith.index_cast %n32 : i32 to index
  metate.range (%i) = (%zero) to (%end) {
    memref.store %a, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// Bounds of a loop in order: a sum and a difference alike.
// CHECK-LABEL: metate.kernel @around
// CHECK: metate.range (%[[I:.*]]) =
// CHECK: %[[LOWER:.*]] = arith.subi %[[I]], %{{.*}} : index
// CHECK: %[[UPPER:.*]] = arith.addi %[[I]], %{{.*}} : index
// CHECK: scf.for %{{.*}} = %[[LOWER]] to %[[UPPER]]
metate.kernel @around(%x: memref<?xf32>, %a: f32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 999 : index
  %one32 = arith.constant 1 : i32
  %two32 = arith.constant 2 : i32
  metate.range (%i) = (%one) to (%end) {
    %i32 = arith.index_cast %i : index to i32
    %from = arith.subi %i32, %one32 : i32
    %to = arith.addi %i32, %two32 : i32
    %lower = arith.index_cast %from : i32 to index
    %upper = arith.index_cast %to : i32 to index
    scf.for %p = %lower to %upper step %one {
      memref.store %a, %x[%p] : memref<?xf32>
    }
    metate.yield
  }
  metate.return
}

// Indices of long arrays: what has 64 bits is the same number as an index.
// CHECK-LABEL: metate.kernel @long
// CHECK: metate.range (%[[I:.*]]) =
// CHECK-NEXT: %[[ROW:.*]] = arith.muli %[[I]], %{{.*}} : index
// CHECK-NEXT: %[[AT:.*]] = arith.addi %[[ROW]], %{{.*}} : index
// CHECK-NEXT: memref.store %{{.*}}, %{{.*}}[%[[AT]]]
metate.kernel @long(%x: memref<?xf32> {metate.shape = [#metate.dim<"n", 0 to 8589934592>]}, %a: f32) {
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : i64
  %one = arith.constant 1 : i64
  %n = memref.dim %x, %zero : memref<?xf32>
  metate.range (%i) = (%zero) to (%n) {
    %i64 = arith.index_cast %i : index to i64
    %row = arith.muli %i64, %two : i64
    %next = arith.addi %row, %one : i64
    %at = arith.index_cast %next : i64 to index
    memref.store %a, %x[%at] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// The lower half of a long extent is another number.
// CHECK-LABEL: metate.kernel @lost
// CHECK: arith.trunci %{{.*}} : i64 to i32
// CHECK: arith.index_cast %{{.*}} : i32 to index
metate.kernel @lost(%x: memref<?xf32> {metate.shape = [#metate.dim<"n", 0 to 8589934592>]}, %a: f32) {
  %zero = arith.constant 0 : index
  %n = memref.dim %x, %zero : memref<?xf32>
  %n64 = arith.index_cast %n : index to i64
  %n32 = arith.trunci %n64 : i64 to i32
  %end = arith.index_cast %n32 : i32 to index
  metate.range (%i) = (%zero) to (%end) {
    memref.store %a, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// An extent is below 2^31: what is computed of it in 32 bits, without wrapping, is the same number as an index.
// CHECK-LABEL: metate.kernel @extents
// CHECK: %[[N:.*]] = memref.dim
// CHECK: %[[LAST:.*]] = arith.subi %[[N]], %{{.*}} : index
// CHECK: metate.range (%{{.*}}) = (%{{.*}}) to (%[[LAST]])
metate.kernel @extents(%x: memref<?xf32>, %a: f32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %n = memref.dim %x, %zero : memref<?xf32>
  %n32 = arith.index_cast %n : index to i32
  %last = arith.subi %n32, %one : i32
  %end = arith.index_cast %last : i32 to index
  metate.range (%i) = (%zero) to (%end) {
    memref.store %a, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// Of two extents the sum may wrap.
// CHECK-LABEL: metate.kernel @may_wrap
// CHECK: arith.addi %{{.*}}, %{{.*}} : i32
// CHECK: metate.range
metate.kernel @may_wrap(%x: memref<?xf32>, %a: f32) {
  %zero = arith.constant 0 : index
  %n = memref.dim %x, %zero : memref<?xf32>
  %n32 = arith.index_cast %n : index to i32
  %sum = arith.addi %n32, %n32 : i32
  %end = arith.index_cast %sum : i32 to index
  metate.range (%i) = (%zero) to (%end) {
    memref.store %a, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}
