// What callers of the compiler choose, and how its results reach Python.
#ifndef METATE_BINDINGS_COMPILER_CHOICES_H
#define METATE_BINDINGS_COMPILER_CHOICES_H

#include "Compiler.h"

#include "metate/Pipelines/Stages.h"
#include "metate/abi/kernel.h"

namespace metate::python {

/// As keywords.
struct Choices {
  std::vector<std::string> targets = {"native"};
  unsigned optLevel = 2;
  bool hoistLeaves = true;
  bool proveActivity = true;
  bool scanMasks = true;
  bool demoteAtomics = true;
  bool privateReductions = true;
  bool acrossIterations = true;
  bool deterministic = false;
  uint64_t chunkNanoseconds = 20000;
  uint64_t nontemporalBytes = uint64_t(64) << 20; // UINT64_MAX: never
  bool debug = false;
  bool contract = true;
  std::string sanitizer; // "", "address" or "thread"
  std::string slices;    // "", "beside" or "only"
  bool verify = true;
};

CompileOptions optionsOf(const Choices &choices);

/// The value, or a CompileError.
template <typename T> T valueOf(llvm::Expected<T> expected) {
  if (!expected)
    throwCompileError(llvm::toString(expected.takeError()));
  return std::move(*expected);
}

inline nb::bytes toBytes(llvm::StringRef text) { return nb::bytes(text.data(), text.size()); }

inline std::vector<uintptr_t> addressesOf(llvm::ArrayRef<metate_entry> entries) {
  std::vector<uintptr_t> addresses;
  for (metate_entry entry : entries)
    addresses.push_back(reinterpret_cast<uintptr_t>(entry));
  return addresses;
}

} // namespace metate::python

#endif
