//===- ElementaryEnums.td - the elementary functions ------------*- tablegen -*-===//
//
// Of its own because tablegen writes every enumeration that it sees.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_DIALECT_ELEMENTARYENUMS
#define METATE_DIALECT_ELEMENTARYENUMS

include "mlir/IR/EnumAttr.td"

// In the order of Elementary/Functions.def.
def Metate_Function : I32EnumAttr<"ElementaryFunction", "which elementary function", [
    I32EnumAttrCase<"Exp", 0, "exp">, I32EnumAttrCase<"Exp2", 1, "exp2">, I32EnumAttrCase<"Log", 2, "log">,
    I32EnumAttrCase<"Log2", 3, "log2">, I32EnumAttrCase<"Log10", 4, "log10">, I32EnumAttrCase<"Sin", 5, "sin">,
    I32EnumAttrCase<"Cos", 6, "cos">, I32EnumAttrCase<"Tan", 7, "tan">, I32EnumAttrCase<"Asin", 8, "asin">,
    I32EnumAttrCase<"Acos", 9, "acos">, I32EnumAttrCase<"Atan", 10, "atan">, I32EnumAttrCase<"Sinh", 11, "sinh">,
    I32EnumAttrCase<"Cosh", 12, "cosh">, I32EnumAttrCase<"Tanh", 13, "tanh">, I32EnumAttrCase<"Atan2", 14, "atan2">,
    I32EnumAttrCase<"Pow", 15, "pow">]> {
  let cppNamespace = "::metate";
}

#endif
