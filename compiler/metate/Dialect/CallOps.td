//===- CallOps.td - functions that kernels call -----------------*- tablegen -*-===//
//
// A function stands in the kernel that calls it and uses the kernel's trees and arrays as they are, so that passes over a kernel
// see what its functions do. metate-outline-tasks makes func.func of it. A header of its own (Call.h): few passes know of it.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_DIALECT_CALLOPS
#define METATE_DIALECT_CALLOPS

include "Metate.td"

def Metate_FunctionOp : Metate_Op<"function", [SingleBlock, AutomaticAllocationScope, HasParent<"KernelOp">]> {
  let summary = "a function that the kernel calls; it may call itself";
  let description = [{
    `metate.function "gcd" (%a: i32, %b: i32) { ... metate.give %r : i32 }`: runs where it is called, on the worker that calls it, as often as it is called. Loops in
    it run in order. It sees arguments of the kernel, of which the trees and arrays that it works on are some.
    Constraint (X1): no other function of the kernel has its name. (X2): parameters and results are scalars and vectors.
  }];
  let arguments = (ins StrAttr:$name);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name)>];
  let extraClassDeclaration = [{
    /// Types of what it gives.
    ::mlir::TypeRange getResultTypes();
  }];
}

def Metate_GiveOp : Metate_Op<"give", [Terminator, Pure, ReturnLike, HasParent<"FunctionOp">]> {
  let summary = "end of a function, with what it gives";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Metate_CallOp : Metate_Op<"call"> {
  let summary = "runs a function of the kernel";
  let description = [{
    `%r = metate.call "gcd"(%a, %b) : (i32, i32) -> i32`. What it reads and writes is what the function does (walkWithCalls). If a check fails in the function, the
    kernel ends.
    Constraint (Y1): the kernel has a function of that name. (Y2): operands and results have the function's types.
  }];
  let arguments = (ins StrAttr:$callee, Variadic<AnyType>:$operands);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$callee `(` $operands `)` attr-dict `:` functional-type($operands, $results)";
  let hasVerifier = 1;
}

def Metate_EnterOp : Metate_Op<"enter", [MemoryEffects<[MemRead, MemWrite]>, Metate_MayStop]> {
  let summary = "stops the kernel if calls inside one another need more stack than debug mode allows";
  let description = [{
    `metate.enter "fib"`: first in a function that may call itself, which it names in the message (metate-insert-checks).
  }];
  let arguments = (ins StrAttr:$name);
  let assemblyFormat = "$name attr-dict";
}

#endif
