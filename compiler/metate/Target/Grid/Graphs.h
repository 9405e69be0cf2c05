//===- Graphs.h - kernels that run kernels ----------------------*- C++ -*-===//
#ifndef METATE_TARGET_GRID_GRAPHS_H
#define METATE_TARGET_GRID_GRAPHS_H

#include "metate/Dialect/Metate.h"
#include "metate/Target/Grid/Table.h"

namespace metate::grid {

/// What a graph is mapped with.
struct GraphParts {
  llvm::ArrayRef<unsigned> slots; ///< the first one of each of its arguments
  const Table &table;             ///< of the kernels that it runs
  /// Makes a kernel of one invocation, with the graph's slots, of operations that are neither runs nor loops.
  llvm::function_ref<Kernel(llvm::ArrayRef<mlir::Operation *>)> makeSegment;
};

/// Makes nodes of a graph, and adds the kernels that stand between its own. On failure an error was said.
mlir::LogicalResult mapGraph(KernelOp graph, const GraphParts &parts, Kernel &made,
                             std::vector<Kernel> &segments);

} // namespace metate::grid

#endif
