//===- Module.h - descriptor and carrier ------------------------*- C++ -*-===//
//
// Stage pack: interfaces, types, texts and payloads of an emitted module become the descriptor and
// a carrier: the .metate file of abi/metate/abi/module.h, or objects with a C header. Must not
// generate code of kernels: that is Emit's.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_MODULE_MODULE_H
#define METATE_MODULE_MODULE_H

#include "metate/Dialect/Metate.h"
#include "metate/Target/Target.h"
#include "metate/abi/module.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace metate {

/// The descriptor's bytes: types, kernels, arguments and texts of `module` (any stage from layout
/// on) and the given variants. The module's name is its
/// symbol name, "module" without one. The value belongs in memory aligned to 8. `payload`: the descriptor goes with the
/// code of this one alone, so that pools of the others are left out.
llvm::Expected<std::string> buildDescriptor(mlir::ModuleOp module,
                                            llvm::ArrayRef<Variant> variants = {},
                                            std::optional<int64_t> payload = std::nullopt);

struct PackOptions {
  /// Drops the line tables and symbols from the payloads.
  bool strip = false;
};

/// Stage pack: the bytes of a .metate file with one payload per `metate.payload` of the emitted module, in the format of
/// its target. Deterministic: the same module gives the same bytes on every machine.
llvm::Expected<std::string> pack(mlir::ModuleOp module, const TargetRegistry &targets,
                                 const PackOptions &options = {});

/// The same module for a linker: for each `metate.payload` a relocatable object with the entries of
/// all call levels, or a C file that becomes one, and one C header for all of them.
struct StaticCarrier {
  std::string header;
  std::vector<std::string> files; ///< in the payloads' order
  bool isSource = false;          ///< all are C files, else none is
};
/// Fails for a target whose payloads are neither objects nor source, and for both kinds at once.
llvm::Expected<StaticCarrier> packStatic(mlir::ModuleOp module, const TargetRegistry &targets,
                                         const PackOptions &options = {});

/// The same for programs that load it: shared objects in the format of abi/metate/abi/library.h, linked without the target's C
/// library, and their header. They are what a host of libmetate opens, too.
llvm::Expected<StaticCarrier> packLibrary(mlir::ModuleOp module, const TargetRegistry &targets,
                                          const PackOptions &options = {});
/// A WebAssembly module of one object for it (Emit/Link.h).
llvm::Expected<std::string> makeWasm(llvm::StringRef object, bool strip);

/// A static library of one object, which is called `member` in it.
llvm::Expected<std::string> makeArchive(llvm::StringRef object, llvm::StringRef member);

} // namespace metate

#endif
