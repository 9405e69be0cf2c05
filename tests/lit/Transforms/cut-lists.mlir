// RUN: metate-opt --metate-cut-lists %s | FileCheck %s

!t = !metate.tree<#metate.dense<"i", [8], [#metate.dynamic<"j", [64], [#metate.place<"v" : i32>], chunk = 16, name = "list">]>>

// Chunks of 16, the last one as far as the list goes. What the loop carries goes through both.
// CHECK-LABEL: metate.kernel @sum
// CHECK: %[[N:.*]] = arith.index_cast
// CHECK: %[[ROUNDED:.*]] = arith.addi %[[N]], %{{.*}} : index
// CHECK: %[[CHUNKS:.*]] = arith.divui %[[ROUNDED]]
// CHECK: %[[ALL:.*]] = scf.for %[[C:.*]] = %{{.*}} to %[[CHUNKS]] {{.*}} iter_args(%[[S:.*]] =
// CHECK: %[[FIRST:.*]] = arith.muli %[[C]]
// CHECK: %[[LEFT:.*]] = arith.subi %[[N]], %[[FIRST]]
// CHECK: %[[CELLS:.*]] = arith.minui %[[LEFT]]
// CHECK: scf.for %[[W:.*]] = %{{.*}} to %[[CELLS]] {{.*}} iter_args(%{{.*}} = %[[S]])
// CHECK: %[[K:.*]] = arith.addi %[[FIRST]], %[[W]]
// CHECK: metate.load %arg0["v"] [%{{.*}}, %[[K]]] {metate.of_chunk}
// CHECK: memref.store %[[ALL]]
metate.kernel @sum(%x: !t, %out: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0 : i32
  metate.range (%i) = (%c0) to (%c8) {
    %n = metate.length %x["list"][%i] : !t
    %end = arith.index_cast %n : i32 to index
    %sum = scf.for %k = %c0 to %end step %c1 iter_args(%s = %zero) -> (i32) {
      %v = metate.load %x["v"][%i, %k] : !t -> i32
      %t = arith.addi %s, %v : i32
      scf.yield %t : i32
    }
    memref.store %sum, %out[%i] : memref<?xi32>
    metate.yield
  }
  metate.return
}

// Of another list, beside the variable, of a length known before, in a task that empties lists: nothing is known.
// CHECK-LABEL: metate.kernel @others
// CHECK-NOT: metate.of_chunk
metate.kernel @others(%x: !t, %out: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  metate.range (%i) = (%c0) to (%c8) {
    %n = metate.length %x["list"][%i] : !t
    %end = arith.index_cast %n : i32 to index
    %next = arith.addi %i, %c1 : index
    scf.for %k = %c0 to %end step %c1 {
      %v = metate.load %x["v"][%next, %k] : !t -> i32
      %beside = arith.addi %k, %c1 : index
      %w = metate.load %x["v"][%i, %beside] : !t -> i32
      %t = arith.addi %w, %v : i32
      memref.store %t, %out[%k] : memref<?xi32>
    }
    scf.for %k = %c1 to %end step %c1 {
      %v = metate.load %x["v"][%i, %k] : !t -> i32
      memref.store %v, %out[%k] : memref<?xi32>
    }
    metate.yield
  }
  metate.range (%i) = (%c0) to (%c8) {
    %n = metate.length %x["list"][%i] : !t
    %end = arith.index_cast %n : i32 to index
    scf.for %k = %c0 to %end step %c1 {
      %v = metate.load %x["v"][%i, %k] : !t -> i32
      memref.store %v, %out[%k] : memref<?xi32>
    }
    %next = arith.addi %i, %c1 : index
    metate.deactivate %x["list"][%next] : !t
    metate.yield
  }
  metate.return
}
