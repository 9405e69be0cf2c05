// A module that does not hold what a stage promises may not start behind it.
// RUN: not metate-opt %s --start-from=activate --stop-after=offload 2>&1 | FileCheck %s

!t = !metate.tree<#metate.pointer<"i", [16], [#metate.dense<"i", [8], [#metate.place<"a" : f32>]>]>>

// CHECK: after stage activate: expected {{every store and atomic to be active|each argument's access to be known}}
metate.kernel @unguarded(%f: !t, %v: f32, %i: index) {
  metate.store %v, %f["a"][%i] : f32, !t
  metate.return
}
