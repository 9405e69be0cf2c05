// RUN: metate-opt %s --metate-flatten-rows | FileCheck %s

// CHECK-LABEL: metate.kernel @banded
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: %[[V:.*]] = arith.select %{{.*}}, %[[SUM]], %{{.*}} : f32
// CHECK: metate.write %[[V]]
// CHECK: } {metate.row, metate.straight}
metate.kernel @banded(%b: !metate.block, %limit: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %tile = memref.alloca() : memref<10xf32>
  scf.for %l = %c0 to %c8 step %c1 {
    %v = memref.load %tile[%l] : memref<10xf32>
    %in = arith.cmpf olt, %v, %limit : f32
    %r = scf.if %in -> f32 {
      %next = arith.addi %l, %c1 : index
      %w = memref.load %tile[%next] : memref<10xf32>
      %sum = arith.addf %v, %w : f32
      scf.yield %sum : f32
    } else {
      scf.yield %v : f32
    }
    metate.write %r, %b[%l] scope 0 : f32
  } {metate.row}
  metate.return
}

// Nobody else writes the cell: without the condition the old value is stored.
// CHECK-LABEL: metate.kernel @blended
// CHECK-NOT: scf.if
// CHECK: %[[OLD:.*]] = metate.read %arg0[%[[AT:.*]]] scope 0 {metate.known_slot} : f32
// CHECK: %[[NEW:.*]] = arith.select %{{.*}}, %{{.*}}, %[[OLD]] : f32
// CHECK: metate.write %[[NEW]], %arg0[%[[AT]]] scope 0
// CHECK: %[[OTHER:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK: metate.write %[[OTHER]]
// CHECK: metate.straight
metate.kernel @blended(%b: !metate.block, %limit: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %l = %c0 to %c8 step %c1 {
    %v = metate.read %b[%l] scope 0 : f32
    %in = arith.cmpf olt, %v, %limit : f32
    scf.if %in {
      metate.write %limit, %b[%l] scope 0 {metate.only_writer} : f32
    } else {
      %twice = arith.addf %v, %v : f32
      metate.write %twice, %b[%l] scope 0 {metate.only_writer} : f32
    }
  } {metate.row}
  metate.return
}

// A store under a condition may not happen for every cell; nor may a read of memory that is not known.
// CHECK-LABEL: metate.kernel @guarded
// CHECK: scf.if
// CHECK: scf.if
// CHECK: } {metate.row}
metate.kernel @guarded(%b: !metate.block, %x: !metate.block, %limit: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %l = %c0 to %c8 step %c1 {
    %v = metate.read %b[%l] scope 0 : f32
    %in = arith.cmpf olt, %v, %limit : f32
    %r = scf.if %in -> f32 {
      %w = metate.read %x[%l] scope 1 : f32
      scf.yield %w : f32
    } else {
      scf.yield %v : f32
    }
    scf.if %in {
      metate.write %r, %b[%l] scope 0 : f32
    }
  } {metate.row}
  metate.return
}

// Integer division by an unknown number may trap.
// CHECK-LABEL: metate.kernel @trapping
// CHECK: scf.if
// CHECK: arith.divsi
// CHECK: } {metate.row}
metate.kernel @trapping(%b: !metate.block, %d: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0 : i32
  scf.for %l = %c0 to %c8 step %c1 {
    %v = metate.read %b[%l] scope 0 : i32
    %in = arith.cmpi ne, %d, %zero : i32
    %r = scf.if %in -> i32 {
      %q = arith.divsi %v, %d : i32
      scf.yield %q : i32
    } else {
      scf.yield %zero : i32
    }
    metate.write %r, %b[%l] scope 0 : i32
  } {metate.row}
  metate.return
}

// A call of the C library does not become a vector; a read of a known slot may run for every cell.
// CHECK-LABEL: metate.kernel @calls
// CHECK-NOT: scf.if
// CHECK: arith.select
// CHECK: } {metate.row}
metate.kernel @calls(%b: !metate.block, %in: i1, %a: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %l = %c0 to %c8 step %c1 {
    %r = scf.if %in -> f32 {
      %v = metate.read %b[%l] scope 0 {metate.known_slot} : f32
      scf.yield %v : f32
    } else {
      scf.yield %a : f32
    }
    %s = math.round %r : f32
    metate.write %s, %b[%l] scope 0 : f32
  } {metate.row}
  metate.return
}
