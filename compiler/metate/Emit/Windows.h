//===- Windows.h - numbers that lie together are read together --*- C++ -*-===//
//
// Must not decide what is a vector: that is the loop vectoriser's, and Target/Cpu/AcrossIterations.cpp's.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_EMIT_WINDOWS_H
#define METATE_EMIT_WINDOWS_H

#include "llvm/IR/PassManager.h"

namespace metate {

/// The name of its remarks, which have numbers of "Gathers" and "Windows".
inline constexpr llvm::StringLiteral windowsPass = "metate-read-windows";

/// Where several gathers of a block read numbers that lie side by side in each lane (the components of a vector at a place that memory says, the nodes
/// around a particle), each lane reads 16 bytes at once, and the numbers are brought to their vectors by shuffles: a gather of 16 numbers is some 40
/// micro-operations on AMD's Zen 4, four gathers 16 loads and 20 shuffles. Bytes between two numbers that are read may be read, others not.
class ReadWindows : public llvm::PassInfoMixin<ReadWindows> {
public:
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace metate

#endif
