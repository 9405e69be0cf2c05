//===- LaneValues.h - numbers side by side as one vector --------*- C++ -*-===//
//
// Makes the vector of some numbers, and of the arithmetic behind them where it is the same for most: that of weights and momenta of a particle
// is done once for all components. Must not know what the numbers are for.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_LANEVALUES_H
#define METATE_TRANSFORMS_LANEVALUES_H

#include "mlir/IR/Builders.h"

#include <map>
#include <vector>

namespace metate {

/// A number: a scalar, or the element of a vector at a position in row-major order. Without a value it may be any.
struct Lane {
  mlir::Value value;
  int64_t element = -1;

  explicit operator bool() const { return bool(value); }
  bool operator==(const Lane &other) const {
    return value == other.value && element == other.element;
  }
};

/// Arithmetic of vectors, in the operation, becomes that of their numbers: what is alike in it is seen then.
void takeVectorsApart(mlir::Operation *root);

/// What was made for one part of a kernel. Numbers of before are taken again where they dominate.
class LaneValues {
public:
  using Lanes = llvm::SmallVector<Lane, 4>;

  /// The vector of the lanes, at least one of which is no `any`, in front of an operation that all of them dominate.
  mlir::Value vectorOf(const Lanes &lanes, mlir::Operation *before);

  /// One of them by itself.
  mlir::Value scalar(Lane lane, mlir::Operation *before);

private:
  using Key = std::vector<std::pair<void *, int64_t>>;

  mlir::Value make(const Lanes &lanes, mlir::Operation *before, unsigned depth);
  mlir::Value build(const Lanes &lanes, mlir::Operation *before, unsigned depth);
  mlir::Value elementsOfOne(const Lanes &lanes, mlir::Operation *before);
  mlir::Value arithmetic(const Lanes &lanes, mlir::Operation *before, unsigned depth);

  std::map<Key, mlir::Value> made;
};

} // namespace metate

#endif
