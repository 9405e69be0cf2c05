//===- Interfaces.td - what every level can be asked ------------*- tablegen -*-===//
//
// Of its own because tablegen writes interfaces only for the file it is given.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_DIALECT_INTERFACES
#define METATE_DIALECT_INTERFACES

include "mlir/IR/OpBase.td"

def Metate_LevelInterface : AttrInterface<"LevelInterface"> {
  let cppNamespace = "::metate";
  let description = [{What every level of a tree can be asked.}];
  let methods = [
    InterfaceMethod<"Letters of the axes this level splits, ascending: \"ij\".",
      "::llvm::StringRef", "getLevelAxes">,
    InterfaceMethod<"Cells along each of the axes; unboundedExtent of a level without bounds.",
      "::llvm::ArrayRef<int64_t>", "getLevelExtents">,
    InterfaceMethod<"Child levels and places inside one cell.",
      "::llvm::ArrayRef<::mlir::Attribute>", "getLevelChildren">,
    InterfaceMethod<"The name given by the user, or an empty string.",
      "::llvm::StringRef", "getGivenName">,
    InterfaceMethod<"The kind's name: the attribute's mnemonic.",
      "::llvm::StringRef", "getKindName">,
    InterfaceMethod<"metate_level_kind of abi/metate/abi/tree.h.",
      "uint32_t", "getKindCode">,
    InterfaceMethod<"True if cells are slots of a pool, reached through u32 links; false if they stand inline.",
      "bool", "hasPool">,
    InterfaceMethod<"True if a cell can be inactive: all but dense.",
      "bool", "hasActivity">,
    InterfaceMethod<"True if every 32-bit coordinate along the axes is a cell's.",
      "bool", "isUnbounded">
  ];
}

#endif
