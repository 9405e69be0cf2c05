//===- Stencils.h - which cells around its own an iteration reads -*- C++ -*-===//
#ifndef METATE_TARGET_GRID_STENCILS_H
#define METATE_TARGET_GRID_STENCILS_H

#include "metate/Dialect/Metate.h"

#include <set>

namespace metate::grid {

/// The reads of a range at constant distances from the iteration's own cell, array by array.
class Stencil {
public:
  /// By dimension of the range.
  using Distance = std::vector<int64_t>;

  /// None: no array is read in two rows.
  static std::optional<Stencil> of(RangeOp range);
  /// How many cells iterations of a box read together, for each of its cells: memory is read by sectors, rows begin at one.
  double readsPerCell(llvm::ArrayRef<int64_t> box) const;
  /// The dimension, not the last one, along which most distances are; the outer one of two.
  unsigned axis() const;

private:
  std::vector<std::set<Distance>> arrays;
  size_t dimensions = 0;
};

} // namespace metate::grid

#endif
