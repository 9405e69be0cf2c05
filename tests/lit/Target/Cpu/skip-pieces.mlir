// RUN: metate-opt %s --pass-pipeline='builtin.module(metate.kernel(metate-skip-pieces))' | FileCheck %s
// RUN: metate-opt %s --pass-pipeline='builtin.module(metate.kernel(metate-skip-pieces),metate-outline-tasks,metate-map-tasks-cpu{chunk-ns=20000})' | FileCheck %s --check-prefix=MAP

// The least value, then where it is.
// CHECK-LABEL: metate.kernel @least(
// CHECK: metate.range {{.*}} attributes {metate.keeps_pieces = 0 : i64}
// CHECK: minnumf
// CHECK: metate.range {{.*}} attributes {metate.skips_pieces = 0 : i64}
// CHECK: arith.cmpf oeq, {{.*}} {metate.with_extreme = array<i64: 0, 0>}
// MAP-LABEL: llvm.func internal @least_task0(
// MAP: llvm.store %{{.*}}, %{{.*}} : f32, !llvm.ptr
// MAP-LABEL: llvm.func internal @least_task1(
// MAP: scf.for %[[PIECE:.*]] =
// MAP: %[[KEPT:.*]] = llvm.load %{{.*}} : !llvm.ptr -> f32
// MAP: %[[LOW:.*]] = metate.read %{{.*}} scope 1 : f32
// MAP: %[[HELD:.*]] = arith.cmpf oeq, %[[KEPT]], %[[LOW]] : f32
// MAP: scf.if %[[HELD]] {
// MAP: scf.for
metate.kernel @least(%x: !metate.block, %low: !metate.block, %at: !metate.block, %n: index) {
  %zero = arith.constant 0 : index
  %four = arith.constant 4 : index
  metate.range (%i) = (%zero) to (%n) {
    %o = arith.muli %i, %four : index
    %v = metate.read %x[%o] scope 0 : f32
    %old = metate.rmw minnumf %v, %low[%zero] scope 1 {metate.reduction} : f32
    metate.yield
  }
  metate.range (%i) = (%zero) to (%n) {
    %o = arith.muli %i, %four : index
    %v = metate.read %x[%o] scope 0 : f32
    %l = metate.read %low[%zero] scope 1 : f32
    %c = arith.cmpf oeq, %v, %l : f32
    scf.if %c {
      %k = arith.index_cast %i : index to i32
      %old = metate.rmw mins %k, %at[%zero] scope 2 {metate.reduction} : i32
    }
    metate.yield
  }
  metate.return
}

// The second of two extremes, asked for on the left of the comparison and beside another condition.
// CHECK-LABEL: metate.kernel @second(
// CHECK: arith.cmpi sle, {{.*}} {metate.with_extreme = array<i64: 1, 1>}
metate.kernel @second(%x: !metate.block, %low: !metate.block, %at: !metate.block, %n: index, %also: i1) {
  %zero = arith.constant 0 : index
  %four = arith.constant 4 : index
  metate.range (%i) = (%zero) to (%n) {
    %v = metate.read %x[%i] scope 0 : i32
    %old = metate.rmw mins %v, %low[%zero] scope 1 {metate.reduction} : i32
    %older = metate.rmw maxs %v, %low[%four] scope 1 {metate.reduction} : i32
    metate.yield
  }
  metate.range (%i) = (%zero) to (%n) {
    %v = metate.read %x[%i] scope 0 : i32
    %l = metate.read %low[%four] scope 1 : i32
    %c = arith.cmpi sle, %l, %v : i32
    %both = arith.andi %also, %c : i1
    scf.if %both {
      metate.write %v, %at[%zero] scope 2 : i32
    }
    metate.yield
  }
  metate.return
}

// Not: values below the least one, another loop's bounds, values written in between, a least value that is set again.
// CHECK-LABEL: metate.kernel @others(
// CHECK-NOT: metate.skips_pieces
metate.kernel @others(%x: !metate.block, %low: !metate.block, %at: !metate.block, %n: index, %m: index, %w: i32) {
  %zero = arith.constant 0 : index
  metate.range (%i) = (%zero) to (%n) {
    %v = metate.read %x[%i] scope 0 : i32
    %old = metate.rmw mins %v, %low[%zero] scope 1 {metate.reduction} : i32
    metate.yield
  }
  metate.range (%i) = (%zero) to (%n) {
    %v = metate.read %x[%i] scope 0 : i32
    %l = metate.read %low[%zero] scope 1 : i32
    %c = arith.cmpi sge, %v, %l : i32
    scf.if %c {
      metate.write %v, %at[%zero] scope 2 : i32
    }
    metate.yield
  }
  metate.range (%i) = (%zero) to (%m) {
    %v = metate.read %x[%i] scope 0 : i32
    %l = metate.read %low[%zero] scope 1 : i32
    %c = arith.cmpi eq, %v, %l : i32
    scf.if %c {
      metate.write %v, %x[%zero] scope 0 : i32
    }
    metate.yield
  }
  metate.range (%i) = (%zero) to (%n) {
    %v = metate.read %x[%i] scope 0 : i32
    %l = metate.read %low[%zero] scope 1 : i32
    %c = arith.cmpi eq, %v, %l : i32
    scf.if %c {
      metate.write %w, %low[%zero] scope 1 : i32
    }
    metate.yield
  }
  metate.range (%i) = (%zero) to (%n) {
    %v = metate.read %x[%i] scope 0 : i32
    %l = metate.read %low[%zero] scope 1 : i32
    %c = arith.cmpi eq, %v, %l : i32
    scf.if %c {
      metate.write %v, %at[%zero] scope 2 : i32
    }
    metate.yield
  }
  metate.return
}
