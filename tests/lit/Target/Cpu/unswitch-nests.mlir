// RUN: metate-opt %s --metate-unswitch-nests | FileCheck %s

// CHECK-LABEL: metate.kernel @guarded_row
// CHECK: scf.if %arg1 {
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: memref.store
metate.kernel @guarded_row(%x: memref<?xf32>, %ok: i1, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %l = %c0 to %c8 step %c1 {
    scf.if %ok {
      memref.store %v, %x[%l] : memref<?xf32>
    }
  }
  metate.return
}

// A condition of the iteration stays.
// CHECK-LABEL: metate.kernel @varying
// CHECK: scf.for
// CHECK: scf.if
metate.kernel @varying(%x: memref<?xf32>, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %l = %c0 to %c8 step %c1 {
    %ok = arith.cmpi ult, %l, %n : index
    scf.if %ok {
      memref.store %v, %x[%l] : memref<?xf32>
    }
  }
  metate.return
}

// What the loop does in either case stays in the other one.
// CHECK-LABEL: metate.kernel @both
// CHECK: scf.if %arg2 {
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %arg0
// CHECK: memref.store %{{.*}}, %arg1
// CHECK: } else {
// CHECK: scf.for
// CHECK-NOT: memref.store %{{.*}}, %arg1
// CHECK: memref.store %{{.*}}, %arg0
metate.kernel @both(%x: memref<?xf32>, %y: memref<?xf32>, %ok: i1, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %l = %c0 to %c8 step %c1 {
    memref.store %v, %x[%l] : memref<?xf32>
    scf.if %ok {
      memref.store %v, %y[%l] : memref<?xf32>
    }
  }
  metate.return
}
