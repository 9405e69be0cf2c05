// RUN: metate-opt %s --metate-alias-scopes | FileCheck %s

// Accesses of one argument have its scope, in all tasks, and are apart from those of the others; an access without an argument (scope
// -1, a pool's) may be anywhere.
// CHECK: #[[DOMAIN:.*]] = #llvm.alias_scope_domain<id = "k", description = "k">
// CHECK-DAG: #[[X:.*]] = #llvm.alias_scope<id = "k.0", domain = #[[DOMAIN]]
// CHECK-DAG: #[[Y:.*]] = #llvm.alias_scope<id = "k.1", domain = #[[DOMAIN]]
// CHECK-LABEL: metate.kernel @k(
// CHECK: metate.read %{{.*}} scope 0 {alias_scopes = [#[[X]]], noalias_scopes = [#[[Y]]]}
// CHECK: metate.write %{{.*}} scope 1 {alias_scopes = [#[[Y]]], noalias_scopes = [#[[X]]]}
// CHECK: metate.write %{{.*}} scope -1 : f32
// CHECK: metate.range
// CHECK: metate.rmw addf %{{.*}} scope 1 {alias_scopes = [#[[Y]]], noalias_scopes = [#[[X]]]}
metate.kernel @k(%x: !metate.block, %y: !metate.block, %n: index) {
  metate.serial {
    %v = metate.read %x[%n] scope 0 : f32
    metate.write %v, %y[%n] scope 1 : f32
    %p = metate.pool "p" launch bytes 64 align 64
    metate.write %v, %p[%n] scope -1 : f32
    metate.yield
  }
  metate.range (%i) = (%n) to (%n) {
    %c = arith.constant 1.0 : f32
    %o = metate.rmw addf %c, %y[%i] scope 1 : f32
    metate.yield
  }
  metate.return
}

// Arguments that may overlap have none.
// CHECK-LABEL: metate.kernel @overlapping(
// CHECK-NOT: alias_scopes
metate.kernel @overlapping(%x: !metate.block, %y: !metate.block, %n: index) attributes {may_alias} {
  metate.serial {
    %v = metate.read %x[%n] scope 0 : f32
    metate.write %v, %y[%n] scope 1 : f32
    metate.yield
  }
  metate.return
}
