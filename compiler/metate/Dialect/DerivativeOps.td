//===- DerivativeOps.td - what is differentiated, and with respect to what -*- tablegen -*-===//
//
// Up to metate-differentiate, which leaves none of them but metate.derived. A header of its own (Derivative.h): few passes know of it.
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

def Metate_WrittenOp : Metate_Op<"written", [HasParent<"KernelOp">, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "says where the numbers of the last writes of a tree or array are";
  let description = [{
    `metate.written %x, %numbers, %call : type, type`: each scalar of the first place has an integer in the second one, the number of the write that it was last
    changed by. `metate-record-writes` has the kernel's writes note theirs; a derivative in reverse mode stops where a value that it needs was changed by a
    later call than the one that it is the derivative of. %call is that call's number times 1024, to which each write of the kernel adds a number of its own.
    Constraint (V7): the first three are arguments of the kernel, two trees or two arrays and an i64. (V8): an array has i64 in as many dimensions; a tree has each
    of the first one's members, of i64 in the same shape, with as many coordinates.
  }];
  let arguments = (ins AnyType:$primal, AnyType:$numbers, I64:$call);
  let assemblyFormat = "$primal `,` $numbers `,` $call attr-dict `:` type($primal) `,` type($numbers)";
  let hasVerifier = 1;
}

def Metate_StopGradientOp : Metate_Op<"stop_gradient", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "the value, whose derivative is taken for zero";
  let arguments = (ins AnyType:$value);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Metate_DerivedOp : Metate_Op<"derived"> {
  let summary = "says whose derivative a kernel of the module is";
  let description = [{
    `metate.derived @k_grad "reverse" of @k`: hosts that have the kernel k find its derivative in this mode; nothing follows from names. Stands in the module
    beside the kernels, from import to pack, and says nothing about what they do.
    Constraint (V4): the mode is "reverse" or "forward". (V5): the kernels are two. (V6): both are kernels of the module, and a kernel has at most one
    derivative in each mode; checked when the module is packed.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, StrAttr:$mode, FlatSymbolRefAttr:$primal);
  let assemblyFormat = "$kernel $mode `of` $primal attr-dict";
  let hasVerifier = 1;
}

#endif
