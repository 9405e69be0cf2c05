// RUN: metate-opt %s --start-from=import --stop-after=map | FileCheck %s
// RUN: metate-opt %s --start-from=import --stop-after=emit | FileCheck %s --check-prefix=OBJECT
// OBJECT: metate.payload

// Two vectors at a time, each with values and with the turns in which they were found; then one. The best of all lanes; what was chosen,
// for its turn; the rest as it was.
// CHECK-LABEL: llvm.func @metate_entry_first(
// CHECK: llvm.load {{.*}} : !llvm.ptr -> vector<16xf32>
// CHECK: %[[LESS:.*]] = llvm.fcmp "olt" %{{.*}}, %[[OLD:.*]] : vector<16xf32>
// CHECK: llvm.select %[[LESS]], %{{.*}}, %[[OLD]] : vector<16xi1>, vector<16xf32>
// CHECK: llvm.select %[[LESS]], %{{.*}}, %{{.*}} : vector<16xi1>, vector<16xi32>
// CHECK: llvm.fcmp "olt" {{.*}} : vector<16xf32>
// CHECK: llvm.fcmp "olt" {{.*}} : vector<16xf32>
// CHECK: llvm.fcmp "oeq" {{.*}} : vector<16xf32>
// CHECK: llvm.icmp "slt" {{.*}} : vector<16xi32>
// CHECK: llvm.shufflevector {{.*}} [8, 9, 10, 11, 12, 13, 14, 15] : vector<16xf32>
// CHECK: llvm.fcmp "oeq" {{.*}} : vector<1xf32>
// CHECK: llvm.icmp "slt" {{.*}} : vector<1xi64>
// CHECK: llvm.icmp "sge" {{.*}} : i64
// CHECK: llvm.load {{.*}} : !llvm.ptr -> i32
// CHECK: llvm.fcmp "olt" {{.*}} : f32
metate.kernel @first(%x: memref<?xf32>, %names: memref<?xi32>, %out: memref<?xf32>, %found: memref<?xi32>, %start: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = arith.constant -1 : i32
  %n = memref.dim %x, %c0 : memref<?xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%least = %start, %name = %none) -> (f32, i32) {
    %v = memref.load %x[%i] : memref<?xf32>
    %less = arith.cmpf olt, %v, %least : f32
    %next:2 = scf.if %less -> (f32, i32) {
      %again = memref.load %x[%i] : memref<?xf32>
      %own = memref.load %names[%i] : memref<?xi32>
      scf.yield %again, %own : f32, i32
    } else {
      scf.yield %least, %name : f32, i32
    }
    scf.yield %next#0, %next#1 : f32, i32
  }
  memref.store %r#0, %out[%c0] : memref<?xf32>
  memref.store %r#1, %found[%c0] : memref<?xi32>
  metate.return
}

// A min takes a NaN for no value: one to start with leaves the loop as it was. Its turn does not matter.
// CHECK-LABEL: llvm.func @metate_entry_named(
// CHECK: llvm.fcmp "ord" %[[START:.*]], %[[START]] : f64
// CHECK: llvm.fcmp "olt" {{.*}} : vector<8xf64>
// CHECK-NOT: vector<8xi32>
// CHECK-NOT: vector<8xi64>
// CHECK: llvm.{{.*}}min{{.*}} : (f64, f64) -> f64
metate.kernel @named(%x: memref<?xf64>, %out: memref<?xf64>, %start: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf64>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%least = %start) -> (f64) {
    %v = memref.load %x[%i] : memref<?xf64>
    %next = arith.minnumf %least, %v : f64
    scf.yield %next : f64
  }
  memref.store %r, %out[%c0] : memref<?xf64>
  metate.return
}

// The last of equal ones; a read under a condition is a masked one; a sum goes along.
// CHECK-LABEL: llvm.func @metate_entry_masked(
// CHECK: llvm.intr.masked.load {{.*}} vector<16xi32>
// CHECK: llvm.icmp "sge" {{.*}} : vector<16xi32>
// CHECK: llvm.add {{.*}} : vector<16xi32>
// CHECK: llvm.icmp "sgt" {{.*}} : vector<1xi64>
metate.kernel @masked(%x: memref<?xi32>, %mask: memref<?xi32>, %found: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %n = memref.dim %x, %c0 : memref<?xi32>
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%most = %zero, %at = %zero, %seen = %zero) -> (i32, i32, i32) {
    %m = memref.load %mask[%i] : memref<?xi32>
    %isSet = arith.cmpi ne, %m, %zero : i32
    %next:3 = scf.if %isSet -> (i32, i32, i32) {
      %v = memref.load %x[%i] : memref<?xi32>
      %more = arith.cmpi sge, %v, %most : i32
      %number = arith.index_cast %i : index to i32
      %value = arith.select %more, %v, %most : i32
      %place = arith.select %more, %number, %at : i32
      %count = arith.addi %seen, %one : i32
      scf.yield %value, %place, %count : i32, i32, i32
    } else {
      scf.yield %most, %at, %seen : i32, i32, i32
    }
    scf.yield %next#0, %next#1, %next#2 : i32, i32, i32
  }
  memref.store %r#0, %found[%c0] : memref<?xi32>
  memref.store %r#1, %found[%c1] : memref<?xi32>
  memref.store %r#2, %found[%c2] : memref<?xi32>
  metate.return
}

// What is compared depends on what was found; a loop that writes; a choice that is another one's.
// CHECK-LABEL: llvm.func @metate_entry_left(
// CHECK-NOT: vector<
metate.kernel @left(%x: memref<?xf32>, %out: memref<?xf32>, %start: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %a = scf.for %i = %c0 to %n step %c1 iter_args(%least = %start) -> (f32) {
    %v = memref.load %x[%i] : memref<?xf32>
    %d = arith.subf %v, %least : f32
    %less = arith.cmpf olt, %d, %least : f32
    %next = arith.select %less, %d, %least : f32
    scf.yield %next : f32
  }
  %b = scf.for %i = %c0 to %n step %c1 iter_args(%least = %start) -> (f32) {
    %v = memref.load %x[%i] : memref<?xf32>
    %less = arith.cmpf olt, %v, %least : f32
    %next = arith.select %less, %v, %least : f32
    memref.store %next, %x[%i] : memref<?xf32>
    scf.yield %next : f32
  }
  %c:2 = scf.for %i = %c0 to %n step %c1 iter_args(%least = %b, %other = %start) -> (f32, f32) {
    %v = memref.load %x[%i] : memref<?xf32>
    %less = arith.cmpf olt, %v, %least : f32
    %next = arith.select %less, %v, %least : f32
    %more = arith.cmpf ogt, %v, %least : f32
    %chosen = arith.select %more, %v, %other : f32
    scf.yield %next, %chosen : f32, f32
  }
  %sum = arith.addf %a, %c#0 : f32
  %all = arith.addf %sum, %c#1 : f32
  memref.store %all, %out[%c0] : memref<?xf32>
  metate.return
}
