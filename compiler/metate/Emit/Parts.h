//===- Parts.h - the pieces that code is compiled in ------------*- C++ -*-===//
//
// The tasks of kernels are functions that only the host calls, so LLVM can work on several of them
// at once, each piece in a module of its own. Must not know targets and LLVM's passes.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_EMIT_PARTS_H
#define METATE_EMIT_PARTS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <vector>

namespace metate {

/// One piece of a module's code.
struct CodePart {
  /// Nothing but the LLVM dialect.
  mlir::OwningOpRef<mlir::ModuleOp> code;
  /// Functions of this part that the host or another part names.
  llvm::SmallVector<llvm::StringRef> exported;
};

/// Copies the code of a module after the map stage into parts, the longest first. Each function that
/// the host calls (an entry, a task's body) is in one of them; helper functions and constants are in
/// each that needs them. The parts depend on the module alone, never on the machine; a module that is
/// not long or has no two long functions is one part.
std::vector<CodePart> splitCode(mlir::ModuleOp module, llvm::ArrayRef<llvm::StringRef> entries);

} // namespace metate

#endif
