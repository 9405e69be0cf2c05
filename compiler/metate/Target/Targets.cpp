//===- Targets.cpp - the project's own families of targets ------*- C++ -*-===//
#include "metate/Target/Targets.h"

namespace metate {

#define METATE_TARGET(name) std::unique_ptr<TargetFamily> create##name##Family();
#include "metate/Target/Targets.def"

TargetRegistry ownTargets() {
  TargetRegistry registry;
#define METATE_TARGET(name) registry.add(create##name##Family());
#include "metate/Target/Targets.def"
  return registry;
}

} // namespace metate
