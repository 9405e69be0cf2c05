//===- TreeCalls.h - calls of the tree protocol -----------------*- C++ -*-===//
#ifndef METATE_TARGET_CPU_TREECALLS_H
#define METATE_TARGET_CPU_TREECALLS_H

#include "metate/Target/Cpu/MapTasks.h"

namespace metate::cpu {

/// Adds to the module, for each kind of `metate.tree_call` in it, a function that makes it: (block, numbers...,
/// coordinates...) to the result; and the blobs of the types that they name.
void addTreeCallees(mlir::ModuleOp module);

/// `metate.tree_call` becomes a call of its function.
void populateTreeCallPatterns(CpuTypeConverter &converter, mlir::RewritePatternSet &patterns);

} // namespace metate::cpu

#endif
