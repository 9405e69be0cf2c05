// RUN: metate-opt %s --metate-count-places="most-bytes=10000000 least=1000" --canonicalize | FileCheck %s

!lists = !metate.tree<#metate.dense<"i", [100], [#metate.dynamic<"j", [512], [#metate.place<"v" : i32>], chunk = 16, name = "list">]>>
!keys = !metate.tree<#metate.dense<"i", [50000], [#metate.place<"k" : i32>]>>
!counts = !metate.tree<#metate.dense<"ij", [10, 20], [#metate.place<"n" : i32>]>>

// 16 parts count by the same conditions; what is stored is not computed there. A list grows once for all parts, and as far as it goes; each part
// begins behind the one before. Then iterations take what is theirs, and -1 outside or behind the end.
// CHECK-LABEL: metate.kernel @appends
// CHECK: metate.range (%[[PART:.*]]) = {{.*}} to (%c16
// CHECK:   metate.pool "place_counts" launch bytes 8592 align 64
// CHECK:   scf.for
// CHECK:     metate.write %c0_i32
// CHECK:   scf.for %[[I:.*]] =
// CHECK:     %[[K:.*]] = metate.load %{{.*}}["k"] [%[[I]]]
// CHECK:     scf.if
// CHECK:       arith.cmpi ult, %{{.*}}, %c100
// CHECK:       scf.if
// CHECK:         %[[N:.*]] = metate.read
// CHECK:         arith.addi %[[N]], %c1_i32
// CHECK-NOT: metate.store
// CHECK: metate.range (%[[LIST:.*]]) = {{.*}} to (%c100
// CHECK:   %[[TOTAL:.*]] = scf.for
// CHECK:   %[[FIRST:.*]] = metate.length %{{.*}}["list"] [%[[LIST]]]
// CHECK:   %[[REACHED:.*]] = arith.minsi %{{.*}}, %c512
// CHECK:     %[[LAST:.*]] = arith.addi %[[REACHED]], %c-1
// CHECK:     metate.activate %{{.*}}["list"] [%[[LIST]], %[[LAST]]]
// CHECK:   arith.cmpi sgt, %{{.*}}, %c512
// CHECK:     metate.append
// CHECK:   %[[END:.*]] = metate.length
// CHECK:   metate.write %[[END]]
// CHECK:   scf.for {{.*}} iter_args(%[[PLACE:.*]] = %[[FIRST]])
// CHECK:     %[[OWN:.*]] = metate.read
// CHECK:     metate.write %[[PLACE]]
// CHECK:     arith.addi %[[PLACE]], %[[OWN]]
// CHECK: metate.range {{.*}} to (%c16
// CHECK-NOT: metate.append
// CHECK:   %[[AT:.*]] = metate.read
// CHECK:   %[[NEXT:.*]] = arith.addi %[[AT]], %c1_i32
// CHECK:   metate.write %[[NEXT]]
// CHECK:   %[[IN:.*]] = arith.cmpi ult, %[[AT]], %{{.*}} : i32
// CHECK:   arith.select %[[IN]], %[[AT]], %c-1_i32
// CHECK:   metate.store %{{.*}}["v"]
// CHECK-NOT: metate.append
// CHECK: metate.return
metate.kernel @appends(%p: !keys, %x: !lists) {
  %zero = arith.constant 0 : index
  %n = arith.constant 50000 : index
  %none = arith.constant 0 : i32
  metate.range (%i) = (%zero) to (%n) {
    %k = metate.load %p["k"] [%i] : !keys -> i32
    %c = arith.cmpi sgt, %k, %none : i32
    %value = arith.index_cast %i : index to i32
    scf.if %c {
      %at = arith.index_cast %k : i32 to index
      %place = metate.append %x["list"][%at] : !lists
      %isThere = arith.cmpi sge, %place, %none : i32
      scf.if %isThere {
        %j = arith.index_cast %place : i32 to index
        metate.store %value, %x["v"] [%at, %j] active : i32, !lists
      }
    }
    metate.yield
  }
  metate.return
}

// Counters: so many places as the old value goes on by; the loop's length is the launch's to know, so it stays for short ones.
// CHECK-LABEL: metate.kernel @counters
// CHECK: %[[ENOUGH:.*]] = arith.cmpi sge, %{{.*}}, %c1000
// CHECK: %[[PARTS:.*]] = arith.select %[[ENOUGH]], %{{.*}}, %c0
// CHECK: metate.range {{.*}} to (%[[PARTS]])
// CHECK:   %[[STEP:.*]] = memref.load %arg1
// CHECK:   %[[N:.*]] = metate.read
// CHECK:   arith.addi %[[N]], %[[STEP]]
// CHECK: %[[ROWS:.*]] = arith.select %[[ENOUGH]], %c10, %c0
// CHECK: metate.range (%[[X:.*]], %[[Y:.*]]) = {{.*}} to (%[[ROWS]], %c20
// CHECK:   %[[OLD:.*]] = metate.load %{{.*}}["n"] [%[[X]], %[[Y]]]
// CHECK:   %[[NEW:.*]] = arith.addi %[[OLD]]
// CHECK:   metate.store %[[NEW]], %{{.*}}["n"] [%[[X]], %[[Y]]]
// CHECK: metate.range {{.*}} to (%[[PARTS]])
// CHECK-NOT: metate.atomic
// CHECK:   memref.store
// CHECK: %[[LEFT:.*]] = arith.select %[[ENOUGH]], %c0, %{{.*}} : index
// CHECK: metate.range {{.*}} to (%[[LEFT]])
// CHECK:   metate.atomic addi
metate.kernel @counters(%keys: memref<?xi32>, %steps: memref<?xi32>, %g: !counts, %out: memref<?xi32>) {
  %zero = arith.constant 0 : index
  %n = memref.dim %keys, %zero : memref<?xi32>
  metate.range (%i) = (%zero) to (%n) {
    %k = memref.load %keys[%i] : memref<?xi32>
    %step = memref.load %steps[%i] : memref<?xi32>
    %at = arith.index_cast %k : i32 to index
    %place = metate.atomic addi %step, %g["n"] [%at, %at] active : i32, !counts
    %o = arith.index_cast %place : i32 to index
    memref.store %k, %out[%o] : memref<?xi32>
    metate.yield
  }
  metate.return
}

// An iteration's own list; a length that says whether there is an append; a list that the loop empties; keys that the loop writes; a place that says
// which list is next.
// CHECK-LABEL: metate.kernel @kept
// CHECK-NOT: metate.pool
metate.kernel @kept(%keys: memref<50000xi32>, %x: !lists, %y: !lists, %z: !lists, %own: !lists) {
  %zero = arith.constant 0 : index
  %n = arith.constant 50000 : index
  %hundred = arith.constant 100 : index
  %ten = arith.constant 10 : i32
  metate.range (%i) = (%zero) to (%hundred) {
    %p = metate.append %own["list"][%i] : !lists
    metate.yield
  }
  metate.range (%i) = (%zero) to (%n) {
    %k = memref.load %keys[%i] : memref<50000xi32>
    %at = arith.index_cast %k : i32 to index
    %length = metate.length %x["list"][%at] : !lists
    %isShort = arith.cmpi slt, %length, %ten : i32
    scf.if %isShort {
      %p = metate.append %x["list"][%at] : !lists
    }
    metate.yield
  }
  metate.range (%i) = (%zero) to (%n) {
    %k = memref.load %keys[%i] : memref<50000xi32>
    %at = arith.index_cast %k : i32 to index
    metate.deactivate %y["list"][%at] : !lists
    %p = metate.append %y["list"][%at] : !lists
    metate.yield
  }
  metate.range (%i) = (%zero) to (%n) {
    %k = memref.load %keys[%i] : memref<50000xi32>
    %at = arith.index_cast %k : i32 to index
    %p = metate.append %z["list"][%at] : !lists
    memref.store %p, %keys[%i] : memref<50000xi32>
    metate.yield
  }
  metate.range (%i) = (%zero) to (%n) {
    %k = memref.load %keys[%i] : memref<50000xi32>
    %at = arith.index_cast %k : i32 to index
    %p = metate.append %z["list"][%at] : !lists
    %next = arith.index_cast %p : i32 to index
    %q = metate.append %z["list"][%next] : !lists
    metate.yield
  }
  metate.return
}
