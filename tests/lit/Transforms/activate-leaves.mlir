// RUN: metate-opt %s --metate-activate-leaves | FileCheck %s
// RUN: metate-opt %s --metate-activate-leaves --metate-scan-masks --metate-record-interfaces --metate-lower-layout --canonicalize --cse | FileCheck %s --check-prefix=BYTES

!leaf = !metate.tree<#metate.pointer<"ij", [16, 16], [#metate.bitmasked<"ij", [8, 8], [#metate.place<"a" : f32>]>]>>
!pair = !metate.tree<#metate.pointer<"ij", [16, 16], [#metate.bitmasked<"ij", [8, 8], [#metate.place<"a" : f32>]>, #metate.bitmasked<"ij", [8, 8], [#metate.place<"b" : f32>]>]>>
!plain = !metate.tree<#metate.pointer<"ij", [16, 16], [#metate.dense<"ij", [8, 8], [#metate.place<"a" : f32>]>]>>

// The leaf of the own slot: no slot is claimed, missing bits are set word by word, before the nest.
// CHECK-LABEL: metate.kernel @siblings
// CHECK: %[[OK:.*]] = metate.activate_leaf %arg0["b"] [%{{.*}}, %{{.*}}] like %arg0["a"] :
// CHECK: scf.for
// CHECK: scf.if %[[OK]] {
// CHECK-NOT: metate.activate %
// BYTES-LABEL: metate.kernel @metate_entry_siblings
// BYTES-NOT: metate.tree_call
// BYTES: metate.rmw ori
// BYTES: scf.for
// BYTES-NOT: metate.rmw
metate.kernel @siblings(%f: !pair) {
  metate.cells (%slot, %si, %sj) in %f["a@0"] : !pair {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %n = arith.constant 8 : index
    %bi = arith.muli %si, %n : index
    %bj = arith.muli %sj, %n : index
    scf.for %li = %zero to %n step %one {
      %i = arith.addi %bi, %li : index
      scf.for %lj = %zero to %n step %one {
        %j = arith.addi %bj, %lj : index
        %on = metate.is_active %f["a"][%i, %j] {metate.own} : !pair
        scf.if %on {
          %v = metate.load %f["a"][%i, %j] : !pair -> f32
          %ok = metate.activate %f["b"][%i, %j] : !pair
          scf.if %ok {
            metate.store %v, %f["b"][%i, %j] active : f32, !pair
          }
        }
      } {metate.nest, metate.row}
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// Of another tree: its slot is claimed where a bit is set.
// CHECK-LABEL: metate.kernel @other_tree
// CHECK: metate.activate_leaf %arg1["a"] [%{{.*}}, %{{.*}}] like %arg0["a"] :
// CHECK-NOT: metate.activate %
// BYTES-LABEL: metate.kernel @metate_entry_other_tree
// BYTES: metate.read {{.*}} acquire : i64
// BYTES: metate.tree_call "claim"
// BYTES: metate.rmw ori
metate.kernel @other_tree(%f: !leaf, %g: !leaf) {
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
          %ok = metate.activate %g["a"][%i, %j] : !leaf
          scf.if %ok {
            metate.store %v, %g["a"][%i, %j] active : f32, !leaf
          }
        }
      } {metate.nest, metate.row}
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// A whole leaf, from one without bits.
// CHECK-LABEL: metate.kernel @from_dense
// CHECK: metate.activate_leaf %arg1["a"] [%{{.*}}, %{{.*}}] :
// CHECK-NOT: metate.activate %
metate.kernel @from_dense(%f: !plain, %g: !leaf) {
  metate.cells (%slot, %si, %sj) in %f["a@0"] : !plain {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %n = arith.constant 8 : index
    %bi = arith.muli %si, %n : index
    %bj = arith.muli %sj, %n : index
    scf.for %li = %zero to %n step %one {
      %i = arith.addi %bi, %li : index
      scf.for %lj = %zero to %n step %one {
        %j = arith.addi %bj, %lj : index
        %v = metate.load %f["a"][%i, %j] : !plain -> f32
        %ok = metate.activate %g["a"][%i, %j] : !leaf
        scf.if %ok {
          metate.store %v, %g["a"][%i, %j] active : f32, !leaf
        }
      } {metate.nest, metate.row}
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// Another cell's bit, or one that not every cell sets, is set where it was; so is one that the nest asks for.
// CHECK-LABEL: metate.kernel @neither
// CHECK-NOT: metate.activate_leaf
metate.kernel @neither(%f: !leaf, %g: !leaf, %h: !leaf, %limit: f32) {
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
          %right = arith.addi %j, %one : index
          %next = metate.activate %g["a"][%i, %right] : !leaf
          %less = arith.cmpf olt, %v, %limit : f32
          scf.if %less {
            %some = metate.activate %g["a"][%i, %j] : !leaf
          }
          %asked = metate.is_active %h["a"][%i, %j] : !leaf
          %ok = metate.activate %h["a"][%i, %j] : !leaf
        }
      } {metate.nest, metate.row}
    } {metate.nest}
    metate.yield
  }
  metate.return
}
