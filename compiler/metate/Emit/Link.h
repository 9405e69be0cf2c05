//===- Link.h - payload objects to shared objects ---------------*- C++ -*-===//
//
// Runs LLD (and llvm-objcopy's library) in this process. Must not know descriptors: it gets names and
// a hash.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_EMIT_LINK_H
#define METATE_EMIT_LINK_H

#include "metate/Emit/Machine.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace llvm {
class Module;
} // namespace llvm

namespace metate {

/// What a shared object is made of.
struct SharedParts {
  llvm::StringRef triple;
  llvm::ArrayRef<llvm::StringRef> objects;
  llvm::StringRef soname;                ///< the name by which others ask for it
  Sanitizer sanitizer = Sanitizer::None; ///< whose runtime the loading process brings
  bool strip = false;                    ///< drop symbols and line tables
  llvm::StringRef table = {};            ///< one more: data that names what the others define
  /// Weak symbols that the process has or has not.
  llvm::ArrayRef<llvm::StringRef> optional = {};
};

/// The bytes of a shared object that exports what in the objects is not hidden, and asks the loader for the C library's parts
/// that it uses. The bytes depend on the parts alone. Thread-safe; one link at a time.
llvm::Expected<std::string> linkShared(const SharedParts &parts);

/// What a shared-object payload is made of.
struct PayloadParts {
  llvm::StringRef triple;
  llvm::ArrayRef<llvm::StringRef> objects; ///< the emitted object files
  llvm::ArrayRef<llvm::StringRef> entries; ///< in the order of the descriptor's kernels
  uint64_t descriptorHash[2];
  Sanitizer sanitizer = Sanitizer::None; ///< whose runtime the loading process brings
  bool strip = false;                    ///< drop symbols and line tables
};

/// linkShared's bytes of an object that exports METATE_PAYLOAD_SYMBOL and nothing else.
llvm::Expected<std::string> linkPayload(const PayloadParts &parts);

/// One relocatable object of several, their hidden symbols local: what they only have for one
/// another is nobody else's. ELF, or WebAssembly. `strip` drops line tables. Thread-safe; one link at a time.
llvm::Expected<std::string> linkRelocatable(llvm::ArrayRef<llvm::StringRef> objects, bool strip);

/// Makes an object's hidden symbols its own, in place: of WebAssembly, which LLVM's objcopy does not know.
llvm::Error localiseWasm(std::string &object);

/// A WebAssembly module of one object: its symbols are exports, beside `__heap_base`, behind which memory is the embedder's; the
/// memory is imported (env.memory), as is what the object leaves undefined. Thread-safe; one link at a time.
llvm::Expected<std::string> linkWasm(llvm::StringRef object, bool strip);

/// The object code of a module that is as it should be.
llvm::Expected<std::string> objectOf(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace metate

#endif
