//===- Attrs.td - levels, places, the tree type -----------------*- tablegen -*-===//
//
// A tree is a type; the type is a nest of level attributes. A new level is one attribute here (it
// implements LevelInterface) and one lowering file in Level/.
//
//===----------------------------------------------------------------------===//

/// `capabilities`: the questions of LevelInterface to which the level says yes.
class Metate_LevelAttr<string cppName, string levelName, int levelCode, list<string> capabilities, string extents,
                       string slotCells, string wordBits = "0"> : AttrDef<Metate_Dialect, cppName, [Metate_LevelInterface]> {
  let mnemonic = levelName;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static constexpr uint32_t kindCode = }] # levelCode # [{;
    ::llvm::StringRef getLevelAxes() const { return getAxes(); }
    ::llvm::ArrayRef<int64_t> getLevelExtents() const { return }] # extents # [{; }
    ::llvm::ArrayRef<::mlir::Attribute> getLevelChildren() const { return getChildren(); }
    ::llvm::StringRef getGivenName() const { return getName() ? getName().getValue() : ::llvm::StringRef(); }
    ::llvm::StringRef getKindName() const { return getMnemonic(); }
    uint32_t getKindCode() const { return kindCode; }
    int64_t getSlotCells() const { return }] # slotCells # [{; }
    int64_t getWordBits() const { return }] # wordBits # [{; }
  }] # !foldl("", ["hasPool", "hasActivity", "hasMask", "isList", "isUnbounded"], text, question,
         text # "  bool " # question # "() const { return " #
         !if(!empty(!filter(one, capabilities, !eq(one, question))), "false", "true") # "; }\n");
  dag axesParameter = (ins StringRefParameter<"axis letters, ascending">:$axes);
  dag extentsParameter = (ins ArrayRefParameter<"int64_t", "cells along each axis">:$extents);
  dag childrenParameter = (ins ArrayRefParameter<"::mlir::Attribute", "child levels and places">:$children);
  dag nameParameter = (ins OptionalParameter<"::mlir::StringAttr", "name given by the user">:$name);
}

/// A level with extents and nothing else of its own.
class Metate_Level<string cppName, string levelName, int levelCode, list<string> capabilities>
    : Metate_LevelAttr<cppName, levelName, levelCode, capabilities, "getExtents()", "hasPool() ? 1 : 0"> {
  let parameters = !con(axesParameter, extentsParameter, childrenParameter, nameParameter);
  let assemblyFormat = [{
    `<` $axes `,` `[` $extents `]` `,` `[` $children `]` (`,` `name` `=` $name^)? `>`
  }];
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify(::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError,
        ::llvm::StringRef axes, ::llvm::ArrayRef<int64_t> extents, ::llvm::ArrayRef<::mlir::Attribute> children,
        ::mlir::StringAttr name) {
      return verifyLevel(emitError, axes, extents, children);
    }
  }];
}

def Metate_DenseAttr : Metate_Level<"Dense", "dense", 2, []> {
  let summary = "all cells present, stored inline, always active";
}

def Metate_PointerAttr : Metate_Level<"Pointer", "pointer", 3, ["hasPool", "hasActivity"]> {
  let summary = "a u32 link per cell into a pool of slots; an inactive cell reads its background";
}

def Metate_BitmaskedAttr : Metate_Level<"Bitmasked", "bitmasked", 5, ["hasActivity", "hasMask"]> {
  let summary = "all cells present, stored inline, with a bit each; an inactive cell reads its background";
}

def Metate_DynamicAttr : Metate_LevelAttr<"Dynamic", "dynamic", 6, ["hasPool", "hasActivity", "isList"], "getExtents()",
                                          "getChunk()"> {
  let summary = "a list that grows along one axis: a length, and slots of `chunk` cells";
  let description = [{
    `#metate.dynamic<"j", [1024], [...], chunk = 32>`: the cells below the length are active. The extent is the greatest length.
  }];
  let parameters = !con(axesParameter, extentsParameter, childrenParameter,
                        (ins "int64_t":$chunk), nameParameter);
  let assemblyFormat = [{
    `<` $axes `,` `[` $extents `]` `,` `[` $children `]` `,` `chunk` `=` $chunk (`,` `name` `=` $name^)? `>`
  }];
}

def Metate_HashAttr : Metate_LevelAttr<"Hash", "hash", 7, ["hasPool", "hasActivity", "isUnbounded"],
                                       "unboundedExtents(getAxes().size())", "1"> {
  let summary = "cells at any 32-bit coordinates, found through a table from coordinates to slots";
  let parameters = !con(axesParameter, childrenParameter, nameParameter);
  let assemblyFormat = [{
    `<` $axes `,` `[` $children `]` (`,` `name` `=` $name^)? `>`
  }];
}

def Metate_QuantArrayAttr : Metate_LevelAttr<"QuantArray", "quant_array", 9, [], "getExtents()", "0", "getWord()"> {
  let summary = "all cells present, each the bits of one quantised member: as many in a word as fit, none in two";
  let parameters = !con(axesParameter, extentsParameter, childrenParameter, (ins "int64_t":$word), nameParameter);
  let assemblyFormat = [{
    `<` $axes `,` `[` $extents `]` `,` `[` $children `]` `,` `word` `=` $word (`,` `name` `=` $name^)? `>`
  }];
}

def Metate_BitStructAttr : AttrDef<Metate_Dialect, "BitStruct"> {
  let mnemonic = "bit_struct";
  let summary = "quantised members that are packed into one word, from its lowest bit on";
  let description = [{
    `#metate.bit_struct<32, [#metate.place<"x" : !metate.quant_int<5, true, i32>>, ...]>` stands where a place may stand. Children are
    places and `#metate.shared_exponent<[...]>`.
  }];
  let parameters = (ins "int64_t":$word, ArrayRefParameter<"::mlir::Attribute", "places, shared exponents">:$children);
  let assemblyFormat = "`<` $word `,` `[` $children `]` `>`";
  let genVerifyDecl = 1;
}

def Metate_SharedExponentAttr : AttrDef<Metate_Dialect, "SharedExponent"> {
  let mnemonic = "shared_exponent";
  let summary = "quantised floats of a bit_struct with one exponent for all: its bits, then sign and digits of each";
  let parameters = (ins ArrayRefParameter<"::mlir::Attribute", "two places or more">:$children);
  let assemblyFormat = "`<` `[` $children `]` `>`";
  let genVerifyDecl = 1;
}

def Metate_PlaceAttr : AttrDef<Metate_Dialect, "Place"> {
  let mnemonic = "place";
  let summary = "a member: a scalar, vector or matrix in each cell, with a background value";
  let description = [{
    Integer types carry their sign here (`i32` is signed, `ui32` unsigned); loads and stores yield
    the signless type. `i1` takes one byte in memory. A quantised type stands below a bit_struct or quant_array, and those have no others; loads and
    stores yield the stored bits, and a background is of the compute type.
  }];
  let parameters = (ins
    StringRefParameter<"member name">:$name,
    "::mlir::Type":$type,
    OptionalParameter<"::mlir::TypedAttr", "value of an inactive cell; zero if absent">:$background
  );
  let assemblyFormat = [{ `<` $name `:` $type (`,` `background` `=` $background^)? `>` }];
  let genVerifyDecl = 1;
}

def Metate_TreeType : TypeDef<Metate_Dialect, "Tree"> {
  let mnemonic = "tree";
  let summary = "a tree of levels with members at its leaves; an instance is a block of memory";
  let parameters = (ins ArrayRefParameter<"::mlir::Attribute", "branches of the root">:$branches);
  let assemblyFormat = [{ `<` $branches `>` }];
  let genVerifyDecl = 1;
}

def Metate_BlockType : TypeDef<Metate_Dialect, "Block"> {
  let mnemonic = "block";
  let summary = "bytes of one argument: a tree's block or an array's data (from the layout stage on)";
}

def Metate_PoolAttr : AttrDef<Metate_Dialect, "Pool"> {
  let mnemonic = "pool";
  let summary = "memory that a kernel's code plans, as the module descriptor will state it";
  let description = [{
    Its size in bytes is bytes + scale * the product of the integers in the slots `factors`, rounded up to align; a worker's
    pool has so many for each worker. variant: the number of the payload whose code plans it; -1: that of each.
    Constraint (B1): the alignment is a power of two, at most 4096; sizes are not negative. (B2): at most METATE_POOL_FACTORS factors, and
    none without a scale. (B3): the name is letters, digits and underscores, as C has them.
  }];
  let parameters = (ins
    StringRefParameter<"what it is for">:$name,
    EnumParameter<Metate_PoolKind>:$kind,
    "int64_t":$bytes,
    "int64_t":$align,
    DefaultValuedParameter<"int64_t", "0">:$scale,
    OptionalArrayRefParameter<"int64_t">:$factors,
    DefaultValuedParameter<"int64_t", "-1">:$variant,
    StringRefParameter<"the memory that it is to lie in", [{""}]>:$memory
  );
  let genVerifyDecl = 1;
  let assemblyFormat = [{
    `<` $name `,` $kind `bytes` $bytes `align` $align (`scale` $scale^)? (`factors` `[` $factors^ `]`)? (`variant` $variant^)? (`in` $memory^)? `>`
  }];
}

def Metate_DimAttr : AttrDef<Metate_Dialect, "Dim"> {
  let mnemonic = "dim";
  let summary = "a named extent of a kernel's arrays and its bounds: `#metate.dim<\"n\", 1 to 4096 by 8>`";
  let description = [{
    All dimensions of a kernel's arrays that are one dim have one extent, from min to max, a multiple of `multiple`: launches check it.
    Constraint (G6): 0 <= min <= max < 2^62, a multiple of at least 1 of which there is one between them, and a name of letters, digits and underscores.
  }];
  let parameters = (ins StringRefParameter<"name">:$name, "int64_t":$min, "int64_t":$max, DefaultValuedParameter<"int64_t", "1">:$multiple);
  let genVerifyDecl = 1;
  let assemblyFormat = "`<` $name `,` $min `to` $max (`by` $multiple^)? `>`";
}

def Metate_ArgumentAttr : AttrDef<Metate_Dialect, "Argument"> {
  let mnemonic = "argument";
  let summary = "one argument of a kernel's interface, as the module descriptor will state it";
  let description = [{
    kind is one of scalar, vector, ndarray, tree. type: the scalar type with its sign, or the tree
    type. element: element dimensions of a vector argument or of an array of vectors. rank: an
    ndarray's rank with the element's dimensions. access: METATE_ACCESS_* bits. flags: METATE_ARGUMENT_* bits.
    Constraint (G1): the kind is one of these four. (G2): a tree, and nothing else, has a tree type; the
    others a scalar type that a member may have, or `index`, an i64 to the host. (G3): a vector has one or two element dimensions, an ndarray at
    most two, the others none. (G4): an ndarray's rank counts its element's dimensions and is at most
    METATE_MAX_RANK; the others have none. (G5): known bits only. shape: what an ndarray's dimensions, the element's not among them, must be: a
    number, -1 for any, or a #metate.dim. (G7): an entry for each of them.
  }];
  let parameters = (ins
    StringRefParameter<"name">:$name,
    StringRefParameter<"kind">:$kind,
    "::mlir::Type":$type,
    OptionalArrayRefParameter<"int64_t">:$element,
    DefaultValuedParameter<"int64_t", "0">:$rank,
    DefaultValuedParameter<"int64_t", "0">:$access,
    DefaultValuedParameter<"int64_t", "0">:$flags,
    OptionalParameter<"::mlir::ArrayAttr">:$shape
  );
  let genVerifyDecl = 1;
  let assemblyFormat = [{
    `<` $name `,` $kind `,` $type (`element` `=` `[` $element^ `]`)?
    (`rank` `=` $rank^)? (`access` `=` $access^)? (`flags` `=` $flags^)? (`shape` `=` $shape^)? `>`
  }];
}
