//===- Strides.h - loops that walk memory in strides ------------*- C++ -*-===//
//
// Must not change code: it says with which instructions a function's loops are to be written.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_EMIT_STRIDES_H
#define METATE_EMIT_STRIDES_H

#include "llvm/IR/PassManager.h"

namespace llvm {
class TargetMachine;
}

namespace metate {

/// Finds functions whose innermost loops do little else than read and write every k-th number (components of structs,
/// columns), at places that the turn's number says, and leaves AVX-512 out of them. With it LLVM 22 gathers and scatters, or
/// stores under masks, what it shuffles with AVX2: on AMD's Zen 5 two to four times as long (3 x 3 inverses in f64: 6.0
/// and 2.2 ns). Where memory says what is read next, gathers win, and so do wide vectors where there is much to compute.
class TuneStrides : public llvm::PassInfoMixin<TuneStrides> {
public:
  explicit TuneStrides(llvm::TargetMachine &machine) : machine(machine) {}
  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &analyses);

private:
  llvm::TargetMachine &machine;
};

} // namespace metate

#endif
