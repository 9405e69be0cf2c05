// RUN: metate-opt %s --metate-plan-intermediates --split-input-file --verify-diagnostics | FileCheck %s
// RUN: metate-opt %s --metate-plan-intermediates --metate-record-interfaces --metate-lower-layout --metate-plan-pools --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=LOWER

// %a is needed for two steps, %b for two, %c from the second one on; %b lies where nobody else is, and %c where %a was not.
// CHECK-LABEL: metate.kernel @chain
// CHECK: metate.intermediate "a" [#metate.dim<"n", 1 to 100>] by(%{{.*}}) offset 0 of 896
// CHECK: metate.intermediate "b" [100] offset 448 of 896
// CHECK: metate.intermediate "c" [10, 10] offset 0 of 896
// CHECK-NOT: metate.intermediate "unused"
// LOWER-LABEL: metate.kernel @metate_graph_chain
// LOWER: metate.pool "intermediates" launch bytes 896 align 64 index 0{{$}}
// LOWER: metate.pool "intermediates" launch bytes 896 align 64 index 0 offset 448
// LOWER: metate.interface @chain
// LOWER-SAME: pools [#metate.pool<"intermediates", launch bytes 896 align 64 in "sram">]
metate.kernel private @g.0.copy(%x: memref<?xf32> {metate.access = 1 : i64}, %y: memref<?xf32> {metate.access = 2 : i64}) {
  metate.return
}
metate.kernel private @g.1.from(%x: memref<100xf32> {metate.access = 1 : i64}, %y: memref<10x10xf32> {metate.access = 3 : i64}) {
  metate.return
}
metate.kernel private @g.2.to(%x: memref<?xf32> {metate.access = 1 : i64}, %y: memref<100xf32> {metate.access = 2 : i64}) {
  metate.return
}
metate.kernel @chain(%x: memref<?xf32> {metate.name = "x", metate.shape = [#metate.dim<"n", 1 to 100>]}) attributes {metate.places = {intermediates = ["sram", loc("graph.py":3:1)]}} {
  %zero = arith.constant 0 : index
  %n = memref.dim %x, %zero : memref<?xf32>
  %a = metate.intermediate "a" [#metate.dim<"n", 1 to 100>] by (%n) : memref<?xf32>
  %b = metate.intermediate "b" [100] : memref<100xf32>
  %c = metate.intermediate "c" [10, 10] : memref<10x10xf32>
  %unused = metate.intermediate "unused" [10] : memref<10xf32>
  metate.run @g.0.copy(%x, %a) : memref<?xf32>, memref<?xf32>
  metate.run @g.2.to(%a, %b) : memref<?xf32>, memref<100xf32>
  metate.run @g.1.from(%b, %c) : memref<100xf32>, memref<10x10xf32>
  metate.return
}

// What a loop uses is needed in all of it where nothing says that each turn begins by writing all of it: nothing is shared.
// CHECK-LABEL: metate.kernel @loop
// CHECK: metate.intermediate "a" [16] offset 0 of 192
// CHECK: metate.intermediate "b" [16] offset 64 of 192
// CHECK: metate.intermediate "c" [16] offset 128 of 192
metate.kernel private @h.0.copy(%x: memref<16xf32> {metate.access = 1 : i64}, %y: memref<16xf32> {metate.access = 2 : i64}) {
  metate.return
}
metate.kernel @loop(%x: memref<16xf32> {metate.name = "x"}, %turns: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %a = metate.intermediate "a" [16] : memref<16xf32>
  %b = metate.intermediate "b" [16] : memref<16xf32>
  %c = metate.intermediate "c" [16] : memref<16xf32>
  metate.run @h.0.copy(%x, %a) : memref<16xf32>, memref<16xf32>
  scf.for %t = %zero to %turns step %one {
    metate.run @h.0.copy(%a, %b) : memref<16xf32>, memref<16xf32>
    metate.run @h.0.copy(%b, %c) : memref<16xf32>, memref<16xf32>
  }
  metate.return
}

// Each turn writes all of %a, then of %b and of %c (components of vectors, loops in order, dims of one name): %c lies where %a was.
// %half is written where a condition holds, %short by a loop that is shorter, %later first by a loop inside:
// these keep what they have from turn to turn.
// CHECK-LABEL: metate.kernel @turns
// CHECK: metate.intermediate "a" {{.*}} offset [[A:[0-9]+]] of 6080
// CHECK: metate.intermediate "b" {{.*}} offset [[B:[0-9]+]] of
// CHECK: metate.intermediate "c" {{.*}} offset [[A]] of
// CHECK: metate.intermediate "half" {{.*}} offset [[HALF:[0-9]+]] of
// CHECK: metate.intermediate "short" {{.*}} offset [[SHORT:[0-9]+]] of
// CHECK: metate.intermediate "later" {{.*}} offset [[LATER:[0-9]+]] of
#n = #metate.dim<"n", 1 to 100>
metate.kernel private @w.0.all(%x: memref<?x3xf32> {metate.access = 1 : i64, metate.shape = [#n, 3]}, %y: memref<?x3xf32> {metate.access = 2 : i64, metate.shape = [#n, 3]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %x, %c0 : memref<?x3xf32>
  metate.range (%i) = (%c0) to (%n) {
    %v = memref.load %x[%i, %c0] : memref<?x3xf32>
    memref.store %v, %y[%i, %c2] : memref<?x3xf32>
    memref.store %v, %y[%i, %c0] : memref<?x3xf32>
    memref.store %v, %y[%i, %c1] : memref<?x3xf32>
    metate.yield
  }
  metate.return
}
metate.kernel private @w.1.rows(%x: memref<?x3xf32> {metate.access = 1 : i64, metate.shape = [#n, 3]}, %y: memref<?x3xf32> {metate.access = 2 : i64, metate.shape = [#n, 3]}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %n = memref.dim %x, %c0 : memref<?x3xf32>
  metate.range (%i) = (%c0) to (%n) {
    scf.for %j = %c0 to %c3 step %c1 {
      %v = memref.load %x[%i, %j] : memref<?x3xf32>
      memref.store %v, %y[%i, %j] : memref<?x3xf32>
    }
    metate.yield
  }
  metate.return
}
metate.kernel private @w.2.where(%x: memref<?x3xf32> {metate.access = 1 : i64, metate.shape = [#n, 3]}, %y: memref<?x3xf32> {metate.access = 2 : i64, metate.shape = [#n, 3]}) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?x3xf32>
  metate.range (%i, %j) = (%c0, %c0) to (%n, %c3) {
    %v = memref.load %x[%i, %j] : memref<?x3xf32>
    %which = arith.cmpf ogt, %v, %zero : f32
    scf.if %which {
      memref.store %v, %y[%i, %j] : memref<?x3xf32>
    }
    metate.yield
  }
  metate.return
}
metate.kernel private @w.3.part(%x: memref<?x3xf32> {metate.access = 1 : i64, metate.shape = [#n, 3]}, %y: memref<?x3xf32> {metate.access = 2 : i64, metate.shape = [#n, 3]}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %x, %c0 : memref<?x3xf32>
  metate.range (%i, %j) = (%c0, %c0) to (%n, %c2) {
    %v = memref.load %x[%i, %j] : memref<?x3xf32>
    memref.store %v, %y[%i, %j] : memref<?x3xf32>
    metate.yield
  }
  metate.return
}
metate.kernel @turns(%x: memref<?x3xf32> {metate.name = "x", metate.shape = [#n, 3]}, %y: memref<?x3xf32> {metate.name = "y", metate.shape = [#n, 3]}, %turns: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %n = memref.dim %x, %zero : memref<?x3xf32>
  %a = metate.intermediate "a" [#n, 3] by (%n) : memref<?x3xf32>
  %b = metate.intermediate "b" [#n, 3] by (%n) : memref<?x3xf32>
  %c = metate.intermediate "c" [#n, 3] by (%n) : memref<?x3xf32>
  %half = metate.intermediate "half" [#n, 3] by (%n) : memref<?x3xf32>
  %short = metate.intermediate "short" [#n, 3] by (%n) : memref<?x3xf32>
  %later = metate.intermediate "later" [#n, 3] by (%n) : memref<?x3xf32>
  scf.for %t = %zero to %turns step %one {
    metate.run @w.0.all(%x, %a) : memref<?x3xf32>, memref<?x3xf32>
    metate.run @w.1.rows(%a, %b) : memref<?x3xf32>, memref<?x3xf32>
    metate.run @w.0.all(%b, %c) : memref<?x3xf32>, memref<?x3xf32>
    metate.run @w.2.where(%c, %half) : memref<?x3xf32>, memref<?x3xf32>
    metate.run @w.3.part(%half, %short) : memref<?x3xf32>, memref<?x3xf32>
    scf.for %u = %zero to %two step %one {
      metate.run @w.0.all(%short, %later) : memref<?x3xf32>, memref<?x3xf32>
    }
    metate.run @w.0.all(%later, %y) : memref<?x3xf32>, memref<?x3xf32>
  }
  metate.return
}

// Extents that are open in both arrays' annotations need not be one: what %b has stays from turn to turn, and %d lies where nobody is.
// CHECK-LABEL: metate.kernel @open
// CHECK: metate.intermediate "a" {{.*}} offset [[A:[0-9]+]] of 3648
// CHECK: metate.intermediate "b" {{.*}} offset [[B:[0-9]+]] of
// CHECK: metate.intermediate "c" {{.*}} offset [[A]] of
metate.kernel private @o.0.open(%x: memref<?x3xf32> {metate.access = 1 : i64, metate.shape = [-1, 3]}, %y: memref<?x3xf32> {metate.access = 2 : i64, metate.shape = [-1, 3]}) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %n = memref.dim %x, %c0 : memref<?x3xf32>
  metate.range (%i, %j) = (%c0, %c0) to (%n, %c3) {
    %v = memref.load %x[%i, %j] : memref<?x3xf32>
    memref.store %v, %y[%i, %j] : memref<?x3xf32>
    metate.yield
  }
  metate.return
}
metate.kernel @open(%x: memref<?x3xf32> {metate.name = "x", metate.shape = [#n, 3]}, %y: memref<?x3xf32> {metate.name = "y", metate.shape = [#n, 3]}, %turns: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = memref.dim %x, %zero : memref<?x3xf32>
  %a = metate.intermediate "a" [#n, 3] by (%n) : memref<?x3xf32>
  %b = metate.intermediate "b" [#n, 3] by (%n) : memref<?x3xf32>
  %c = metate.intermediate "c" [#n, 3] by (%n) : memref<?x3xf32>
  %d = metate.intermediate "d" [#n, 3] by (%n) : memref<?x3xf32>
  scf.for %t = %zero to %turns step %one {
    metate.run @w.0.all(%x, %a) : memref<?x3xf32>, memref<?x3xf32>
    metate.run @o.0.open(%a, %b) : memref<?x3xf32>, memref<?x3xf32>
    metate.run @w.0.all(%b, %c) : memref<?x3xf32>, memref<?x3xf32>
    metate.run @w.0.all(%c, %d) : memref<?x3xf32>, memref<?x3xf32>
    metate.run @w.0.all(%d, %y) : memref<?x3xf32>, memref<?x3xf32>
  }
  metate.return
}

// -----

metate.kernel private @g.0.copy(%x: memref<4xf32> {metate.access = 1 : i64}, %y: memref<4xf32> {metate.access = 2 : i64}) {
  metate.return
}
metate.kernel @unwritten(%x: memref<4xf32> {metate.name = "x"}) {
  %a = metate.intermediate "a" [4] : memref<4xf32>
  // expected-error @below {{intermediate 'a' is given to a kernel that does not write it, before any other kernel of the graph has written it}}
  metate.run @g.0.copy(%a, %x) : memref<4xf32>, memref<4xf32>
  metate.return
}

// -----

metate.kernel private @g.0.write(%x: memref<?xf32> {metate.access = 2 : i64}) {
  metate.return
}
metate.kernel @unbounded(%n: index) {
  // expected-error @below {{intermediate 'a': dim 'n' has no maximum, by which its memory is planned: give the Dim a max}}
  %a = metate.intermediate "a" [#metate.dim<"n", 1 to 2147483647>] by (%n) : memref<?xf32>
  metate.run @g.0.write(%a) : memref<?xf32>
  metate.return
}
