//===- LeafCells.h - which cells of a leaf a nest reaches -------*- C++ -*-===//
//
// Of an access whose slot is the same for every iteration of a nest (FixedSlot) and whose place in the slot depends on
// the nest's variables alone: the set of cells, known when the kernel is compiled. All iterations are enumerated, so any
// arithmetic will do: c // 64, c // 8 % 8, c % 8 of one dimension as well as a dimension for each axis.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_LEAFCELLS_H
#define METATE_TRANSFORMS_LEAFCELLS_H

#include "metate/Level/Mask.h"
#include "metate/Transforms/FixedSlot.h"

namespace metate {

/// The cells of the leaf that the access reaches in all iterations of the loops whose variables these are, with constant bounds.
/// nullopt: the path is not one of cells of a bitmasked level right below the last pool, or they depend on more than these
/// variables, or there are too many iterations to look at, or cells so scattered that words would not pay.
std::optional<MaskWords> cellsReached(const TreePath &path, const FixedSlot &slot,
                                      mlir::ValueRange variables);

} // namespace metate

#endif
