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

// -----

metate.kernel @g(%n: index) {
  // expected-error @below {{(U4) expected an array without gaps of the shape}}
  %a = metate.intermediate "a" [#metate.dim<"n", 1 to 9>] : memref<?xf32>
  metate.return
}

// -----

metate.kernel @g() {
  // expected-error @below {{(U4) expected an array without gaps of the shape}}
  %a = metate.intermediate "a" [4] : memref<5xf32>
  metate.return
}

// -----

metate.kernel @g() {
  %a = metate.intermediate "a" [4] : memref<4xf32>
  // expected-error @below {{(U5) expected a name that no other intermediate has, got 'a'}}
  %b = metate.intermediate "a" [5] : memref<5xf32>
  metate.return
}

// -----

metate.kernel @g() {
  %zero = arith.constant 0 : index
  // expected-error @below {{(U5) expected to stand directly in a kernel, and to be used by runs}}
  %a = metate.intermediate "a" [4] : memref<4xf32>
  %v = memref.load %a[%zero] : memref<4xf32>
  metate.return
}
