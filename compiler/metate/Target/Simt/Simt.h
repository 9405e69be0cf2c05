//===- Simt.h - a device that is this machine's CPU -------------*- C++ -*-===//
#ifndef METATE_TARGET_SIMT_SIMT_H
#define METATE_TARGET_SIMT_SIMT_H

#include "metate/Target/Target.h"

namespace metate {

/// The family "simt": code of grids, invocation by invocation on an x86-64 CPU, for tests.
std::unique_ptr<TargetFamily> createSimtFamily();

} // namespace metate

#endif
