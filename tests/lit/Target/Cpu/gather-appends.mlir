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

// A loop in order that counts what it keeps: the number is in memory, and goes up once a block. What else it carries goes on.
// CHECK-LABEL: metate.kernel @carried(
// CHECK-DAG: %[[N:.*]] = memref.alloca() : memref<1xindex>
// CHECK-DAG: %[[KEPT:.*]] = memref.alloca() : memref<64xi32>
// CHECK-DAG: %[[PLACE:.*]] = memref.alloca() : memref<1xi32>
// CHECK: memref.store %c0_i32, %[[PLACE]]
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %c0 to %{{.*}} step %c64 iter_args(%[[S:.*]] = %c0_i32)
// CHECK:   scf.for {{.*}} iter_args(%{{.*}} = %[[S]])
// CHECK:     %[[X:.*]] = metate.read
// CHECK-NOT: scf.if
// CHECK:     memref.store %[[X]], %[[KEPT]]
// CHECK:   scf.if
// CHECK:     %[[FIRST:.*]] = memref.load %[[PLACE]]
// CHECK:     %[[NEXT:.*]] = arith.addi %[[FIRST]], %{{.*}} : i32
// CHECK:     memref.store %[[NEXT]], %[[PLACE]]
// CHECK:     scf.for
// CHECK:       metate.write
// CHECK: %[[ALL:.*]] = memref.load %[[PLACE]]
// CHECK: metate.write %[[SUM]]
// CHECK: metate.write %[[ALL]]
metate.kernel @carried(%x: !metate.block, %out: !metate.block, %n: index) {
  %zero = arith.constant 0 : index
  %four = arith.constant 4 : index
  %step = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %none = arith.constant 0 : i32
  %half = arith.constant 500 : i32
  metate.serial {
    %r:2 = scf.for %i = %zero to %n step %step iter_args(%s = %none, %k = %none) -> (i32, i32) {
      %o = arith.muli %i, %four : index
      %v = metate.read %x[%o] scope 0 : i32
      %t = arith.addi %s, %v : i32
      %c = arith.cmpi slt, %v, %half : i32
      %next = scf.if %c -> (i32) {
        %at = arith.index_cast %k : i32 to index
        %p = arith.muli %at, %four : index
        metate.write %v, %out[%p] scope 1 : i32
        %more = arith.addi %k, %one : i32
        scf.yield %more : i32
      } else {
        scf.yield %k : i32
      }
      scf.yield %t, %next : i32, i32
    }
    metate.write %r#0, %out[%zero] scope 1 : i32
    metate.write %r#1, %x[%zero] scope 0 : i32
    metate.yield
  }
  metate.return
}

// A number that the loop looks at elsewhere, or that another value becomes, is no place.
// CHECK-LABEL: metate.kernel @asked(
// CHECK-NOT: memref.alloca
metate.kernel @asked(%x: !metate.block, %out: !metate.block, %n: index) {
  %zero = arith.constant 0 : index
  %four = arith.constant 4 : index
  %step = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %none = arith.constant 0 : i32
  metate.serial {
    %r:2 = scf.for %i = %zero to %n step %step iter_args(%k = %none, %last = %none) -> (i32, i32) {
      %o = arith.muli %i, %four : index
      %v = metate.read %x[%o] scope 0 : i32
      %c = arith.cmpi slt, %v, %one : i32
      %next:2 = scf.if %c -> (i32, i32) {
        %at = arith.index_cast %k : i32 to index
        %p = arith.muli %at, %four : index
        metate.write %v, %out[%p] scope 1 : i32
        %more = arith.addi %k, %one : i32
        scf.yield %more, %last : i32, i32
      } else {
        scf.yield %k, %k : i32, i32
      }
      scf.yield %next#0, %next#1 : i32, i32
    }
    metate.write %r#0, %x[%zero] scope 0 : i32
    metate.write %r#1, %out[%zero] scope 1 : i32
    metate.yield
  }
  metate.return
}
