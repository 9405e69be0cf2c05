// RUN: metate-opt %s --metate-expand-quant | FileCheck %s

// CHECK-LABEL: @integers
// CHECK: arith.extsi %{{.*}} : i5 to i32
// CHECK: arith.extui %{{.*}} : i7 to i32
// CHECK: arith.trunci %{{.*}} : i32 to i5
metate.kernel @integers(%a: i5, %b: i7, %v: i32) {
  %x = metate.decode %a as !metate.quant_int<5, true, i32> : i5 -> i32
  %y = metate.decode %b as !metate.quant_int<7, false, ui32> : i7 -> i32
  %e = metate.encode %v as !metate.quant_int<5, true, i32> : i32 -> i5
  metate.return
}

// Steps of the scale; what no integer holds, and NaN, is 0.
// CHECK-LABEL: @fixed
// CHECK: %[[WIDE:.*]] = arith.extsi %{{.*}} : i11 to i32
// CHECK: %[[NUMBER:.*]] = arith.sitofp %[[WIDE]] : i32 to f32
// CHECK: arith.mulf %[[NUMBER]], %{{.*}} : f32
// CHECK: %[[STEPS:.*]] = arith.mulf
// CHECK: %[[ROUND:.*]] = math.round %[[STEPS]]
// CHECK: %[[SIZE:.*]] = math.absf %[[ROUND]]
// CHECK: %[[HELD:.*]] = arith.cmpf olt, %[[SIZE]], %{{.*}}
// CHECK: %[[KEPT:.*]] = arith.select %[[HELD]], %[[ROUND]], %{{.*}}
// CHECK: %[[INTEGER:.*]] = arith.fptosi %[[KEPT]] : f32 to i32
// CHECK: arith.trunci %[[INTEGER]] : i32 to i11
metate.kernel @fixed(%a: i11, %v: f32) {
  %x = metate.decode %a as !metate.quant_fixed<11, true, 0.001, f32> : i11 -> f32
  %e = metate.encode %v as !metate.quant_fixed<11, true, 0.001, f32> : f32 -> i11
  metate.return
}

// Exponents of another bias: one product, with numbers below the first exponent too.
// CHECK-LABEL: @floats
// CHECK: arith.bitcast %{{.*}} : i32 to f32
// CHECK: arith.mulf
// CHECK: math.round
// CHECK: arith.minsi
// CHECK: arith.trunci %{{.*}} : i32 to i14
// CHECK-NOT: metate.{{encode|decode}}
metate.kernel @floats(%a: i14, %v: f32) {
  %x = metate.decode %a as !metate.quant_float<5, 9, true, f32> : i14 -> f32
  %e = metate.encode %v as !metate.quant_float<5, 9, true, f32> : f32 -> i14
  metate.return
}

// CHECK-LABEL: @vectors
// CHECK: arith.extsi %{{.*}} : vector<4xi5> to vector<4xi32>
// CHECK: math.round %{{.*}} : vector<4xf32>
metate.kernel @vectors(%a: vector<4xi5>, %v: vector<4xf32>) {
  %x = metate.decode %a as !metate.quant_int<5, true, i32> : vector<4xi5> -> vector<4xi32>
  %e = metate.encode %v as !metate.quant_fixed<11, true, 0.001, f32> : vector<4xf32> -> vector<4xi11>
  metate.return
}
