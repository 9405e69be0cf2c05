// RUN: metate-opt %s | metate-opt | FileCheck %s

// CHECK-LABEL: metate.kernel private @g.0.add
metate.kernel private @g.0.add(%x: memref<?xf32>, %v: f32) {
  metate.return
}

metate.kernel private @g.1.nothing() {
  metate.return
}

// CHECK-LABEL: metate.kernel @g
metate.kernel @g(%x: memref<?xf32>, %y: memref<?xf32, strided<[?]>>, %v: f32, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // CHECK: metate.run @g.0.add(%{{.*}}, %{{.*}}) : memref<?xf32>, f32
  metate.run @g.0.add(%x, %v) : memref<?xf32>, f32
  scf.for %i = %zero to %n step %one {
    // CHECK: metate.run @g.1.nothing(){{$}}
    metate.run @g.1.nothing()
    // CHECK: metate.run @g.0.add(%{{.*}}, %{{.*}}) : memref<?xf32, strided<[?]>>, f32
    metate.run @g.0.add(%y, %v) : memref<?xf32, strided<[?]>>, f32
  }
  // CHECK: %[[H:.*]] = metate.intermediate "h" [#metate.dim<"n", 1 to 64 by 8>, 16] by(%{{.*}}) : memref<?x16x3xf32>
  %h = metate.intermediate "h" [#metate.dim<"n", 1 to 64 by 8>, 16] by (%n) : memref<?x16x3xf32>
  metate.return
}
