//===- ValuesBefore.h - a loop's values before the loop ---------*- C++ -*-===//
#ifndef METATE_TARGET_COMMON_VALUESBEFORE_H
#define METATE_TARGET_COMMON_VALUESBEFORE_H

#include "mlir/IR/Operation.h"

namespace metate::target {

/// Values that do not depend on a loop's turns, as they are before it: arithmetic is repeated there, once.
class ValuesBefore {
public:
  explicit ValuesBefore(mlir::Operation *loop) : loop(loop) {}
  /// Null: it depends on the turn, or on memory.
  mlir::Value of(mlir::Value value);

private:
  mlir::Operation *loop;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> copies;
};

} // namespace metate::target

#endif
