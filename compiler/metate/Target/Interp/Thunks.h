//===- Thunks.h - entries that ask the interpreter --------------*- C++ -*-===//
//
// The map stage of the interpreter: a kernel's entry becomes a few instructions that hand its slots
// to an InterpretedModule, so that hosts query, bind and launch it as any other kernel.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_INTERP_THUNKS_H
#define METATE_TARGET_INTERP_THUNKS_H

#include "metate/Interp/Interpreter.h"

namespace metate {

/// Replaces the kernels of a module that has left stage layout by one thunk for each of its
/// interfaces: stage map. The thunks hold the address of `interpreted`, which must outlive them:
/// they are for this process only.
void mapToInterpreter(mlir::ModuleOp module, interp::InterpretedModule &interpreted);

} // namespace metate

#endif
