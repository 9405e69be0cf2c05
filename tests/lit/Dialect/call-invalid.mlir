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

// -----

metate.kernel @k() {
  // expected-error @below {{(X3) expected a function of the kernel that takes and gives what a derivative does, got 'g'}}
  metate.function "f" (%a: f32) attributes {derivative = "g"} {
    metate.give %a : f32
  }
  metate.return
}

// -----

// Of a kernel that runs backwards: the parameters, the results, the gradients of floats among these.
metate.kernel @k() attributes {metate.differentiate = "reverse"} {
  metate.function "right" (%a: f32, %k: i32) attributes {derivative = "right.derivative"} {
    metate.give %a, %k : f32, i32
  }
  metate.function "right.derivative" (%a: f32, %k: i32, %r: f32, %l: i32, %dr: f32) {
    metate.give %dr : f32
  }
  // expected-error @below {{(X3) expected a function of the kernel that takes and gives what a derivative does, got 'g'}}
  metate.function "f" (%a: f32) attributes {derivative = "g"} {
    metate.give %a : f32
  }
  metate.function "g" (%a: f32, %da: f32) {
    metate.give %a, %da : f32, f32
  }
  metate.return
}

// -----

metate.kernel @k() attributes {metate.differentiate = "forward"} {
  metate.function "right" (%a: f32) attributes {derivative = "right.derivative"} {
    metate.give %a : f32
  }
  metate.function "right.derivative" (%a: f32, %da: f32) {
    metate.give %a, %da : f32, f32
  }
  // expected-error @below {{(X3) expected a function of the kernel that takes and gives what a derivative does, got 'f'}}
  metate.function "f" (%a: f32) attributes {derivative = "f"} {
    metate.give %a : f32
  }
  metate.return
}

// -----

metate.kernel @k(%x: memref<f32>) {
  metate.function "inner" () {
    %v = memref.load %x[] : memref<f32>
    metate.give %v : f32
  }
  // expected-error @below {{(X4) expected a function that touches no tree and no array, for it has a derivative}}
  metate.function "f" (%a: f32) attributes {derivative = "g"} {
    %b = metate.call "inner"() : () -> f32
    metate.give %b : f32
  }
  metate.function "g" (%a: f32, %da: f32) {
    metate.give %a, %da : f32, f32
  }
  metate.return
}
