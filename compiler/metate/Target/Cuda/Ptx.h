//===- Ptx.h - functions of grids as PTX ------------------------*- C++ -*-===//
#ifndef METATE_TARGET_CUDA_PTX_H
#define METATE_TARGET_CUDA_PTX_H

#include "metate/Options/Options.h"
#include "metate/Target/Grid/Table.h"

#include "llvm/Support/Error.h"

#include <string>

namespace metate {
struct CodeFunction;
}

namespace metate::cuda {

/// PTX of a module's functions for GPUs of at least that compute capability (10 * major + minor).
llvm::Expected<std::string> makePtx(mlir::ModuleOp module, const grid::Table &table,
                                    unsigned capability, const Options &options);

/// What an assembler makes of PTX for GPUs of exactly that capability, and what it says of registers and spills.
struct Assembled {
  std::string cubin; ///< empty: there is no assembler
  std::string told;
};
/// By `ptxas`, of the CUDA toolkit or NVIDIA's Python packages: METATE_PTXAS, PATH, /usr/local/cuda.
llvm::Expected<Assembled> assemble(llvm::StringRef ptx, unsigned capability);

/// What is known of functions: of machine code, their bytes and what the assembler says of registers, spills and memory; where there is no
/// assembler, instructions of PTX.
llvm::Expected<std::vector<CodeFunction>> describe(const grid::Contents &contents,
                                                   unsigned capability);

} // namespace metate::cuda

#endif
