//===- RowLimits.h - which numbers are worth being rows ---------*- C++ -*-===//
#ifndef METATE_TRANSFORMS_ROWLIMITS_H
#define METATE_TRANSFORMS_ROWLIMITS_H

#include <cstdint>

namespace metate {

/// A row of fewer is no row; what is shared out is rows, so there should be some of them, but in short loops.
constexpr int64_t leastRow = 8, leastRows = 64, fewIterations = 1 << 14;

} // namespace metate

#endif // METATE_TRANSFORMS_ROWLIMITS_H
