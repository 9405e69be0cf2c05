//===- OwnWords.h - words that one iteration writes -------------*- C++ -*-===//
#ifndef METATE_TRANSFORMS_OWNWORDS_H
#define METATE_TRANSFORMS_OWNWORDS_H

#include "metate/Dialect/Tree.h"

namespace metate {

/// Coordinates that differ only where the words do in which the member's elements are; nullopt where these are not known. Fewer
/// than the words have are no wrong answer: they tell less of them apart.
std::optional<llvm::SmallVector<mlir::Value>> wordPlace(const TreePath &path,
                                                        mlir::OperandRange coordinates);

/// Elements of one word that lie side by side along the path's last axis, in rows of whole words; 1 where the member is in no such
/// quant_array.
int64_t elementsOfWord(const TreePath &path);

/// Writes of quantised members of whose words no other iteration of their task writes any member: in serial tasks all. After
/// metate-offload.
llvm::DenseSet<mlir::Operation *> writersOfOwnWords(KernelOp kernel);

} // namespace metate

#endif
