//===- Module.h - descriptor and carrier ------------------------*- C++ -*-===//
//
// Stage pack: interfaces, types, texts and payloads of an emitted module become the descriptor and
// a carrier: the .metate file of abi/metate/abi/module.h, or objects with a C header. Must not
// generate code of kernels: that is Emit's.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_MODULE_MODULE_H
#define METATE_MODULE_MODULE_H

#include "metate/abi/module.h"

#include "metate/Dialect/Metate.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace metate {

/// The descriptor's bytes: types, kernels, arguments and texts of `module` (any stage from layout
/// on) and one variant per `metate.payload`, each of the given format. The module's name is its
/// symbol name, "module" without one. The value belongs in memory aligned to 8. With `only`, that
/// payload's is the one variant.
llvm::Expected<std::string> buildDescriptor(mlir::ModuleOp module, metate_format format,
                                            PayloadOp only = {});

struct PackOptions {
  /// Drops the line tables and symbols from the payloads.
  bool strip = false;
};

/// Stage pack: the bytes of a .metate file with one shared-object payload per `metate.payload` of
/// the emitted module. Deterministic: the same module gives the same bytes on every machine.
llvm::Expected<std::string> pack(mlir::ModuleOp module, const PackOptions &options = {});

/// The same module for a linker: for each `metate.payload` a relocatable object with the entries of
/// all call levels, and one C header for all of them.
struct StaticCarrier {
  std::string header;
  std::vector<std::string> objects; ///< in the payloads' order
};
llvm::Expected<StaticCarrier> packStatic(mlir::ModuleOp module, const PackOptions &options = {});

/// A static library of one object, which is called `member` in it.
llvm::Expected<std::string> makeArchive(llvm::StringRef object, llvm::StringRef member);

} // namespace metate

#endif
