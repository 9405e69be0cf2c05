//===- IterationVariables.h - cells of an iteration as variables -*- C++ -*-===//
#ifndef METATE_TRANSFORMS_ITERATIONVARIABLES_H
#define METATE_TRANSFORMS_ITERATIONVARIABLES_H

#include "metate/Dialect/Metate.h"

namespace metate {

/// Where no other iteration of a parallel loop touches what one writes and reads (or no loop does what the kernel's own statements
/// do), the place becomes a variable of the iteration beside the memory: it is read once, before all else, and what is stored goes to
/// the variable as well. So that what is read later is known to be what was stored, or what was there before. promote-locals
/// makes values of the variables.
void makeIterationVariables(KernelOp kernel);

} // namespace metate

#endif
