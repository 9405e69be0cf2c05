// Quantised members: pretty and generic form give the same module again.
// RUN: metate-opt %s | metate-opt | FileCheck %s
// RUN: metate-opt %s --mlir-print-op-generic | metate-opt | FileCheck %s

// CHECK: metate.named_type @t = !metate.tree<#metate.pointer<"i", [4], [#metate.bit_struct<32, [#metate.place<"x" : !metate.quant_int<5, true, i32>, background = -3 : i32>, #metate.place<"y" : !metate.quant_fixed<11, false, 1.000000e-03, f32>>, #metate.shared_exponent<[#metate.place<"u" : !metate.quant_float<4, 6, true, f32>>, #metate.place<"v" : !metate.quant_float<4, 5, false, f32>>]>]>, #metate.place<"plain" : f32>]>, #metate.dense<"i", [8], [#metate.quant_array<"i", [20], [#metate.place<"b" : !metate.quant_int<3, false, ui32>>], word = 16, name = "rows">]>>
!t = !metate.tree<#metate.pointer<"i", [4], [#metate.bit_struct<32, [#metate.place<"x" : !metate.quant_int<5, true, i32>, background = -3 : i32>, #metate.place<"y" : !metate.quant_fixed<11, false, 0.001, f32>>, #metate.shared_exponent<[#metate.place<"u" : !metate.quant_float<4, 6, true, f32>>, #metate.place<"v" : !metate.quant_float<4, 5, false, f32>>]>]>, #metate.place<"plain" : f32>]>, #metate.dense<"i", [8], [#metate.quant_array<"i", [20], [#metate.place<"b" : !metate.quant_int<3, false, ui32>>], word = 16, name = "rows">]>>
metate.named_type @t = !t

// CHECK-LABEL: metate.kernel @all
metate.kernel @all(%t: !t, %i: index, %v: f32, %n: i32, %many: vector<4xi11>) {
  // CHECK: %[[X:.*]] = metate.load %{{.*}}["x"] [%{{.*}}] : <{{.*}}> -> i5
  %x = metate.load %t["x"][%i] : !t -> i5
  // CHECK: metate.decode %[[X]] as !metate.quant_int<5, true, i32> : i5 -> i32
  %dx = metate.decode %x as !metate.quant_int<5, true, i32> : i5 -> i32
  // CHECK: metate.decode %{{.*}} as !metate.quant_fixed<11, false, 1.000000e-03, f32> : vector<4xi11> -> vector<4xf32>
  %dy = metate.decode %many as !metate.quant_fixed<11, false, 0.001, f32> : vector<4xi11> -> vector<4xf32>
  // CHECK: %[[Y:.*]] = metate.encode %{{.*}} as !metate.quant_fixed<11, false, 1.000000e-03, f32> : f32 -> i11
  %y = metate.encode %v as !metate.quant_fixed<11, false, 0.001, f32> : f32 -> i11
  // CHECK: metate.store %[[Y]], %{{.*}}["y"] [%{{.*}}] : i11
  metate.store %y, %t["y"][%i] : i11, !t
  // CHECK: metate.atomic addi %[[X]], %{{.*}}["x"] [%{{.*}}] : i5
  %old = metate.atomic addi %x, %t["x"][%i] : i5, !t
  // CHECK: metate.update mulf %{{.*}}, %{{.*}}["y"] [%{{.*}}] active : f32
  %was = metate.update mulf %v, %t["y"][%i] active : f32, !t
  // CHECK: %[[U:.*]] = metate.load_shared %{{.*}}["u"] [%{{.*}}] : <{{.*}}> -> i10
  %u = metate.load_shared %t["u"][%i] : !t -> i10
  // CHECK: metate.decode %[[U]] as !metate.quant_float<4, 6, true, f32> shared : i10 -> f32
  %du = metate.decode %u as !metate.quant_float<4, 6, true, f32> shared : i10 -> f32
  // CHECK: metate.update assign %{{.*}}, %{{.*}}["v"] [%{{.*}}] : f32
  %set = metate.update assign %du, %t["v"][%i] : f32, !t
  // CHECK: metate.store_shared(%{{.*}}, %{{.*}}), %{{.*}}["u"] ["u", "v"][%{{.*}}] active : (f32, f32)
  metate.store_shared (%v, %du), %t["u"] ["u", "v"][%i] active : (f32, f32), !t
  // CHECK: %[[W:.*]] = metate.load_word %{{.*}}["b"] [%{{.*}}] : <{{.*}}> -> i16
  %w = metate.load_word %t["b"][%i] : !t -> i16
  // CHECK: metate.store_word %[[W]], %{{.*}}["b"] [%{{.*}}] active : i16
  metate.store_word %w, %t["b"][%i] active : i16, !t
  metate.return
}
