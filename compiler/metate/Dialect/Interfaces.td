//===- Interfaces.td - what levels and operations on cells can be asked -*- tablegen -*-===//
//
// Of its own because tablegen writes interfaces only for the file it is given.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_DIALECT_INTERFACES
#define METATE_DIALECT_INTERFACES

include "mlir/IR/OpBase.td"

def Metate_LevelInterface : AttrInterface<"LevelInterface"> {
  let cppNamespace = "::metate";
  let description = [{
    What every level of a tree can be asked. Passes ask for what a level has (as with the mode formats of taco: properties, and
    functions that a level may or may not have), never for its kind; its functions are in Level/.
  }];
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
    InterfaceMethod<"True if cells are in slots of a pool, reached through u32 links; false if they stand inline.",
      "bool", "hasPool">,
    InterfaceMethod<"True if a cell can be inactive.",
      "bool", "hasActivity">,
    InterfaceMethod<"True if a cell's activity is a bit, 32 of them a word: cells are activated and deactivated by words.",
      "bool", "hasMask">,
    InterfaceMethod<"True if the cells below a length are the active ones: it has append and length, and is emptied as a whole.",
      "bool", "isList">,
    InterfaceMethod<"True if every 32-bit coordinate along the axes is a cell's.",
      "bool", "isUnbounded">,
    InterfaceMethod<"Cells in one slot; 0 of a level without a pool.",
      "int64_t", "getSlotCells">,
    InterfaceMethod<"Bits of the words in which its cells lie, several in one: each the bits of its one member, none in two; 0 where cells are bytes.",
      "int64_t", "getWordBits">
  ];
  let extraSharedClassDeclaration = [{
    /// Does a slot stand for one cell, so that it is there exactly where the cell is active?
    bool hasSlotForEachCell() const { return $_attr.hasPool() && !$_attr.isList(); }
    /// Do cells lie in words, several in one?
    bool hasWords() const { return $_attr.getWordBits() != 0; }
    /// Is activity noted beside the cells, by bits or lengths? What it was when a task began is a copy of these
    /// (metate.snapshot); slots have an epoch.
    bool hasEntryCopy() const { return $_attr.hasMask() || $_attr.isList(); }
  }];
}

def Metate_CellOpInterface : OpInterface<"CellOpInterface"> {
  let cppNamespace = "::metate";
  let description = [{
    An operation on cells of one path of a tree, up to the layout stage. Passes ask what it does, not which it is.
  }];
  let methods = [
    InterfaceMethod<"The tree.", "::mlir::Value", "getTree">,
    InterfaceMethod<"The member or level.", "::llvm::StringRef", "getPath">,
    InterfaceMethod<"Coordinates of the cell, of a list's parent cell where it is the list that is meant; of all cells: none.",
      "::mlir::OperandRange", "getCellCoordinates">,
    InterfaceMethod<"Indices of one component of the member's value; none: the whole value, or no value.",
      "::mlir::OperandRange", "getCellComponents">,
    InterfaceMethod<"True if the coordinates are those of a cell of the path, one per axis.",
      "bool", "namesCell">,
    InterfaceMethod<"True if it reads a member.", "bool", "readsMember">,
    InterfaceMethod<"True if it writes a member.", "bool", "writesMember">,
    InterfaceMethod<"True if its result, or what it walks, depends on which cells are active.",
      "bool", "asksActivity">,
    InterfaceMethod<"True if it may make cells active; a write does so by an activate of its own (metate-explicit-activation).",
      "bool", "activates">,
    InterfaceMethod<"True if it may make cells inactive.", "bool", "deactivates">,
    InterfaceMethod<"True of a write whose cell is not known to be active.", "bool", "needsActivation">
  ];
  let extraSharedClassDeclaration = [{
    /// May it change which cells are active?
    bool changesActivity() { return $_op.activates() || $_op.deactivates(); }
    /// Does it look at the tree and change nothing?
    bool onlyReads() {
      return ($_op.readsMember() || $_op.asksActivity()) && !$_op.writesMember() && !changesActivity();
    }
  }];
}

def Metate_LeafOpInterface : OpInterface<"LeafOpInterface"> {
  let cppNamespace = "::metate";
  let description = [{
    An operation on many cells of one leaf, up to the layout stage.
  }];
  let methods = [
    InterfaceMethod<"The tree.", "::mlir::Value", "getTree">,
    InterfaceMethod<"A member or the last level of the leaf.", "::llvm::StringRef", "getPath">,
    InterfaceMethod<"True if it may change which cells are active.", "bool", "changesActivity",
      (ins), "", "return false;">
  ];
}

/// What a cell operation says to CellOpInterface: yes to the questions in `answers`.
class Metate_CellAnswers<list<string> answers, string coordinates, string needsActivation,
                         string components = "getOperation()->getOperands().take_front(0)"> {
  code text = "\n  ::mlir::OperandRange getCellCoordinates() { return " # coordinates # "; }\n" #
    "  ::mlir::OperandRange getCellComponents() { return " # components # "; }\n" #
    "  bool needsActivation() { return " # needsActivation # "; }\n" #
    !foldl("", ["namesCell", "readsMember", "writesMember", "asksActivity", "activates", "deactivates"], all, question,
      all # "  bool " # question # "() { return " #
      !if(!empty(!filter(one, answers, !eq(one, question))), "false", "true") # "; }\n");
}

/// Of operations that none is left of after the layout stage: metate-lower-layout makes bytes of them.
def Metate_LoweredByLayout : NativeOpTrait<"LoweredByLayout"> {
  let cppNamespace = "::metate";
}

/// Of operations that may end the kernel: what stands behind one may never run.
def Metate_MayStop : NativeOpTrait<"MayStop"> {
  let cppNamespace = "::metate";
}

#endif
