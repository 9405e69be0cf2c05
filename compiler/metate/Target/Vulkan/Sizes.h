//===- Sizes.h - how large functions of SPIR-V are --------------*- C++ -*-===//
#ifndef METATE_TARGET_VULKAN_SIZES_H
#define METATE_TARGET_VULKAN_SIZES_H

#include "metate/Emit/Disassembly.h"

namespace metate {

/// The words and instructions of entry points, from OpFunction to OpFunctionEnd: they call nothing. An error: the module has no such
/// entry point, or is none.
llvm::Expected<std::vector<CodeFunction>> spirvSizes(llvm::ArrayRef<std::string> entryPoints,
                                                     llvm::StringRef module);

} // namespace metate

#endif
