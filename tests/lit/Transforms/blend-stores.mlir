// RUN: metate-opt %s --metate-blend-stores | FileCheck %s

!row = !metate.tree<#metate.dense<"i", [300], [#metate.place<"x" : f32>]>>
!sparse = !metate.tree<#metate.pointer<"i", [40], [#metate.dense<"i", [8], [#metate.place<"x" : f32>]>]>>

// What the condition asks has been read; what the branch reads anew is that; a second condition sees what the first one chose.
// CHECK-LABEL: metate.kernel @relaxed(
// CHECK: %[[OLD:.*]] = metate.load %{{.*}}["x"] [%[[I:[a-z0-9]+]]]
// CHECK: %[[T:.*]] = memref.load
// CHECK: %[[C:.*]] = arith.cmpf olt, %[[T]], %[[OLD]]
// CHECK: %[[NEW:.*]] = arith.select %[[C]], %[[T]], %[[OLD]]
// CHECK: metate.store %[[NEW]], %{{.*}}["x"] [%[[I]]]
// CHECK: %[[D:.*]] = arith.cmpf ogt, %[[NEW]], %[[LIMIT:.*]] :
// CHECK: %[[LAST:.*]] = arith.select %[[D]], %[[LIMIT]], %[[NEW]]
// CHECK: metate.store %[[LAST]]
// CHECK-NOT: scf.if
metate.kernel @relaxed(%a: memref<?xf32>, %x: !row) {
  %c0 = arith.constant 0 : index
  %c300 = arith.constant 300 : index
  %limit = arith.constant 4.0 : f32
  metate.range (%i) = (%c0) to (%c300) {
    %old = metate.load %x["x"][%i] : !row -> f32
    %t = memref.load %a[%i] : memref<?xf32>
    %c = arith.cmpf olt, %t, %old : f32
    scf.if %c {
      %again = memref.load %a[%i] : memref<?xf32>
      metate.store %again, %x["x"][%i] : f32, !row
    }
    %now = metate.load %x["x"][%i] : !row -> f32
    %d = arith.cmpf ogt, %now, %limit : f32
    scf.if %d {
      metate.store %limit, %x["x"][%i] : f32, !row
    }
    metate.yield
  }
  metate.return
}

// Both sides store: what was there before is not asked. In order too.
// CHECK-LABEL: metate.kernel @both(
// CHECK: %[[CHOSEN:.*]] = arith.select %{{.*}}, %[[A:.*]], %[[B:.*]] : f32
// CHECK: memref.store %[[CHOSEN]]
// CHECK-NOT: memref.store
metate.kernel @both(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  metate.serial {
    scf.for %i = %c0 to %n step %c1 {
      %t = memref.load %a[%i] : memref<?xf32>
      %c = arith.cmpf olt, %t, %zero : f32
      scf.if %c {
        memref.store %zero, %b[%i] : memref<?xf32>
      } else {
        memref.store %t, %b[%i] : memref<?xf32>
      }
    }
    metate.yield
  }
  metate.return
}

// As they are: a border, a place that another iteration may write, one that is not side by side, what was not read, what was stored over
// between, a read that is not known, cells that may not be there.
// CHECK-LABEL: metate.kernel @not(
// CHECK-NOT: arith.select
// CHECK: metate.return
metate.kernel @not(%a: memref<?xf32>, %at: memref<?xi32>, %table: memref<?x?xf32>, %x: !row, %s: !sparse) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c300 = arith.constant 300 : index
  %zero = arith.constant 0.0 : f32
  metate.range (%i) = (%c0) to (%c300) {
    %old = metate.load %x["x"][%i] : !row -> f32
    %border = arith.cmpi slt, %i, %c8 : index
    scf.if %border {
      metate.store %zero, %x["x"][%i] : f32, !row
    }
    metate.yield
  }
  metate.range (%i) = (%c0) to (%c300) {
    %place = memref.load %at[%i] : memref<?xi32>
    %k = arith.index_cast %place : i32 to index
    %old = memref.load %a[%k] : memref<?xf32>
    %c = arith.cmpf olt, %old, %zero : f32
    scf.if %c {
      memref.store %zero, %a[%k] : memref<?xf32>
    }
    %column = memref.load %table[%i, %c8] : memref<?x?xf32>
    %d = arith.cmpf olt, %column, %zero : f32
    scf.if %d {
      memref.store %zero, %table[%i, %c8] : memref<?x?xf32>
    }
    metate.yield
  }
  metate.range (%i) = (%c0) to (%c300) {
    %t = memref.load %a[%i] : memref<?xf32>
    %c = arith.cmpf olt, %t, %zero : f32
    scf.if %c {
      metate.store %t, %x["x"][%i] : f32, !row
    }
    %there = metate.load %s["x"][%i] : !sparse -> f32
    %d = arith.cmpf olt, %there, %zero : f32
    scf.if %d {
      metate.store %zero, %s["x"][%i] : f32, !sparse
    }
    metate.yield
  }
  metate.range (%i) = (%c0) to (%c300) {
    %old = metate.load %x["x"][%i] : !row -> f32
    %c = arith.cmpf olt, %old, %zero : f32
    scf.if %c {
      %other = memref.load %a[%i] : memref<?xf32>
      metate.store %other, %x["x"][%i] : f32, !row
    }
    metate.yield
  }
  metate.return
}

// Stored over between: the place holds that.
// CHECK-LABEL: metate.kernel @stale(
// CHECK: %[[OLD:.*]] = memref.load
// CHECK: %[[SUM:.*]] = arith.addf %[[OLD]]
// CHECK: memref.store %[[SUM]]
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[SUM]]
metate.kernel @stale(%a: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  metate.range (%i) = (%c0) to (%n) {
    %old = memref.load %a[%i] : memref<?xf32>
    %sum = arith.addf %old, %one : f32
    memref.store %sum, %a[%i] : memref<?xf32>
    %c = arith.cmpf olt, %old, %one : f32
    scf.if %c {
      memref.store %one, %a[%i] : memref<?xf32>
    }
    metate.yield
  }
  metate.return
}

// Another place was stored between, which may be the same one.
// CHECK-LABEL: metate.kernel @elsewhere(
// CHECK: scf.if
metate.kernel @elsewhere(%a: memref<?xf32>, %k: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  metate.serial {
    scf.for %i = %c0 to %n step %c1 {
      %old = memref.load %a[%i] : memref<?xf32>
      memref.store %one, %a[%k] : memref<?xf32>
      %c = arith.cmpf olt, %old, %one : f32
      scf.if %c {
        memref.store %old, %a[%i] : memref<?xf32>
      }
    }
    metate.yield
  }
  metate.return
}

// -----

// A read that a condition keeps from some turns, between two that each turn does: read in all of them, and chosen.
// CHECK-LABEL: @between
// CHECK: metate.range
// CHECK-NOT: scf.if
// CHECK: arith.select
// CHECK: memref.store
metate.kernel @between(%a: memref<?xi8>, %b: memref<?xi8>, %n: index) {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i8
  %false = arith.constant false
  metate.range (%i) = (%c1) to (%n) {
    %before = arith.subi %i, %c1 : index
    %after = arith.addi %i, %c1 : index
    %x = memref.load %a[%before] : memref<?xi8>
    %y = memref.load %a[%after] : memref<?xi8>
    %s = arith.addi %x, %y : i8
    %is = arith.cmpi eq, %s, %one : i8
    %r = scf.if %is -> (i1) {
      %own = memref.load %a[%i] : memref<?xi8>
      %alive = arith.cmpi eq, %own, %one : i8
      scf.yield %alive : i1
    } else {
      scf.yield %false : i1
    }
    %v = arith.extui %r : i1 to i8
    memref.store %v, %b[%i] : memref<?xi8>
    metate.yield
  }
  metate.return
}

// -----

// Nobody has asked for what lies behind: the condition may be what keeps the turn inside.
// CHECK-LABEL: @beyond
// CHECK: scf.if
// CHECK: memref.load
// CHECK: else
metate.kernel @beyond(%a: memref<?xi8>, %b: memref<?xi8>, %n: index) {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i8
  %false = arith.constant false
  metate.range (%i) = (%c1) to (%n) {
    %after = arith.addi %i, %c1 : index
    %x = memref.load %a[%i] : memref<?xi8>
    %is = arith.cmpi eq, %x, %one : i8
    %r = scf.if %is -> (i1) {
      %own = memref.load %a[%after] : memref<?xi8>
      %alive = arith.cmpi eq, %own, %one : i8
      scf.yield %alive : i1
    } else {
      scf.yield %false : i1
    }
    %v = arith.extui %r : i1 to i8
    memref.store %v, %b[%i] : memref<?xi8>
    metate.yield
  }
  metate.return
}

// -----

// Two counters in one array: one store, where the condition says.
// CHECK-LABEL: @two_ends
// CHECK: %[[IS:.*]] = arith.cmpf olt
// CHECK-NOT: scf.if
// CHECK: %[[WHERE:.*]] = arith.select %[[IS]], %{{.*}}, %{{.*}} : index
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[WHERE]]]
// CHECK-NOT: memref.store
// CHECK: scf.yield
metate.kernel @two_ends(%x: memref<?xf32>, %kept: memref<?xf32>, %n: index, %half: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  metate.serial {
    %ends:2 = scf.for %i = %c0 to %n step %c1 iter_args(%low = %c0, %high = %n) -> (index, index) {
      %v = memref.load %x[%i] : memref<?xf32>
      %is = arith.cmpf olt, %v, %half : f32
      %next:2 = scf.if %is -> (index, index) {
        memref.store %v, %kept[%low] : memref<?xf32>
        %more = arith.addi %low, %c1 : index
        scf.yield %more, %high : index, index
      } else {
        %less = arith.subi %high, %c1 : index
        memref.store %v, %kept[%less] : memref<?xf32>
        scf.yield %low, %less : index, index
      }
      scf.yield %next#0, %next#1 : index, index
    }
    metate.yield
  }
  metate.return
}

// -----

// Of two arrays, and where a side reads what the other one stores, the branch stays.
// CHECK-LABEL: @two_arrays
// CHECK: scf.if
// CHECK: scf.if
// CHECK: metate.return
metate.kernel @two_arrays(%x: memref<?xf32>, %a: memref<?xf32>, %b: memref<?xf32>, %n: index, %half: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  metate.serial {
    scf.for %i = %c0 to %n step %c1 {
      %v = memref.load %x[%i] : memref<?xf32>
      %is = arith.cmpf olt, %v, %half : f32
      scf.if %is {
        memref.store %v, %a[%i] : memref<?xf32>
      } else {
        memref.store %v, %b[%i] : memref<?xf32>
      }
      scf.if %is {
        %w = memref.load %a[%i] : memref<?xf32>
        memref.store %w, %a[%c0] : memref<?xf32>
      } else {
        memref.store %v, %a[%c1] : memref<?xf32>
      }
    }
    metate.yield
  }
  metate.return
}
