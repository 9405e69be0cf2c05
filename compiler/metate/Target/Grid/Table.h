//===- Table.h - what a driver launches for a kernel ------------*- C++ -*-===//
//
// The launch table of abi/metate/abi/grid.h as values: stage map makes it and keeps it as attributes of the module, stage emit writes it
// into the payload. Must not know how functions get their slots.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_GRID_TABLE_H
#define METATE_TARGET_GRID_TABLE_H

#include "metate/abi/grid.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace metate::grid {

/// LLVM's address space of the memory that the invocations of a workgroup share.
inline constexpr unsigned sharedSpace = 3;

struct Step {
  metate_grid_operation operation;
  int64_t value = 0;
};

/// One function of a grid.
struct Task {
  std::string name;
  uint32_t group = 1;           ///< invocations of a workgroup; 1: there is one invocation
  std::vector<Step> iterations; ///< empty: only the device knows
  uint32_t mostInvocations = 0;
  uint32_t sharedBytes = 0; ///< that the invocations of a workgroup share
  uint32_t line = 0;        ///< of the source; 0: not known
};

/// Of a graph: a run of a kernel, or a loop around the nodes behind it.
struct Node {
  std::string kernel;                      ///< its entry; empty: a loop
  std::vector<std::vector<Step>> operands; ///< a run's slots; a loop's turns
  uint32_t body = 0;                       ///< of a loop: how many nodes
};

struct Kernel {
  std::string entry; ///< as the interface names it
  std::vector<Task> tasks;
  std::vector<Node> nodes; ///< it is a graph, and has no tasks
  uint32_t frameBytes = METATE_GRID_VALUES;
  uint32_t flags = 0;
  uint32_t slots = 0;
};

/// A print statement: kinds of its parts, with the text of those that have one.
using Print = std::vector<std::pair<uint32_t, std::string>>;

struct Table {
  std::vector<Kernel> kernels;
  std::vector<Print> prints;

  /// The kernel with that entry; null: there is none.
  const Kernel *find(llvm::StringRef entry) const;

  void setOn(mlir::ModuleOp module) const;
  /// Of a module that has left stage map.
  static Table of(mlir::ModuleOp module);
  /// Removes it from there.
  static void removeFrom(mlir::ModuleOp module);
  /// The functions of all kernels.
  std::vector<std::string> functions() const;
};

/// The same code of all functions, in one format.
struct Image {
  metate_grid_format format;
  uint32_t level = 0;
  std::string bytes;
};

/// The section of a payload, whose kernels are those of `entries`, in their order, and behind them those that graphs run; its descriptor's hash is 0 so far.
std::string sectionOf(const Table &table, llvm::ArrayRef<llvm::StringRef> entries,
                      llvm::ArrayRef<Image> images, llvm::StringRef constants = "");
/// The section with the hash.
std::string withHash(llvm::StringRef section, const uint64_t (&hash)[2]);
/// What a sound section was made of, as far as readers want to know it.
struct Contents {
  std::vector<std::string> functions; ///< of all kernels, in their order
  std::vector<Image> images;
};
Contents contentsOf(llvm::StringRef section);
/// Is it a section of so many kernels that hosts see?
llvm::Error checkSection(llvm::StringRef section, size_t kernels);

} // namespace metate::grid

#endif
