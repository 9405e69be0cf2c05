// RUN: metate-opt %s --metate-hoist-activations | FileCheck %s

!t = !metate.tree<#metate.pointer<"i", [16], [#metate.dense<"i", [8], [#metate.place<"a" : f32>]>]>>

// CHECK-LABEL: metate.kernel @every_cell
// CHECK: metate.cells
// CHECK: metate.activate %arg1["a"]
// CHECK: scf.for
// CHECK-NOT: metate.activate
metate.kernel @every_cell(%f: !t, %g: !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  metate.cells (%slot, %s) in %f["a@0"] : !t {
    %base = arith.muli %s, %c8 : index
    scf.for %l = %c0 to %c8 step %c1 {
      %i = arith.addi %base, %l : index
      %v = metate.load %f["a"][%i] : !t -> f32
      %ok = metate.activate %g["a"][%i] : !t
      scf.if %ok {
        metate.store %v, %g["a"][%i] active : f32, !t
      }
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// Under a condition it would activate leaves that the kernel does not.
// CHECK-LABEL: metate.kernel @some_cells
// CHECK: scf.for
// CHECK: scf.if
// CHECK: metate.activate
metate.kernel @some_cells(%f: !t, %g: !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  metate.cells (%slot, %s) in %f["a@0"] : !t {
    %base = arith.muli %s, %c8 : index
    scf.for %l = %c0 to %c8 step %c1 {
      %i = arith.addi %base, %l : index
      %v = metate.load %f["a"][%i] : !t -> f32
      %positive = arith.cmpf ogt, %v, %zero : f32
      scf.if %positive {
        %ok = metate.activate %g["a"][%i] : !t
        scf.if %ok {
          metate.store %v, %g["a"][%i] active : f32, !t
        }
      }
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// The next cell may lie in the next leaf.
// CHECK-LABEL: metate.kernel @next_leaf
// CHECK: scf.for
// CHECK: metate.activate
metate.kernel @next_leaf(%f: !t, %g: !t, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  metate.cells (%slot, %s) in %f["a@0"] : !t {
    %base = arith.muli %s, %c8 : index
    scf.for %l = %c0 to %c8 step %c1 {
      %i = arith.addi %base, %l : index
      %next = arith.addi %i, %c1 : index
      %ok = metate.activate %g["a"][%next] : !t
      scf.if %ok {
        metate.store %v, %g["a"][%next] active : f32, !t
      }
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// The check may stop the kernel before the first cell activates the leaf; one behind it may not.
// CHECK-LABEL: metate.kernel @checked
// CHECK: metate.activate %arg1["a"] {{.*}} strict
// CHECK: scf.for
// CHECK: metate.check capacity
// CHECK: metate.poll
// CHECK-NOT: metate.activate %arg1
// CHECK: metate.activate %arg2["a"]
metate.kernel @checked(%f: !t, %g: !t, %h: !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  metate.cells (%slot, %s) in %f["a@0"] : !t {
    %base = arith.muli %s, %c8 : index
    scf.for %l = %c0 to %c8 step %c1 {
      %i = arith.addi %base, %l : index
      %ok = metate.activate %g["a"][%i] strict : !t
      metate.check capacity %ok, "g.a" index(%i)
      metate.poll
      %done = metate.activate %h["a"][%i] : !t
    } {metate.nest}
    metate.yield
  }
  metate.return
}
