//===- Interleave.h - turns of a loop side by side --------------*- C++ -*-===//
#ifndef METATE_TARGET_CUDA_INTERLEAVE_H
#define METATE_TARGET_CUDA_INTERLEAVE_H

namespace llvm {
class Module;
}

namespace metate::cuda {

/// Mixes the turns of loops that are written out, in blocks that change no memory.
void interleaveTurns(llvm::Module &module);

} // namespace metate::cuda

#endif
