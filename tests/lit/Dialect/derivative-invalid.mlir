// RUN: metate-opt %s --split-input-file --verify-diagnostics

metate.kernel @local(%x: memref<?xf32>) {
  %y = memref.alloca() : memref<4xf32>
  // expected-error @below {{(V1) expected two trees or arrays that are arguments of the kernel}}
  metate.derivative %x[""], %y[""] : memref<?xf32>, memref<4xf32>
  metate.return
}

// -----

metate.kernel @no_member(%x: memref<?xf32>, %t: !metate.tree<#metate.dense<"i", [8], [#metate.place<"a" : f32>]>>) {
  // expected-error @below {{(V2) no member 'b'}}
  metate.derivative %x[""], %t["b"] : memref<?xf32>, !metate.tree<#metate.dense<"i", [8], [#metate.place<"a" : f32>]>>
  metate.return
}

// -----

metate.kernel @other_shape(%x: memref<?xf32>, %y: memref<?x?xf32>) {
  // expected-error @below {{(V3) expected floats of one shape in as many dimensions, got 'f32' in 1 and 'f32' in 2}}
  metate.derivative %x[""], %y[""] : memref<?xf32>, memref<?x?xf32>
  metate.return
}

// -----

metate.kernel @integers(%x: memref<?xi32>, %y: memref<?xi32>) {
  // expected-error @below {{(V3) expected floats of one shape}}
  metate.derivative %x[""], %y[""] : memref<?xi32>, memref<?xi32>
  metate.return
}
