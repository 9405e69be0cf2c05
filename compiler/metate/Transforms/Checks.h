//===- Checks.h - what debug mode's checks have in common -------*- C++ -*-===//
//
// Names of accesses for messages, and the check of an activation, which two passes need.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_CHECKS_H
#define METATE_TRANSFORMS_CHECKS_H

#include "metate/Dialect/Tree.h"

#include "mlir/IR/Builders.h"

namespace metate {

/// What the user calls an argument ("x"), or a member or level of it ("f.a").
ShownMember accessName(mlir::Value argument, llvm::StringRef path = "");
/// The user's indices of an access at these coordinates.
llvm::SmallVector<mlir::Value> shownIndices(mlir::OpBuilder &builder, mlir::Location loc,
                                            const ShownMember &member, mlir::ValueRange at);

/// Makes the activation strict and stops the kernel after it where it failed.
void checkActivation(ActivateOp activate);

/// True if the operation may end the kernel: what stands behind it may never run.
bool mayStop(mlir::Operation *op);

} // namespace metate

#endif
