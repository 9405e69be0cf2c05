//===- Roots.h - square roots without branches ------------------*- C++ -*-===//
#ifndef METATE_TARGET_CUDA_ROOTS_H
#define METATE_TARGET_CUDA_ROOTS_H

namespace llvm {
class Module;
}

namespace metate::cuda {

/// Replaces square roots of f32 and their inverses by operations that have no branch in machine code, with the same results.
void writeOutRoots(llvm::Module &module);

} // namespace metate::cuda

#endif
