// RUN: metate-opt %s "--pass-pipeline=builtin.module(metate.kernel(metate-gather-sums,canonicalize,cse))" | FileCheck %s

// Each iteration adds to both neighbours: each place takes from both, if they are iterations of the loop. A loop without iterations has no places.
// CHECK-LABEL: metate.kernel @neighbours
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>, %[[N:[a-z0-9]+]]: index
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[EMPTY:.*]] = arith.cmpi sle, %[[N]], %c1
// CHECK-DAG: %[[END:.*]] = arith.addi %[[N]], %c1
// CHECK: %[[UPPER:.*]] = arith.select %[[EMPTY]], %c0, %[[END]]
// CHECK: metate.range (%[[J:.*]]) = (%c0) to (%[[UPPER]]) {
// CHECK:   %[[OLD:.*]] = memref.load %[[Y]][%[[J]]]
// CHECK:   %[[RIGHT:.*]] = arith.addi %[[J]], %c1
// CHECK:   arith.cmpi slt, %[[J]], %{{.*}}
// CHECK:   scf.if %{{.*}} -> (f32) {
// CHECK:     memref.load %[[X]][%[[RIGHT]]]
// CHECK:     arith.addf
// CHECK:   %[[LEFT:.*]] = arith.addi %[[J]], %c-1
// CHECK:   arith.cmpi sge, %[[J]], %[[C2]]
// CHECK:   %[[SUM:.*]] = scf.if %{{.*}} -> (f32) {
// CHECK:     memref.load %[[X]][%[[LEFT]]]
// CHECK:   memref.store %[[SUM]], %[[Y]][%[[J]]]
// CHECK-NOT: metate.range
metate.kernel @neighbours(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  metate.range (%i) = (%c1) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %left = arith.subi %i, %c1 : index
    %right = arith.addi %i, %c1 : index
    %0 = memref.atomic_rmw addf %a, %y[%left] : (f32, memref<?xf32>) -> f32
    %1 = memref.atomic_rmw addf %a, %y[%right] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// What the loop writes itself, behind its reads, it writes afterwards.
// CHECK-LABEL: metate.kernel @cleared
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>
// CHECK: metate.range
// CHECK:   memref.store %{{.*}}, %[[Y]]
// CHECK: metate.range
// CHECK-NOT: memref.atomic_rmw
// CHECK:   memref.store %{{.*}}, %[[X]]
metate.kernel @cleared(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  metate.range (%i) = (%c1) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    memref.store %zero, %x[%i] : memref<?xf32>
    %left = arith.subi %i, %c1 : index
    %0 = memref.atomic_rmw addf %a, %y[%left] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// What an iteration adds to its own place stays where it is, behind the loop that takes from neighbours.
// CHECK-LABEL: metate.kernel @ownToo
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>, %[[Z:[a-z0-9]+]]: memref<?xf32>
// CHECK: metate.range
// CHECK:   memref.store %{{.*}}, %[[Y]]
// CHECK: metate.range (%[[I:.*]]) =
// CHECK:   %[[OLD:.*]] = memref.load %[[Z]][%[[I]]]
// CHECK:   %[[NEW:.*]] = arith.addf %[[OLD]]
// CHECK:   memref.store %[[NEW]], %[[Z]][%[[I]]]
// CHECK-NOT: metate.range
metate.kernel @ownToo(%x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  metate.range (%i) = (%c1) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %left = arith.subi %i, %c1 : index
    %0 = memref.atomic_rmw addf %a, %y[%left] : (f32, memref<?xf32>) -> f32
    %1 = memref.atomic_rmw addf %a, %z[%i] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// Of two sums that stay, one iteration's place may be another one's of the other: both stay atomic.
// CHECK-LABEL: metate.kernel @bothStay
// CHECK: metate.range
// CHECK: metate.range
// CHECK:   memref.atomic_rmw addf
// CHECK:   memref.atomic_rmw addf
metate.kernel @bothStay(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %z: memref<?x?xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  metate.range (%i, %j) = (%c1, %c1) to (%n, %n) {
    %a = memref.load %x[%i, %j] : memref<?x?xf32>
    %left = arith.subi %i, %c1 : index
    %0 = memref.atomic_rmw addf %a, %y[%left, %j] : (f32, memref<?x?xf32>) -> f32
    %1 = memref.atomic_rmw addf %a, %z[%i, %j] : (f32, memref<?x?xf32>) -> f32
    %2 = memref.atomic_rmw addf %a, %z[%j, %i] : (f32, memref<?x?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// Not where the sum is read in the loop, where it is added at a place that memory says, nor where what is added was written before.
// CHECK-LABEL: metate.kernel @declined
// CHECK-COUNT-3: memref.atomic_rmw
metate.kernel @declined(%x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>, %at: memref<?xindex>, %n: index) {
  %c1 = arith.constant 1 : index
  metate.range (%i) = (%c1) to (%n) {
    %a = memref.load %y[%i] : memref<?xf32>
    %left = arith.subi %i, %c1 : index
    %0 = memref.atomic_rmw addf %a, %y[%left] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.range (%i) = (%c1) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %k = memref.load %at[%i] : memref<?xindex>
    %0 = memref.atomic_rmw addf %a, %y[%k] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.range (%i) = (%c1) to (%n) {
    %b = memref.load %x[%i] : memref<?xf32>
    memref.store %b, %z[%i] : memref<?xf32>
    %a = memref.load %z[%i] : memref<?xf32>
    %left = arith.subi %i, %c1 : index
    %0 = memref.atomic_rmw addf %a, %y[%left] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}
