//===- Graph.h - kernels that run kernels -----------------------*- C++ -*-===//
#ifndef METATE_DIALECT_GRAPH_H
#define METATE_DIALECT_GRAPH_H

#include "metate/Dialect/Metate.h"

#define GET_OP_CLASSES
#include "metate/Dialect/MetateGraphOps.h.inc"

namespace metate {

/// Is the kernel one that only graphs run? Hosts have no interface of it.
bool isNode(KernelOp kernel);
/// Does it run other kernels?
bool isGraph(KernelOp kernel);
/// With what the entry of a graph begins; by this a module's description tells graphs from other kernels.
inline constexpr llvm::StringLiteral graphEntryPrefix = "metate_graph_";
/// With what the line of a graph's documentation begins that says the memory of its intermediates.
inline constexpr llvm::StringLiteral intermediatesNote = "intermediates: ";
/// What the user calls the kernel: of a node without its graph and number.
llvm::StringRef shownName(KernelOp kernel);
/// The kernel that is run.
KernelOp kernelOf(RunOp run);

} // namespace metate

#endif
