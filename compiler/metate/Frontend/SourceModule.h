//===- SourceModule.h - a module of kernels being written -------*- C++ -*-===//
//
// Owns the context and the module operation that kernels are built into, and
// the names of tree types in it. What it holds is the import stage's IR; it
// must not run passes.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_FRONTEND_SOURCEMODULE_H
#define METATE_FRONTEND_SOURCEMODULE_H

#include "metate/Dialect/Metate.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace metate::frontend {

class SourceModule {
public:
  explicit SourceModule(llvm::StringRef name);

  mlir::MLIRContext *context() { return &ownContext; }
  mlir::ModuleOp op() { return *moduleOp; }

  /// Replaces the module by what `text` says. Returns an empty string or what
  /// is wrong.
  std::string parse(llvm::StringRef text);
  /// Adds `type` (`!metate.tree<...>`) under `name`. Returns an empty string or
  /// what is wrong.
  std::string addNamedType(llvm::StringRef name, llvm::StringRef type);
  /// Says that a kernel of the module is the derivative of another one, in a mode of Derivative.h.
  void addDerived(llvm::StringRef kernel, llvm::StringRef mode, llvm::StringRef primal);
  /// What the user wrote of a kernel of the module.
  void document(llvm::StringRef kernel, llvm::StringRef text);
  /// The kernel stops at what is wrong, whatever the options are that the module is compiled with.
  void check(llvm::StringRef kernel);
  /// Parses a tree type; a null type and the reason in `error` if it is none.
  TreeType parseTree(llvm::StringRef text, std::string &error);
  /// An empty string if the verifiers accept the module, else their messages.
  std::string verify();
  std::string text(bool withLocations);

private:
  mlir::MLIRContext ownContext;
  mlir::OwningOpRef<mlir::ModuleOp> moduleOp;
};

} // namespace metate::frontend

#endif
