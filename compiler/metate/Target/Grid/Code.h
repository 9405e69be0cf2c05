//===- Code.h - LLVM IR of a grid's functions -------------------*- C++ -*-===//
//
// What families share between stage map and their own code generation: translation, the tree protocol and Support/Grid.c linked in, an
// optimiser that makes no vectors. Must not know PTX or SPIR-V.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_GRID_CODE_H
#define METATE_TARGET_GRID_CODE_H

#include "metate/Options/Options.h"
#include "metate/Target/Grid/Table.h"

#include "llvm/IR/Module.h"

namespace llvm {
class TargetMachine;
}

namespace metate::grid {

/// Bitcode that a family compiles for its machine, which outlives the call.
struct SupportCode {
  llvm::StringRef treeProtocol; ///< Emit/Support/Tree.c
  llvm::StringRef grid;         ///< Support/Grid.c
  llvm::StringRef
      invocation; ///< of an invocation's numbers; empty: the family replaces their calls
};

/// The functions of the table, as LLVM IR with all that they call but what the family makes itself; only they are visible.
llvm::Expected<std::unique_ptr<llvm::Module>> makeCode(mlir::ModuleOp module, const Table &table,
                                                       llvm::LLVMContext &context,
                                                       llvm::TargetMachine &machine,
                                                       const SupportCode &support, bool contract);

/// The optimiser, for the machine.
void optimise(llvm::Module &module, llvm::TargetMachine &machine, unsigned level);

/// Atomic operations are seen by the whole device, and need not be by others.
void scopeToDevice(llvm::Module &module);

} // namespace metate::grid

#endif
