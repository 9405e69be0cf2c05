//===- QuantOps.td - stored bits and values of quantised members -*- tablegen -*-===//
//
// metate.load and metate.store of a quantised member have its stored bits, a signless integer as wide as the member. What
// kernels compute with is decoded from these and encoded to them.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_DIALECT_QUANTOPS
#define METATE_DIALECT_QUANTOPS

include "Metate.td"

class Metate_QuantConversion<string mnemonic> : Metate_Op<mnemonic, [Pure, Elementwise, Scalarizable, Vectorizable, Tensorizable]> {
  let hasVerifier = 1;
}

def Metate_DecodeOp : Metate_QuantConversion<"decode"> {
  let summary = "the value that a quantised member's bits mean";
  let description = [{
    `%v = metate.decode %bits as !metate.quant_fixed<11, true, 1.0e-3, f32> : i11 -> f32`. Constraint (QC1): the type is a quantised one.
    (QC2): the bits are a signless integer of its width, or a vector of these. (QC3): the value is of its compute type, signless, and of the same shape. `shared`: the bits are those of a float whose exponent others
    share: digits, sign, exponent, without a hidden digit.
  }];
  let arguments = (ins SignlessIntegerLike:$bits, TypeAttr:$format, UnitAttr:$shared);
  let results = (outs AnyType:$value);
  let assemblyFormat = "$bits `as` $format (`shared` $shared^)? attr-dict `:` type($bits) `->` type($value)";
  let skipDefaultBuilders = 0;
  let builders = [OpBuilder<(ins "::mlir::Value":$bits, "::mlir::Type":$format, CArg<"bool", "false">:$shared)>];
}

def Metate_EncodeOp : Metate_QuantConversion<"encode"> {
  let summary = "the bits by which a quantised member says a value";
  let description = [{
    `%bits = metate.encode %v as !metate.quant_fixed<11, true, 1.0e-3, f32> : f32 -> i11`. Constraints QC1 to QC3 of decode.
  }];
  let arguments = (ins AnyType:$value, TypeAttr:$format);
  let results = (outs SignlessIntegerLike:$bits);
  let assemblyFormat = "$value `as` $format attr-dict `:` type($value) `->` type($bits)";
  let builders = [OpBuilder<(ins "::mlir::Value":$value, "::mlir::Type":$format)>];
}

def Metate_LoadSharedOp : Metate_CellOp<"load_shared", ["namesCell", "readsMember"]> {
  let summary = "reads the bits of a float that shares its exponent";
  let description = [{
    `%b = metate.load_shared %f["u"][%i] : !metate.tree<...> -> i14`, for `metate.decode %b as ... shared`. An operation of its own: a write of another
    member of the group changes what is read, which no pass has to know that asks for loads of members. Constraints C1 and C2 of load. (QU3): the member
    shares its exponent, and the value has its fraction's and exponent's bits.
  }];
  let arguments = (ins Arg<Metate_TreeType, "", [MemRead]>:$tree, StrAttr:$path, Variadic<Index>:$coordinates);
  let results = (outs AnySignlessInteger:$value);
  let assemblyFormat = "$tree `[` $path `]` `[` $coordinates `]` attr-dict `:` type($tree) `->` type($value)";
}

def Metate_StoreSharedOp : Metate_CellOp<"store_shared", ["namesCell", "writesMember"], [AttrSizedOperandSegments], "getCoordinates()",
    "!getActive()"> {
  let summary = "writes several floats that share an exponent, together; activates the cell";
  let description = [{
    `metate.store_shared (%a, %b), %f["u"]["u", "v"][%i] : (f32, f32), !metate.tree<...>`: what an assignment to a vector is. Others of the group keep their
    values, encoded anew. Constraints C1 and C2 of load, for the first member. (QU5): the members are two or more of one group, each once, with a value of
    the compute type each; the path is the first.
  }];
  let arguments = (ins Variadic<AnyFloat>:$values, Arg<Metate_TreeType, "", [MemRead, MemWrite]>:$tree, StrAttr:$path, StrArrayAttr:$members,
    Variadic<Index>:$coordinates, UnitAttr:$active);
  let assemblyFormat = [{
    `(` $values `)` `,` $tree `[` $path `]` $members `[` $coordinates `]` (`active` $active^)? attr-dict `:` `(` type($values) `)` `,` type($tree)
  }];
}

def Metate_LoadWordOp : Metate_CellOp<"load_word", ["namesCell", "readsMember"]> {
  let summary = "reads the word of a quant_array that an element is in";
  let description = [{
    `%w = metate.load_word %f["b"][%i, %j] : !metate.tree<...> -> i32`: with bits beyond the elements of a word undefined. Constraints C1 and C2 of
    load. (QU4): the member is a quant_array's, and the value as wide as its word.
  }];
  let arguments = (ins Arg<Metate_TreeType, "", [MemRead]>:$tree, StrAttr:$path, Variadic<Index>:$coordinates);
  let results = (outs AnySignlessInteger:$value);
  let assemblyFormat = "$tree `[` $path `]` `[` $coordinates `]` attr-dict `:` type($tree) `->` type($value)";
}

def Metate_StoreWordOp : Metate_CellOp<"store_word", ["namesCell", "writesMember"], [], "getCoordinates()", "!getActive()"> {
  let summary = "writes all elements of the word of a quant_array that an element is in, and activates their cells";
  let description = [{
    `metate.store_word %w, %f["b"][%i, %j] active : i32, !metate.tree<...>`: bits beyond the elements are 0. No other iteration of the task writes the
    word. Constraints of load_word.
  }];
  let arguments = (ins AnySignlessInteger:$value, Arg<Metate_TreeType, "", [MemWrite]>:$tree, StrAttr:$path, Variadic<Index>:$coordinates, UnitAttr:$active);
  let assemblyFormat = "$value `,` $tree `[` $path `]` `[` $coordinates `]` (`active` $active^)? attr-dict `:` type($value) `,` type($tree)";
}

def Metate_UpdateOp : Metate_CellOp<"update", ["namesCell", "readsMember", "writesMember"],
    [AllTypesMatch<["value", "old"]>], "getCoordinates()", "!getActive()"> {
  let summary = "read-modify-write of a quantised member by its value, indivisible; activates the cell";
  let description = [{
    `%old = metate.update addf %v, %f["x"][%i] : f32, !metate.tree<...>`: decodes what is stored, combines it with the value, encodes the result;
    yields what was there before, decoded. What metate.atomic on the bits cannot say: floats, products of fixed ones, members that share an
    exponent (`assign` is then their store). Constraints C1 and C2 of load. (QU1): the member is quantised, the value of its compute type, signless.
    (QU2): an integer kind for integers, a float kind for floats, or `assign`.
  }];
  let arguments = (ins AtomicRMWKindAttr:$kind, AnyType:$value, Arg<Metate_TreeType, "", [MemRead, MemWrite]>:$tree, StrAttr:$path, Variadic<Index>:$coordinates, UnitAttr:$active);
  let results = (outs AnyType:$old);
  let assemblyFormat = [{
    $kind $value `,` $tree `[` $path `]` `[` $coordinates `]` (`active` $active^)? attr-dict `:` type($value) `,` type($tree)
  }];
}

#endif
