// RUN: metate-opt %s --pass-pipeline='builtin.module(metate.kernel(metate-explicit-activation),metate-slice-activations)' | FileCheck %s
// RUN: metate-opt %s --pass-pipeline='builtin.module(metate.kernel(metate-explicit-activation),metate-slice-activations{only=true})' | FileCheck %s --check-prefix=ONLY

!sparse = !metate.tree<#metate.pointer<"i", [16], [#metate.dense<"i", [8], [#metate.place<"a" : f32>, #metate.place<"b" : f32>]>]>>
!list = !metate.tree<#metate.pointer<"i", [16], [#metate.dynamic<"j", [64], [#metate.place<"a" : f32>], chunk = 8>]>>
!bits = !metate.tree<#metate.bitmasked<"i", [64], [#metate.place<"a" : f32>]>>

// Slices stand behind all kernels; only what activates has one.
// CHECK: metate.kernel @scatter(
// CHECK: metate.kernel @reads(
// CHECK-NOT: @reads.reserve

// What decides is kept: the loop, the condition, the load of the coordinate. The stores and what they compute go.
// CHECK-LABEL: metate.kernel @scatter.reserve
// CHECK-SAME: metate.access = 1
// CHECK-SAME: metate.access = 1
// CHECK-SAME: %[[COUNTS:[a-z0-9]+]]: i64 {metate.name = "counts"}
// CHECK: metate.range (%[[K:.*]]) =
// CHECK: %[[I:.*]] = memref.load %{{.*}}[%[[K]]]
// CHECK: scf.if
// CHECK-NOT: memref.load
// CHECK-NOT: metate.activate
// CHECK: metate.reserve %{{.*}}["a"] [%{{.*}}] in %[[COUNTS]]
// CHECK-NOT: metate.store
// CHECK-NOT: memref.store
// CHECK-NOT: arith.mulf
// ONLY-LABEL: metate.kernel @scatter(
// ONLY-NEXT: metate.return
metate.kernel @scatter(%f: !sparse, %x: memref<?xindex>, %y: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  metate.range (%k) = (%c0) to (%n) {
    %i = memref.load %x[%k] : memref<?xindex>
    %near = arith.cmpi slt, %i, %c9 : index
    scf.if %near {
      %v = memref.load %y[%k] : memref<?xf32>
      %w = arith.mulf %v, %v : f32
      metate.store %w, %f["a"][%i] : f32, !sparse
      memref.store %w, %y[%k] : memref<?xf32>
    }
    metate.yield
  }
  metate.return
}

// ONLY-LABEL: metate.kernel @reads(
// ONLY-NEXT: metate.return
metate.kernel @reads(%f: !sparse, %x: memref<?xf32>, %i: index) {
  %v = metate.load %f["a"][%i] : !sparse -> f32
  memref.store %v, %x[%i] : memref<?xf32>
  metate.return
}

// A loop over the tree that it grows visits the cells at entry: the slice changes nothing, so that needs no mark.
// CHECK-LABEL: metate.kernel @dilate.reserve
// CHECK: metate.for_each (%[[I:.*]]) in
// CHECK: metate.reserve
// CHECK-NOT: changes_topology
// CHECK: metate.return
metate.kernel @dilate(%f: !sparse) {
  %c8 = arith.constant 8 : index
  metate.for_each (%i) in %f["a"] : !sparse {
    %v = metate.load %f["a"][%i] : !sparse -> f32
    %j = arith.addi %i, %c8 : index
    metate.store %v, %f["b"][%j] : f32, !sparse
    metate.yield
  }
  metate.return
}

// CHECK-LABEL: metate.kernel @appends.reserve
// CHECK: metate.reserve %{{.*}}["dynamic1"] [%{{.*}}] in %{{.*}} append
// CHECK-NOT: metate.append
// CHECK: metate.return
metate.kernel @appends(%f: !list, %i: index) {
  %k = metate.append %f["dynamic1"][%i] : !list
  metate.return
}

// Bits take no slots.
// CHECK-LABEL: metate.kernel @bits.reserve
// CHECK-NEXT: metate.return
metate.kernel @bits(%f: !bits, %i: index, %v: f32) {
  metate.store %v, %f["a"][%i] : f32, !bits
  metate.return
}

// What goes around a loop, as far as somebody asks for it.
// CHECK-LABEL: metate.kernel @carried.reserve
// CHECK: scf.for %{{.*}} iter_args(%[[AT:.*]] = %{{[^,)]*}}) -> (index)
// CHECK: metate.reserve %{{.*}}["a"] [%[[AT]]]
// CHECK-NOT: mulf
// CHECK: scf.yield %{{[^,]*}} : index
metate.kernel @carried(%f: !sparse, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%at = %c0, %sum = %v) -> (index, f32) {
    metate.store %sum, %f["a"][%at] : f32, !sparse
    %next = arith.addi %at, %c3 : index
    %more = arith.mulf %sum, %v : f32
    scf.yield %next, %more : index, f32
  }
  metate.return
}

// A local array is what was stored into it.
// CHECK-LABEL: metate.kernel @local.reserve
// CHECK: memref.alloca
// CHECK: memref.store
// CHECK: memref.load
// CHECK: metate.reserve
metate.kernel @local(%f: !sparse, %i: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %t = memref.alloca() : memref<2xindex>
  memref.store %i, %t[%c0] : memref<2xindex>
  %j = memref.load %t[%c0] : memref<2xindex>
  metate.store %v, %f["a"][%j] : f32, !sparse
  metate.return
}

// Written by an earlier loop: the slice only says so.
// CHECK-LABEL: metate.kernel @written.reserve
// CHECK-NEXT: %[[NO:.*]] = arith.constant false
// CHECK-NEXT: metate.assert %[[NO]], "which cells are activated depends on 'arg1' here, which the kernel itself changes ({{.*}}): do that in a kernel of its own"
// CHECK-NEXT: metate.return
metate.kernel @written(%f: !sparse, %x: memref<?xindex>, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  metate.range (%k) = (%c0) to (%n) {
    memref.store %k, %x[%k] : memref<?xindex>
    metate.yield
  }
  metate.range (%k) = (%c0) to (%n) {
    %i = memref.load %x[%k] : memref<?xindex>
    metate.store %v, %f["a"][%i] : f32, !sparse
    metate.yield
  }
  metate.return
}

// Read, then written, at the iteration's own place: what is read is what was there.
// CHECK-LABEL: metate.kernel @own.reserve
// CHECK: metate.reserve
// CHECK-NOT: metate.assert
// CHECK: metate.return
metate.kernel @own(%f: !sparse, %x: memref<?xindex>, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  metate.range (%k) = (%c0) to (%n) {
    %i = memref.load %x[%k] : memref<?xindex>
    metate.store %v, %f["a"][%i] : f32, !sparse
    memref.store %n, %x[%k] : memref<?xindex>
    metate.yield
  }
  metate.return
}

// The other way round, what is read is what the iteration has written.
// CHECK-LABEL: metate.kernel @own_after.reserve
// CHECK: metate.assert
metate.kernel @own_after(%f: !sparse, %x: memref<?xindex>, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  metate.range (%k) = (%c0) to (%n) {
    memref.store %n, %x[%k] : memref<?xindex>
    %i = memref.load %x[%k] : memref<?xindex>
    metate.store %v, %f["a"][%i] : f32, !sparse
    metate.yield
  }
  metate.return
}

// CHECK-LABEL: metate.kernel @counter.reserve
// CHECK: metate.assert %{{.*}}, "which cells are activated depends on what an atomic finds in 'arg1'
metate.kernel @counter(%f: !sparse, %x: memref<?xi64>, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i64
  metate.range (%k) = (%c0) to (%n) {
    %old = memref.atomic_rmw addi %one, %x[%c0] : (i64, memref<?xi64>) -> i64
    %i = arith.index_cast %old : i64 to index
    metate.store %v, %f["a"][%i] : f32, !sparse
    metate.yield
  }
  metate.return
}

// CHECK-LABEL: metate.kernel @index_of_append.reserve
// CHECK: metate.assert %{{.*}}, "which cells are activated depends on the index that append gives
metate.kernel @index_of_append(%f: !list, %g: !sparse, %i: index, %v: f32) {
  %k = metate.append %f["dynamic1"][%i] : !list
  %j = arith.index_cast %k : i32 to index
  metate.store %v, %g["a"][%j] : f32, !sparse
  metate.return
}

// CHECK-LABEL: metate.kernel @mixed_lists.reserve
// CHECK: metate.assert %{{.*}}, "which cells are activated depends on whether the lists of 'arg0.dynamic1' are appended to before
metate.kernel @mixed_lists(%f: !list, %i: index, %v: f32) {
  %k = metate.append %f["dynamic1"][%i] : !list
  metate.store %v, %f["a"][%i, %i] : f32, !list
  metate.return
}

// One task: slots that it gives up are not free before it ends. Two: they are.
// CHECK-LABEL: metate.kernel @renewed.reserve
// CHECK: metate.assert %{{.*}}, "which cells are activated depends on the order in which one task deactivates
metate.kernel @renewed(%f: !sparse, %i: index, %v: f32) {
  metate.deactivate %f["a"][%i] : !sparse
  metate.store %v, %f["a"][%i] : f32, !sparse
  metate.return
}

// CHECK-LABEL: metate.kernel @cleared.reserve
// CHECK: metate.reserve
// CHECK-NOT: metate.deactivate
metate.kernel @cleared(%f: !sparse, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  metate.range (%k) = (%c0) to (%n) {
    metate.deactivate %f["a"][%k] : !sparse
    metate.yield
  }
  metate.range (%k) = (%c0) to (%n) {
    metate.store %v, %f["a"][%k] : f32, !sparse
    metate.yield
  }
  metate.return
}

// CHECK-LABEL: metate.kernel @asks.reserve
// CHECK: metate.assert %{{.*}}, "which cells are activated depends on which cells of 'arg0.a' are active here
metate.kernel @asks(%f: !sparse, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  metate.range (%k) = (%c0) to (%n) {
    %is = metate.is_active %f["a"][%k] : !sparse
    scf.if %is {
      metate.store %v, %f["a"][%n] : f32, !sparse
    }
    metate.yield
  }
  metate.return
}

// What a function computes with is kept, also where it stands outside of the function.
// CHECK-LABEL: metate.kernel @called.reserve
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-DAG: %[[EIGHT:.*]] = arith.constant 8 : i32
// CHECK: metate.function "place" (%[[N:.*]]: i32
// CHECK: %[[HALF:.*]] = arith.shrsi %[[N]], %[[ONE]]
// CHECK: %[[PART:.*]] = metate.call "place"(%[[HALF]])
// CHECK: arith.addi %[[PART]], %[[EIGHT]]
metate.kernel @called(%f: !sparse, %n: i32, %v: f32) {
  %one = arith.constant 1 : i32
  %eight = arith.constant 8 : i32
  metate.function "place" (%m: i32) {
    %more = arith.cmpi sgt, %m, %one : i32
    %found = scf.if %more -> (i32) {
      %half = arith.shrsi %m, %one : i32
      %part = metate.call "place"(%half) : (i32) -> i32
      %sum = arith.addi %part, %eight : i32
      scf.yield %sum : i32
    } else {
      scf.yield %m : i32
    }
    metate.give %found : i32
  }
  %at = metate.call "place"(%n) : (i32) -> i32
  %i = arith.index_cast %at : i32 to index
  metate.store %v, %f["a"][%i] : f32, !sparse
  metate.return
}

// A graph's slice runs those of its kernels, in its loops; emptied for ONLY are its kernels, since it has their access.
// CHECK-LABEL: metate.kernel private @g.0.grow.reserve(
// CHECK: metate.reserve
// CHECK-LABEL: metate.kernel @g.reserve(
// CHECK-SAME: %[[F:[^:]*]]: !metate.tree<{{.*}}>{{.*}}, %[[X:[^:]*]]: memref<?xf32>{{.*}}, %[[N:[^:]*]]: index, %[[V:[^:]*]]: f32, %[[COUNTS:[^:]*]]: i64
// CHECK-NOT: @g.1.write
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[N]]
// CHECK-NEXT: metate.run @g.0.grow.reserve(%[[F]], %[[I]], %[[V]], %[[COUNTS]])
// ONLY-LABEL: metate.kernel private @g.0.grow(
// ONLY-NEXT: metate.return
// ONLY-LABEL: metate.kernel @g(
// ONLY: metate.run @g.0.grow(
metate.kernel private @g.0.grow(%f: !sparse, %i: index, %v: f32) {
  metate.store %v, %f["a"][%i] : f32, !sparse
  metate.return
}
metate.kernel private @g.1.write(%x: memref<?xf32>, %i: index, %v: f32) {
  memref.store %v, %x[%i] : memref<?xf32>
  metate.return
}
metate.kernel private @g.2.follow(%f: !sparse, %x: memref<?xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %at = memref.load %x[%c0] : memref<?xf32>
  %whole = arith.fptosi %at : f32 to i64
  %i = arith.index_cast %whole : i64 to index
  metate.store %v, %f["a"][%i] : f32, !sparse
  metate.return
}
metate.kernel @g(%f: !sparse, %x: memref<?xf32>, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    metate.run @g.0.grow(%f, %i, %v) : !sparse, index, f32
    metate.run @g.1.write(%x, %i, %v) : memref<?xf32>, index, f32
  }
  metate.return
}

// One kernel decides by what another one writes, in the turn before.
// CHECK-LABEL: metate.kernel @h.reserve(
// CHECK-NOT: metate.run
// CHECK: metate.assert %{{.*}}, "which cells are activated depends on 'arg1' here, which the graph itself changes ({{.*}}): count for its kernels one by one"
metate.kernel @h(%f: !sparse, %x: memref<?xf32>, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    metate.run @g.2.follow(%f, %x, %v) : !sparse, memref<?xf32>, f32
    metate.run @g.1.write(%x, %i, %v) : memref<?xf32>, index, f32
  }
  metate.return
}

// In order it reads first, and the graph counts.
// CHECK-LABEL: metate.kernel @k.reserve(
// CHECK: metate.run @g.2.follow.reserve(
metate.kernel @k(%f: !sparse, %x: memref<?xf32>, %i: index, %v: f32) {
  metate.run @g.2.follow(%f, %x, %v) : !sparse, memref<?xf32>, f32
  metate.run @g.1.write(%x, %i, %v) : memref<?xf32>, index, f32
  metate.return
}
