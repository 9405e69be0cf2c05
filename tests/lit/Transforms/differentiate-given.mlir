// RUN: metate-opt %s "--pass-pipeline=builtin.module(metate-differentiate,metate.kernel(metate-promote-locals,canonicalize,cse))" | FileCheck %s

// A function with a derivative of its own: its body gives the result that this asks for, and is not differentiated.
// CHECK-LABEL: metate.kernel @reverse
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<f32>, %[[Y:[a-z0-9]+]]: memref<f32>, %[[DX:[a-z0-9]+]]: memref<f32>, %[[DY:[a-z0-9]+]]: memref<f32>
// CHECK-NOT: metate.function
// CHECK: %[[A:.*]] = memref.load %[[X]]
// CHECK: %[[R:.*]] = metate.elementary exp(%[[A]])
// CHECK-NOT: metate.elementary
// CHECK: %[[G:.*]] = memref.load %[[DY]]
// CHECK: %[[D:.*]] = arith.divf %[[G]], %[[R]]
// CHECK: memref.atomic_rmw addf %[[D]], %[[DX]]
metate.kernel @reverse(%x: memref<f32>, %y: memref<f32>, %dx: memref<f32>, %dy: memref<f32>) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<f32>, memref<f32>
  metate.derivative %y[""], %dy[""] : memref<f32>, memref<f32>
  metate.function "f" (%a: f32) attributes {derivative = "f.derivative"} {
    %b = metate.elementary exp(%a) : f32
    metate.give %b : f32
  }
  metate.function "f.derivative" (%a: f32, %r: f32, %dr: f32) {
    %d = arith.divf %dr, %r : f32
    metate.give %d : f32
  }
  %a = memref.load %x[] : memref<f32>
  %b = metate.call "f"(%a) : (f32) -> f32
  memref.store %b, %y[] : memref<f32>
  metate.return
}

// What the derivative does not use is not computed, and may have been overwritten since.
// CHECK-LABEL: metate.kernel @unused
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<f32>, %[[DX:[a-z0-9]+]]: memref<f32>
// CHECK-NOT: %[[X]][
// CHECK-NOT: metate.elementary
// CHECK: metate.return
metate.kernel @unused(%x: memref<f32>, %dx: memref<f32>) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<f32>, memref<f32>
  metate.function "f" (%a: f32) attributes {derivative = "f.derivative"} {
    %b = metate.elementary exp(%a) : f32
    metate.give %b : f32
  }
  metate.function "f.derivative" (%a: f32, %r: f32, %dr: f32) {
    %d = arith.addf %dr, %dr : f32
    metate.give %d : f32
  }
  %a = memref.load %x[] : memref<f32>
  %b = metate.call "f"(%a) : (f32) -> f32
  memref.store %b, %x[] : memref<f32>
  metate.return
}

// Another function may be called for the values that are had again; not where nothing is differentiated.
// CHECK-LABEL: metate.kernel @again
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<f32>, %[[Y:[a-z0-9]+]]: memref<f32>, %[[DX:[a-z0-9]+]]: memref<f32>, %[[DY:[a-z0-9]+]]: memref<f32>, %[[V:[a-z0-9]+]]: f32
// CHECK-DAG: %[[A:.*]] = memref.load %[[X]]
// CHECK-DAG: %[[R:.*]] = metate.elementary sin(%[[A]])
// CHECK-DAG: %[[C:.*]] = metate.elementary exp(%[[V]])
// CHECK-DAG: %[[G:.*]] = memref.load %[[DY]]
// CHECK-DAG: %[[H:.*]] = arith.mulf %[[G]], %[[C]]
// CHECK-DAG: %[[D:.*]] = arith.divf %[[H]], %[[R]]
// CHECK: memref.atomic_rmw addf %[[D]], %[[DX]]
metate.kernel @again(%x: memref<f32>, %y: memref<f32>, %dx: memref<f32>, %dy: memref<f32>, %v: f32) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<f32>, memref<f32>
  metate.derivative %y[""], %dy[""] : memref<f32>, memref<f32>
  metate.function "f" (%a: f32) attributes {again = "f.again", derivative = "f.derivative"} {
    %b = metate.elementary exp(%a) : f32
    metate.give %b : f32
  }
  metate.function "f.again" (%a: f32) {
    %b = metate.elementary sin(%a) : f32
    metate.give %b : f32
  }
  metate.function "f.derivative" (%a: f32, %r: f32, %dr: f32) {
    %d = arith.divf %dr, %r : f32
    metate.give %d : f32
  }
  %a = memref.load %x[] : memref<f32>
  %b = metate.call "f"(%a) : (f32) -> f32
  %c = metate.call "f"(%v) : (f32) -> f32
  %d = arith.mulf %b, %c : f32
  memref.store %d, %y[] : memref<f32>
  metate.return
}

// Forward mode has the result anew, from the derivative; an integer has no dual.
// CHECK-LABEL: metate.kernel @forward
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<f32>, %[[Y:[a-z0-9]+]]: memref<f32>, %[[DX:[a-z0-9]+]]: memref<f32>, %[[DY:[a-z0-9]+]]: memref<f32>, %[[K:.*]]: i32
// CHECK-NOT: metate.elementary exp
// CHECK-DAG: %[[A:.*]] = memref.load %[[X]]
// CHECK-DAG: %[[D:.*]] = memref.load %[[DX]]
// CHECK-DAG: %[[R:.*]] = metate.elementary sin(%[[A]])
// CHECK-DAG: %[[E:.*]] = arith.mulf %[[D]], %[[A]]
// CHECK-DAG: memref.store %[[R]], %[[Y]]
// CHECK-DAG: memref.store %[[E]], %[[DY]]
// CHECK: metate.return
metate.kernel @forward(%x: memref<f32>, %y: memref<f32>, %dx: memref<f32>, %dy: memref<f32>, %k: i32) attributes {metate.differentiate = "forward"} {
  metate.derivative %x[""], %dx[""] : memref<f32>, memref<f32>
  metate.derivative %y[""], %dy[""] : memref<f32>, memref<f32>
  metate.function "f" (%a: f32, %n: i32) attributes {derivative = "f.derivative"} {
    %b = metate.elementary exp(%a) : f32
    metate.give %n, %b : i32, f32
  }
  metate.function "f.derivative" (%a: f32, %n: i32, %da: f32) {
    %b = metate.elementary sin(%a) : f32
    %d = arith.mulf %da, %a : f32
    metate.give %n, %b, %d : i32, f32, f32
  }
  %a = memref.load %x[] : memref<f32>
  %m, %b = metate.call "f"(%a, %k) : (f32, i32) -> (i32, f32)
  memref.store %b, %y[] : memref<f32>
  metate.return
}

// A function may call itself where its derivative is given, and stays one.
// CHECK-LABEL: metate.kernel @recursive
// CHECK: metate.function "f.derivative"
// CHECK: metate.function "f" (
// CHECK-NOT: derivative =
// CHECK: metate.call "f"
// CHECK: metate.call "f.derivative"
metate.kernel @recursive(%x: memref<f32>, %y: memref<f32>, %dx: memref<f32>, %dy: memref<f32>) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<f32>, memref<f32>
  metate.derivative %y[""], %dy[""] : memref<f32>, memref<f32>
  metate.function "f.derivative" (%a: f32, %r: f32, %dr: f32) {
    %b = metate.call "f.derivative"(%a, %r, %r) : (f32, f32, f32) -> f32
    metate.give %b : f32
  }
  metate.function "f" (%a: f32) attributes {derivative = "f.derivative"} {
    %b = metate.call "f"(%a) : (f32) -> f32
    metate.give %b : f32
  }
  %a = memref.load %x[] : memref<f32>
  %b = metate.call "f"(%a) : (f32) -> f32
  memref.store %b, %y[] : memref<f32>
  metate.return
}
