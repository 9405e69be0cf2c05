// RUN: metate-opt %s --split-input-file --verify-diagnostics

metate.kernel @k() {
  // expected-error @below {{(X1) expected one function of each name, got two 'f'}}
  metate.function "f" () {
    metate.give
  }
  metate.function "f" () {
    metate.give
  }
  metate.return
}

// -----

metate.kernel @k() {
  // expected-error @below {{(X2) expected scalars and vectors as parameters and results, got 'memref<?xf32>'}}
  metate.function "f" (%x: memref<?xf32>) {
    metate.give
  }
  metate.return
}

// -----

metate.kernel @k() {
  // expected-error @below {{(Y1) expected a function of the kernel, got 'f'}}
  metate.call "f"() : () -> ()
  metate.return
}

// -----

metate.kernel @k(%n: i32) {
  metate.function "f" (%m: i32) {
    metate.give %m : i32
  }
  // expected-error @below {{(Y2) expected operands and results of the function's types}}
  metate.call "f"(%n) : (i32) -> ()
  metate.return
}

// -----

metate.kernel @k(%n: index) {
  metate.range (%i) = (%n) to (%n) {
    // expected-error @below {{expects parent op 'metate.kernel'}}
    metate.function "f" () {
      metate.give
    }
    metate.yield
  }
  metate.return
}
