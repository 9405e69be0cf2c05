//===- C.h - C compilers as a family of targets -----------------*- C++ -*-===//
#ifndef METATE_TARGET_C_C_H
#define METATE_TARGET_C_C_H

#include "metate/Target/Target.h"

namespace metate {

/// The family "c": source for whatever machine a C compiler knows, with addresses of 32 or 64 bits.
std::unique_ptr<TargetFamily> createCFamily();

} // namespace metate

#endif
