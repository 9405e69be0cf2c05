// RUN: metate-opt %s --metate-deactivate-leaves=noted-cells=16384 | FileCheck %s
// RUN: metate-opt %s --metate-deactivate-leaves=noted-cells=16384 --metate-record-interfaces --metate-lower-layout --canonicalize --cse | FileCheck %s --check-prefix=BYTES

!leaf = !metate.tree<#metate.pointer<"ij", [16, 16], [#metate.bitmasked<"ij", [8, 8], [#metate.place<"a" : f32>]>]>>

// Noted in a byte for each cell; after the nest each word is cleared at once.
// CHECK-LABEL: metate.kernel @under_condition
// CHECK: %[[FLAGS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64xi8>
// CHECK: scf.for
// CHECK: memref.store
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.if
// CHECK: metate.load
// CHECK: scf.if
// CHECK-NOT: metate.deactivate
// CHECK: memref.store %{{.*}}, %[[FLAGS]]
// CHECK: {metate.nest, metate.row}
// CHECK: {metate.nest}
// CHECK: memref.load %[[FLAGS]]
// CHECK: metate.deactivate_word %arg0["a"] [%{{.*}}, %{{.*}}] word %{{.*}} bits %{{.*}} :
// BYTES-LABEL: metate.kernel @metate_entry_under_condition
// BYTES: {metate.nest}
// BYTES: metate.tree_call "deactivate_bits"
metate.kernel @under_condition(%f: !leaf {metate.access = 3 : i64}, %limit: f32) {
  metate.cells (%slot, %si, %sj) in %f["a@0"] : !leaf {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %n = arith.constant 8 : index
    %bi = arith.muli %si, %n : index
    %bj = arith.muli %sj, %n : index
    scf.for %li = %zero to %n step %one {
      %i = arith.addi %bi, %li : index
      scf.for %lj = %zero to %n step %one {
        %j = arith.addi %bj, %lj : index
        %on = metate.is_active %f["a"][%i, %j] {metate.own} : !leaf
        scf.if %on {
          %v = metate.load %f["a"][%i, %j] : !leaf -> f32
          %less = arith.cmpf olt, %v, %limit : f32
          scf.if %less {
            metate.deactivate %f["a"][%i, %j] : !leaf
          }
        }
      } {metate.nest, metate.row}
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// At once: where the cell is read afterwards; another cell; what may stop the kernel.
// CHECK-LABEL: metate.kernel @at_once
// CHECK-NOT: memref.alloca
// CHECK-COUNT-3: metate.deactivate %
// CHECK: metate.return
metate.kernel @at_once(%f: !leaf {metate.access = 3 : i64}, %x: memref<?xf32> {metate.access = 2 : i64}, %fine: i1) {
  metate.cells (%slot, %si, %sj) in %f["a@0"] : !leaf {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %n = arith.constant 8 : index
    %bi = arith.muli %si, %n : index
    %bj = arith.muli %sj, %n : index
    scf.for %li = %zero to %n step %one {
      %i = arith.addi %bi, %li : index
      scf.for %lj = %zero to %n step %one {
        %j = arith.addi %bj, %lj : index
        metate.deactivate %f["a"][%i, %j] : !leaf
        %v = metate.load %f["a"][%i, %j] : !leaf -> f32
        memref.store %v, %x[%j] : memref<?xf32>
      } {metate.nest, metate.row}
    } {metate.nest}
    metate.yield
  }
  metate.cells (%slot, %si, %sj) in %f["a@0"] : !leaf {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %n = arith.constant 8 : index
    %bi = arith.muli %si, %n : index
    %bj = arith.muli %sj, %n : index
    scf.for %li = %zero to %n step %one {
      %i = arith.addi %bi, %li : index
      scf.for %lj = %zero to %n step %one {
        %j = arith.addi %bj, %lj : index
        %right = arith.addi %j, %one : index
        metate.deactivate %f["a"][%i, %right] : !leaf
      } {metate.nest, metate.row}
    } {metate.nest}
    metate.yield
  }
  metate.cells (%slot, %si, %sj) in %f["a@0"] : !leaf {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %n = arith.constant 8 : index
    %bi = arith.muli %si, %n : index
    %bj = arith.muli %sj, %n : index
    scf.for %li = %zero to %n step %one {
      %i = arith.addi %bi, %li : index
      scf.for %lj = %zero to %n step %one {
        %j = arith.addi %bj, %lj : index
        metate.assert %fine, "not fine"
        metate.deactivate %f["a"][%i, %j] : !leaf
      } {metate.nest, metate.row}
    } {metate.nest}
    metate.yield
  }
  metate.return
}
