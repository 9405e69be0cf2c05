//===- TreeProtocol.h - the tree protocol in a payload ----------*- C++ -*-===//
#ifndef METATE_EMIT_TREEPROTOCOL_H
#define METATE_EMIT_TREEPROTOCOL_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"

namespace llvm {
class Module;
} // namespace llvm

namespace metate {

/// Links what the module calls of the tree protocol (functions `metate_rt_*`) into it, internal and as if it
/// were the kernels' own code. `bitcode`: Support/Tree.c's, compiled for the module's machine (EmitOptions). A module that calls none of it is
/// left as it is, at no cost. An error if a function does not exist. What `given` names stays outside: the linker finds it.
llvm::Error linkTreeProtocol(llvm::Module &module, llvm::StringRef bitcode,
                             const llvm::StringSet<> &given);

} // namespace metate

#endif
