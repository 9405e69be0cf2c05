//===- Module.h - descriptor and carrier ------------------------*- C++ -*-===//
//
// Stage pack: interfaces, types, texts and payloads of an emitted module become the descriptor and
// the .metate carrier of abi/metate/abi/module.h. Must not generate code of kernels: that is
// Emit's.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_MODULE_MODULE_H
#define METATE_MODULE_MODULE_H

#include "metate/abi/module.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>

namespace metate {

/// The descriptor's bytes: types, kernels, arguments and texts of `module` (any stage from layout
/// on) and one variant per `metate.payload`, each of the given format. The module's name is its
/// symbol name, "module" without one. The value belongs in memory aligned to 8.
llvm::Expected<std::string> buildDescriptor(mlir::ModuleOp module, metate_format format);

struct PackOptions {
  /// Drops the line tables and symbols from the payloads.
  bool strip = false;
};

/// Stage pack: the bytes of a .metate file with one shared-object payload per `metate.payload` of
/// the emitted module. Deterministic: the same module gives the same bytes on every machine.
llvm::Expected<std::string> pack(mlir::ModuleOp module, const PackOptions &options = {});

} // namespace metate

#endif
