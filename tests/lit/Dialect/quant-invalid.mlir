// One case for each labelled constraint of quantised members.
// RUN: metate-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{(QT1) a quantised member has 1 to 64 bits, got 65}}
func.func private @f(!metate.quant_int<65, true, i64>)

// -----

// expected-error @below {{(QT2) 'i32' does not hold 33 bits}}
func.func private @f(!metate.quant_int<33, true, i32>)

// -----

// expected-error @below {{(QT2) an integer is computed with as (u)i8 to (u)i64, got 'f32'}}
func.func private @f(!metate.quant_int<5, true, f32>)

// -----

// expected-error @below {{(QT2) the compute type is f32 for at most 24 bits without the sign, f64 for at most 53, got 'f32' for 30}}
func.func private @f(!metate.quant_fixed<31, true, 0.5, f32>)

// -----

// expected-error @below {{(QT3) a scale is positive, finite and so is its reciprocal}}
func.func private @f(!metate.quant_fixed<11, true, -0.5, f32>)

// -----

// expected-error @below {{(QT2) a float has 1 to 8 bits of exponent and 1 to 23 digits besides its sign for f32, 1 to 11 and 1 to 52 for f64, got 9 and 9 for 'f32'}}
func.func private @f(!metate.quant_float<9, 10, true, f32>)

// -----

// expected-error @below {{(A8) a background has the member's type 'f32', got 'i32'}}
#p = #metate.place<"a" : !metate.quant_fixed<11, true, 0.5, f32>, background = 1 : i32>

// -----

// expected-error @below {{(A12) member 'a' is quantised: put it into a bit_struct or quant_array}}
metate.named_type @t = !metate.tree<#metate.dense<"i", [4], [#metate.place<"a" : !metate.quant_int<5, true, i32>>]>>

// -----

// expected-error @below {{(QW1) a word has 8, 16, 32 or 64 bits, got 24}}
#w = #metate.bit_struct<24, [#metate.place<"a" : !metate.quant_int<5, true, i32>>]>

// -----

// expected-error @below {{(QW2) a bit_struct holds quantised members, got #metate.place<"a" : f32>}}
#w = #metate.bit_struct<32, [#metate.place<"a" : f32>]>

// -----

// expected-error @below {{(QW2) the members of a bit_struct have 1 to 8 bits, got 10}}
#w = #metate.bit_struct<8, [#metate.place<"a" : !metate.quant_int<5, true, i32>>, #metate.place<"b" : !metate.quant_int<5, true, i32>>]>

// -----

// expected-error @below {{(QW2) a quant_array holds one quantised member}}
#w = #metate.quant_array<"i", [4], [#metate.place<"a" : f32>], word = 32>

// -----

// expected-error @below {{(QW2) member 'a' has 12 bits, a word 8}}
#w = #metate.quant_array<"i", [4], [#metate.place<"a" : !metate.quant_int<12, true, i32>>], word = 8>

// -----

// expected-error @below {{(QW3) two quantised floats or more share an exponent}}
#w = #metate.shared_exponent<[#metate.place<"a" : !metate.quant_float<5, 6, true, f32>>]>

// -----

// expected-error @below {{(QW3) floats that share an exponent have one exponent width and one compute type}}
#w = #metate.shared_exponent<[#metate.place<"a" : !metate.quant_float<5, 6, true, f32>>, #metate.place<"b" : !metate.quant_float<4, 6, true, f32>>]>

// -----

func.func @f(%a: i5) {
  // expected-error @below {{(QC1) expected a quantised type, got 'i5'}}
  %b = metate.decode %a as i5 : i5 -> i32
  return
}

// -----

func.func @f(%a: i6) {
  // expected-error @below {{(QC2) expected bits of type i5, got 'i6'}}
  %b = metate.decode %a as !metate.quant_int<5, true, i32> : i6 -> i32
  return
}

// -----

func.func @f(%a: f32) {
  // expected-error @below {{(QC3) expected a value of type 'i32', got 'f32'}}
  %b = metate.encode %a as !metate.quant_int<5, true, i32> : f32 -> i5
  return
}

// -----

!t = !metate.tree<#metate.dense<"i", [4], [#metate.bit_struct<32, [#metate.place<"a" : !metate.quant_int<5, true, i32>>]>, #metate.place<"b" : f32>]>>
metate.kernel @k(%t: !t, %i: index, %v: f32) {
  // expected-error @below {{(QU1) expected a quantised member and a value of its compute type, got 'f32' and 'f32'}}
  %old = metate.update addf %v, %t["b"][%i] : f32, !t
  metate.return
}

// -----

!t = !metate.tree<#metate.dense<"i", [4], [#metate.bit_struct<32, [#metate.place<"a" : !metate.quant_int<5, true, i32>>]>]>>
metate.kernel @k(%t: !t, %i: index, %v: i32) {
  // expected-error @below {{(QU2) kind 'addf' does not fit a value of type 'i32'}}
  %old = metate.update addf %v, %t["a"][%i] : i32, !t
  metate.return
}

// -----

!t = !metate.tree<#metate.dense<"i", [4], [#metate.bit_struct<32, [#metate.place<"a" : !metate.quant_int<5, true, i32>>]>]>>
metate.kernel @k(%t: !t, %i: index) {
  // expected-error @below {{(QU3) expected a member that shares its exponent and its bits, got '!metate.quant_int<5, true, i32>' and 'i5'}}
  %b = metate.load_shared %t["a"][%i] : !t -> i5
  metate.return
}

// -----

!t = !metate.tree<#metate.dense<"i", [4], [#metate.quant_array<"i", [4], [#metate.place<"a" : !metate.quant_int<5, true, i32>>], word = 32>]>>
metate.kernel @k(%t: !t, %i: index) {
  // expected-error @below {{(QU4) expected a quant_array's member and its word, got '!metate.quant_int<5, true, i32>' and 'i16'}}
  %w = metate.load_word %t["a"][%i] : !t -> i16
  metate.return
}

// -----

!t = !metate.tree<#metate.dense<"i", [4], [#metate.bit_struct<32, [#metate.shared_exponent<[#metate.place<"u" : !metate.quant_float<4, 6, true, f32>>, #metate.place<"v" : !metate.quant_float<4, 6, true, f32>>]>]>]>>
metate.kernel @k(%t: !t, %i: index, %v: f32) {
  // expected-error @below {{(QU5) expected members of one group that shares an exponent, each once, with a value each}}
  metate.store_shared (%v, %v), %t["u"] ["u", "u"][%i] : (f32, f32), !t
  metate.return
}
