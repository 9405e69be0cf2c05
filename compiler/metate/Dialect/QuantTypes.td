//===- QuantTypes.td - types of quantised members ---------------*- tablegen -*-===//
//
// How a member is stored that takes the bits it needs. Kernels compute with another type, which each names; what the bits mean is
// docs/semantics.md, QV1 to QV6. Questions that all three answer are Quant.h's.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_DIALECT_QUANTTYPES
#define METATE_DIALECT_QUANTTYPES

class Metate_QuantType<string cppName, string spelling> : TypeDef<Metate_Dialect, cppName> {
  let mnemonic = spelling;
  let genVerifyDecl = 1;
}

def Metate_QuantIntType : Metate_QuantType<"QuantInt", "quant_int"> {
  let summary = "an integer of 1 to 64 bits: `!metate.quant_int<5, true, i32>`";
  let parameters = (ins "unsigned":$bits, "bool":$isSigned, "::mlir::Type":$compute);
  let assemblyFormat = "`<` $bits `,` $isSigned `,` $compute `>`";
}

def Metate_QuantFixedType : Metate_QuantType<"QuantFixed", "quant_fixed"> {
  let summary = "an integer that counts steps of a scale: `!metate.quant_fixed<11, true, 1.0e-3, f32>`";
  let parameters = (ins "unsigned":$bits, "bool":$isSigned, "::mlir::FloatAttr":$scale, "::mlir::Type":$compute);
  let hasCustomAssemblyFormat = 1;
}

def Metate_QuantFloatType : Metate_QuantType<"QuantFloat", "quant_float"> {
  let summary = "a float of exponent and fraction bits, one of these the sign if signed: `!metate.quant_float<6, 13, true, f32>`";
  let parameters = (ins "unsigned":$exponentBits, "unsigned":$fractionBits, "bool":$isSigned, "::mlir::Type":$compute);
  let assemblyFormat = "`<` $exponentBits `,` $fractionBits `,` $isSigned `,` $compute `>`";
}

#endif
