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

def Metate_IntermediateOp : Metate_Op<"intermediate", [NoMemoryEffect]> {
  let summary = "in a graph: an array of its own, which one of its kernels writes and a later one reads";
  let description = [{
    `%h = metate.intermediate "h" [#metate.dim<"n", 1 to 4096>, 16] by (%n) : memref<?x16xf32>`: %n is what the dim is in this launch. What it holds at first is not
    defined. metate-plan-intermediates gives each its place (`offset`, in bytes) in one pool, so that arrays which are not needed at the same time share memory; all of
    them together and the pool then have `total` bytes.
    Constraint (U4): an array without gaps, with an extent for each dim in its shape, which is that of its type. (U5): stands directly in a kernel; names are used once, and
    only metate.run uses the array.
  }];
  let arguments = (ins StrAttr:$name, ArrayAttr:$shape, Variadic<Index>:$extents, OptionalAttr<I64Attr>:$offset, OptionalAttr<I64Attr>:$total);
  let results = (outs AnyMemRef:$array);
  let assemblyFormat = "$name $shape (`by` `(` $extents^ `)`)? (`offset` $offset^ `of` $total)? attr-dict `:` type($array)";
  let hasVerifier = 1;
}

#endif
