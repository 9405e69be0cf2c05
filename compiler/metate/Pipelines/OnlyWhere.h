//===- OnlyWhere.h - passes over some of a module's kernels -----*- C++ -*-===//
#ifndef METATE_PIPELINES_ONLYWHERE_H
#define METATE_PIPELINES_ONLYWHERE_H

#include "metate/Dialect/Metate.h"

#include "mlir/Pass/Pass.h"

#include <functional>

namespace metate {

/// The pass, over those kernels that the condition holds for when it is their turn.
std::unique_ptr<mlir::Pass> onlyWhere(std::function<bool(KernelOp)> condition,
                                      std::unique_ptr<mlir::Pass> pass);

} // namespace metate

#endif
