// RUN: metate-opt %s --metate-gather-appends=block=64 --canonicalize --cse | FileCheck %s

// What passes a test is stored behind the others', in any case, and counted by the test; one addition takes all places.
// CHECK-LABEL: metate.kernel @counter(
// CHECK: %[[SPAN:.*]] = arith.maxsi %{{.*}}, %{{.*}} : index
// CHECK: %[[UP:.*]] = arith.addi %[[SPAN]], %c63{{.*}} : index
// CHECK: %[[BLOCKS:.*]] = arith.divui %[[UP]], %c64{{.*}} : index
// CHECK: metate.range (%[[B:.*]]) = (%c0{{.*}}) to (%[[BLOCKS]]) {
// CHECK-DAG: %[[N:.*]] = memref.alloca() : memref<1xindex>
// CHECK-DAG: %[[KEPT:.*]] = memref.alloca() : memref<64xi32>
// CHECK: memref.store %c0{{.*}}, %[[N]]
// CHECK: scf.for
// CHECK: %[[X:.*]] = metate.read
// CHECK: %[[C:.*]] = arith.cmpi slt, %[[X]]
// CHECK-NOT: scf.if
// CHECK: %[[AT:.*]] = memref.load %[[N]]
// CHECK: memref.store %[[X]], %[[KEPT]][%[[AT]]]
// CHECK: %[[ONE:.*]] = arith.index_castui %[[C]] : i1 to index
// CHECK: %[[NEXT:.*]] = arith.addi %[[AT]], %[[ONE]]
// CHECK: memref.store %[[NEXT]], %[[N]]
// CHECK: %[[COUNT:.*]] = memref.load %[[N]]
// CHECK: scf.if
// CHECK: %[[FIRST:.*]] = metate.rmw addi %{{.*}}, %{{.*}}[%{{.*}}] scope 0 : i32
// CHECK: scf.for %[[K:.*]] = %c0{{.*}} to %[[COUNT]]
// CHECK: %[[OWN:.*]] = arith.index_cast %[[K]] : index to i32
// CHECK: arith.addi %[[FIRST]], %[[OWN]]
// CHECK: %[[V:.*]] = memref.load %[[KEPT]][%[[K]]]
// CHECK: metate.write %[[V]]
metate.kernel @counter(%count: !metate.block, %x: !metate.block, %out: !metate.block, %n: index) {
  %zero = arith.constant 0 : index
  %four = arith.constant 4 : index
  %one = arith.constant 1 : i32
  %half = arith.constant 500 : i32
  metate.range (%i) = (%zero) to (%n) {
    %o = arith.muli %i, %four : index
    %v = metate.read %x[%o] scope 1 : i32
    %c = arith.cmpi slt, %v, %half : i32
    scf.if %c {
      %again = metate.read %x[%o] scope 1 : i32
      %k = metate.rmw addi %one, %count[%zero] scope 0 : i32
      %at = arith.index_cast %k : i32 to index
      %p = arith.muli %at, %four : index
      metate.write %again, %out[%p] scope 2 : i32
    }
    metate.yield
  }
  metate.return
}

// A read that only some iterations do stays behind its condition. Of a list that is full the places are -1.
!list = !metate.tree<#metate.dynamic<"i", [1024], [#metate.place<"x" : i32>], chunk = 16>>
// CHECK-LABEL: metate.kernel @list(
// CHECK: scf.for
// CHECK: scf.if
// CHECK: metate.read
// CHECK: memref.store
// CHECK: %[[TAKEN:.*]] = metate.tree_call "append_run" %{{.*}} level 1(%{{.*}}, %[[COUNT:.*]]) at(%{{.*}}) : {{.*}} -> i64
// CHECK: scf.for %[[K:.*]] =
// CHECK: %[[OWN:.*]] = arith.index_cast %[[K]] : index to i64
// CHECK: %[[THERE:.*]] = arith.cmpi ult, %[[OWN]], %{{.*}} : i64
// CHECK: %[[PLACE:.*]] = arith.addi
// CHECK: arith.select %[[THERE]], %[[PLACE]], %c-1_i64
metate.kernel @list(%t: !metate.block, %x: !metate.block, %y: !metate.block, %n: index) {
  %zero = arith.constant 0 : index
  %four = arith.constant 4 : index
  %least = arith.constant 0 : i64
  %half = arith.constant 500 : i32
  metate.range (%i) = (%zero) to (%n) {
    %o = arith.muli %i, %four : index
    %v = metate.read %x[%o] scope 1 : i32
    %c = arith.cmpi slt, %v, %half : i32
    scf.if %c {
      %w = metate.read %y[%o] scope 2 : i32
      %k = metate.tree_call "append" %t level 1 (%four) at (%zero) : !list -> i64
      %there = arith.cmpi sge, %k, %least : i64
      scf.if %there {
        %at = arith.index_cast %k : i64 to index
        metate.write %w, %t[%at] scope 0 : i32
      }
    }
    metate.yield
  }
  metate.return
}

// What is written there is read by other iterations; the place is not always the same one; the place leaves its condition; the counter is read.
// CHECK-LABEL: metate.kernel @apart(
// CHECK-NOT: memref.alloca
metate.kernel @apart(%count: !metate.block, %x: !metate.block, %out: !metate.block, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %none = arith.constant -1 : i32
  metate.range (%i) = (%zero) to (%n) {
    %v = metate.read %out[%i] scope 2 : i32
    %k = metate.rmw addi %one, %count[%zero] scope 0 : i32
    %at = arith.index_cast %k : i32 to index
    metate.write %v, %out[%at] scope 2 : i32
    metate.yield
  }
  metate.range (%i) = (%zero) to (%n) {
    %v = metate.read %x[%i] scope 1 : i32
    %k = metate.rmw addi %one, %count[%i] scope 0 : i32
    %at = arith.index_cast %k : i32 to index
    metate.write %v, %out[%at] scope 2 : i32
    metate.yield
  }
  metate.range (%i) = (%zero) to (%n) {
    %v = metate.read %x[%i] scope 1 : i32
    %c = arith.cmpi slt, %v, %one : i32
    %k = scf.if %c -> i32 {
      %old = metate.rmw addi %one, %count[%zero] scope 0 : i32
      scf.yield %old : i32
    } else {
      scf.yield %none : i32
    }
    metate.write %k, %out[%i] scope 2 : i32
    metate.yield
  }
  metate.range (%i) = (%zero) to (%n) {
    %v = metate.read %count[%i] scope 0 : i32
    %k = metate.rmw addi %one, %count[%zero] scope 0 : i32
    %at = arith.index_cast %k : i32 to index
    metate.write %v, %out[%at] scope 2 : i32
    metate.yield
  }
  metate.return
}
