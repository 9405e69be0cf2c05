// What callers of the compiler choose, and how its results reach Python.
#ifndef METATE_BINDINGS_COMPILER_CHOICES_H
#define METATE_BINDINGS_COMPILER_CHOICES_H

#include "Compiler.h"

#include "metate/Pipelines/Stages.h"
#include "metate/Target/Targets.h"
#include "metate/abi/kernel.h"

namespace metate::python {

/// What a call of the compiler is made with.
struct Choices {
  std::vector<std::string> targets = {"native"};
  Options options;
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
