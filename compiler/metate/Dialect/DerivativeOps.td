//===- DerivativeOps.td - what is differentiated, and with respect to what -*- tablegen -*-===//
//
// Up to metate-differentiate, which leaves none of them. A header of its own (Derivative.h): few passes know of it.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_DIALECT_DERIVATIVEOPS
#define METATE_DIALECT_DERIVATIVEOPS

include "Metate.td"

def Metate_DerivativeOp : Metate_Op<"derivative", [HasParent<"KernelOp">, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "says where the derivative of a member or array is";
  let description = [{
    `metate.derivative %x["v"], %dx["v"] : type, type`: of a kernel that is to be differentiated (the mark `metate.differentiate`). In reverse mode the second
    place holds the gradient of a loss with respect to the first (its adjoint), in forward mode the derivative along a direction (its dual). Of an array the
    paths are empty.
    Constraint (V1): both are arguments of the kernel, and trees or arrays. (V2): members exist, of trees alone. (V3): both hold floats of one shape, and
    cells have as many coordinates.
  }];
  let arguments = (ins AnyType:$primal, StrAttr:$primal_path, AnyType:$derivative, StrAttr:$derivative_path);
  let assemblyFormat = [{
    $primal `[` $primal_path `]` `,` $derivative `[` $derivative_path `]` attr-dict `:` type($primal) `,` type($derivative)
  }];
  let hasVerifier = 1;
}

def Metate_StopGradientOp : Metate_Op<"stop_gradient", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "the value, whose derivative is taken for zero";
  let arguments = (ins AnyType:$value);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

#endif
