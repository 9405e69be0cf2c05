// RUN: metate-opt %s --start-from=import --stop-after=map | FileCheck %s
// RUN: metate-opt %s --start-from=import --stop-after=emit | FileCheck %s --check-prefix=OBJECT

// A loop that each lane leaves when it wants: what it gives is kept of those that are alive, and the turns, which are
// counted once for all, too.
// CHECK-LABEL: llvm.func internal @metate_entry_escape_task0(
// CHECK: %[[ALIVE:.*]] = llvm.icmp "slt" %{{.*}}, %{{.*}} : vector<16xi64>
// CHECK: llvm.intr.masked.load {{.*}}, %[[ALIVE]],
// CHECK: ^bb{{[0-9]+}}(%[[COUNT:[0-9]+]]: i32 {{.*}}, %[[X:[0-9]+]]: vector<16xf32> {{.*}}, %[[IN:[0-9]+]]: vector<16xi1> {{.*}}, %[[KEPT:[0-9]+]]: vector<16xi32> {{.*}}):
// CHECK: %[[GOES:.*]] = llvm.fcmp "olt" %[[X]]
// CHECK: %[[LIVE:.*]] = llvm.select %[[IN]], %[[GOES]], %{{.*}} : vector<16xi1>, vector<16xi1>
// CHECK: llvm.select %[[IN]], %{{.*}}, %[[KEPT]] : vector<16xi1>, vector<16xi32>
// CHECK: %[[ANY:.*]] = {{.*}}llvm.intr.vector.reduce.or{{.*}}(%[[LIVE]])
// CHECK: llvm.cond_br %[[ANY]]
// CHECK: llvm.fmul {{.*}} : vector<16xf32>
// CHECK: llvm.add %{{.*}}, %{{.*}} : i32
// CHECK: llvm.intr.masked.store
// OBJECT: metate.payload
metate.kernel @escape(%x: memref<?xf32>, %out: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %none = arith.constant 0 : i32
  %four = arith.constant 4.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    %own = memref.load %x[%i] : memref<?xf32>
    %r:2 = scf.while (%count = %none, %a = %own) : (i32, f32) -> (i32, f32) {
      %goes = arith.cmpf olt, %a, %four : f32
      scf.condition(%goes) %count, %a : i32, f32
    } do {
    ^bb0(%count: i32, %a: f32):
      %b = arith.mulf %a, %a : f32
      %d = arith.addf %b, %own : f32
      %next = arith.addi %count, %one : i32
      scf.yield %next, %d : i32, f32
    }
    memref.store %r#0, %out[%i] : memref<?xi32>
    metate.yield
  }
  metate.return
}

// Lanes that have as many turns as their iteration: the loop's variable is one for all of them. A place that only some read
// is read where those lanes are, by the others in the task's own memory; whole numbers are divided as f64.
// CHECK-LABEL: llvm.func internal @metate_entry_turns_task0(
// CHECK: %[[SPARE:.*]] = llvm.alloca %{{.*}} x i64
// CHECK: llvm.fptosi %{{.*}} : vector<16xf64> to vector<16xi32>
// CHECK: %[[THERE:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr, vector<16xi64>) -> vector<16x!llvm.ptr>, i8
// CHECK: %[[POINTERS:.*]] = llvm.select %{{.*}}, %[[THERE]], %{{.*}} : vector<16xi1>, vector<16x!llvm.ptr>
// CHECK: llvm.extractelement %[[POINTERS]]
metate.kernel @turns(%x: memref<?xi32>, %out: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %three = arith.constant 3 : i32
  %n = memref.dim %x, %c0 : memref<?xi32>
  metate.range (%i) = (%c0) to (%n) {
    %own = memref.load %x[%i] : memref<?xi32>
    %s = scf.for %j = %c0 to %i step %c1 iter_args(%a = %zero) -> i32 {
      %k = arith.index_cast %j : index to i32
      %odd = arith.ori %k, %three : i32
      %b = arith.addi %own, %a : i32
      %c = arith.muli %b, %b : i32
      %d = arith.xori %c, %own : i32
      %e = arith.muli %d, %b : i32
      %q = arith.muli %e, %odd : i32
      %r = arith.xori %q, %own : i32
      %t = arith.muli %r, %b : i32
      %u = arith.addi %t, %e : i32
      %v = arith.muli %u, %u : i32
      scf.yield %v : i32
    }
    %rest = arith.remsi %s, %own : i32
    %some = arith.cmpi slt, %rest, %three : i32
    %r = scf.if %some -> i32 {
      %at = arith.index_cast %rest : i32 to index
      %v = memref.load %x[%at] : memref<?xi32>
      scf.yield %v : i32
    } else {
      scf.yield %own : i32
    }
    memref.store %r, %out[%i] : memref<?xi32>
    metate.yield
  }
  metate.return
}

// Atomic operations go lane by lane, those that are alive; for a worker that is alone they are plain.
// CHECK-LABEL: llvm.func internal @metate_entry_counted_task0(
// CHECK: llvm.intr.vector.reduce.or
// CHECK: %[[FIRST:.*]] = llvm.extractelement %{{.*}} : vector<16xi1>
// CHECK-NEXT: llvm.cond_br %[[FIRST]]
// CHECK: llvm.store
// CHECK: llvm.intr.vector.reduce.or
// CHECK-COUNT-16: llvm.atomicrmw add
// CHECK-NOT: llvm.atomicrmw add
metate.kernel @counted(%x: memref<?xf32>, %counts: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %none = arith.constant 0 : i32
  %four = arith.constant 4.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    %own = memref.load %x[%i] : memref<?xf32>
    %r:2 = scf.while (%count = %none, %a = %own) : (i32, f32) -> (i32, f32) {
      %goes = arith.cmpf olt, %a, %four : f32
      scf.condition(%goes) %count, %a : i32, f32
    } do {
    ^bb0(%count: i32, %a: f32):
      %next = arith.addi %count, %one : i32
      %b = arith.mulf %a, %a : f32
      %c = arith.addf %b, %own : f32
      scf.yield %next, %c : i32, f32
    }
    %at = arith.index_cast %r#0 : i32 to index
    %old = memref.atomic_rmw addi %one, %counts[%at] : (i32, memref<?xi32>) -> i32
    metate.yield
  }
  metate.return
}
