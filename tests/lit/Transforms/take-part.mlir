// RUN: metate-opt %s "--pass-pipeline=builtin.module(metate.kernel(metate-take-part{number=0}))" | FileCheck %s --check-prefix=FIRST
// RUN: metate-opt %s "--pass-pipeline=builtin.module(metate.kernel(metate-take-part{number=1}))" | FileCheck %s --check-prefix=SECOND
// RUN: not metate-opt %s "--pass-pipeline=builtin.module(metate.kernel(metate-take-part{number=2}))" 2>&1 | FileCheck %s --check-prefix=NONE

// What nothing changes is read anew by each part. What is read of a place that changes stays with what uses it, and what is computed of it goes with it.
// FIRST-LABEL: metate.kernel @two
// FIRST-SAME: %[[X:[a-z0-9]+]]: memref<?xf32>, %[[Y:[a-z0-9]+]]: memref<?xf32>, %[[C:[a-z0-9]+]]: memref<f32>
// FIRST: %[[FACTOR:.*]] = memref.load %[[C]][]
// FIRST: metate.range
// FIRST:   arith.mulf %{{.*}}, %[[FACTOR]]
// FIRST-NOT: metate.range
// FIRST-NOT: memref.load %[[X]]
// FIRST: metate.return
// SECOND-LABEL: metate.kernel @two
// SECOND-SAME: %[[X:[a-z0-9]+]]: memref<?xf32>
// SECOND-NOT: metate.range
// SECOND: %[[ONE:.*]] = memref.load %[[X]][%c0]
// SECOND: %[[TWICE:.*]] = arith.addf %[[ONE]], %[[ONE]]
// SECOND: metate.range
// SECOND:   arith.mulf %{{.*}}, %[[TWICE]]
// SECOND: metate.return
// NONE: error: there is no part 2 of 2
metate.kernel @two(%x: memref<?xf32>, %y: memref<?xf32>, %c: memref<f32>, %n: index) {
  %c0 = arith.constant 0 : index
  %factor = memref.load %c[] : memref<f32>
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.mulf %a, %factor : f32
    memref.store %b, %x[%i] : memref<?xf32>
    metate.yield
  }
  %one = memref.load %x[%c0] : memref<?xf32>
  %twice = arith.addf %one, %one : f32
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.mulf %a, %twice : f32
    memref.store %b, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}
