//===- Variant.h - what a payload asks of its machine -----------*- C++ -*-===//
//
// From a payload's triple, CPU and features to what the descriptor states about it: architecture,
// psABI level and the features beyond the level. Must not look at the code itself.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_MODULE_VARIANT_H
#define METATE_MODULE_VARIANT_H

#include "metate/Dialect/Metate.h"

#include "llvm/Support/Error.h"

namespace metate {

/// One variant of a module, as a value.
struct Variant {
  uint32_t arch = 0;  ///< METATE_ARCH_*
  uint32_t level = 0; ///< x86-64: the highest psABI level whose features the code may use; else 0
  std::string cpu;    ///< LLVM's name
  /// Beyond the level, comma-separated, sorted; a sanitizer of the host's comes last.
  std::string features;
  std::string triple;

  static llvm::Expected<Variant> get(PayloadOp payload);
};

} // namespace metate

#endif
