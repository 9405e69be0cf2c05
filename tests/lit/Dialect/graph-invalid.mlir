// RUN: metate-opt %s -split-input-file -verify-diagnostics

metate.kernel @add(%v: f32) {
  metate.return
}
metate.kernel @g(%v: f32) {
  // expected-error @below {{(U1) expected a private metate.kernel before this one, got 'add'}}
  metate.run @add(%v) : f32
  metate.return
}

// -----

metate.kernel @g(%v: f32) {
  // expected-error @below {{(U1) expected a private metate.kernel before this one, got 'g.0.add'}}
  metate.run @g.0.add(%v) : f32
  metate.return
}
metate.kernel private @g.0.add(%v: f32) {
  metate.return
}

// -----

metate.kernel private @g.0.add(%v: f32) {
  metate.return
}
metate.kernel private @g.1.twice(%v: f32) {
  metate.run @g.0.add(%v) : f32
  metate.return
}
metate.kernel @g(%v: f32) {
  // expected-error @below {{(U1) expected a kernel that runs no other, got 'g.1.twice'}}
  metate.run @g.1.twice(%v) : f32
  metate.return
}

// -----

metate.kernel private @g.0.add(%x: memref<?xf32>, %v: f32) {
  metate.return
}
metate.kernel @g(%x: memref<?xf64>, %v: f32) {
  // expected-error @below {{(U2) expected operands of the kernel's types '(memref<?xf32>, f32) -> ()', got ('memref<?xf64>', 'f32')}}
  metate.run @g.0.add(%x, %v) : memref<?xf64>, f32
  metate.return
}

// -----

metate.kernel private @g.0.add(%v: f32) {
  metate.return
}
metate.kernel @g(%v: f32, %c: i1) {
  scf.if %c {
    // expected-error @below {{(U3) expected only scf.for and metate.serial around it in a kernel}}
    metate.run @g.0.add(%v) : f32
  }
  metate.return
}
