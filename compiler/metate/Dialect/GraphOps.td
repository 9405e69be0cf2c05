//===- GraphOps.td - kernels that run kernels -------------------*- tablegen -*-===//
//
// A graph is a kernel whose statements are loops in order (scf.for) and runs of other kernels of its module. A header of its
// own (Graph.h): few passes know of it.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_DIALECT_GRAPHOPS
#define METATE_DIALECT_GRAPHOPS

include "Metate.td"

def Metate_RunOp : Metate_Op<"run", [MemoryEffects<[MemRead, MemWrite]>, Metate_MayStop, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "in a graph: runs another kernel of the module, to its end";
  let description = [{
    `metate.run @g.0.step(%x, %v) : memref<?xf32>, f32`: all tasks of the kernel, in their order; all that it did is seen behind it. If it fails, or the host
    interrupts it, the graph ends with that status. The kernel is `private`: hosts do not see it, and its name is the graph's with `.`, a number, `.` and
    the user's name behind it.
    Constraint (U1): the name is that of a private kernel that stands before and runs none itself. (U2): operands have the types of the kernel's arguments; an
    array may have strides where the kernel's has none, and none where it may have some. (U3): stands in a kernel, with nothing but scf.for and metate.serial around it.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$operands);
  let assemblyFormat = "$kernel `(` $operands `)` attr-dict (`:` type($operands)^)?";
  let hasVerifier = 1;
}

#endif
