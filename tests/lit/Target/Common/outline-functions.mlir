// RUN: metate-opt %s --metate-outline-tasks | FileCheck %s
// RUN: metate-opt %s --metate-outline-tasks | metate-opt | FileCheck %s

// What a function, or one that it calls, uses of the kernel are its last arguments; tasks capture that like anything else.
// CHECK-LABEL: func.func private @k.outer(
// CHECK-SAME: %[[N:[a-z0-9]+]]: i32, %[[X:[a-z0-9]+]]: !metate.block) -> i32 {
// CHECK: %[[R:.*]] = call @k.inner(%[[N]], %[[X]]) : (i32, !metate.block) -> i32
// CHECK-NEXT: %[[AGAIN:.*]] = call @k.outer(%[[R]], %[[X]])
// CHECK-NEXT: return %[[AGAIN]] : i32

// CHECK-LABEL: func.func private @k.inner(
// CHECK-SAME: %[[M:[a-z0-9]+]]: i32, %[[Y:[a-z0-9]+]]: !metate.block) -> i32 {
// CHECK: %[[C:.*]] = arith.constant 4 : index
// CHECK: %[[READ:.*]] = metate.read %[[Y]][%[[C]]] scope 0 : i32
// CHECK: return %[[READ]] : i32

// One that may stop the kernel gives a status first. Who called it leaves with that.
// CHECK-LABEL: func.func private @k.stops(
// CHECK-SAME: %[[B:[a-z0-9]+]]: i1, %[[V:[a-z0-9]+]]: vector<2xf32>) -> (i32, vector<2xf32>) {
// CHECK: metate.poll
// CHECK-NEXT: %[[OK:.*]] = arith.constant 0 : i32
// CHECK-NEXT: return %[[OK]], %[[V]] : i32, vector<2xf32>

// CHECK-LABEL: func.func private @k_task0(
// CHECK: %[[S:.*]]:2 = func.call @k.stops(
// CHECK-NEXT: metate.return_status %[[S]]#0
metate.kernel @k(%x: !metate.block, %n: i32, %b: i1, %v: vector<2xf32>) {
  %four = arith.constant 4 : index
  metate.function "outer" (%m: i32) {
    %r = metate.call "inner"(%m) : (i32) -> i32
    %again = metate.call "outer"(%r) : (i32) -> i32
    metate.give %again : i32
  }
  metate.function "inner" (%m: i32) {
    %r = metate.read %x[%four] scope 0 : i32
    metate.give %r : i32
  }
  metate.function "stops" (%c: i1, %w: vector<2xf32>) {
    metate.poll
    metate.give %w : vector<2xf32>
  }
  metate.range (%i) = (%four) to (%four) {
    %r = metate.call "outer"(%n) : (i32) -> i32
    %w = metate.call "stops"(%b, %v) : (i1, vector<2xf32>) -> vector<2xf32>
    metate.write %r, %x[%i] scope 0 : i32
    metate.yield
  }
  metate.return
}
