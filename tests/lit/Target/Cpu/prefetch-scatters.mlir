// RUN: metate-opt %s --metate-prefetch-scatters --split-input-file | FileCheck %s

// A counter says where: the line after that is asked for where the loop has many turns; the same loop without it where it has few.
// CHECK-LABEL: metate.kernel @by_counters
// CHECK: %[[TURNS:.*]] = arith.subi %arg4, %{{.*}}
// CHECK: %[[LONG:.*]] = arith.cmpi sge, %[[TURNS]], %c262144
// CHECK: scf.if %[[LONG]]
// CHECK: scf.for
// CHECK: %[[NEXT:.*]] = arith.addi %[[PLACE:.*]], %c64
// CHECK: llvm.getelementptr
// CHECK: "llvm.intr.prefetch"
// CHECK-NEXT: metate.write %{{.*}}, %arg1[%[[PLACE]]]
// CHECK: else
// CHECK: scf.for
// CHECK-NOT: prefetch
// CHECK: metate.return
metate.kernel @by_counters(%keys: !metate.block, %out: !metate.block, %counts: !metate.block, %begin: index, %end: index) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1 : i32
  scf.for %i = %begin to %end step %c1 {
    %o = arith.muli %i, %c4 : index
    %key = metate.read %keys[%o] scope 0 : i32
    %d = arith.index_cast %key : i32 to index
    %p = arith.muli %d, %c4 : index
    %at = metate.read %counts[%p] scope 2 : i32
    %more = arith.addi %at, %one : i32
    metate.write %more, %counts[%p] scope 2 : i32
    %to = arith.index_cast %at : i32 to index
    %q = arith.muli %to, %c4 : index
    metate.write %key, %out[%q] scope 1 : i32
  }
  metate.return
}

// -----

// An atomic counter of a parallel loop.
// CHECK-LABEL: metate.kernel @by_atomics
// CHECK: %[[LONG:.*]] = arith.cmpi sge, %{{.*}}, %c131072
// CHECK: metate.range
// CHECK: scf.if %[[LONG]]
// CHECK: "llvm.intr.prefetch"
// CHECK: metate.write %{{.*}}, %arg0
metate.kernel @by_atomics(%out: !metate.block, %counts: !metate.block, %n: index, %x: f64) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1 : i32
  metate.range (%i) = (%c0) to (%n) {
    %at = metate.rmw addi %one, %counts[%i] scope 1 : i32
    %to = arith.index_cast %at : i32 to index
    %q = arith.muli %to, %c8 : index
    metate.write %x, %out[%q] scope 0 : f64
    metate.yield
  }
  metate.return
}

// -----

// Few turns; a place that is read and not counted up; a step of more than a line.
// CHECK-LABEL: metate.kernel @not
// CHECK-NOT: prefetch
// CHECK: metate.return
metate.kernel @not(%out: !metate.block, %counts: !metate.block, %n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c1000 = arith.constant 1000 : index
  %one = arith.constant 1 : i32
  %many = arith.constant 64 : i32
  scf.for %i = %c0 to %c1000 step %c1 {
    %at = metate.read %counts[%i] scope 1 : i32
    %more = arith.addi %at, %one : i32
    metate.write %more, %counts[%i] scope 1 : i32
    %to = arith.index_cast %at : i32 to index
    metate.write %x, %out[%to] scope 0 : f32
  }
  scf.for %i = %c0 to %n step %c1 {
    %at = metate.read %counts[%i] scope 1 : i32
    %to = arith.index_cast %at : i32 to index
    metate.write %x, %out[%to] scope 0 : f32
  }
  scf.for %i = %c0 to %n step %c1 {
    %at = metate.read %counts[%i] scope 1 : i32
    %more = arith.addi %at, %many : i32
    metate.write %more, %counts[%i] scope 1 : i32
    %to = arith.index_cast %at : i32 to index
    metate.write %x, %out[%to] scope 0 : f32
  }
  metate.return
}

// -----

// Parts of a loop: all of them write so much together.
// CHECK-LABEL: metate.kernel @parts
// CHECK: metate.range
// CHECK-NOT: arith.cmpi
// CHECK: scf.for
// CHECK: "llvm.intr.prefetch"
// CHECK: metate.return
metate.kernel @parts(%out: !metate.block, %counts: !metate.block, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c4096 = arith.constant 4096 : index
  %turns = arith.constant 65536 : index
  %one = arith.constant 1 : i32
  metate.range (%part) = (%c0) to (%c16) {
    %row = arith.muli %part, %c4096 : index
    scf.for %i = %c0 to %turns step %c1 {
      %p = arith.addi %row, %i : index
      %at = metate.read %counts[%p] scope 1 : i32
      %more = arith.addi %at, %one : i32
      metate.write %more, %counts[%p] scope 1 : i32
      %to = arith.index_cast %at : i32 to index
      metate.write %x, %out[%to] scope 0 : f32
    }
    metate.yield
  }
  metate.return
}
