// RUN: metate-opt %s --split-input-file --verify-diagnostics

metate.kernel @local(%x: memref<?xf32>, %call: i64) {
  %y = memref.alloca() : memref<4xi64>
  // expected-error @below {{(V7) expected two trees or two arrays and an i64 that are arguments}}
  metate.written %x, %y, %call : memref<?xf32>, memref<4xi64>
  metate.return
}

// -----

metate.kernel @two_kinds(%x: memref<?xf32>, %t: !metate.tree<#metate.dense<"i", [8], [#metate.place<"a" : si64>]>>, %call: i64) {
  // expected-error @below {{(V7) expected two trees or two arrays}}
  metate.written %x, %t, %call : memref<?xf32>, !metate.tree<#metate.dense<"i", [8], [#metate.place<"a" : si64>]>>
  metate.return
}

// -----

metate.kernel @floats(%x: memref<?xf32>, %y: memref<?xf32>, %call: i64) {
  // expected-error @below {{(V8) expected an i64 for each scalar of ''}}
  metate.written %x, %y, %call : memref<?xf32>, memref<?xf32>
  metate.return
}

// -----

!vectors = !metate.tree<#metate.dense<"i", [8], [#metate.place<"a" : vector<2xf32>>]>>
!numbers = !metate.tree<#metate.dense<"i", [8], [#metate.place<"a" : vector<3xsi64>>]>>
metate.kernel @other_shape(%t: !vectors, %n: !numbers, %call: i64) {
  // expected-error @below {{(V8) expected an i64 for each scalar of 'a'}}
  metate.written %t, %n, %call : !vectors, !numbers
  metate.return
}

// -----

!two = !metate.tree<#metate.dense<"i", [8], [#metate.place<"a" : f32>, #metate.place<"b" : f32>]>>
!one = !metate.tree<#metate.dense<"i", [8], [#metate.place<"a" : si64>]>>
metate.kernel @missing(%t: !two, %n: !one, %call: i64) {
  // expected-error @below {{(V8) expected an i64 for each scalar of 'b'}}
  metate.written %t, %n, %call : !two, !one
  metate.return
}
