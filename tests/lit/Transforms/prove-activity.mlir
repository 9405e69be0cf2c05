// RUN: metate-opt %s --metate-prove-activity | FileCheck %s

!t = !metate.tree<#metate.pointer<"i", [16], [#metate.dense<"i", [8], [#metate.place<"a" : f32>, #metate.place<"b" : f32>]>]>>
!m = !metate.tree<#metate.pointer<"i", [16], [#metate.bitmasked<"i", [8], [#metate.place<"a" : f32>]>]>>

// The slot that the task is at is active, and all cells of a dense leaf with it.
// CHECK-LABEL: metate.kernel @own_slot
// CHECK-NOT: metate.activate
// CHECK-NOT: metate.is_active
// CHECK-NOT: scf.if
// CHECK: metate.store
// CHECK: metate.store
metate.kernel @own_slot(%f: !t, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  metate.cells (%slot, %s) in %f["a@0"] : !t {
    %base = arith.muli %s, %c8 : index
    scf.for %l = %c0 to %c8 step %c1 {
      %i = arith.addi %base, %l : index
      %on = metate.is_active %f["a"][%i] : !t
      scf.if %on {
        %j = arith.subi %c7, %l : index
        %mirror = arith.addi %base, %j : index
        %ok = metate.activate %f["b"][%mirror] : !t
        scf.if %ok {
          metate.store %v, %f["b"][%mirror] active : f32, !t
        }
      }
      metate.store %v, %f["a"][%i] active : f32, !t
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// The next cell may lie in the next leaf, and a bit is not the slot's.
// CHECK-LABEL: metate.kernel @other_slot
// CHECK: metate.is_active %arg0["a"]
// CHECK: metate.is_active %arg1["a"]
metate.kernel @other_slot(%f: !t, %m: !m, %x: memref<?xi1>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  metate.cells (%slot, %s) in %f["a@0"] : !t {
    %base = arith.muli %s, %c8 : index
    scf.for %l = %c0 to %c8 step %c1 {
      %i = arith.addi %base, %l : index
      %next = arith.addi %i, %c1 : index
      %on = metate.is_active %f["a"][%next] : !t
      memref.store %on, %x[%i] : memref<?xi1>
    } {metate.nest}
    metate.yield
  }
  metate.cells (%slot, %s) in %m["a@0"] : !m {
    %base = arith.muli %s, %c8 : index
    scf.for %l = %c0 to %c8 step %c1 {
      %i = arith.addi %base, %l : index
      %on = metate.is_active %m["a"][%i] : !m
      memref.store %on, %x[%i] : memref<?xi1>
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// One cell is activated or tested once; under its test it needs no activation, nor do others of its leaf.
// CHECK-LABEL: metate.kernel @twice
// CHECK: %[[ON:.*]] = metate.activate %arg0["a"]
// CHECK-NOT: metate.activate
// CHECK: scf.if %[[ON]]
// CHECK-NOT: scf.if
// CHECK: metate.store %arg2, %arg0["a"]
// CHECK: metate.store %arg2, %arg0["b"]
// CHECK: metate.is_active %arg0["a"]
// CHECK-NOT: metate.is_active
metate.kernel @twice(%f: !t, %x: memref<?xi1>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  metate.range (%s) = (%c0) to (%c16) {
    %i = arith.muli %s, %c8 : index
    %j = arith.addi %i, %c3 : index
    %one = metate.activate %f["a"][%i] : !t
    scf.if %one {
      metate.store %v, %f["a"][%i] active : f32, !t
      %two = metate.activate %f["b"][%j] : !t
      scf.if %two {
        metate.store %v, %f["b"][%j] active : f32, !t
      }
    }
    %other = arith.addi %s, %c1 : index
    %first = metate.is_active %f["a"][%other] : !t
    memref.store %first, %x[%s] : memref<?xi1>
    %second = metate.is_active %f["b"][%other] : !t
    memref.store %second, %x[%i] : memref<?xi1>
    metate.yield
  }
  metate.return
}

// An activation may be of the cell that was found inactive.
// CHECK-LABEL: metate.kernel @between
// CHECK: metate.is_active
// CHECK: metate.activate
// CHECK: metate.is_active
metate.kernel @between(%f: !t, %x: memref<?xi1>, %i: index, %j: index) {
  metate.serial {
    %first = metate.is_active %f["a"][%i] : !t
    memref.store %first, %x[%i] : memref<?xi1>
    %ok = metate.activate %f["a"][%j] : !t
    %second = metate.is_active %f["a"][%i] : !t
    memref.store %second, %x[%j] : memref<?xi1>
    metate.yield
  }
  metate.return
}

// In order, a deactivation ends what is known; side by side, it may come at any time. One of cells below does not matter.
// CHECK-LABEL: metate.kernel @given_up
// CHECK: metate.serial
// CHECK: metate.activate
// CHECK-NOT: metate.is_active
// CHECK: metate.deactivate
// CHECK: metate.is_active
// CHECK: metate.range
// CHECK: metate.activate
// CHECK: metate.is_active
// CHECK: metate.deactivate
metate.kernel @given_up(%f: !t, %x: memref<?xi1>, %i: index, %j: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  metate.serial {
    %ok = metate.activate %f["a"][%i] : !t
    scf.if %ok {
      %still = metate.is_active %f["a"][%i] : !t
      memref.store %still, %x[%i] : memref<?xi1>
      metate.deactivate %f["a"][%j] : !t
      %on = metate.is_active %f["a"][%i] : !t
      memref.store %on, %x[%j] : memref<?xi1>
    }
    metate.yield
  }
  metate.range (%s) = (%c0) to (%c16) {
    %ok = metate.activate %f["a"][%s] : !t
    scf.if %ok {
      %on = metate.is_active %f["a"][%s] : !t
      memref.store %on, %x[%s] : memref<?xi1>
    }
    metate.deactivate %f["a"][%j] : !t
    metate.yield
  }
  metate.return
}

// CHECK-LABEL: metate.kernel @bits_given_up
// CHECK-NOT: metate.is_active
// CHECK: metate.deactivate
metate.kernel @bits_given_up(%m: !m, %x: memref<?xi1>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  metate.cells (%slot, %s) in %m["a@0"] : !m {
    %base = arith.muli %s, %c8 : index
    %on = metate.is_active %m["a@0"][%s] : !m
    memref.store %on, %x[%s] : memref<?xi1>
    metate.deactivate %m["a"][%base] : !m
    metate.yield
  }
  metate.return
}

// Of one slot, but outside along an axis that lies in the slot as a whole: that cell is never active, the other one may be.
// CHECK-LABEL: metate.kernel @outside
// CHECK: metate.is_active %{{.*}}["a"] [%{{.*}}, %c9]
// CHECK: metate.is_active %{{.*}}["a"] [%{{.*}}, %c1]
// CHECK: metate.activate %{{.*}}["a"] [%{{.*}}, %c9]
// CHECK: metate.activate %{{.*}}["a"] [%{{.*}}, %c1]
// CHECK-NOT: metate.activate
// CHECK: metate.return
!flat = !metate.tree<#metate.pointer<"i", [16], [#metate.dense<"j", [8], [#metate.place<"a" : f32>]>]>>
metate.kernel @outside(%f: !flat, %x: memref<?xi1>, %i: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c9 = arith.constant 9 : index
  metate.serial {
    %on = metate.is_active %f["a"][%i, %c9] : !flat
    memref.store %on, %x[%c1] : memref<?xi1>
    %off = metate.is_active %f["a"][%i, %c1] : !flat
    memref.store %off, %x[%c2] : memref<?xi1>
    %a = metate.activate %f["a"][%i, %c9] : !flat
    memref.store %a, %x[%c3] : memref<?xi1>
    %b = metate.activate %f["a"][%i, %c1] : !flat
    memref.store %b, %x[%c3] : memref<?xi1>
    %c = metate.activate %f["a"][%i, %c2] : !flat
    memref.store %c, %x[%c4] : memref<?xi1>
    metate.yield
  }
  metate.return
}
