//===- OwnWords.h - words that one iteration writes -------------*- C++ -*-===//
#ifndef METATE_TRANSFORMS_OWNWORDS_H
#define METATE_TRANSFORMS_OWNWORDS_H

#include "metate/Dialect/Metate.h"

namespace metate {

/// Writes of quantised members of whose words no other iteration of their task writes any member: in serial tasks all. After
/// metate-offload.
llvm::DenseSet<mlir::Operation *> writersOfOwnWords(KernelOp kernel);

} // namespace metate

#endif
