//===- WholeWrites.h - arrays that a kernel writes everywhere ---*- C++ -*-===//
#ifndef METATE_TRANSFORMS_WHOLEWRITES_H
#define METATE_TRANSFORMS_WHOLEWRITES_H

#include "metate/Dialect/Metate.h"

namespace metate {

/// Is every element of the array argument written by each run of the kernel that does not fail, and none read? Proven where a loop
/// over the array's extents stores to its element without a condition; elsewhere the answer is no. `argument`: its number.
bool writesAllOf(KernelOp kernel, unsigned argument);

} // namespace metate

#endif
