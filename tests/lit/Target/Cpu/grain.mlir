// RUN: metate-opt %s --metate-outline-tasks --metate-map-tasks-cpu=chunk-ns=20000 --canonicalize | FileCheck %s
// RUN: metate-opt %s --metate-outline-tasks --metate-map-tasks-cpu=chunk-ns=0 --canonicalize | FileCheck %s --check-prefix=SINGLE

// Of a straight loop: a read and a write are 100 ps, 20 us of them 200000 iterations. From 2.5 us on threads that are awake may
// share it.
// CHECK-LABEL: llvm.func @copy(
// CHECK-DAG: %[[GRAIN:.*]] = arith.constant 200000 : index
// CHECK-DAG: %[[PART:.*]] = llvm.mlir.constant(3 : i32)
// CHECK: %[[I64:.*]] = builtin.unrealized_conversion_cast %[[GRAIN]] : index to i64
// CHECK: llvm.call @metate_run_task(%{{.*}}, %{{.*}}, %[[I64]], {{.*}}, %[[PART]])
// SINGLE-LABEL: llvm.func @copy(
// SINGLE: %[[ONE:.*]] = arith.constant 1 : index
// SINGLE: %[[I64:.*]] = builtin.unrealized_conversion_cast %[[ONE]] : index to i64
// SINGLE: llvm.call @metate_run_task(%{{.*}}, %{{.*}}, %[[I64]],
metate.kernel @copy(%x: !metate.block, %y: !metate.block, %n: index) {
  %zero = arith.constant 0 : index
  metate.range (%i) = (%zero) to (%n) {
    %v = metate.read %x[%i] scope 0 : f32
    metate.write %v, %y[%i] scope 1 : f32
    metate.yield
  }
  metate.return
}

// Turns that are known at the launch count: those of an inner loop, and a row of two dimensions.
// CHECK-LABEL: llvm.func @sums(
// CHECK: arith.maxsi
// CHECK: %[[TURNS:.*]] = arith.maxsi
// CHECK: %[[FEW:.*]] = arith.minsi %[[TURNS]]
// CHECK: arith.muli %[[FEW]]
// CHECK: %[[GRAIN:.*]] = arith.divui
// CHECK: %[[LEAST:.*]] = arith.maxsi %[[GRAIN]]
// CHECK: %[[I64:.*]] = builtin.unrealized_conversion_cast %[[LEAST]] : index to i64
// CHECK: llvm.call @metate_run_task(%{{.*}}, %{{.*}}, %[[I64]],
metate.kernel @sums(%x: !metate.block, %y: !metate.block, %n: index, %m: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  metate.range (%i, %j) = (%zero, %zero) to (%n, %n) {
    %s = scf.for %k = %zero to %m step %one iter_args(%a = %none) -> f32 {
      %v = metate.read %x[%k] scope 0 : f32
      %b = arith.addf %a, %v : f32
      scf.yield %b : f32
    }
    metate.write %s, %y[%i] scope 1 : f32
    metate.yield
  }
  metate.return
}

// A conditional that only chooses what is accumulated becomes vectors too: 100 ps. Around a store it is a branch, and an operation
// 8 times as long, as far as that is sure: threads that are awake share it from 5 us on.
// CHECK-LABEL: llvm.func @choice(
// CHECK: %[[GRAIN:.*]] = arith.constant 200000 : index
// CHECK: llvm.call @metate_run_task(
// CHECK-LABEL: llvm.func @branch(
// CHECK-DAG: %[[GRAIN:.*]] = arith.constant 20833 : index
// CHECK-DAG: %[[PART:.*]] = llvm.mlir.constant(2 : i32)
// CHECK: llvm.call @metate_run_task({{.*}}, %[[PART]])
metate.kernel @choice(%x: !metate.block, %s: !metate.block, %low: f32, %n: index) {
  %zero = arith.constant 0 : index
  metate.range (%i) = (%zero) to (%n) {
    %v = metate.read %x[%i] scope 0 : f32
    %c = arith.cmpf oeq, %v, %low : f32
    scf.if %c {
      %old = metate.rmw minnumf %v, %s[%zero] scope 1 {metate.reduction} : f32
    }
    metate.yield
  }
  metate.return
}
metate.kernel @branch(%x: !metate.block, %s: !metate.block, %low: f32, %n: index) {
  %zero = arith.constant 0 : index
  metate.range (%i) = (%zero) to (%n) {
    %v = metate.read %x[%i] scope 0 : f32
    %c = arith.cmpf oeq, %v, %low : f32
    scf.if %c {
      metate.write %low, %s[%i] scope 1 : f32
    }
    metate.yield
  }
  metate.return
}

// Bounds that depend on the iteration count as in the one in the middle.
// CHECK-LABEL: llvm.func @blocks(
// CHECK: %[[MIDDLE:.*]] = arith.shrsi
// CHECK: %[[BEGIN:.*]] = arith.muli %[[MIDDLE]]
// CHECK: %[[LAST:.*]] = arith.muli
// CHECK: %[[END:.*]] = arith.addi %[[LAST]]
// CHECK: arith.subi %[[END]], %[[BEGIN]]
// CHECK: arith.divui
// CHECK: llvm.call @metate_run_task(
metate.kernel @blocks(%x: !metate.block, %share: index, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  metate.range (%i) = (%zero) to (%n) {
    %begin = arith.muli %i, %share : index
    %end = arith.addi %begin, %share : index
    scf.for %k = %begin to %end step %one {
      metate.write %none, %x[%k] scope 0 : f32
    }
    metate.yield
  }
  metate.return
}

// Appends to one list wait for one another: up to five workers one that is alone, without compare-exchanges, is as fast. With many lists
// up to three, where chunks are long; each chunk is work that workers share.
// CHECK-LABEL: llvm.func internal @appends_task0(
// CHECK: scf.if
// CHECK: metate.tree_call "append_alone"
// CHECK: } else {
// CHECK: metate.tree_call "append" %
// Short ones are their caller's: less than two chunks.
// CHECK-LABEL: llvm.func @appends(
// CHECK-DAG: arith.constant 5 : index
// CHECK-DAG: arith.constant 1333 : index
// CHECK-DAG: %[[PART:.*]] = llvm.mlir.constant(0 : i32)
// CHECK: llvm.call @metate_run_task({{.*}}, %[[PART]])
!lists = !metate.tree<#metate.dense<"i", [64], [#metate.dynamic<"j", [1024], [#metate.place<"a" : i32>], chunk = 64>]>>
metate.kernel @appends(%block: !metate.block, %n: index) {
  %zero = arith.constant 0 : index
  metate.range (%i) = (%zero) to (%n) {
    %j = metate.tree_call "append" %block level 1 (%zero) at (%zero, %zero) : !lists -> i64
    metate.yield
  }
  metate.return
}
// CHECK-LABEL: llvm.func @many(
// CHECK: arith.constant 3 : index
// CHECK: llvm.return
metate.kernel @many(%block: !metate.block, %n: index) {
  %zero = arith.constant 0 : index
  metate.range (%i) = (%zero) to (%n) {
    %j = metate.tree_call "append" %block level 2 (%i) at (%i, %zero) : !lists -> i64
    metate.yield
  }
  metate.return
}
// CHECK-LABEL: llvm.func @short(
// CHECK-NOT: arith.constant 3 : index
// CHECK: llvm.return
!short = !metate.tree<#metate.dense<"i", [64], [#metate.dynamic<"j", [1024], [#metate.place<"a" : i32>], chunk = 16>]>>
metate.kernel @short(%block: !metate.block, %n: index) {
  %zero = arith.constant 0 : index
  metate.range (%i) = (%zero) to (%n) {
    %j = metate.tree_call "append" %block level 2 (%i) at (%i, %zero) : !short -> i64
    metate.yield
  }
  metate.return
}
