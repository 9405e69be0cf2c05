//===- Extremes.h - the lesser and the greater of two integers --*- C++ -*-===//
//
// Must not change what is computed, nor vectors of them.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_EMIT_EXTREMES_H
#define METATE_EMIT_EXTREMES_H

#include "llvm/IR/PassManager.h"

namespace llvm {
class TargetMachine;
}

namespace metate {

/// Minima and maxima of scalar integers are conditional moves on x86. LLVM makes branches of them where a loop's turns wait for one another, as if
/// which number is the lesser were to be foreseen; in a table of distances (`min(c, min(above, left) + 1)`) it is not, and a
/// branch that is mispredicted takes fifteen turns' time.
class KeepConditionalMoves : public llvm::PassInfoMixin<KeepConditionalMoves> {
public:
  explicit KeepConditionalMoves(llvm::TargetMachine &machine) : machine(machine) {}
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);

private:
  llvm::TargetMachine &machine;
};

} // namespace metate

#endif
