//===- Blends.h - rows that are blended and stored whole --------*- C++ -*-===//
//
// Must not decide which stores are blended: that is flatten-rows.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_EMIT_BLENDS_H
#define METATE_EMIT_BLENDS_H

#include "llvm/IR/PassManager.h"

namespace llvm {
class TargetMachine;
}

namespace metate {

/// Keeps `store(select(mask, value, load p), p)` as it is. LLVM's instruction selection would make a store under a mask of
/// it, which x86 without AVX-512 has for vectors of 32 and 64 bits alone, on some machines (AMD's up to Zen 4) in forty
/// micro-operations.
class KeepBlends : public llvm::PassInfoMixin<KeepBlends> {
public:
  explicit KeepBlends(llvm::TargetMachine &machine) : machine(machine) {}
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);

private:
  llvm::TargetMachine &machine;
};

} // namespace metate

#endif
