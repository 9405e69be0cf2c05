//===- Prepare.h - parts of prepare() ---------------------------*- C++ -*-===//
#ifndef METATE_TARGET_C_PRINT_PREPARE_H
#define METATE_TARGET_C_PRINT_PREPARE_H

#include "metate/Target/C/Print/Print.h"

namespace llvm {
class Function;
}

namespace metate::c {

/// Memory of a size that is known is the function's from its begin: turns of a loop take the same.
void hoistAllocas(llvm::Module &module);
/// Casts of vectors become shifts of their elements, booleans in memory bits of integers.
void expandVectors(llvm::Module &module);
/// Of some loops come vectors.
llvm::Error widenLoops(llvm::Function &function);

} // namespace metate::c

#endif
