//===- Graph.h - kernels that run kernels -----------------------*- C++ -*-===//
#ifndef METATE_FRONTEND_GRAPH_H
#define METATE_FRONTEND_GRAPH_H

#include "metate/Frontend/SourceModule.h"
#include "metate/Frontend/Types.h"

#include <optional>
#include <vector>

namespace metate::frontend {

/// An argument of a kernel that is written already; `result`: of a place that receives what it returns.
struct WrittenArgument {
  std::string name;
  std::optional<DataType> result;
};
/// In their order; none if the module has no such kernel.
std::vector<WrittenArgument> argumentsOf(SourceModule &module, llvm::StringRef kernel);
/// A place in a program that is no kernel's.
struct ProgramPlace {
  std::string file;
  unsigned line = 0, column = 0;
};
/// Of a kernel that is written: the memory that its pool of that name is to lie in, and who says so.
void placePool(SourceModule &module, llvm::StringRef kernel, llvm::StringRef pool,
               llvm::StringRef memory, const ProgramPlace &said);

/// Of a module that was compiled: each graph that has intermediates, and how their memory was planned.
std::vector<std::pair<std::string, std::string>> plannedMemory(SourceModule &module);

} // namespace metate::frontend

#endif
