//===- TreeCalls.h - calls of the tree protocol -----------------*- C++ -*-===//
#ifndef METATE_TARGET_COMMON_TREECALLS_H
#define METATE_TARGET_COMMON_TREECALLS_H

#include "metate/Dialect/Metate.h"
#include "metate/Target/Common/Abi.h"

namespace metate::target {

/// Adds to the module, for each kind of `metate.tree_call` in it, a function that makes it: (block, numbers...,
/// coordinates...) to the result; and the blobs of the types that they name.
void addTreeCallees(mlir::ModuleOp module);

/// An append by a worker that no other is beside.
void makeAlone(TreeCallOp call);

/// `metate.tree_call` becomes a call of its function.
void populateTreeCallPatterns(KernelTypeConverter &converter, mlir::RewritePatternSet &patterns);

} // namespace metate::target

#endif
