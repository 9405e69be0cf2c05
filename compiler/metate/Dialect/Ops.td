//===- Ops.td - kernels, loops, cells ---------------------------*- tablegen -*-===//
//
// Operations of the import stage. Coordinates and loop variables are `index`.
//
//===----------------------------------------------------------------------===//

class Metate_Op<string mnemonic, list<Trait> traits = []> : Op<Metate_Dialect, mnemonic, traits>;

def Metate_KernelOp : Metate_Op<"kernel", [FunctionOpInterface, IsolatedFromAbove, AutomaticAllocationScope, OpAsmOpInterface]> {
  let summary = "a kernel: what a host launches";
  let description = [{
    Arguments are trees, memrefs (ndarrays; elements that are vectors add trailing static
    dimensions), scalars and vectors by value. Argument attributes are those of Marks.def. `debug`: wrong accesses stop the kernel (metate-insert-checks). Top-level statements run in order; each `metate.range` and `metate.for_each` directly in the body is parallel.
    Constraint (K1): the result list is empty. (K2): argument types are trees, memrefs, blocks, scalars, vectors.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
    OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs,
    UnitAttr:$may_alias, UnitAttr:$debug);
  let regions = (region AnyRegion:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type)>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

def Metate_ReturnOp : Metate_Op<"return", [Terminator, Pure, HasParent<"KernelOp">]> {
  let summary = "end of a kernel";
  let assemblyFormat = "attr-dict";
}

def Metate_YieldOp : Metate_Op<"yield", [Terminator, Pure, ReturnLike, ParentOneOf<["RangeOp", "ForEachOp", "SerialOp", "CellsOp"]>]> {
  let summary = "end of a loop's or task's body";
  let arguments = (ins Variadic<AnyType>:$operands);
  let builders = [OpBuilder<(ins)>];
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

def Metate_RangeOp : Metate_Op<"range", [SingleBlock, AutomaticAllocationScope, RecursiveMemoryEffects, AttrSizedOperandSegments]> {
  let summary = "parallel loop over a box of integers";
  let description = [{
    `metate.range (%i, %j) = (%l0, %l1) to (%u0, %u1) { ... }`: iterations are unordered; step is one.
    Constraint (R1): as many lower bounds, upper bounds and block arguments, at least one, all `index`.
    (R2): stands directly in a kernel, or in the function of a task (metate.launch).
  }];
  let arguments = (ins Variadic<Index>:$lower, Variadic<Index>:$upper);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$lower, "::mlir::ValueRange":$upper)>];
  let skipDefaultBuilders = 1;
}

def Metate_ForEachOp : Metate_Op<"for_each", [SingleBlock, AutomaticAllocationScope, RecursiveMemoryEffects,
    Metate_CellOpInterface, Metate_LoweredByLayout]> {
  let summary = "struct-for: a parallel loop over the active cells of a member or level";
  let description = [{
    `metate.for_each (%i, %j) in %f["a"] : type { ... }`: visits each cell that was active at entry once, in
    no order. The path names a member (its cells) or a level (that level's own cells and coordinates).
    Constraint (F1): the path exists. (F2): one `index` block argument per axis of the path. (F3):
    stands directly in a kernel.
  }];
  let arguments = (ins Metate_TreeType:$tree, StrAttr:$path);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$tree, "::llvm::StringRef":$path)>];
  let skipDefaultBuilders = 1;
  let extraClassDeclaration =
    Metate_CellAnswers<["asksActivity"], "getOperation()->getOperands().drop_front()", "false">.text;
}

/// `answers`: the questions of CellOpInterface to which the operation says yes.
class Metate_CellOp<string mnemonic, list<string> answers, list<Trait> traits = [], string coordinates = "getCoordinates()",
                    string needsActivation = "false", string components = "getOperation()->getOperands().take_front(0)">
    : Metate_Op<mnemonic, !listconcat(traits, [Metate_CellOpInterface, Metate_LoweredByLayout])> {
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::metate::TreeType getTreeType() { return ::llvm::cast<::metate::TreeType>(getTree().getType()); }
  }] # Metate_CellAnswers<answers, coordinates, needsActivation, components>.text;
}

def Metate_LoadOp : Metate_CellOp<"load", ["namesCell", "readsMember"], [AttrSizedOperandSegments], components = "getComponents()"> {
  let summary = "reads a member of a cell; an inactive cell gives the background and stays inactive";
  let description = [{
    `%v = metate.load %f["a"][%i, %j] : !metate.tree<...> -> f32`. With components (`component [%c]`: one index for a
    vector, two for a matrix) one scalar of it. A coordinate outside the tree's extents reads the background where the
    path has a sparse level, and is undefined otherwise.
    Constraint (C1): the member exists. (C2): one coordinate per axis of its path. (C3): the value's type is the
    member's, signless; with components its element type.
  }];
  let arguments = (ins Arg<Metate_TreeType, "", [MemRead]>:$tree, StrAttr:$path, Variadic<Index>:$coordinates, Variadic<Index>:$components);
  let results = (outs AnyType:$value);
  let assemblyFormat = [{
    $tree `[` $path `]` `[` $coordinates `]` (`component` `[` $components^ `]`)? attr-dict `:` type($tree) `->` type($value)
  }];
}

def Metate_StoreOp : Metate_CellOp<"store", ["namesCell", "writesMember"], [AttrSizedOperandSegments], "getCoordinates()", "!getActive()",
    "getComponents()"> {
  let summary = "writes a member of a cell and activates the cell";
  let description = [{
    With the unit attribute `active` (set by the activate stage) the cell is known to be active. Constraints C1-C3 of load.
  }];
  let arguments = (ins AnyType:$value, Arg<Metate_TreeType, "", [MemWrite]>:$tree, StrAttr:$path, Variadic<Index>:$coordinates, Variadic<Index>:$components, UnitAttr:$active);
  let assemblyFormat = [{
    $value `,` $tree `[` $path `]` `[` $coordinates `]` (`component` `[` $components^ `]`)? (`active` $active^)? attr-dict `:` type($value) `,` type($tree)
  }];
}

def Metate_AtomicOp : Metate_CellOp<"atomic", ["namesCell", "readsMember", "writesMember"],
    [AttrSizedOperandSegments, AllTypesMatch<["value", "old"]>], "getCoordinates()", "!getActive()", "getComponents()"> {
  let summary = "read-modify-write of a member, indivisible per component and relaxed; activates the cell";
  let description = [{
    Yields the old value; of an activation that failed, the background. Constraints C1-C3 of load.
    (C4): an integer kind for integers, a float kind for floats.
  }];
  let arguments = (ins AtomicRMWKindAttr:$kind, AnyType:$value, Arg<Metate_TreeType, "", [MemRead, MemWrite]>:$tree, StrAttr:$path, Variadic<Index>:$coordinates, Variadic<Index>:$components, UnitAttr:$active);
  let results = (outs AnyType:$old);
  let assemblyFormat = [{
    $kind $value `,` $tree `[` $path `]` `[` $coordinates `]` (`component` `[` $components^ `]`)? (`active` $active^)? attr-dict `:` type($value) `,` type($tree)
  }];
}

def Metate_ExchangeIfOp : Metate_Op<"exchange_if", [Pure, SameOperandsAndResultType]> {
  let summary = "the value of an exchange that happens only where the place holds what is expected";
  let description = [{
    `%v = metate.exchange_if %expected, %desired : f32` is the value of an atomic operation of kind `assign`: the place keeps what it holds unless that is,
    bit for bit, what is expected. Constraint (X1): whatever uses it is such an operation.
  }];
  let arguments = (ins AnyType:$expected, AnyType:$desired);
  let results = (outs AnyType:$value);
  let assemblyFormat = "$expected `,` $desired attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Metate_IsActiveOp : Metate_CellOp<"is_active", ["namesCell", "asksActivity"]> {
  let summary = "true if the cell of a member or level is active";
  let description = [{
    A cell of a dynamic level is active below the list's length. `entry`: as it was when the task began (bitmasked and dynamic
    levels on the path; metate.snapshot has noted it). Constraints C1 and C2 of load, for a member's or level's path.
  }];
  let arguments = (ins Arg<Metate_TreeType, "", [MemRead]>:$tree, StrAttr:$path, Variadic<Index>:$coordinates, UnitAttr:$entry);
  let results = (outs I1:$active);
  let assemblyFormat = "$tree `[` $path `]` `[` $coordinates `]` (`entry` $entry^)? attr-dict `:` type($tree)";
}

def Metate_ActivateOp : Metate_CellOp<"activate", ["namesCell", "activates"]> {
  let summary = "activates the cell of a member or level; false if a pool on the way is exhausted or a coordinate is outside";
  let description = [{
    A cell of a dynamic level: the list grows to hold it. `strict`: false also where this activation was the one that a pool had no
    capacity for, although a slack slot took it. Constraints C1 and C2 of load, for a member's or level's path.
  }];
  let arguments = (ins Arg<Metate_TreeType, "", [MemRead, MemWrite]>:$tree, StrAttr:$path, Variadic<Index>:$coordinates, UnitAttr:$strict);
  let results = (outs I1:$active);
  let assemblyFormat = "$tree `[` $path `]` `[` $coordinates `]` (`strict` $strict^)? attr-dict `:` type($tree)";
}

def Metate_DeactivateOp : Metate_CellOp<"deactivate", ["deactivates"]> {
  let summary = "deactivates a cell with all below it, which reads its background from then on";
  let description = [{
    `metate.deactivate %f["a"][%i, %j] : type`: the path names a member or level; deactivated is the cell of the last level on it
    whose cells can be inactive. A dynamic level is named itself, with the coordinates of its parent cell: the whole list is emptied.
    An inactive cell and one outside the extents stay as they are. Slots are free again when the task has ended.
    Constraint C1 of load, for a member's or level's path. (C5): a level on the path is not dense. (C6): where the last of them is
    dynamic, the path is that level's. (C2): one coordinate per axis of the path; of a dynamic level, per axis of the levels above it.
  }];
  let arguments = (ins Arg<Metate_TreeType, "", [MemRead, MemWrite]>:$tree, StrAttr:$path, Variadic<Index>:$coordinates);
  let assemblyFormat = "$tree `[` $path `]` `[` $coordinates `]` attr-dict `:` type($tree)";
}

class Metate_ListOp<string mnemonic, list<string> answers> : Metate_CellOp<mnemonic, answers> {
  let assemblyFormat = "$tree `[` $path `]` `[` $coordinates `]` attr-dict `:` type($tree)";
}

def Metate_AppendOp : Metate_ListOp<"append", ["activates"]> {
  let summary = "reserves the next cell of a list and activates it; yields its index, -1 if there is none";
  let description = [{
    `%k = metate.append %f["list"][%i] : type`: the path is a dynamic level, the coordinates are those of its parent cell, which is
    activated. -1: the list has its greatest length, a pool on the way is exhausted, or a coordinate is outside. The cell holds the
    background until something is stored. Indices of concurrent appends differ.
    Constraint (C7): the path is a dynamic level. (C2): one coordinate per axis of the levels above it.
  }];
  let arguments = (ins Arg<Metate_TreeType, "", [MemRead, MemWrite]>:$tree, StrAttr:$path, Variadic<Index>:$coordinates);
  let results = (outs I32:$index);
}

def Metate_LengthOp : Metate_ListOp<"length", ["asksActivity"]> {
  let summary = "cells of a list; 0 of one whose parent cell is inactive or outside";
  let description = [{Constraints C7 and C2 of append.}];
  let arguments = (ins Arg<Metate_TreeType, "", [MemRead]>:$tree, StrAttr:$path, Variadic<Index>:$coordinates);
  let results = (outs I32:$length);
}

def Metate_UsedOp : Metate_CellOp<"used", ["asksActivity"], [], "getOperation()->getOperands().drop_front()"> {
  let summary = "slots of a level that are in use";
  let description = [{
    `%n = metate.used %f["blocks"] : type`: active cells of a pointer or hash level, chunks of a dynamic one. Those that a task gives up
    count until it ends. While other iterations activate or deactivate: the number at some time in between.
    Constraint C1 of load, for a level's path. (C8): its cells are slots of a pool.
  }];
  let arguments = (ins Arg<Metate_TreeType, "", [MemRead]>:$tree, StrAttr:$path);
  let results = (outs I64:$slots);
  let assemblyFormat = "$tree `[` $path `]` attr-dict `:` type($tree)";
}

def Metate_ReserveOp : Metate_CellOp<"reserve", [], [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "counts the slots that activating a cell, or appending to a list, would take; changes nothing";
  let description = [{
    `metate.reserve %f["a"][%i, %j] in %counts : type`: of a kernel's slice (metate-slice-activations). Slots that are not there are
    counted once each, in the memory of abi/metate/abi/reservation.h whose address %counts is. `append`: the path is a dynamic level,
    and its list gets one more cell. The tree is an argument of the kernel. A cell outside takes no slots.
    Constraints C1 and C2 of activate; with `append` C7 and C2 of append.
  }];
  let arguments = (ins Metate_TreeType:$tree, StrAttr:$path, Variadic<Index>:$coordinates, I64:$counts, UnitAttr:$append);
  let assemblyFormat = "$tree `[` $path `]` `[` $coordinates `]` `in` $counts (`append` $append^)? attr-dict `:` type($tree)";
}

def Metate_PhiloxOp : Metate_Op<"philox", [Pure]> {
  let summary = "four random words: Philox4x32-10 of a counter and a key";
  let description = [{
    `%w = metate.philox counter(%c0, %c1, %c2, %c3) key(%k0, %k1) : vector<4xi32>`: the block function of Salmon et al., "Parallel
    random numbers: as easy as 1, 2, 3" (2011), with ten rounds. It has no state: equal operands give equal words, whoever computes
    them and when. All words are i32.
  }];
  let arguments = (ins I32:$c0, I32:$c1, I32:$c2, I32:$c3, I32:$k0, I32:$k1);
  let results = (outs VectorOfLengthAndType<[4], [I32]>:$words);
  let builders = [OpBuilder<(ins "::llvm::ArrayRef<::mlir::Value>":$counter, "::llvm::ArrayRef<::mlir::Value>":$key)>];
  let assemblyFormat = "`counter` `(` $c0 `,` $c1 `,` $c2 `,` $c3 `)` `key` `(` $k0 `,` $k1 `)` attr-dict `:` type($words)";
}

def Metate_PrintOp : Metate_Op<"print", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "one print statement: one call of the host's sink";
  let description = [{
    `parts` are texts and, for each `unit` entry, the next operand: `metate.print ["I= ", unit, "\n"] unsigned [false] (%i : i32)`; an entry `[".3f"]` is
    the next operand in that format, which is one of Python's (Format.h). Operands are scalars (front ends take vectors apart);
    `unsigned` holds one bool per operand.
    Constraint (P1): as many unit and format parts as operands and as `unsigned` entries. (P2): operands are integers or floats.
    (P3): a format fits its operand.
  }];
  let arguments = (ins ArrayAttr:$parts, DenseBoolArrayAttr:$unsigned_, Variadic<AnyType>:$values);
  let assemblyFormat = "$parts `unsigned` $unsigned_ (`(` $values^ `:` type($values) `)`)? attr-dict";
  let hasVerifier = 1;
}

def Metate_AssertOp : Metate_Op<"assert", [MemoryEffects<[MemRead, MemWrite]>, Metate_MayStop]> {
  let summary = "stops the kernel with METATE_E_ASSERT if the condition is false";
  let description = [{
    With operands the message is a format of Python's: `metate.assert %ok, "x = {:.3f}, not {{}}" unsigned [false] (%x : f32)`.
    Constraint (A1): as many holes as operands and as `unsigned` entries, at most 2 * METATE_MAX_RANK (what metate_failure holds). (A2):
    operands are integers or floats. (A3): a format fits its operand.
  }];
  let arguments = (ins I1:$condition, StrAttr:$message, OptionalAttr<DenseBoolArrayAttr>:$unsigned_, Variadic<AnyType>:$values);
  let assemblyFormat = "$condition `,` $message (`unsigned` $unsigned_^)? (`(` $values^ `:` type($values) `)`)? attr-dict";
  let builders = [OpBuilder<(ins "::mlir::Value":$condition, "::llvm::StringRef":$message)>];
  let hasVerifier = 1;
}

def Metate_CheckOp : Metate_Op<"check", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments, Metate_MayStop]> {
  let summary = "stops the kernel with the kind's status if the condition is false";
  let description = [{
    `metate.check out_of_range %inside, "x" index(%i, %j) shape(%n, %m)`: what debug mode puts before an access that may be wrong, so
    that nothing of the iteration is written from there on. `what` names the array or member. A shape of -1 is an axis without a bound
    of its own.
    Constraint (D1): out_of_range has an index and as many extents. (D2): at most METATE_MAX_RANK indices. (D3): capacity has
    an index and no extents, division_by_zero neither.
  }];
  let arguments = (ins Metate_CheckKind:$kind, I1:$condition, StrAttr:$what, Variadic<Index>:$index, Variadic<Index>:$shape);
  let assemblyFormat = "$kind $condition `,` $what (`index` `(` $index^ `)`)? (`shape` `(` $shape^ `)`)? attr-dict";
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def Metate_PollOp : Metate_Op<"poll", [MemoryEffects<[MemRead, MemWrite]>, Metate_MayStop]> {
  let summary = "stops the kernel with METATE_E_INTERRUPTED if its host asks for that";
  let assemblyFormat = "attr-dict";
}

def Metate_NamedTypeOp : Metate_Op<"named_type", [Symbol]> {
  let summary = "a tree type with the name under which a module offers it";
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Metate_TreeType>:$type);
  let assemblyFormat = "$sym_name `=` $type attr-dict";
}
