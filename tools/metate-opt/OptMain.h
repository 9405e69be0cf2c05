//===- OptMain.h - metate-opt as a function ---------------------*- C++ -*-===//
#ifndef METATE_TOOLS_METATE_OPT_OPTMAIN_H
#define METATE_TOOLS_METATE_OPT_OPTMAIN_H

#include "metate/Target/Target.h"

namespace metate {

/// The tool's main, for these targets: a family outside of the project adds itself to ownTargets() and has a metate-opt of its
/// own. Returns the process's exit code. Passes stay registered, so it is called once; `targets` outlive it.
int optMain(int argc, char **argv, const TargetRegistry &targets);

} // namespace metate

#endif
