//===- Emit.h - stage 7: LLVM dialect to object code ------------*- C++ -*-===//
//
// Turns the functions that the map stage left into object files, one per target, kept in the module
// as `metate.payload` operations. Must not know descriptors or carriers: those are Module's.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_EMIT_EMIT_H
#define METATE_EMIT_EMIT_H

#include "metate/Emit/Machine.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace metate {

/// A function attribute of the map stage: its vectors are iterations side by side, not the language's.
inline constexpr llvm::StringLiteral lanesAttribute = "metate-lanes";

/// What holds for the code of all targets.
struct EmitOptions {
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

/// Stage emit. Replaces all operations of the LLVM dialect in `module` by one `metate.payload` per
/// target, named payload0, payload1, ... in the order given. The object code (one file, or of long
/// modules several that belong together) carries DWARF line tables of the operations' locations,
/// exports the interfaces' entries (hidden outside the payload) and leaves no symbol undefined but
/// those of findExternal() and of the sanitizer's runtime. The same module and targets give the same
/// bytes. On failure the module is left as it was.
llvm::Error emit(mlir::ModuleOp module, llvm::ArrayRef<Machine> targets,
                 const EmitOptions &options = {});

/// The invariant after emit: at least one payload; no LLVM dialect operation; each interface's
/// entry defined in each payload; no undefined symbol outside the allow-list (of the payload's sanitizer).
llvm::Error verifyEmitted(mlir::ModuleOp module);

} // namespace metate

#endif
