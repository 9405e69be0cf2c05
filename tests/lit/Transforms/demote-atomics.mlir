// RUN: metate-opt %s --metate-demote-atomics | FileCheck %s

// CHECK-LABEL: metate.kernel @owned
// CHECK-NOT: memref.atomic_rmw
// CHECK: %[[OLD:.*]] = memref.load
// CHECK: %[[NEW:.*]] = arith.addf %[[OLD]]
// CHECK: memref.store %[[NEW]]
metate.kernel @owned(%x: memref<?xf32>, %v: f32, %n: index) {
  %zero = arith.constant 0 : index
  metate.range (%i) = (%zero) to (%n) {
    %old = memref.atomic_rmw addf %v, %x[%i] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// CHECK-LABEL: metate.kernel @shared
// CHECK: memref.atomic_rmw addf
metate.kernel @shared(%x: memref<?xf32>, %v: f32, %n: index) {
  %zero = arith.constant 0 : index
  metate.range (%i) = (%zero) to (%n) {
    %old = memref.atomic_rmw addf %v, %x[%zero] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// Another iteration's write to the same array: the own cell is not owned.
// CHECK-LABEL: metate.kernel @mixed
// CHECK: memref.atomic_rmw addf
// CHECK: memref.atomic_rmw addf
metate.kernel @mixed(%x: memref<?xf32>, %v: f32, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  metate.range (%i) = (%zero) to (%n) {
    %next = arith.addi %i, %one : index
    %a = memref.atomic_rmw addf %v, %x[%i] : (f32, memref<?xf32>) -> f32
    %b = memref.atomic_rmw addf %v, %x[%next] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// Arguments that overlap: the own element of one may be another iteration's of the other.
// CHECK-LABEL: metate.kernel @overlapping
// CHECK: memref.atomic_rmw addf
// CHECK: memref.atomic_rmw addf
metate.kernel @overlapping(%x: memref<?xf32>, %y: memref<?xf32>, %v: f32, %n: index) attributes {may_alias} {
  %zero = arith.constant 0 : index
  metate.range (%i) = (%zero) to (%n) {
    %a = memref.atomic_rmw addf %v, %x[%i] : (f32, memref<?xf32>) -> f32
    %b = memref.atomic_rmw addf %v, %y[%i] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// What one worker runs alone.
// CHECK-LABEL: metate.kernel @serial
// CHECK-NOT: atomic
// CHECK: arith.addf {{.*}} fastmath<contract>
// CHECK: arith.addi
metate.kernel @serial(%x: memref<?xf32>, %k: memref<?xi32>, %v: f32, %w: i32, %n: index) attributes {may_alias} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one {
    %place = memref.load %k[%i] : memref<?xi32>
    %at = arith.index_cast %place : i32 to index
    %old = memref.atomic_rmw addf %v, %x[%at] : (f32, memref<?xf32>) -> f32
  }
  %first = memref.atomic_rmw addi %w, %k[%zero] : (i32, memref<?xi32>) -> i32
  metate.return
}

// CHECK-LABEL: metate.kernel @permuted
// CHECK-NOT: memref.atomic_rmw
// CHECK: metate.return
metate.kernel @permuted(%x: memref<?x?xf32>, %y: memref<?xf32>, %v: f32, %n: index, %o: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  metate.range (%i, %j) = (%zero, %zero) to (%n, %n) {
    %next = arith.addi %i, %one : index
    %shifted = arith.subi %o, %j : index
    %a = memref.atomic_rmw addf %v, %x[%shifted, %next] : (f32, memref<?x?xf32>) -> f32
    metate.yield
  }
  // Digits of a number, and what lies between two of them.
  metate.range (%i, %j) = (%zero, %zero) to (%c8, %c8) {
    %c16 = arith.constant 16 : index
    %row = arith.muli %i, %c16 : index
    %column = arith.muli %j, %two : index
    %even = arith.addi %row, %column : index
    %odd = arith.addi %even, %one : index
    %a = memref.atomic_rmw addf %v, %y[%even] : (f32, memref<?xf32>) -> f32
    %b = memref.atomic_rmw addf %v, %y[%odd] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  // The second coordinate tells j, so the first one i.
  metate.range (%i, %j) = (%zero, %zero) to (%n, %n) {
    %sum = arith.addi %i, %j : index
    %a = memref.atomic_rmw addf %v, %x[%sum, %j] : (f32, memref<?x?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// Members of one tree: another one's cells are other places.
// CHECK-LABEL: metate.kernel @members
// CHECK: metate.store {{.*}}["a"]
// CHECK: metate.atomic addf {{.*}}["b"]
!two = !metate.tree<#metate.dense<"i", [64], [#metate.place<"a" : f32>, #metate.place<"b" : f32>]>>
metate.kernel @members(%t: !two, %v: f32) {
  %zero = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  metate.range (%i) = (%zero) to (%c64) {
    %a = metate.atomic addf %v, %t["a"] [%i] active : f32, <#metate.dense<"i", [64], [#metate.place<"a" : f32>, #metate.place<"b" : f32>]>>
    %b = metate.atomic addf %v, %t["b"] [%zero] active : f32, <#metate.dense<"i", [64], [#metate.place<"a" : f32>, #metate.place<"b" : f32>]>>
    metate.yield
  }
  metate.return
}

// Each of these has two iterations that write one place.
// CHECK-LABEL: metate.kernel @meet
// CHECK-COUNT-10: memref.atomic_rmw
// CHECK-NOT: memref.store
// CHECK: metate.return
metate.kernel @meet(%x: memref<?x?xf32>, %y: memref<?xf32>, %v: f32, %n: index, %m: i32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  // The diagonal.
  metate.range (%i, %j) = (%zero, %zero) to (%n, %n) {
    %sum = arith.addi %i, %j : index
    %a = memref.atomic_rmw addf %v, %x[%sum, %zero] : (f32, memref<?x?xf32>) -> f32
    metate.yield
  }
  // Each alone is a place of its own.
  metate.range (%i, %j) = (%zero, %zero) to (%n, %n) {
    %a = memref.atomic_rmw addf %v, %x[%i, %j] : (f32, memref<?x?xf32>) -> f32
    %b = memref.atomic_rmw addf %v, %x[%j, %i] : (f32, memref<?x?xf32>) -> f32
    metate.yield
  }
  // A digit that is too large.
  metate.range (%i, %j) = (%zero, %zero) to (%c8, %c8) {
    %c7 = arith.constant 7 : index
    %row = arith.muli %i, %c7 : index
    %at = arith.addi %row, %j : index
    %a = memref.atomic_rmw addf %v, %y[%at] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  // As far apart as iterations are.
  metate.range (%i) = (%zero) to (%c8) {
    %even = arith.muli %i, %two : index
    %far = arith.addi %even, %two : index
    %a = memref.atomic_rmw addf %v, %y[%even] : (f32, memref<?xf32>) -> f32
    %b = memref.atomic_rmw addf %v, %y[%far] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  // Twice 2147483648 is 0 in 32 bits.
  metate.range (%i) = (%zero) to (%n) {
    %i32 = arith.index_cast %i : index to i32
    %two32 = arith.constant 2 : i32
    %twice = arith.muli %i32, %two32 : i32
    %at = arith.index_cast %twice : i32 to index
    %a = memref.atomic_rmw addf %v, %y[%at] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  // Half of the variables.
  metate.range (%i, %j) = (%zero, %zero) to (%n, %n) {
    %a = memref.atomic_rmw addf %v, %x[%i, %zero] : (f32, memref<?x?xf32>) -> f32
    metate.yield
  }
  // A product of two of them.
  metate.range (%i, %j) = (%zero, %zero) to (%n, %n) {
    %product = arith.muli %i, %j : index
    %a = memref.atomic_rmw addf %v, %x[%product, %j] : (f32, memref<?x?xf32>) -> f32
    metate.yield
  }
  // What varies within the iteration.
  metate.range (%i) = (%zero) to (%n) {
    scf.for %k = %zero to %c8 step %one {
      %at = arith.addi %i, %k : index
      %a = memref.atomic_rmw addf %v, %y[%at] : (f32, memref<?xf32>) -> f32
    }
    metate.yield
  }
  metate.return
}

// A loop that waits: the host, or another launch, may set what it asks for.
// CHECK-LABEL: metate.kernel @waits
// CHECK: memref.load
// CHECK: memref.store
// CHECK: scf.while
// CHECK: memref.atomic_rmw addi
metate.kernel @waits(%flags: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %said = memref.atomic_rmw addi %one, %flags[%c0] : (i32, memref<?xi32>) -> i32
  scf.while : () -> () {
    %told = memref.atomic_rmw addi %zero, %flags[%c1] : (i32, memref<?xi32>) -> i32
    %goes = arith.cmpi eq, %told, %zero : i32
    scf.condition(%goes)
  } do {
    scf.yield
  }
  metate.return
}

// What changes within an iteration is a last digit: parts of a row, and a place in a block.
// CHECK-LABEL: metate.kernel @parts
// CHECK-NOT: memref.atomic_rmw
// CHECK: metate.return
metate.kernel @parts(%x: memref<?xf32>, %y: memref<?xf32>, %k: memref<?xi32>, %v: f32, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %eight = arith.constant 8 : index
  %part = arith.constant 1024 : index
  %parts = arith.constant 1000 : index
  metate.range (%i) = (%zero) to (%parts) {
    %from = arith.muli %i, %part : index
    %next = arith.addi %from, %part : index
    %to = arith.minsi %next, %n : index
    scf.for %q = %from to %to step %one {
      %a = memref.atomic_rmw addf %v, %x[%q] : (f32, memref<?xf32>) -> f32
    }
    %block = arith.muli %i, %eight : index
    scf.for %q = %zero to %eight step %one {
      %at = arith.addi %block, %q : index
      %b = memref.atomic_rmw addf %v, %y[%at] : (f32, memref<?xf32>) -> f32
    }
    metate.yield
  }
  metate.return
}

// Parts that overlap by one, and a place in a block that is smaller than the numbers that are put to its begin.
// CHECK-LABEL: metate.kernel @overlapping_parts
// CHECK: memref.atomic_rmw addf
// CHECK: memref.atomic_rmw addf
metate.kernel @overlapping_parts(%x: memref<?xf32>, %y: memref<?xf32>, %v: f32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %eight = arith.constant 8 : index
  %nine = arith.constant 9 : index
  %parts = arith.constant 1000 : index
  metate.range (%i) = (%zero) to (%parts) {
    %from = arith.muli %i, %eight : index
    %to = arith.addi %from, %nine : index
    scf.for %q = %from to %to step %one {
      %a = memref.atomic_rmw addf %v, %x[%q] : (f32, memref<?xf32>) -> f32
    }
    scf.for %q = %zero to %nine step %one {
      %at = arith.addi %from, %q : index
      %b = memref.atomic_rmw addf %v, %y[%at] : (f32, memref<?xf32>) -> f32
    }
    metate.yield
  }
  metate.return
}

// A number of few values that memory says: the eighth of a row is the iteration's own, whichever it is.
// CHECK-LABEL: metate.kernel @one_of_eight
// CHECK-NOT: memref.atomic_rmw
// CHECK: metate.return
metate.kernel @one_of_eight(%x: memref<?xf32>, %k: memref<?xi32>, %v: f32) {
  %zero = arith.constant 0 : index
  %seven = arith.constant 7 : i32
  %eight = arith.constant 8 : index
  %parts = arith.constant 1000 : index
  metate.range (%i) = (%zero) to (%parts) {
    %read = memref.load %k[%i] : memref<?xi32>
    %low = arith.andi %read, %seven : i32
    %within = arith.index_cast %low : i32 to index
    %from = arith.muli %i, %eight : index
    %at = arith.addi %from, %within : index
    %a = memref.atomic_rmw addf %v, %x[%at] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}
