// RUN: metate-opt %s --metate-private-reductions | FileCheck %s

// CHECK-LABEL: metate.kernel @sum
// CHECK: memref.atomic_rmw addf %{{.*}}[] {metate.reduction}
metate.kernel @sum(%x: memref<?xf32>, %s: memref<f32>, %n: index) {
  %zero = arith.constant 0 : index
  metate.range (%i) = (%zero) to (%n) {
    %v = memref.load %x[%i] : memref<?xf32>
    %old = memref.atomic_rmw addf %v, %s[] : (f32, memref<f32>) -> f32
    metate.yield
  }
  metate.return
}

// Of another iteration's element: not one place.
// CHECK-LABEL: metate.kernel @histogram
// CHECK: memref.atomic_rmw addi
// CHECK-NOT: metate.reduction
metate.kernel @histogram(%x: memref<?xi32>, %v: i32, %n: index) {
  %zero = arith.constant 0 : index
  %seven = arith.constant 7 : index
  metate.range (%i) = (%zero) to (%n) {
    %k = arith.remui %i, %seven : index
    %old = memref.atomic_rmw addi %v, %x[%k] : (i32, memref<?xi32>) -> i32
    metate.yield
  }
  metate.return
}

// The old value is asked for; the place is read; another kind of atomic goes there.
// CHECK-LABEL: metate.kernel @observed
// CHECK-NOT: metate.reduction
metate.kernel @observed(%s: memref<i32>, %t: memref<i32>, %u: memref<i32>, %x: memref<?xi32>, %v: i32, %n: index) {
  %zero = arith.constant 0 : index
  metate.range (%i) = (%zero) to (%n) {
    %old = memref.atomic_rmw addi %v, %s[] : (i32, memref<i32>) -> i32
    memref.store %old, %x[%i] : memref<?xi32>
    %seen = memref.load %t[] : memref<i32>
    %b = memref.atomic_rmw addi %seen, %t[] : (i32, memref<i32>) -> i32
    %c = memref.atomic_rmw addi %v, %u[] : (i32, memref<i32>) -> i32
    %d = memref.atomic_rmw maxs %v, %u[] : (i32, memref<i32>) -> i32
    metate.yield
  }
  metate.return
}

// Constants that differ are different places.
// CHECK-LABEL: metate.kernel @extremes
// CHECK: memref.atomic_rmw maxs {{.*}} {metate.reduction}
// CHECK: memref.atomic_rmw mins {{.*}} {metate.reduction}
metate.kernel @extremes(%s: memref<2xi32>, %v: i32, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  metate.range (%i) = (%zero) to (%n) {
    %a = memref.atomic_rmw maxs %v, %s[%zero] : (i32, memref<2xi32>) -> i32
    %b = memref.atomic_rmw mins %v, %s[%one] : (i32, memref<2xi32>) -> i32
    metate.yield
  }
  metate.return
}

// Overlapping arguments: what is read may be the sum.
// CHECK-LABEL: metate.kernel @overlapping
// CHECK-NOT: metate.reduction
metate.kernel @overlapping(%x: memref<?xi32>, %s: memref<i32>, %n: index) attributes {may_alias} {
  %zero = arith.constant 0 : index
  metate.range (%i) = (%zero) to (%n) {
    %v = memref.load %x[%i] : memref<?xi32>
    %old = memref.atomic_rmw addi %v, %s[] : (i32, memref<i32>) -> i32
    metate.yield
  }
  metate.return
}

// A tree's member; one that is read is another. A cell that may have to be activated is left alone.
!dense = !metate.tree<#metate.dense<"i", [4], [#metate.place<"a" : f32>, #metate.place<"b" : f32>]>>
!sparse = !metate.tree<#metate.pointer<"i", [4], [#metate.place<"a" : f32>]>>
// CHECK-LABEL: metate.kernel @members
// CHECK: metate.atomic addf {{.*}}["a"] {{.*}}metate.reduction
// CHECK: metate.atomic addf
// CHECK-NOT: metate.reduction
metate.kernel @members(%f: !dense, %g: !sparse, %n: index) {
  %zero = arith.constant 0 : index
  metate.range (%i) = (%zero) to (%n) {
    %v = metate.load %f["b"][%zero] : !dense -> f32
    %a = metate.atomic addf %v, %f["a"][%zero] : f32, !dense
    %b = metate.atomic addf %v, %g["a"][%zero] : f32, !sparse
    metate.yield
  }
  metate.return
}

// What iterations before a failed assert added must not be lost.
// CHECK-LABEL: metate.kernel @stops
// CHECK: memref.atomic_rmw addi
// CHECK-NOT: metate.reduction
// CHECK: metate.return
metate.kernel @stops(%sum: memref<i32> {metate.name = "sum"}, %n: index {metate.name = "n"}, %ok: i1 {metate.name = "ok"}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : i32
  metate.range (%i) = (%zero) to (%n) {
    %old = memref.atomic_rmw addi %one, %sum[] : (i32, memref<i32>) -> i32
    metate.assert %ok, "stop"
    metate.yield
  }
  metate.return
}
