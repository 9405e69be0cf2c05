//===- Order.h - what of a task shows the order of iterations ---*- C++ -*-===//
#ifndef METATE_TARGET_COMMON_ORDER_H
#define METATE_TARGET_COMMON_ORDER_H

#include "metate/Dialect/Metate.h"

namespace metate::target {

/// Is the result of the operation rounded, so that another order gives other bits?
bool isRounded(RmwOp rmw);
/// Does the order of iterations show in what the code does: an atomic whose result is used or rounded, a list's
/// next cell?
bool showsOrder(mlir::Operation *code);

} // namespace metate::target

#endif
