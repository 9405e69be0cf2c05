// An attribute that a later stage sets is an error before it.
// RUN: not metate-opt %s --start-from=import --stop-after=simplify 2>&1 | FileCheck %s

// CHECK: after stage import: expected 'metate.nest' after the stages offload to layout only, got 'scf.for'
metate.kernel @early(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
  } {metate.nest}
  metate.return
}
