// RUN: metate-opt %s --metate-record-interfaces --metate-lower-layout --metate-plan-pools --split-input-file --verify-diagnostics | FileCheck %s

// One name is one pool, of the largest size; factors are numbers of the entry's slots: the vector takes three.
// CHECK-LABEL: metate.kernel @metate_entry_plan
// CHECK: metate.pool "all" launch bytes 96 align 64 scale 4 by({{.*}}) index 0
// CHECK: metate.pool "all" launch bytes 96 align 64 scale 4 by({{.*}}) index 0
// CHECK: metate.pool "tile" worker bytes 64 align 16 index 1
// CHECK: metate.interface @plan
// CHECK-SAME: pools [#metate.pool<"all", launch bytes 96 align 64 scale 4 factors[3]>, #metate.pool<"tile", worker bytes 64 align 16>]
metate.kernel @plan(%v: vector<3xf32>, %n: i64) {
  %c0 = arith.constant 0 : index
  %end = arith.index_cast %n : i64 to index
  metate.range (%i) = (%c0) to (%end) {
    %p = metate.pool "all" launch bytes 32 align 64 scale 4 by (%n : i64)
    metate.yield
  }
  metate.range (%i) = (%c0) to (%end) {
    %p = metate.pool "all" launch bytes 96 align 8 scale 4 by (%n : i64)
    %t = metate.pool "tile" worker bytes 64 align 16
    metate.yield
  }
  metate.return
}

// A kernel without pools has no list.
// CHECK-LABEL: metate.interface @none
// CHECK-NOT: pools
metate.kernel @none() {
  metate.return
}

// -----

metate.kernel @twice(%n: i64) {
  // expected-note @below {{the first one is here}}
  %p = metate.pool "x" launch bytes 8 align 8
  // expected-error @below {{pool 'x' is planned twice: expected the same kind, scale and factors}}
  %q = metate.pool "x" launch bytes 8 align 8 scale 4 by (%n : i64)
  metate.return
}
