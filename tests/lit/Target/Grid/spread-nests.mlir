// RUN: metate-opt %s --metate-spread-nests | FileCheck %s
// RUN: metate-opt %s --metate-spread-nests | metate-opt | FileCheck %s

// The cells of a slot's leaf are a dimension more: their two coordinates follow from its number, and what stood around the nest, reads and
// arithmetic, is computed for each cell.
// CHECK-LABEL: metate.kernel @cells
// CHECK: %[[CELLS:.*]] = arith.constant 32 : index
// CHECK: metate.range (%[[SLOT:.*]], %[[CELL:.*]]) = (%{{.*}}, %{{.*}}) to (%arg1, %[[CELLS]]) {
// CHECK-DAG: %[[J:.*]] = arith.remui %[[CELL]], %{{.*}} : index
// CHECK-DAG: %[[I:.*]] = arith.divui %[[CELL]], %{{.*}} : index
// CHECK: %[[ACTIVE:.*]] = metate.read %arg0[%[[SLOT]]]
// CHECK: scf.if
// CHECK-NOT: scf.for
// CHECK: %[[ROW:.*]] = arith.muli %[[I]], %{{.*}} : index
// CHECK: %[[AT:.*]] = arith.addi %[[ROW]], %[[J]] : index
// CHECK: metate.write %{{.*}}, %arg0[%[[AT]]]
metate.kernel @cells(%b: !metate.block, %n: index) {
  %c0 = arith.constant 0 : index
  metate.range (%slot) = (%c0) to (%n) {
    %flag = metate.read %b[%slot] scope 0 : i32
    %zero = arith.constant 0 : i32
    %active = arith.cmpi ne, %flag, %zero : i32
    scf.if %active {
      %first = arith.constant 0 : index
      %one = arith.constant 1 : index
      %four = arith.constant 4 : index
      %eight = arith.constant 8 : index
      scf.for %i = %first to %four step %one {
        %row = arith.muli %i, %eight : index
        scf.for %j = %first to %eight step %one {
          %at = arith.addi %row, %j : index
          metate.write %flag, %b[%at] scope 0 : i32
        } {metate.nest, metate.row}
      } {metate.nest}
    }
    metate.yield
  }
  metate.return
}

// What stands beside the nest and changes memory happens once for each slot: the loops stay where cells need what it gave.
// CHECK-LABEL: metate.kernel @prelude
// CHECK: metate.range (%{{[a-z0-9]+}}) =
// CHECK: metate.rmw
// CHECK: scf.for
metate.kernel @prelude(%b: !metate.block, %n: index, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  metate.range (%slot) = (%c0) to (%n) {
    %old = metate.rmw addi %v, %b[%slot] scope 0 : i32
    scf.for %i = %c0 to %c4 step %c1 {
      metate.write %old, %b[%i] scope 0 : i32
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// Where cells need nothing of what is changed, a range before does it for each slot, with what it needs; the cells have the rest.
// CHECK-LABEL: metate.kernel @words_before
// CHECK: metate.range (%[[SLOT:.*]]) = (%{{.*}}) to (%arg2) {
// CHECK: metate.read %arg0[%[[SLOT]]] scope 0
// CHECK: scf.for
// CHECK: metate.rmw ori
// CHECK-NOT: metate.write
// CHECK: metate.range (%[[SLOT:.*]], %[[CELL:.*]]) =
// CHECK: %[[FLAG:.*]] = metate.read %arg0[%[[SLOT]]] scope 0
// CHECK-NOT: metate.rmw
// CHECK: %[[WORD:.*]] = metate.read %arg1[%[[SLOT]]] scope 1
// CHECK-NOT: scf.for
// CHECK: metate.write %{{.*}}, %arg1[%[[CELL]]]
metate.kernel @words_before(%a: !metate.block, %b: !metate.block, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  metate.range (%slot) = (%c0) to (%n) {
    %flag = metate.read %a[%slot] scope 0 : i32
    scf.for %w = %c0 to %c4 step %c1 {
      %word = metate.read %a[%w] scope 0 : i32
      %old = metate.rmw ori %word, %b[%w] scope 1 : i32
    }
    %there = metate.read %b[%slot] scope 1 : i32
    %value = arith.addi %flag, %there : i32
    scf.for %i = %c0 to %c4 step %c1 {
      metate.write %value, %b[%i] scope 1 : i32
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// A cell that would read again what was changed since finds another value: the loops stay.
// CHECK-LABEL: metate.kernel @changed_since
// CHECK: metate.range (%{{[a-z0-9]+}}) =
// CHECK: scf.for
// CHECK: metate.return
metate.kernel @changed_since(%b: !metate.block, %n: index, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  metate.range (%slot) = (%c0) to (%n) {
    %flag = metate.read %b[%slot] scope 0 : i32
    metate.write %v, %b[%slot] scope 0 : i32
    scf.for %i = %c0 to %c4 step %c1 {
      metate.write %flag, %b[%i] scope 0 : i32
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// What is changed behind the loops is not for a range before.
// CHECK-LABEL: metate.kernel @changed_behind
// CHECK: metate.range (%{{[a-z0-9]+}}) =
// CHECK: scf.for
// CHECK: metate.return
metate.kernel @changed_behind(%a: !metate.block, %b: !metate.block, %n: index, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  metate.range (%slot) = (%c0) to (%n) {
    scf.for %i = %c0 to %c4 step %c1 {
      metate.write %v, %b[%i] scope 1 : i32
    } {metate.nest}
    metate.write %v, %a[%slot] scope 0 : i32
    metate.yield
  }
  metate.return
}

// Where a slot is claimed if a link is 0, a range before does that for each slot; the cells read the link again. What they read was there before
// their range: nothing is acquired.
// CHECK-LABEL: metate.kernel @claims_before
// CHECK: metate.range (%[[SLOT:.*]]) = (%{{.*}}) to (%arg1) {
// CHECK: %[[LINK:.*]] = metate.read %arg0[%[[SLOT]]] scope 0 acquire
// CHECK: scf.if
// CHECK: metate.tree_call "claim"
// CHECK-NOT: metate.write
// CHECK: metate.range (%[[SLOT:.*]], %[[CELL:.*]]) =
// CHECK: metate.read %arg0[%[[SLOT]]] scope 0 : i32
// CHECK-NOT: metate.tree_call
// CHECK: %[[AGAIN:.*]] = metate.read %arg0[%[[SLOT]]] scope 0 : i32
// CHECK-NOT: scf.for
// CHECK: metate.write %{{.*}}, %arg0[%[[CELL]]]
!claimed = !metate.tree<#metate.pointer<"i", [64], [#metate.dense<"i", [4], [#metate.place<"a" : i32>]>], name = "blocks">>
metate.kernel @claims_before(%b: !metate.block, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i32
  metate.range (%slot) = (%c0) to (%n) {
    %link = metate.read %b[%slot] scope 0 acquire : i32
    %there = arith.cmpi ne, %link, %zero : i32
    %found = scf.if %there -> (i32) {
      scf.yield %link : i32
    } else {
      %taken = metate.tree_call "claim" %b level 1(%slot) at(%slot) flag 0 : !claimed -> i32
      scf.yield %taken : i32
    }
    scf.for %i = %c0 to %c4 step %c1 {
      metate.write %found, %b[%i] scope 0 : i32
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// Without a link that was read it stays as it is: a slot is claimed once; a look-up may be repeated.
// CHECK-LABEL: metate.kernel @claims
// CHECK: metate.range (%{{[a-z0-9]+}}) =
// CHECK: metate.tree_call "claim"
// CHECK: scf.for
!tree = !metate.tree<#metate.pointer<"i", [64], [#metate.dense<"i", [4], [#metate.place<"a" : i32>]>], name = "blocks">>
metate.kernel @claims(%b: !metate.block, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  metate.range (%slot) = (%c0) to (%n) {
    %taken = metate.tree_call "claim" %b level 1(%slot) at(%slot) flag 0 : !tree -> i32
    scf.for %i = %c0 to %c4 step %c1 {
      metate.write %taken, %b[%i] scope 0 : i32
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// A loop of the program's own is no nest, one whose bound is not known has no number of cells, and one that carries a value needs its order.
// CHECK-LABEL: metate.kernel @others
// CHECK-COUNT-3: metate.range (%{{[a-z0-9]+}}) =
// CHECK: metate.return
metate.kernel @others(%b: !metate.block, %n: index, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  metate.range (%slot) = (%c0) to (%n) {
    scf.for %i = %c0 to %c4 step %c1 {
      metate.write %v, %b[%i] scope 0 : i32
    }
    metate.yield
  }
  metate.range (%slot) = (%c0) to (%n) {
    scf.for %i = %c0 to %n step %c1 {
      metate.write %v, %b[%i] scope 0 : i32
    } {metate.nest}
    metate.yield
  }
  metate.range (%slot) = (%c0) to (%n) {
    %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %v) -> i32 {
      %a = metate.read %b[%i] scope 0 : i32
      %next = arith.addi %s, %a : i32
      scf.yield %next : i32
    } {metate.nest}
    metate.write %sum, %b[%slot] scope 0 : i32
    metate.yield
  }
  metate.return
}

// Of leaves with cells enough an invocation takes a column of them, here eight of the first axis, which are written out.
// CHECK-LABEL: metate.kernel @columns
// CHECK: metate.range (%{{.*}}, %{{.*}}) = (%{{.*}}, %{{.*}}) to (%arg1, %c64{{.*}}) {
// CHECK-NOT: scf.for
// CHECK-COUNT-8: metate.write
// CHECK-NOT: metate.write
// CHECK: metate.return
metate.kernel @columns(%b: !metate.block, %n: index, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  metate.range (%slot) = (%c0) to (%n) {
    scf.for %i = %c0 to %c8 step %c1 {
      %row = arith.muli %i, %c64 : index
      scf.for %j = %c0 to %c64 step %c1 {
        %at = arith.addi %row, %j : index
        metate.write %v, %b[%at] scope 0 : i32
      } {metate.nest, metate.row}
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// Of a longer axis it is a part: two times eight.
// CHECK-LABEL: metate.kernel @parts_of_columns
// CHECK: metate.range (%{{.*}}, %[[CELL:.*]]) = (%{{.*}}, %{{.*}}) to (%arg1, %c32{{.*}}) {
// CHECK: %[[PART:.*]] = arith.divui %[[CELL]]
// CHECK: arith.muli %[[PART]], %{{.*}} : index
// CHECK-COUNT-8: metate.write
// CHECK-NOT: metate.write
// CHECK: metate.return
metate.kernel @parts_of_columns(%b: !metate.block, %n: index, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  metate.range (%slot) = (%c0) to (%n) {
    scf.for %i = %c0 to %c16 step %c1 {
      %row = arith.muli %i, %c16 : index
      scf.for %j = %c0 to %c16 step %c1 {
        %at = arith.addi %row, %j : index
        metate.write %v, %b[%at] scope 0 : i32
      } {metate.nest, metate.row}
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// Where each cell asks whether it is active, a column is asked first: of active cells alone it is written out without tests.
// CHECK-LABEL: metate.kernel @full_columns
// CHECK: metate.range
// CHECK-COUNT-8: arith.cmpi ne
// CHECK: scf.if %{{.*}} {
// CHECK-NOT: scf.if
// CHECK-COUNT-8: metate.write
// CHECK: } else {
// CHECK: scf.for
// CHECK: scf.if
// CHECK: metate.write
// CHECK: metate.return
metate.kernel @full_columns(%a: !metate.block, %b: !metate.block, %n: index, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  metate.range (%slot) = (%c0) to (%n) {
    scf.for %i = %c0 to %c8 step %c1 {
      %row = arith.muli %i, %c64 : index
      scf.for %j = %c0 to %c64 step %c1 {
        %at = arith.addi %row, %j : index
        %word = metate.read %a[%at] scope 0 : i32
        %active = arith.cmpi ne, %word, %zero : i32
        scf.if %active {
          metate.write %v, %b[%at] scope 1 : i32
        }
      } {metate.nest, metate.row}
    } {metate.nest}
    metate.yield
  }
  metate.return
}

// A slot's record is the protocol's to change: what says which slot it is may be read again, whatever is written to the tree.
// CHECK-LABEL: metate.kernel @records
// CHECK: metate.range (%{{.*}}) =
// CHECK: metate.write
// CHECK: metate.range (%{{.*}}, %{{.*}}) =
// CHECK: metate.read %arg0[%{{.*}}] scope 0 {metate.record}
// CHECK-NOT: scf.for
// CHECK: metate.write
// CHECK: metate.return
metate.kernel @records(%b: !metate.block, %n: index, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  metate.range (%slot) = (%c0) to (%n) {
    %at = metate.read %b[%slot] scope 0 {metate.record} : i32
    metate.write %v, %b[%slot] scope 0 : i32
    scf.for %i = %c0 to %c4 step %c1 {
      metate.write %at, %b[%i] scope 0 : i32
    } {metate.nest}
    metate.yield
  }
  metate.return
}
