//===- ElementaryOps.td - sin, exp, pow and their kin -----------*- tablegen -*-===//
//
// Upstream's math operations fold by the C library of the machine that compiles, so that a constant's bits would be another
// library's than a variable's; these fold, are interpreted and are expanded by one definition (Elementary/). A header of its
// own (Elementary.h): few passes know of it. What is exact everywhere (sqrt, floor, abs, ...) stays upstream's.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_DIALECT_ELEMENTARYOPS
#define METATE_DIALECT_ELEMENTARYOPS

include "Metate.td"
include "ElementaryEnums.td"

def Metate_ElementaryOp : Metate_Op<"elementary", [Pure, Elementwise, Scalarizable, Vectorizable, Tensorizable, SameOperandsAndResultType]> {
  let summary = "an elementary function of each component";
  let description = [{
    `%y = metate.elementary sin(%x) : vector<3xf32>`, `%z = metate.elementary pow(%x, %y) : f64`. What it gives is defined to the last bit, by the arithmetic that
    `metate-expand-elementary` makes of it; f16 and bf16 are computed as f32 and rounded.
    Constraint (E1): as many operands as the function has: two of atan2 and pow, one of the others.
  }];
  let arguments = (ins Metate_Function:$function, Variadic<FloatLike>:$operands);
  let results = (outs FloatLike:$result);
  let assemblyFormat = "$function `(` $operands `)` attr-dict `:` type($result)";
  let builders = [OpBuilder<(ins "::metate::ElementaryFunction":$function, "::mlir::ValueRange":$operands)>];
  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
}

#endif
