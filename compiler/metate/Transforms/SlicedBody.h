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

/// Computes the body at elements [first, first + elements) of the variable.
class SlicedBody {
public:
  /// `first`: index, a multiple of the elements of a word. `mapping` knows what stands outside.
  SlicedBody(PlaneBuilder planes, mlir::Value variable, mlir::Value first, mlir::IRMapping mapping)
      : at(planes), builder(planes.builder), variable(variable), first(first),
        mapping(std::move(mapping)) {}

  /// Writes the body, a block without its end, at the builder's place. False: something in it is no small integers; what was written until then is to be
  /// erased.
  bool write(mlir::Block &body);
  /// Only elements from `lower` to below `upper` of the variable are computed.
  void limit(mlir::Value lower, mlir::Value upper);
  llvm::StringRef problem() const { return why; }

private:
  /// The same in all elements, the number of an element (with what all have), or planes.
  struct Number {
    enum Kind { Same, Place, Small } kind = Same;
    mlir::Value value; ///< Same: it; Place: that of the first element
    Planes planes;
  };

  bool fail(llvm::StringRef text) {
    why = text;
    return false;
  }
  Number numberOf(mlir::Value value);
  std::optional<Planes> planesOf(const Number &number);
  std::optional<Planes> planesOf(mlir::Value value) { return planesOf(numberOf(value)); }
  bool writeOp(mlir::Operation *op);
  bool writeArith(mlir::Operation *op);
  bool writeCompare(mlir::arith::CmpIOp op);
  bool writePlaceCompare(mlir::arith::CmpIOp op);
  bool writeSelect(mlir::arith::SelectOp op);
  bool writeIf(mlir::scf::IfOp op);
  bool writeLoad(LoadOp op);
  bool writeStore(StoreOp op);
  bool writeSum(mlir::Operation *op);
  bool setPlanes(mlir::Value result, std::optional<Planes> planes);
  mlir::Value toIndex(mlir::Value integer);
  llvm::SmallVector<mlir::Value> coordinatesOf(CellOpInterface op, const ElementAccess &access,
                                               int64_t words);
  mlir::Value wordAt(LoadOp op, const ElementAccess &access, int64_t words);

  PlaneBuilder at;
  mlir::OpBuilder &builder;
  mlir::Value variable, first;
  mlir::IRMapping mapping;
  llvm::DenseMap<mlir::Value, Number> numbers;
  mlir::Value mask; ///< the elements for which what is written runs; null: all
  llvm::StringRef why;
};

} // namespace metate

#endif
