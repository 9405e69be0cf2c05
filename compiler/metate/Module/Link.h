//===- Link.h - payload objects to shared objects ---------------*- C++ -*-===//
//
// Runs LLD in this process. Must not know descriptors: it gets names and a hash.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_MODULE_LINK_H
#define METATE_MODULE_LINK_H

#include "metate/Emit/Target.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace metate {

/// What a shared-object payload is made of.
struct PayloadParts {
  llvm::StringRef triple;
  llvm::StringRef object;                  ///< the emitted object file
  llvm::ArrayRef<llvm::StringRef> entries; ///< in the order of the descriptor's kernels
  uint64_t descriptorHash[2];
  Sanitizer sanitizer = Sanitizer::None; ///< whose runtime the loading process brings
  bool strip = false;                    ///< drop symbols and line tables
};

/// The bytes of a shared object that exports METATE_PAYLOAD_SYMBOL and nothing else, and asks the
/// loader for the C library's parts that it uses. The bytes depend on the parts alone. Thread-safe;
/// one link at a time.
llvm::Expected<std::string> linkPayload(const PayloadParts &parts);

} // namespace metate

#endif
