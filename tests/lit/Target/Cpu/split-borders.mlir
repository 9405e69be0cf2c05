// RUN: metate-opt %s --canonicalize --metate-record-interfaces --metate-lower-layout --metate-outline-tasks --metate-map-tasks-cpu=split-borders=true --canonicalize --cse --canonicalize | FileCheck %s
// RUN: metate-opt %s --canonicalize --metate-record-interfaces --metate-lower-layout --metate-outline-tasks --metate-map-tasks-cpu=split-borders=false | FileCheck %s --check-prefix=OFF

// (j - 1) % n with a run-time n, in a row with a condition of its own: the middle one of three parts has neither, and its index is the loop's variable less one.
// CHECK-LABEL: llvm.func internal @metate_entry_wrap_task0
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step %c1 {
// CHECK: %[[ISINNER:.*]] = arith.cmpi sgt, %[[ROW]], %c0
// CHECK: %[[FROM:.*]] = arith.select %[[ISINNER]]
// CHECK: %[[TO:.*]] = arith.maxsi %{{.*}}, %[[FROM]]
// CHECK: scf.for %[[PART:.*]] = %c0 to %c3 step %c1 {
// CHECK: %[[ISMIDDLE:.*]] = arith.cmpi eq, %[[PART]], %c1
// CHECK: scf.if %[[ISMIDDLE]] {
// CHECK-NEXT: scf.for %[[J:.*]] = %{{.*}} to %{{.*}} step %c1 {
// CHECK-NEXT: %[[LEFT:.*]] = arith.addi %[[J]], %c-1
// CHECK-NEXT: %[[FIRST:.*]] = arith.muli %[[LEFT]], %c4
// CHECK-NEXT: metate.read %{{.*}}[%[[FIRST]]]
// CHECK-NEXT: arith.muli %[[J]], %c4
// CHECK-NEXT: metate.write
// CHECK: } else {
// CHECK: arith.remsi
// CHECK: scf.if %[[ISINNER]]
// OFF-LABEL: llvm.func internal @metate_entry_wrap_task0
// OFF-COUNT-2: scf.for
// OFF-NOT: scf.for
// OFF: llvm.return
metate.kernel @wrap(%x: memref<?xf32>, %y: memref<?xf32>, %n: index, %size: i32) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %minus = arith.constant -1 : i32
  metate.range (%i, %j) = (%c0, %c0) to (%n, %n) {
    %v = arith.index_cast %j : index to i32
    %w = arith.subi %v, %one : i32
    %isZero = arith.cmpi eq, %size, %zero : i32
    %first = arith.select %isZero, %one, %size : i32
    %isMinus = arith.cmpi eq, %size, %minus : i32
    %by = arith.select %isMinus, %one, %first : i32
    %r = arith.remsi %w, %by : i32
    %s = arith.xori %r, %by : i32
    %differ = arith.cmpi slt, %s, %zero : i32
    %some = arith.cmpi ne, %r, %zero : i32
    %below = arith.andi %differ, %some : i1
    %more = arith.addi %r, %by : i32
    %left = arith.select %below, %more, %r : i32
    %all = arith.select %isZero, %zero, %left : i32
    %k = arith.index_cast %all : i32 to index
    %a = memref.load %x[%k] : memref<?xf32>
    %isInner = arith.cmpi sgt, %i, %c0 : index
    scf.if %isInner {
      memref.store %a, %y[%j] : memref<?xf32>
    }
    metate.yield
  }
  metate.return
}

// A condition on every other turn has no interior, nor has one on half of the rows.
// CHECK-LABEL: llvm.func internal @metate_entry_halves_task0
// CHECK-COUNT-2: scf.for
// CHECK-NOT: scf.for
// CHECK: llvm.return
metate.kernel @halves(%y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c50 = arith.constant 50 : index
  %c100 = arith.constant 100 : index
  %a = arith.constant 1.0 : f32
  %b = arith.constant 2.0 : f32
  metate.range (%i, %j) = (%c0, %c0) to (%c100, %c100) {
    %bit = arith.andi %j, %c1 : index
    %odd = arith.cmpi eq, %bit, %c0 : index
    %value = arith.select %odd, %a, %b : f32
    memref.store %value, %y[%j] : memref<?xf32>
    %lower = arith.cmpi slt, %i, %c50 : index
    scf.if %lower {
      memref.store %a, %y[%j] : memref<?xf32>
    }
    metate.yield
  }
  metate.return
}

// A loop inside asks, by its variable and the parallel one's, for a size and an offset that the launch knows: in the interior, which begins where its
// first turn is inside and ends where its last one is, no turn asks.
// CHECK-LABEL: llvm.func internal @metate_entry_weights_task0
// CHECK: scf.for %[[PART:.*]] = %c0 to %c3 step %c1 {
// CHECK: scf.if %{{.*}} {
// CHECK-NEXT: scf.for %[[J:.*]] = %{{.*}} to %{{.*}} step %c1 {
// CHECK-NEXT: scf.for %[[P:.*]] = %c0 to %{{.*}} step %c1 iter_args
// CHECK-NEXT: %[[OFFSET:.*]] = arith.subi %[[P]], %{{.*}} : index
// CHECK-NEXT: arith.addi %[[J]], %[[OFFSET]]
// CHECK-NOT: arith.cmpi
// CHECK: metate.write
// CHECK: } else {
// CHECK: scf.if
// OFF-LABEL: llvm.func internal @metate_entry_weights_task0
// OFF-COUNT-2: scf.for
// OFF-NOT: scf.for
// OFF: llvm.return
metate.kernel @weights(%a: memref<?xi32>, %w: memref<?xi32>, %b: memref<?xi32>, %r: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %n = memref.dim %b, %c0 : memref<?xi32>
  %size = memref.dim %w, %c0 : memref<?xi32>
  metate.range (%j) = (%c0) to (%n) {
    %sum = scf.for %p = %c0 to %size step %c1 iter_args(%s = %zero) -> i32 {
      %u = arith.index_cast %j : index to i32
      %v = arith.index_cast %p : index to i32
      %t = arith.addi %u, %v : i32
      %k = arith.subi %t, %r : i32
      %m = arith.index_cast %n : index to i32
      %from = arith.cmpi sge, %k, %zero : i32
      %to = arith.cmpi slt, %k, %m : i32
      %inside = arith.andi %from, %to : i1
      %next = scf.if %inside -> i32 {
        %at = arith.index_cast %k : i32 to index
        %x = memref.load %a[%at] : memref<?xi32>
        %y = memref.load %w[%p] : memref<?xi32>
        %product = arith.muli %x, %y : i32
        %more = arith.addi %s, %product : i32
        scf.yield %more : i32
      } else {
        scf.yield %s : i32
      }
      scf.yield %next : i32
    }
    memref.store %sum, %b[%j] : memref<?xi32>
    metate.yield
  }
  metate.return
}

// A triangle: no interior has one outcome for all turns of the inner loop, which is cut in each turn.
// CHECK-LABEL: llvm.func internal @metate_entry_triangle_task0
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c1 {
// CHECK: scf.for %{{.*}} = %c0 to %c3 step %c1 iter_args
// CHECK-NOT: to %c3 step
// CHECK: llvm.return
// OFF-LABEL: llvm.func internal @metate_entry_triangle_task0
metate.kernel @triangle(%a: memref<?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  metate.range (%j) = (%c0) to (%n) {
    %sum = scf.for %p = %c0 to %n step %c1 iter_args(%s = %zero) -> i32 {
      %below = arith.cmpi slt, %p, %j : index
      %next = scf.if %below -> i32 {
        %x = memref.load %a[%p] : memref<?xi32>
        %more = arith.addi %s, %x : i32
        scf.yield %more : i32
      } else {
        scf.yield %s : i32
      }
      scf.yield %next : i32
    }
    memref.store %sum, %a[%j] : memref<?xi32>
    metate.yield
  }
  metate.return
}
