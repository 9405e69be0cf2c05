//===- Emit.h - stage 7: LLVM dialect to object code ------------*- C++ -*-===//
//
// Turns the functions that the map stage left into object files, one per target, kept in the module
// as `metate.payload` operations. Must not know descriptors or carriers: those are Module's.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_EMIT_EMIT_H
#define METATE_EMIT_EMIT_H

#include "metate/Emit/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"

namespace metate {

/// Registers how the dialects of the map stage become LLVM IR. Call it once on the registry a
/// context is made from; emit() does it itself on a context that lacks it.
void registerEmit(mlir::DialectRegistry &registry);

/// Stage emit. Replaces all operations of the LLVM dialect in `module` by one `metate.payload` per
/// target, named payload0, payload1, ... in the order given. The object code carries DWARF line
/// tables of the operations' locations, exports the interfaces' entries (hidden outside the
/// payload) and leaves no symbol undefined but those of findExternal(). The same module and targets
/// give the same bytes. On failure the module is left as it was.
llvm::Error emit(mlir::ModuleOp module, llvm::ArrayRef<TargetOptions> targets);

/// The invariant after emit: at least one payload; no LLVM dialect operation; each interface's
/// entry defined in each payload; no undefined symbol outside the allow-list.
llvm::Error verifyEmitted(mlir::ModuleOp module);

} // namespace metate

#endif
