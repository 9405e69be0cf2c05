//===- Targets.h - the project's own families of targets --------*- C++ -*-===//
#ifndef METATE_TARGET_TARGETS_H
#define METATE_TARGET_TARGETS_H

#include "metate/Target/Target.h"

namespace metate {

/// A registry of the families of Targets.def.
TargetRegistry ownTargets();

} // namespace metate

#endif
