//===- Bitcode.h - what payloads of C hold ----------------------*- C++ -*-===//
//
// A payload is LLVM bitcode of all kernels, with what they call of the tree protocol; it becomes text once the entries of
// a carrier are there as well.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_C_BITCODE_H
#define METATE_TARGET_C_BITCODE_H

#include "metate/Target/Target.h"

namespace metate::c {

/// The code of a module that has left stage map.
llvm::Expected<std::string> makeBitcode(mlir::ModuleOp code,
                                        llvm::ArrayRef<llvm::StringRef> entries, bool isBare);
/// Are the entries there, and nothing missing but what `isExternal` allows?
llvm::Error verifyBitcode(llvm::StringRef bitcode, llvm::ArrayRef<llvm::StringRef> entries,
                          llvm::function_ref<bool(llvm::StringRef)> isExternal);
/// A C file of the kernels' bitcode and of the entries', which calls them.
llvm::Expected<std::string> makeSource(llvm::StringRef bitcode, const SourceParts &parts,
                                       bool isBare);

} // namespace metate::c

#endif
