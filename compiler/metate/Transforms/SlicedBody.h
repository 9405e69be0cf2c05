//===- SlicedBody.h - a loop's body for all elements of a word --*- C++ -*-===//
//
// What an iteration computes of small integers, for as many iterations as a word has elements at once.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_SLICEDBODY_H
#define METATE_TRANSFORMS_SLICEDBODY_H

#include "metate/Transforms/BitPlanes.h"
#include "metate/Transforms/LeafForm.h"

#include "mlir/IR/IRMapping.h"

namespace metate {

/// The member of a quant_array that an operation accesses, with the place of its last coordinate in words.
struct ElementAccess {
  TreePath path;
  unsigned bits = 0;     ///< of an element
  unsigned position = 0; ///< of the last axis among the coordinates
  int64_t shift = 0; ///< elements from the one at the loop's variable to this one, along the row
  LinearForm rest;   ///< the coordinate without the variable and the shift: whole words

  unsigned word() const { return LevelInterface(path.levels.back()).getWordBits(); }
  unsigned elements() const { return word() / bits; }
  /// The access, if its element is at the variable and a constant, in rows of whole words. Nullopt of others.
  static std::optional<ElementAccess> of(mlir::Operation *op, mlir::Value variable);
};

/// Where a loop begins and ends, in elements.
struct ElementLimits {
  mlir::Value lower, upper;
};

/// Computes the body at all elements of a word.
class SlicedBody {
public:
  /// `word`: its number along the loop, an index; `first`: that of its first element. `limits`: the variable's.
  SlicedBody(PlaneBuilder planes, mlir::Value variable, mlir::Value word, mlir::Value first,
             ElementLimits limits)
      : at(planes), builder(planes.builder), variable(variable), word(word), first(first),
        limits(limits) {}

  /// Writes the body, a block without its end, at the builder's place. False: something in it is no small integers; what was written until then is to be
  /// erased.
  bool write(mlir::Block &body);
  /// Only elements within the limits are computed; words may have others.
  void keepLimits();
  llvm::StringRef problem() const { return why; }

private:
  /// The same in all elements, the number of an element (with what all have), planes, or a sum of some.
  struct Number {
    enum Kind { Same, Place, Small, Sum } kind = Same;
    mlir::Value value; ///< Same: it; Place: that of the first element
    Planes planes = {};
    PlaneSum sum = {};
    std::optional<int64_t> offset = {}; ///< Place: what is added to the variable, if it is known
  };

  /// A value that is one of two: a selection, or a result of a conditional.
  struct Choice {
    mlir::Value condition, yes, no, result;
  };
  /// `count + 1 if condition else count`: a sum whose only use is a choice between it and what it adds to.
  struct Counting {
    Choice choice;
    mlir::Value base;
    int64_t step;
    bool isYes; ///< where the condition holds
  };

  bool fail(llvm::StringRef text) {
    why = text;
    return false;
  }
  static std::optional<Choice> choiceOf(mlir::OpOperand &use);
  Number numberOf(mlir::Value value);
  std::optional<Planes> planesOf(const Number &number);
  std::optional<Planes> planesOf(mlir::Value value) { return planesOf(numberOf(value)); }
  bool writeOp(mlir::Operation *op);
  bool writeArith(mlir::Operation *op);
  bool writeCompare(mlir::arith::CmpIOp op);
  bool writePlaceCompare(mlir::arith::CmpIOp op);
  bool writeIf(mlir::scf::IfOp op);
  bool writeLoad(LoadOp op);
  bool writeStore(StoreOp op);
  bool writeSum(mlir::Operation *op);
  bool writeTerm(mlir::Operation *op, const Number &a, const Number &b);
  bool writeChoice(const Choice &choice);
  std::optional<Counting> countingOf(mlir::Value value);
  bool isLeftAsSum(mlir::Value value);
  std::optional<PlaneSum> sumOf(const Number &number);
  bool setSum(mlir::Value result, PlaneSum sum);
  bool isWithin(mlir::Value coordinate, int64_t extent) const;
  void whereAny(bool isSafe, llvm::function_ref<void()> write);
  bool setPlanes(mlir::Value result, std::optional<Planes> planes);
  mlir::Value toIndex(mlir::Value integer);
  llvm::SmallVector<mlir::Value> coordinatesOf(CellOpInterface op, const ElementAccess &access,
                                               int64_t words);
  mlir::Value wordAt(LoadOp op, const ElementAccess &access, int64_t words);

  PlaneBuilder at;
  mlir::OpBuilder &builder;
  mlir::Value variable, word, first;
  ElementLimits limits;
  mlir::IRMapping mapping;
  llvm::DenseMap<mlir::Value, Number> numbers;
  mlir::Value mask;           ///< the elements for which what is written runs; null: all
  bool isConditional = false; ///< it may be none of them
  llvm::StringRef why;
};

} // namespace metate

#endif
