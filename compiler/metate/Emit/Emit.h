//===- Emit.h - LLVM dialect to object code ---------------------*- C++ -*-===//
//
// LLVM's code generation, for the targets that go through it: the functions that the map stage left become object files
// of one machine, kept in the module as a `metate.payload`. Must not know descriptors or carriers: those are Module's.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_EMIT_EMIT_H
#define METATE_EMIT_EMIT_H

#include "metate/Dialect/Metate.h"
#include "metate/Emit/LanesAttribute.h"
#include "metate/Emit/Machine.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"

namespace metate {

struct EmitOptions {
  /// Of the target, which its payload names.
  llvm::StringRef family = "cpu";
  /// The tree protocol for this machine, as bitcode that outlives the call: the family compiles Support/Tree.c, or brings what
  /// has its functions. Empty: code that calls it is refused.
  llvm::StringRef treeProtocol;
  /// An object file with functions of `treeProtocol` that payloads take from here, as they are: it is one of a payload's
  /// objects that needs any. It outlives the call. Empty: all are compiled with each payload.
  llvm::StringRef treeObject;
  /// Floating-point products and sums may become fused multiply-adds where their flags allow it;
  /// off: each operation rounds on its own, whatever the flags say.
  bool contract = true;
  Sanitizer sanitizer = Sanitizer::None;
  /// Threads that may compile parts of the code side by side; 0: as many as the machine has. They end
  /// with emit(), and make no difference to the bytes.
  unsigned threads = 0;
};

/// Registers how the dialects of the map stage become LLVM IR. Call it once on the registry a
/// context is made from; emit() does it itself on a context that lacks it.
void registerEmit(mlir::DialectRegistry &registry);

/// Replaces all operations of the LLVM dialect in `module` by one `metate.payload`, named payload0. The object code
/// (one file, or of long modules several that belong together) carries DWARF line tables of the operations' locations,
/// exports the interfaces' entries (hidden outside the payload) and leaves no symbol undefined but
/// those of findExternal() and of the sanitizer's runtime. The same module and machine give the same
/// bytes. On failure the module is left as it was.
llvm::Error emit(mlir::ModuleOp module, const Machine &machine, const EmitOptions &options = {});

/// The LLVM dialect's operations of a module as LLVM IR for a machine.
llvm::Expected<std::unique_ptr<llvm::Module>>
translate(mlir::ModuleOp code, llvm::LLVMContext &context, const llvm::TargetMachine &machine);

/// The same for a machine that LLVM has no code generator of.
llvm::Expected<std::unique_ptr<llvm::Module>> translate(mlir::ModuleOp code,
                                                        llvm::LLVMContext &context,
                                                        const llvm::Triple &triple,
                                                        const llvm::DataLayout &layout);

/// Products and sums stay apart, in the optimiser and in the code generator.
void forbidContraction(llvm::Module &module, llvm::TargetMachine &machine);

/// Of a payload of object files: each entry is defined, and no symbol is undefined that its target does not allow (for
/// code with the payload's sanitizer).
llvm::Error verifyObjects(PayloadOp payload, llvm::ArrayRef<llvm::StringRef> entries,
                          llvm::function_ref<bool(llvm::StringRef, Sanitizer)> isExternal);

} // namespace metate

#endif
