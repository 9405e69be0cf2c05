// RUN: metate-opt %s --metate-explicit-activation | FileCheck %s
// Which changes of the active cells a struct-for of bitmasked and dynamic levels may make without being told apart from
// the set at entry.

!bits = !metate.tree<#metate.bitmasked<"i", [64], [#metate.place<"a" : f32>]>>
!lists = !metate.tree<#metate.pointer<"i", [16], [#metate.place<"n" : f32>, #metate.dynamic<"j", [64], [#metate.place<"x" : f32>], chunk = 8>]>>

// Where every other tree would be proved active, bits are tested and set.
// CHECK-LABEL: metate.kernel @store
// CHECK: %[[OK:.*]] = metate.activate %{{.*}}["a"]
// CHECK: scf.if %[[OK]]
metate.kernel @store(%f: !bits, %v: f32, %i: index) {
  metate.store %v, %f["a"][%i] : f32, !bits
  metate.return
}

// CHECK-LABEL: metate.kernel @own_deactivated
// CHECK-SAME: metate.access = 3
// CHECK-NOT: changes_topology
metate.kernel @own_deactivated(%f: !bits) {
  metate.for_each (%i) in %f["a"] : !bits {
    metate.deactivate %f["a"][%i] : !bits
    metate.yield
  }
  metate.return
}

// CHECK-LABEL: metate.kernel @neighbour_deactivated
// CHECK: metate.for_each {{.*}} attributes {metate.changes_topology}
metate.kernel @neighbour_deactivated(%f: !bits, %n: index) {
  metate.for_each (%i) in %f["a"] : !bits {
    %k = arith.addi %i, %n : index
    metate.deactivate %f["a"][%k] : !bits
    metate.yield
  }
  metate.return
}

// What is stored into a cell after it was given up activates it again.
// CHECK-LABEL: metate.kernel @given_up_and_stored
// CHECK: metate.for_each {{.*}} attributes {metate.changes_topology}
// CHECK: metate.deactivate
// CHECK: metate.activate
metate.kernel @given_up_and_stored(%f: !bits, %v: f32) {
  metate.for_each (%i) in %f["a"] : !bits {
    metate.deactivate %f["a"][%i] : !bits
    metate.store %v, %f["a"][%i] : f32, !bits
    metate.yield
  }
  metate.return
}

// Lists below the cells of the loop are not what it walks.
// CHECK-LABEL: metate.kernel @appends_below
// CHECK-NOT: changes_topology
// CHECK: metate.append
// CHECK: metate.deactivate
metate.kernel @appends_below(%f: !lists) {
  metate.for_each (%i) in %f["n"] : !lists {
    %k = metate.append %f["dynamic1"][%i] : !lists
    metate.yield
  }
  metate.for_each (%i) in %f["n"] : !lists {
    metate.deactivate %f["dynamic1"][%i] : !lists
    metate.yield
  }
  metate.return
}

// CHECK-LABEL: metate.kernel @appends_to_another
// CHECK: metate.for_each {{.*}} attributes {metate.changes_topology}
metate.kernel @appends_to_another(%f: !lists, %n: index) {
  metate.for_each (%i) in %f["n"] : !lists {
    %k = metate.append %f["dynamic1"][%n] : !lists
    metate.yield
  }
  metate.return
}
