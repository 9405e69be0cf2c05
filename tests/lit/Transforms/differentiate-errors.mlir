// RUN: metate-opt %s --metate-differentiate --split-input-file --verify-diagnostics

// The second loop reads what the first one wrote and the third one overwrites: neither state of x is it.
metate.kernel @overwritten(%x: memref<?xf32> {metate.name = "x"}, %dx: memref<?xf32>, %y: memref<?xf32>, %dy: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  metate.derivative %y[""], %dy[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.range (%i) = (%c0) to (%n) {
    // expected-error @below {{gradient of kernel 'overwritten': the value of 'x' that is read here is needed again, but may have been overwritten by then, at}}
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.mulf %a, %a : f32
    memref.store %b, %y[%i] : memref<?xf32>
    metate.yield
  }
  metate.range (%i) = (%c0) to (%n) {
    memref.store %zero, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// -----

// Each turn writes what the next one reads, and nothing that an earlier one has read.
metate.kernel @scan(%x: memref<?xf32>, %dx: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  %c1 = arith.constant 1 : index
  scf.for %i = %c1 to %n step %c1 {
    %k = arith.subi %i, %c1 : index
    %a = memref.load %x[%k] : memref<?xf32>
    %b = arith.mulf %a, %a : f32
    memref.store %b, %x[%i] : memref<?xf32>
  }
  metate.return
}

// -----

// A turn reads what an earlier one wrote, and a later one overwrites it.
metate.kernel @scan_both(%x: memref<?xf32> {metate.name = "x"}, %dx: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c1 to %n step %c1 {
    %k = arith.remsi %i, %c1 : index
    // expected-error @below {{the value of 'x' that is read here is needed again}}
    %a = memref.load %x[%k] : memref<?xf32>
    %b = arith.mulf %a, %a : f32
    memref.store %b, %x[%i] : memref<?xf32>
  }
  metate.return
}

// -----

// A sum may take a product in unrounded, here or there.
metate.kernel @rounded(%x: memref<?xf32>, %dx: memref<?xf32>, %y: memref<?xf32>, %dy: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  metate.derivative %y[""], %dy[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.mulf %a, %a fastmath<contract> : f32
    %c = arith.addf %b, %a fastmath<contract> : f32
    // expected-error @below {{gradient of kernel 'rounded': the gradient of a maximum goes to the number that equals it, but this one may be rounded otherwise when it is computed again (at}}
    %old = memref.atomic_rmw maxnumf %c, %y[%c0] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// -----

metate.kernel @changed(%x: memref<?xf32>, %dx: memref<?xf32>, %y: memref<?xf32> {metate.name = "y"}, %dy: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  metate.derivative %y[""], %dy[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    // expected-error @below {{the gradient of a maximum needs its result, but 'y' may have been changed since, at}}
    %old = memref.atomic_rmw maxnumf %a, %y[%c0] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %old = memref.atomic_rmw addf %a, %y[%i] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// -----

// The read is linear, so that its value is not needed; the gradient that it adds is of what was there then.
metate.kernel @between(%x: memref<?xf32>, %dx: memref<?xf32>, %y: memref<?xf32> {metate.name = "y"}, %dy: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  metate.derivative %y[""], %dy[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  // expected-error @below {{'y' is read here, but is no whole minimum yet: see}}
  %b = memref.load %y[%c0] : memref<?xf32>
  memref.store %b, %x[%c0] : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %old = memref.atomic_rmw minnumf %a, %y[%c0] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// -----

metate.kernel @before(%x: memref<?xf32>, %dx: memref<?xf32>, %y: memref<?xf32>, %dy: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  metate.derivative %y[""], %dy[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    // expected-error @below {{what was there before this minimum is used, and has no derivative here}}
    %old = memref.atomic_rmw minnumf %a, %y[%c0] : (f32, memref<?xf32>) -> f32
    memref.store %old, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}

// -----

metate.kernel @multiplied(%x: memref<?xf32>, %dx: memref<?xf32>, %y: memref<?xf32> {metate.name = "y"}, %dy: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  metate.derivative %y[""], %dy[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  %first = memref.load %x[%c0] : memref<?xf32>
  // expected-error @below {{'y' gets a value with a derivative here, and is multiplied, at}}
  memref.store %first, %y[%c0] : memref<?xf32>
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[%i] : memref<?xf32>
    %old = memref.atomic_rmw mulf %a, %y[%c0] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// -----

// A plain number that is stored has no gradient: what comes before is not asked.
metate.kernel @begun(%x: memref<?xf32>, %dx: memref<?xf32>, %y: memref<?xf32>, %dy: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  metate.derivative %y[""], %dy[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  metate.range (%i) = (%c0) to (%n) {
    memref.store %one, %y[%i] : memref<?xf32>
    scf.for %k = %c0 to %n step %c1 {
      %a = memref.load %x[%k] : memref<?xf32>
      %old = memref.atomic_rmw mulf %a, %y[%i] : (f32, memref<?xf32>) -> f32
    }
    metate.yield
  }
  metate.return
}

// -----

metate.kernel @calls_itself(%x: memref<f32>, %dx: memref<f32>) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<f32>, memref<f32>
  metate.function "f" (%a: f32) {
    %b = metate.call "f"(%a) : (f32) -> f32
    metate.give %b : f32
  }
  %v = memref.load %x[] : memref<f32>
  // expected-error @below {{gradient of kernel 'calls_itself': 'f' calls itself, and functions that do have no derivative where they compute with variables}}
  %w = metate.call "f"(%v) : (f32) -> f32
  memref.store %w, %x[] : memref<f32>
  metate.return
}

// -----

// What it computes is a constant: it is called again.
metate.kernel @recursive_count(%x: memref<f32>, %dx: memref<f32>, %n: i32) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<f32>, memref<f32>
  metate.function "f" (%a: i32) {
    %b = metate.call "f"(%a) : (i32) -> i32
    metate.give %b : i32
  }
  %k = metate.call "f"(%n) : (i32) -> i32
  %f = arith.sitofp %k : i32 to f32
  %v = memref.load %x[] : memref<f32>
  %w = arith.mulf %v, %f : f32
  memref.store %w, %x[] : memref<f32>
  metate.return
}

// -----

metate.kernel @touches_memory(%x: memref<f32>, %dx: memref<f32>, %n: i32) attributes {metate.differentiate = "forward"} {
  metate.derivative %x[""], %dx[""] : memref<f32>, memref<f32>
  metate.function "f" (%a: f32) {
    memref.store %a, %x[] : memref<f32>
    metate.call "f"(%a) : (f32) -> ()
    metate.give
  }
  %one = arith.constant 1.0 : f32
  // expected-error @below {{derivative of kernel 'touches_memory': 'f' calls itself, and functions that do have no derivative where they touch fields or arrays}}
  metate.call "f"(%one) : (f32) -> ()
  metate.return
}

// -----

// expected-error @below {{arrays that overlap have no derivatives of their own}}
metate.kernel @overlap(%x: memref<f32>, %dx: memref<f32>) attributes {may_alias, metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<f32>, memref<f32>
  metate.return
}

// -----

metate.kernel @effect(%x: memref<?xf32>, %dx: memref<?xf32>, %n: memref<i32>, %c: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  metate.range (%i) = (%c0) to (%c) {
    // expected-error @below {{what this gives is needed once more, and cannot be had again: it also changes memory}}
    %k = memref.atomic_rmw addi %one, %n[] : (i32, memref<i32>) -> i32
    %at = arith.index_cast %k : i32 to index
    %a = memref.load %x[%at] : memref<?xf32>
    %old = memref.atomic_rmw addf %a, %x[%c0] : (f32, memref<?xf32>) -> f32
    metate.yield
  }
  metate.return
}

// -----

!sparse = !metate.tree<#metate.bitmasked<"i", [64], [#metate.place<"a" : f32>]>>

metate.kernel @sparse_forward(%t: !sparse, %dt: !sparse, %y: memref<f32>, %dy: memref<f32>) attributes {metate.differentiate = "forward"} {
  metate.derivative %t["a"], %dt["a"] : !sparse, !sparse
  metate.derivative %y[""], %dy[""] : memref<f32>, memref<f32>
  // expected-error @below {{derivative of kernel 'sparse_forward': a minimum, maximum or product of variables has a derivative in forward mode in loops over ranges and dense fields}}
  metate.for_each (%i) in %t["a"] : !sparse {
    %a = metate.load %t["a"] [%i] : !sparse -> f32
    %old = memref.atomic_rmw minnumf %a, %y[] : (f32, memref<f32>) -> f32
    metate.yield
  }
  metate.return
}

// -----

metate.kernel @taken(%x: memref<f32>, %dx: memref<f32>, %y: memref<f32>, %dy: memref<f32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<f32>, memref<f32>
  metate.derivative %y[""], %dy[""] : memref<f32>, memref<f32>
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[] : memref<f32>
    // expected-error @below {{an atomic operation (assign) has no derivative here}}
    %old = memref.atomic_rmw assign %a, %y[] : (f32, memref<f32>) -> f32
    metate.yield
  }
  metate.return
}

// -----

metate.kernel @taken_forward(%x: memref<f32>, %dx: memref<f32>, %y: memref<f32>, %dy: memref<f32>, %n: index) attributes {metate.differentiate = "forward"} {
  metate.derivative %x[""], %dx[""] : memref<f32>, memref<f32>
  metate.derivative %y[""], %dy[""] : memref<f32>, memref<f32>
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    %a = memref.load %x[] : memref<f32>
    // expected-error @below {{derivative of kernel 'taken_forward': an atomic operation (assign) has no derivative here}}
    %old = memref.atomic_rmw assign %a, %y[] : (f32, memref<f32>) -> f32
    metate.yield
  }
  metate.return
}

// -----

!sparse = !metate.tree<#metate.bitmasked<"i", [64], [#metate.place<"a" : f32>, #metate.place<"b" : f32>]>>

// A loop over cells that activates others would visit those as well.
metate.kernel @spreads(%t: !sparse, %d: !sparse) attributes {metate.differentiate = "reverse"} {
  metate.derivative %t["a"], %d["a"] : !sparse, !sparse
  %c1 = arith.constant 1 : index
  // expected-error @below {{which cells of 'arg0.a' are active is asked here and needed again, but may have changed by then, at}}
  metate.for_each (%i) in %t["a"] : !sparse {
    %a = metate.load %t["a"] [%i] : !sparse -> f32
    %k = arith.addi %i, %c1 : index
    %old = metate.atomic addf %a, %t["b"] [%k] : f32, !sparse
    metate.yield
  }
  metate.return
}

// -----

!sparse = !metate.tree<#metate.bitmasked<"i", [64], [#metate.place<"a" : f32>, #metate.place<"b" : f32>]>>

// Its own cells are active already; others may have become so before.
metate.kernel @own(%t: !sparse, %d: !sparse, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %t["a"], %d["a"] : !sparse, !sparse
  metate.derivative %t["b"], %d["b"] : !sparse, !sparse
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  metate.range (%i) = (%c0) to (%n) {
    metate.store %one, %t["a"] [%i] : f32, !sparse
    metate.yield
  }
  metate.for_each (%i) in %t["a"] : !sparse {
    %a = metate.load %t["a"] [%i] : !sparse -> f32
    %b = arith.mulf %a, %a : f32
    metate.store %b, %t["b"] [%i] : f32, !sparse
    metate.yield
  }
  metate.return
}

// -----

// What the condition reads, the turns write.
metate.kernel @condition(%x: memref<?xf32> {metate.name = "x"}, %dx: memref<?xf32>, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  metate.range (%i) = (%c0) to (%n) {
    scf.while : () -> () {
      // expected-error @below {{the value of 'x' that is read here is needed again, but may have been overwritten by then, at}}
      %a = memref.load %x[%c0] : memref<?xf32>
      %is = arith.cmpf olt, %a, %one : f32
      scf.condition(%is)
    } do {
      %a = memref.load %x[%c0] : memref<?xf32>
      %b = arith.mulf %a, %two : f32
      memref.store %b, %x[%c0] : memref<?xf32>
      scf.yield
    }
    metate.yield
  }
  metate.return
}

// -----

!sparse = !metate.tree<#metate.pointer<"i", [64], [#metate.place<"a" : f32>, #metate.place<"b" : f32>]>>

metate.kernel @deactivates(%t: !sparse, %d: !sparse, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %t["a"], %d["a"] : !sparse, !sparse
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    // expected-error @below {{gradient of kernel 'deactivates': cells are deactivated here whose members have derivatives}}
    metate.deactivate %t["a"] [%i] : !sparse
    metate.yield
  }
  metate.return
}

// -----

!sparse = !metate.tree<#metate.pointer<"i", [64], [#metate.place<"a" : f32>, #metate.place<"b" : f32>]>>

metate.kernel @deactivates_forward(%t: !sparse, %d: !sparse, %n: index) attributes {metate.differentiate = "forward"} {
  metate.derivative %t["a"], %d["a"] : !sparse, !sparse
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    // expected-error @below {{derivative of kernel 'deactivates_forward': cells are deactivated here whose members have derivatives}}
    metate.deactivate %t["a"] [%i] : !sparse
    metate.yield
  }
  metate.return
}

// -----

!constants = !metate.tree<#metate.pointer<"i", [64], [#metate.place<"c" : f32>]>>

// A factor that is a constant is needed again, too.
metate.kernel @factor_deactivated(%x: memref<?xf32>, %dx: memref<?xf32>, %t: !constants, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    // expected-error @below {{the value of 'arg2.c' that is read here is needed again, but may have been deactivated by then, at}}
    %c = metate.load %t["c"] [%i] : !constants -> f32
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.mulf %a, %c : f32
    memref.store %b, %x[%i] : memref<?xf32>
    metate.deactivate %t["c"] [%i] : !constants
    metate.yield
  }
  metate.return
}

// -----

metate.kernel @own(%x: memref<?xf32>, %dx: memref<?xf32> {metate.name = "x.grad"}, %n: index) attributes {metate.differentiate = "reverse"} {
  metate.derivative %x[""], %dx[""] : memref<?xf32>, memref<?xf32>
  %c0 = arith.constant 0 : index
  metate.range (%i) = (%c0) to (%n) {
    // expected-error @below {{'x.grad' is used here, and is where the derivative is computed; use it in another kernel}}
    %a = memref.load %dx[%i] : memref<?xf32>
    memref.store %a, %x[%i] : memref<?xf32>
    metate.yield
  }
  metate.return
}
