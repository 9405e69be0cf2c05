// RUN: metate-opt %s --start-from=import --stop-after=map | FileCheck %s
// RUN: metate-opt %s --start-from=import --stop-after=emit | FileCheck %s --check-prefix=OBJECT
// OBJECT: metate.payload

// The condition chooses what is accumulated; the index of the least value, say. LLVM must not know that the other
// choice changes nothing: it would make this a branch again.
// CHECK-LABEL: llvm.func internal @metate_entry_where_task0(
// CHECK-DAG: %[[MOST:.*]] = llvm.mlir.constant(2147483647 : i32)
// CHECK: llvm.store %[[MOST]], %[[PARTIAL:[0-9]+]] :
// CHECK-NEXT: llvm.store %[[MOST]], %[[HIDDEN:[0-9]+]] :
// CHECK-NEXT: %[[UNWANTED:.*]] = llvm.load volatile %[[HIDDEN]]
// CHECK: %[[EQUAL:.*]] = llvm.fcmp "oeq"
// CHECK-NEXT: %[[VALUE:.*]] = llvm.select %[[EQUAL]], %{{.*}}, %[[UNWANTED]] : i1, i32
// CHECK-NEXT: %[[OLD:.*]] = llvm.load %[[PARTIAL]]
// CHECK-NEXT: %[[NEXT:.*]] = llvm.intr.smin(%[[OLD]], %[[VALUE]])
// CHECK-NEXT: llvm.store %[[NEXT]], %[[PARTIAL]]
// CHECK-LABEL: llvm.func @metate_entry_where(
metate.kernel @where(%x: memref<?xf32>, %low: f32, %at: memref<i32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    %k = arith.index_cast %i : index to i32
    %v = memref.load %x[%i] : memref<?xf32>
    %c = arith.cmpf oeq, %v, %low : f32
    scf.if %c {
      %old = memref.atomic_rmw mins %k, %at[] : (i32, memref<i32>) -> i32
    }
    metate.yield
  }
  metate.return
}

// A sum of -0 or the value; LLVM knows those. What is only read under the condition stays there.
// CHECK-LABEL: llvm.func internal @metate_entry_guarded_task0(
// CHECK: %[[NEUTRAL:.*]] = llvm.mlir.constant(-0.000000e+00 : f32)
// CHECK-NOT: volatile
// CHECK: llvm.fcmp "ogt"
// CHECK-NEXT: llvm.cond_br %{{.*}}, ^[[THEN:bb[0-9]+]], ^[[ELSE:bb[0-9]+]]
// CHECK-NEXT: ^[[THEN]]:
// CHECK: llvm.load {{.*}} -> f32
// CHECK-NEXT: llvm.br ^[[JOIN:bb[0-9]+]](%{{.*}} : f32)
// CHECK-NEXT: ^[[ELSE]]:
// CHECK-NEXT: llvm.br ^[[JOIN]](%[[NEUTRAL]] : f32)
// CHECK-NEXT: ^[[JOIN]](%[[VALUE:.*]]: f32
// CHECK: llvm.fadd %{{.*}}, %[[VALUE]]
metate.kernel @guarded(%x: memref<?xf32>, %y: memref<?xf32>, %s: memref<f32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %zero = arith.constant 0.0 : f32
  metate.range (%i) = (%c0) to (%n) {
    %v = memref.load %x[%i] : memref<?xf32>
    %c = arith.cmpf ogt, %v, %zero : f32
    scf.if %c {
      %w = memref.load %y[%i] : memref<?xf32>
      %old = memref.atomic_rmw addf %w, %s[] : (f32, memref<f32>) -> f32
    }
    metate.yield
  }
  metate.return
}

// Both sides, and a condition under a condition: one step for each place.
// CHECK-LABEL: llvm.func internal @metate_entry_sides_task0(
// CHECK-COUNT-2: llvm.intr.umax
// CHECK-NOT: llvm.intr.umax
// CHECK-LABEL: llvm.func @metate_entry_sides(
metate.kernel @sides(%x: memref<?xi32>, %s: memref<i32>, %t: memref<i32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xi32>
  %five = arith.constant 5 : i32
  metate.range (%i) = (%c0) to (%n) {
    %v = memref.load %x[%i] : memref<?xi32>
    %c = arith.cmpi slt, %v, %five : i32
    %d = arith.cmpi ne, %v, %five : i32
    scf.if %c {
      %a = memref.atomic_rmw maxu %v, %s[] : (i32, memref<i32>) -> i32
    } else {
      %b = memref.atomic_rmw maxu %five, %s[] : (i32, memref<i32>) -> i32
      scf.if %d {
        %e = memref.atomic_rmw maxu %v, %t[] : (i32, memref<i32>) -> i32
      }
    }
    metate.yield
  }
  metate.return
}

// No vectors come of a call of the C library: the branch stays.
// CHECK-LABEL: llvm.func internal @metate_entry_scalar_task0(
// CHECK-NOT: llvm.load volatile
// CHECK: llvm.fcmp "ogt"
// CHECK-NEXT: llvm.cond_br
// CHECK: "llvm.minimumnum"
// CHECK-NOT: llvm.load volatile
// CHECK-LABEL: llvm.func @metate_entry_scalar(
metate.kernel @scalar(%x: memref<?xf32>, %s: memref<f32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %zero = arith.constant 0.0 : f32
  metate.range (%i) = (%c0) to (%n) {
    %v = memref.load %x[%i] : memref<?xf32>
    %c = arith.cmpf ogt, %v, %zero : f32
    scf.if %c {
      %w = math.round %v : f32
      %old = memref.atomic_rmw minnumf %w, %s[] : (f32, memref<f32>) -> f32
    }
    metate.yield
  }
  metate.return
}
