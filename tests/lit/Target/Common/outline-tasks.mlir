// RUN: metate-opt %s --metate-outline-tasks | FileCheck %s
// RUN: metate-opt %s --metate-outline-tasks=serial | FileCheck %s --check-prefix=SERIAL
// RUN: metate-opt %s --metate-outline-tasks | metate-opt | FileCheck %s

// What a task uses are arguments of its function, each once, in the order of use, then bounds; constants are copied into it.
// CHECK-LABEL: func.func private @captures_task0(
// CHECK-SAME: %[[X:[a-z0-9]+]]: !metate.block, %[[V:[a-z0-9]+]]: vector<2xf32>, %[[Y:[a-z0-9]+]]: !metate.block, %[[N:[a-z0-9]+]]: index) attributes {metate.task} {
// CHECK-NEXT: %[[LOWER:.*]] = arith.constant 3 : index
// CHECK-NEXT: metate.range (%[[I:.*]]) = (%[[LOWER]]) to (%[[N]]) {
// CHECK-NEXT: %[[FOUR:.*]] = arith.constant 4 : index
// CHECK-NEXT: %[[AT:.*]] = arith.muli %[[I]], %[[FOUR]]
// CHECK-NEXT: %[[READ:.*]] = metate.read %[[X]][%[[AT]]] scope 0
// CHECK: vector.extract %[[V]][1]
// CHECK: metate.write %{{.*}}, %[[Y]][%[[AT]]] scope 1
// CHECK: metate.yield
// CHECK-NEXT: }
// CHECK-NEXT: return
// The host's part launches it. What both use is computed there.
// CHECK-LABEL: metate.kernel @captures(
// CHECK-SAME: %[[HX:[a-z0-9]+]]: !metate.block, %[[HY:[a-z0-9]+]]: !metate.block, %[[HV:[a-z0-9]+]]: vector<2xf32>, %[[HN:[a-z0-9]+]]: index)
// CHECK: %[[TWICE:.*]] = arith.addi %[[HN]], %[[HN]]
// CHECK-NEXT: metate.launch @captures_task0(%[[HX]], %[[HV]], %[[HY]], %[[TWICE]]) : (!metate.block, vector<2xf32>, !metate.block, index) -> ()
// CHECK-NEXT: metate.return
metate.kernel @captures(%x: !metate.block, %y: !metate.block, %v: vector<2xf32>, %n: index) {
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %twice = arith.addi %n, %n : index
  metate.range (%i) = (%c3) to (%twice) {
    %at = arith.muli %i, %c4 : index
    %a = metate.read %x[%at] scope 0 : f32
    %b = vector.extract %v[1] : f32 from vector<2xf32>
    %c = arith.addf %a, %b : f32
    metate.write %c, %y[%at] scope 1 : f32
    metate.yield
  }
  metate.return
}

// Several tasks, a serial one between them whose result a later one captures, a status that ends the kernel, prints and asserts: these
// stay where they stood.
// CHECK-LABEL: func.func private @several_task0(
// CHECK: metate.print
// CHECK-LABEL: func.func private @several_task1(
// CHECK-SAME: %[[MOST:[a-z0-9]+]]: i32, %[[FLAG:[a-z0-9]+]]: i1, %[[N:[a-z0-9]+]]: index)
// CHECK: metate.range (%{{.*}}, %{{.*}}) = (%{{.*}}, %{{.*}}) to (%[[N]], %[[N]])
// CHECK: metate.assert
// CHECK-LABEL: metate.kernel @several(
// CHECK: metate.launch @several_task0(
// CHECK-NEXT: %[[VALUES:.*]]:2 = metate.serial -> (i32, i32) {
// CHECK: metate.return_status %[[VALUES]]#1
// CHECK-NEXT: metate.launch @several_task1(%[[VALUES]]#0, %{{.*}}, %{{.*}}) : (i32, i1, index) -> ()
// SERIAL-LABEL: func.func private @several_task1(
// SERIAL-SAME: %[[X:[a-z0-9]+]]: !metate.block) -> (i32, i32) attributes {metate.task} {
// SERIAL-NOT: metate.serial
// SERIAL: %[[A:.*]] = metate.read %[[X]]
// SERIAL: metate.rmw addi %[[A]], %[[X]]
// SERIAL: return %[[A]], %{{.*}} : i32, i32
// SERIAL-LABEL: metate.kernel @several(
// SERIAL: %[[TASK:.*]]:2 = metate.launch @several_task1(%{{.*}}) : (!metate.block) -> (i32, i32)
// SERIAL-NEXT: metate.return_status %[[TASK]]#1
// SERIAL-NEXT: metate.launch @several_task2(%[[TASK]]#0, %{{.*}}, %{{.*}}) : (i32, i1, index) -> ()
metate.kernel @several(%x: !metate.block, %n: index, %flag: i1) {
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    metate.print ["i = ", unit, "\n"] unsigned [false] (%i : index)
    metate.yield
  }
  %s:2 = metate.serial -> (i32, i32) {
    %a = metate.read %x[%c0] scope 0 : i32
    %old = metate.rmw addi %a, %x[%c0] scope 0 : i32
    metate.yield %a, %old : i32, i32
  }
  metate.return_status %s#1
  metate.range (%i, %j) = (%c0, %c0) to (%n, %n) {
    metate.print ["most = ", unit, "\n"] unsigned [false] (%s#0 : i32)
    metate.assert %flag, "not set"
    metate.yield
  }
  metate.return
}

// Pools are found by the host. A worker's part is counted in the task from the parts of all, by the bytes of one.
// CHECK-LABEL: func.func private @pools_task0(
// CHECK-SAME: %[[TILE:[a-z0-9]+]]: !metate.block, %[[BYTES:[a-z0-9]+]]: index, %[[ALL:[a-z0-9]+]]: !metate.block, %{{.*}}: index)
// CHECK: %[[PART:.*]] = metate.worker_part %[[TILE]] each %[[BYTES]]
// CHECK: metate.read %[[ALL]][
// CHECK: metate.write %{{.*}}, %[[PART]][
// CHECK-LABEL: metate.kernel @pools(
// CHECK-NEXT: %[[HALL:.*]] = metate.pool "all" launch bytes 64 align 64 index 0
// CHECK-NEXT: %[[HTILE:.*]] = metate.pool "tile" worker bytes 24 align 64 scale 4 by(%{{.*}} : i64) index 1
// CHECK-NEXT: %[[EACH:.*]] = metate.pool_bytes %[[HTILE]]
// CHECK: metate.launch @pools_task0(%[[HTILE]], %[[EACH]], %[[HALL]], %{{.*}})
metate.kernel @pools(%n: i64, %end: index) {
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%end) {
    %all = metate.pool "all" launch bytes 64 align 64 index 0
    %tile = metate.pool "tile" worker bytes 24 align 64 scale 4 by (%n : i64) index 1
    %v = metate.read %all[%c0] scope -1 : i32
    metate.write %v, %tile[%c0] scope -1 : i32
    metate.yield
  }
  metate.return
}

// Without tasks there is nothing to do; functions of the program are no tasks.

// Pools at the kernel's start, its first operation among them, stay before what uses them.
// CHECK-LABEL: metate.kernel @pools_first(
// CHECK-NEXT: %[[FIRST:.*]] = metate.pool "first" launch bytes 64 align 64 index 0
// CHECK-NEXT: %[[SECOND:.*]] = metate.pool "second" launch bytes 128 align 64 index 1
// CHECK: metate.launch @pools_first_task0(
metate.kernel @pools_first(%end: index) {
  %first = metate.pool "first" launch bytes 64 align 64 index 0
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%end) {
    %second = metate.pool "second" launch bytes 128 align 64 index 1
    %v = metate.read %first[%c0] scope -1 : f32
    metate.write %v, %second[%c0] scope -1 : f32
    metate.yield
  }
  metate.return
}

// CHECK-LABEL: func.func private @real(%{{.*}}: index) -> index {
// CHECK-LABEL: metate.kernel @plain(%{{.*}}: index) {
// CHECK-NEXT: metate.return
func.func private @real(%n: index) -> index {
  return %n : index
}
metate.kernel @plain(%n: index) {
  metate.return
}

// An extent that is a multiple of 8 says so in the task, but for the range's own bound, which is the host's.
// CHECK-LABEL: func.func private @rows_task0(
// CHECK-SAME: %[[X:[a-z0-9]+]]: !metate.block, %[[M:[a-z0-9]+]]: index, %[[N:[a-z0-9]+]]: index)
// CHECK: %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK: %[[QUOTIENT:.*]] = arith.divui %[[M]], %[[EIGHT]] : index
// CHECK: %[[MULTIPLE:.*]] = arith.muli %[[QUOTIENT]], %[[EIGHT]] overflow<nsw, nuw> : index
// CHECK: metate.range (%{{.*}}) = (%{{.*}}) to (%[[N]]) {
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[MULTIPLE]] step
metate.kernel @rows(%x: !metate.block, %n: index {metate.multiple = 4 : i64}, %m: index {metate.multiple = 8 : i64}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  metate.range (%i) = (%zero) to (%n) {
    %v = arith.index_cast %i : index to i32
    scf.for %j = %zero to %m step %one {
      metate.write %v, %x[%j] scope 0 : i32
    }
    metate.yield
  }
  metate.return
}

// Ranges that are said to have one body and differ in constant bounds have one function, with the bounds behind what the body uses; their pool is one
// too. Another body, another operand, and a range that nobody said it of have their own.
// CHECK-LABEL: func.func private @one_task0(
// CHECK-SAME: %[[ONE:[a-z0-9]+]]: !metate.block, %[[BYTES:[a-z0-9]+]]: index, %[[OX:[a-z0-9]+]]: !metate.block, %[[FROM:[a-z0-9]+]]: index, %[[TO:[a-z0-9]+]]: index)
// CHECK: metate.range (%{{.*}}) = (%[[FROM]]) to (%[[TO]]) attributes {metate.one_body} {
// CHECK: func.func private @one_task1(
// CHECK: func.func private @one_task2(
// CHECK: func.func private @one_task3(
// CHECK-NOT: func.func
// CHECK-LABEL: metate.kernel @one(
// CHECK: %[[POOL:.*]] = metate.pool "parts" worker
// CHECK-NOT: metate.pool "parts"
// CHECK: metate.launch @one_task0(%[[POOL]], %[[B:.*]], %[[X1:.*]], %c0, %c5)
// CHECK: metate.launch @one_task1(
// CHECK: metate.launch @one_task0(%[[POOL]], %[[B]], %[[X1]], %c5, %c9)
// CHECK: metate.launch @one_task2(
// CHECK: metate.launch @one_task3(
metate.kernel @one(%x: !metate.block, %y: !metate.block) {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %c9 = arith.constant 9 : index
  %v = arith.constant 1.0 : f32
  %w = arith.constant 2.0 : f32
  metate.range (%i) = (%c0) to (%c5) attributes {metate.one_body} {
    %p = metate.pool "parts" worker bytes 64 align 64
    metate.write %v, %p[%c0] scope 2 : f32
    metate.write %v, %x[%i] scope 0 : f32
    metate.yield
  }
  metate.range (%i) = (%c0) to (%c5) attributes {metate.one_body} {
    metate.write %w, %x[%i] scope 0 : f32
    metate.yield
  }
  metate.range (%i) = (%c5) to (%c9) attributes {metate.one_body} {
    %p = metate.pool "parts" worker bytes 64 align 64
    metate.write %v, %p[%c0] scope 2 : f32
    metate.write %v, %x[%i] scope 0 : f32
    metate.yield
  }
  metate.range (%i) = (%c0) to (%c5) attributes {metate.one_body} {
    metate.write %w, %y[%i] scope 1 : f32
    metate.yield
  }
  metate.range (%i) = (%c5) to (%c9) {
    metate.write %w, %x[%i] scope 0 : f32
    metate.yield
  }
  metate.return
}

// Pools of one name that begin at other bytes of it are other memory.
// CHECK-LABEL: metate.kernel @offsets(
// CHECK-DAG: %[[LATER:.*]] = metate.pool "intermediates" launch bytes 896 align 64 offset 448
// CHECK-DAG: %[[FIRST:.*]] = metate.pool "intermediates" launch bytes 896 align 64{{$}}
// CHECK: metate.launch @offsets_task0(%[[FIRST]])
// CHECK: metate.launch @offsets_task1(%[[LATER]])
metate.kernel @offsets(%x: !metate.block) {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %v = arith.constant 1.0 : f32
  metate.range (%i) = (%c0) to (%c5) {
    %p = metate.pool "intermediates" launch bytes 896 align 64
    metate.write %v, %p[%i] scope 1 : f32
    metate.yield
  }
  metate.range (%i) = (%c0) to (%c5) {
    %p = metate.pool "intermediates" launch bytes 896 align 64 offset 448
    metate.write %v, %p[%i] scope 1 : f32
    metate.yield
  }
  metate.return
}
