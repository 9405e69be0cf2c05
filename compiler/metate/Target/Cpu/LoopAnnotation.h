//===- LoopAnnotation.h - what LLVM is told of a loop -----------*- C++ -*-===//
#ifndef METATE_TARGET_CPU_LOOPANNOTATION_H
#define METATE_TARGET_CPU_LOOPANNOTATION_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace metate::cpu {

/// Each is LLVM's own decision unless it is set.
struct LoopAnnotation {
  std::optional<bool> vectorize = {};
  bool unroll = true;
  unsigned interleave = 0; ///< vectors side by side; 0: LLVM's own decision
  llvm::ArrayRef<mlir::LLVM::AccessGroupAttr> parallelAccesses = {};

  mlir::LLVM::LoopAnnotationAttr in(mlir::MLIRContext *context) const;

  /// Of a handful of iterations: neither vectors nor unrolled.
  static LoopAnnotation asItIs() { return {.vectorize = false, .unroll = false}; }
};

} // namespace metate::cpu

#endif
