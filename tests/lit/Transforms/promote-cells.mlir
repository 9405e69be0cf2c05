// RUN: metate-opt %s --metate-promote-cells --metate-promote-locals | FileCheck %s

!two = !metate.tree<#metate.dense<"i", [64], [#metate.place<"a" : f32>, #metate.place<"b" : f32>]>>

// What is read in every turn, and what the iteration accumulates, in members of one tree.
// CHECK-LABEL: metate.kernel @accumulated
// CHECK: metate.range (%[[I:.*]]) =
// CHECK-DAG: %[[A:.*]] = metate.load %{{.*}}["a"] [%[[I]]]
// CHECK-DAG: %[[B:.*]] = metate.load %{{.*}}["b"] [%[[I]]]
// CHECK: %[[SUM:.*]] = scf.for %[[J:.*]] = {{.*}} iter_args(%[[S:.*]] = %[[B]]) -> (f32) {
// CHECK:   %[[OTHER:.*]] = metate.load %{{.*}}["a"] [%[[J]]]
// CHECK:   %[[PRODUCT:.*]] = arith.mulf %[[A]], %[[OTHER]]
// CHECK:   arith.addf %[[S]], %[[PRODUCT]]
// CHECK-NOT: metate.store
// CHECK: }
// CHECK: metate.store %[[SUM]], %{{.*}}["b"] [%[[I]]] active
metate.kernel @accumulated(%t: !two) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  metate.range (%i) = (%zero) to (%c64) {
    scf.for %j = %zero to %c64 step %one {
      %a = metate.load %t["a"] [%i] : <#metate.dense<"i", [64], [#metate.place<"a" : f32>, #metate.place<"b" : f32>]>> -> f32
      %other = metate.load %t["a"] [%j] : <#metate.dense<"i", [64], [#metate.place<"a" : f32>, #metate.place<"b" : f32>]>> -> f32
      %product = arith.mulf %a, %other : f32
      %b = metate.load %t["b"] [%i] : <#metate.dense<"i", [64], [#metate.place<"a" : f32>, #metate.place<"b" : f32>]>> -> f32
      %sum = arith.addf %b, %product : f32
      metate.store %sum, %t["b"] [%i] active : f32, <#metate.dense<"i", [64], [#metate.place<"a" : f32>, #metate.place<"b" : f32>]>>
    }
    metate.yield
  }
  metate.return
}

// A loop that may have no turn touches nothing; the array's own extent says that %i is inside of it.
// CHECK-LABEL: metate.kernel @guarded
// CHECK: metate.range (%[[I:.*]]) =
// CHECK-NEXT: memref.load %{{.*}}[%[[I]]]
// CHECK: %[[RUNS:.*]] = arith.cmpi slt
// CHECK: scf.if %[[RUNS]] -> (f32) {
// CHECK-NEXT: memref.load %{{.*}}[%{{.*}}]
// CHECK: scf.for
// CHECK: scf.if
// CHECK-NEXT: memref.store
metate.kernel @guarded(%x: memref<?xf32>, %y: memref<?xf32>, %n: index, %at: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %extent = memref.dim %x, %zero : memref<?xf32>
  metate.range (%i) = (%zero) to (%extent) {
    scf.for %j = %zero to %n step %one {
      %own = memref.load %x[%i] : memref<?xf32>
      %twice = arith.addf %own, %own : f32
      memref.store %twice, %y[%j] : memref<?xf32>

    }
    metate.yield
  }
  scf.for %j = %zero to %n step %one {
    %old = memref.load %x[%at] : memref<?xf32>
    %next = arith.addf %old, %old : f32
    memref.store %next, %x[%at] : memref<?xf32>
  }
  metate.return
}

// The place of a place: x[k[i]].
// CHECK-LABEL: metate.kernel @indirect
// CHECK: %[[AT:.*]] = memref.load %{{.*}}[%{{.*}}] : memref<?xi32>
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[AT]]
// CHECK: %[[V:.*]] = memref.load %{{.*}}[%[[INDEX]]] : memref<?xf32>
// CHECK: scf.for
// CHECK: memref.store %[[V]]
metate.kernel @indirect(%x: memref<?xf32>, %k: memref<?xi32>, %y: memref<?xf32>, %i: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %j = %zero to %c64 step %one {
    %at = memref.load %k[%i] : memref<?xi32>
    %index = arith.index_cast %at : i32 to index
    %v = memref.load %x[%index] : memref<?xf32>
    memref.store %v, %y[%j] : memref<?xf32>
  }
  metate.return
}

// A neighbour is another place.
// CHECK-LABEL: metate.kernel @neighbour
// CHECK: memref.load
// CHECK: scf.for
// CHECK-NOT: memref.load
// CHECK: metate.return
metate.kernel @neighbour(%x: memref<?xf32>, %i: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %next = arith.addi %i, %one : index
  scf.for %j = %zero to %c64 step %one {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %x[%next] : memref<?xf32>
  }
  metate.return
}

// CHECK-LABEL: metate.kernel @stay
metate.kernel @stay(%x: memref<?xf32>, %f: memref<?xi32>, %i: index, %c: i1) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  // %j may be %i.
  // CHECK: scf.for
  // CHECK: memref.load
  scf.for %j = %zero to %c64 step %one {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %x[%j] : memref<?xf32>
  }
  // Under a condition: it may not be there.
  // CHECK: scf.for
  // CHECK: memref.load
  scf.for %j = %zero to %c64 step %one {
    scf.if %c {
      %v = memref.load %x[%i] : memref<?xf32>
      memref.store %v, %x[%i] : memref<?xf32>
    }
  }
  // All iterations set one flag, if at all: a store of what it was may undo another one's.
  // CHECK: metate.range
  // CHECK: scf.for
  // CHECK: memref.store
  metate.range (%k) = (%zero) to (%c64) {
    scf.for %j = %zero to %c64 step %one {
      %old = memref.load %f[%zero] : memref<?xi32>
      scf.if %c {
        memref.store %old, %f[%zero] : memref<?xi32>
      }
    }
    metate.yield
  }
  // A check that fails leaves what was stored before it.
  // CHECK: scf.for
  // CHECK: memref.store
  scf.for %j = %zero to %c64 step %one {
    %old = memref.load %x[%i] : memref<?xf32>
    %new = arith.addf %old, %old : f32
    memref.store %new, %x[%i] : memref<?xf32>
    // CHECK-NEXT: metate.assert
    metate.assert %c, "wrong"
  }
  metate.return
}

// Another argument may be the same array.
// CHECK-LABEL: metate.kernel @overlapping
// CHECK: scf.for
// CHECK: memref.load
// CHECK: metate.return
metate.kernel @overlapping(%x: memref<?xf32>, %y: memref<?xf32>, %i: index) attributes {may_alias} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %j = %zero to %c64 step %one {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %y[%j] : memref<?xf32>
  }
  metate.return
}

// Some turns store it, none reads it: it is stored after the loop, if one did.
// CHECK-LABEL: metate.kernel @sometimes
// CHECK: %[[LAST:.*]]:2 = scf.for %[[J:.*]] = {{.*}} -> ({{.*}}) {
// CHECK-NOT: memref.store
// CHECK: scf.if %[[LAST]]#{{.*}} {
// CHECK-NEXT: memref.store %[[LAST]]#{{.*}}, %{{.*}}[%{{.*}}] : memref<?xi32>
metate.kernel @sometimes(%x: memref<?xi32>, %best: memref<?xi32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = memref.dim %best, %zero : memref<?xi32>
  metate.range (%i) = (%zero) to (%n) {
    scf.for %j = %zero to %n step %one {
      %v = memref.load %x[%j] : memref<?xi32>
      %number = arith.index_cast %j : index to i32
      %less = arith.cmpi slt, %v, %number : i32
      scf.if %less {
        memref.store %v, %best[%i] : memref<?xi32>
      }
    }
    metate.yield
  }
  metate.return
}

// Only some turns read and store it: a place that is there whatever the loop does, and that nobody else sees.
// CHECK-LABEL: metate.kernel @counted
// CHECK: %[[OLD:.*]] = memref.load %[[C:.*]][]
// CHECK: %[[ALL:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[OLD]]) -> (f32) {
// CHECK-NOT: memref.store
// CHECK: }
// CHECK: memref.store %[[ALL]], %[[C]][]
metate.kernel @counted(%x: memref<?xf32>, %total: memref<f32>, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %limit = arith.constant 0.5 : f32
  scf.for %j = %zero to %n step %one {
    %v = memref.load %x[%j] : memref<?xf32>
    %isLess = arith.cmpf olt, %v, %limit : f32
    scf.if %isLess {
      %old = memref.load %total[] : memref<f32>
      %next = arith.addf %old, %v : f32
      memref.store %next, %total[] : memref<f32>
    }
  }
  metate.return
}

// Which element it is nobody knows before a turn asks for it.
// CHECK-LABEL: metate.kernel @counted_somewhere
// CHECK: scf.for
// CHECK: memref.store
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: metate.return
metate.kernel @counted_somewhere(%x: memref<?xf32>, %total: memref<?xf32>, %n: index, %at: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %limit = arith.constant 0.5 : f32
  scf.for %j = %zero to %n step %one {
    %v = memref.load %x[%j] : memref<?xf32>
    %isLess = arith.cmpf olt, %v, %limit : f32
    scf.if %isLess {
      %old = memref.load %total[%at] : memref<?xf32>
      %next = arith.addf %old, %v : f32
      memref.store %next, %total[%at] : memref<?xf32>
    }
  }
  metate.return
}

// What it has just got is what the variable begins with, and is stored once; nothing else may have been at the place since.
// CHECK-LABEL: metate.kernel @begun
// CHECK-NOT: memref.load %[[OUT:arg1]]
// CHECK: metate.range (%[[I:.*]]) =
// CHECK-NOT: memref.store
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %{{cst.*}}) -> (f32) {
// CHECK: }
// CHECK-NEXT: memref.store %[[SUM]]
// CHECK: metate.range (%[[J:.*]]) =
// CHECK-NEXT: memref.store %{{.*}}, %{{.*}}[%[[J]]]
// CHECK-NEXT: %[[SEEN:.*]] = memref.load
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{[0-9]+}}) -> (f32) {
metate.kernel @begun(%x: memref<?xf32>, %out: memref<?xf32>, %seen: memref<?xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  %nothing = arith.constant 0.0 : f32
  %n = memref.dim %out, %zero : memref<?xf32>
  metate.range (%i) = (%zero) to (%n) {
    memref.store %nothing, %out[%i] : memref<?xf32>
    scf.for %j = %zero to %c24 step %one {
      %v = memref.load %x[%j] : memref<?xf32>
      %old = memref.load %out[%i] : memref<?xf32>
      %next = arith.addf %old, %v : f32
      memref.store %next, %out[%i] : memref<?xf32>
    }
    metate.yield
  }
  metate.range (%i) = (%zero) to (%n) {
    memref.store %nothing, %out[%i] : memref<?xf32>
    %other = memref.load %out[%zero] : memref<?xf32>
    memref.store %other, %seen[%i] : memref<?xf32>
    scf.for %j = %zero to %c24 step %one {
      %v = memref.load %x[%j] : memref<?xf32>
      %old = memref.load %out[%i] : memref<?xf32>
      %next = arith.addf %old, %v : f32
      memref.store %next, %out[%i] : memref<?xf32>
    }
    metate.yield
  }
  metate.return
}

// x[j] of a loop from i + 1 on, or up to i, is never x[i]; from i on it may be.
// CHECK-LABEL: metate.kernel @triangles
// CHECK: scf.for %{{.*}} iter_args(
// CHECK-COUNT-1: memref.load
// CHECK: scf.yield
// CHECK: memref.store
// CHECK: scf.for %{{.*}} iter_args(
// CHECK-COUNT-1: memref.load
// CHECK: scf.yield
// CHECK: memref.store
// CHECK: scf.for
// CHECK-NOT: iter_args
// CHECK-COUNT-2: memref.load
// CHECK: memref.store
// CHECK: metate.return
metate.kernel @triangles(%x: memref<64xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %zero to %c64 step %one {
    %next = arith.addi %i, %one : index
    scf.for %j = %next to %c64 step %one {
      %old = memref.load %x[%i] : memref<64xf32>
      %other = memref.load %x[%j] : memref<64xf32>
      %new = arith.subf %old, %other : f32
      memref.store %new, %x[%i] : memref<64xf32>
    }
    scf.for %j = %zero to %i step %one {
      %old = memref.load %x[%i] : memref<64xf32>
      %other = memref.load %x[%j] : memref<64xf32>
      %new = arith.subf %old, %other : f32
      memref.store %new, %x[%i] : memref<64xf32>
    }
    scf.for %j = %i to %c64 step %one {
      %old = memref.load %x[%i] : memref<64xf32>
      %other = memref.load %x[%j] : memref<64xf32>
      %new = arith.subf %old, %other : f32
      memref.store %new, %x[%i] : memref<64xf32>
    }
  }
  metate.return
}

// An iteration's own place that it adds to twice, under conditions: a value until the iteration ends.
// CHECK-LABEL: metate.kernel @under_conditions
// CHECK: metate.range (%[[I:.*]]) =
// CHECK: %[[OLD:.*]] = metate.load %{{.*}}["b"] [%[[I]]]
// CHECK-NOT: metate.{{load|store}} %{{.*}}["b"]
// CHECK: %[[ONE:.*]] = scf.if
// CHECK: %[[TWO:.*]] = scf.if
// CHECK-NOT: metate.load %{{.*}}["b"]
// CHECK: metate.store %[[TWO]], %{{.*}}["b"] [%[[I]]] active
// CHECK-NOT: metate.store
metate.kernel @under_conditions(%t: !two, %f: f32) {
  %zero = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  metate.range (%i) = (%zero) to (%c64) {
    %a = metate.load %t["a"] [%i] : !two -> f32
    %less = arith.cmpf olt, %a, %f : f32
    %more = arith.cmpf ogt, %a, %f : f32
    scf.if %less {
      %b = metate.load %t["b"] [%i] : !two -> f32
      %c = arith.addf %b, %a : f32
      metate.store %c, %t["b"] [%i] active : f32, !two
    }
    scf.if %more {
      %b = metate.load %t["b"] [%i] : !two -> f32
      %c = arith.addf %b, %f : f32
      metate.store %c, %t["b"] [%i] active : f32, !two
    }
    metate.yield
  }
  metate.return
}
