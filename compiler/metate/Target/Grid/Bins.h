//===- Bins.h - what a workgroup accumulates in its own memory --*- C++ -*-===//
#ifndef METATE_TARGET_GRID_BINS_H
#define METATE_TARGET_GRID_BINS_H

#include "metate/Target/Common/Abi.h"
#include "metate/Target/Common/Tasks.h"

namespace metate::grid {

/// The targets of a task that metate-mark-bins has marked, in memory that the invocations of a workgroup share. There are three phases,
/// between which they wait for each other: the bins are cleared, iterations add to them, and what they hold is added to the targets.
class Bins {
public:
  Bins() = default;
  /// `host`: the kernel, whose arguments targets are.
  Bins(const target::LaunchedTask &task, KernelOp host, int64_t group);

  bool empty() const { return all.empty(); }
  /// Of a workgroup.
  int64_t bytes() const { return end; }
  /// An address in the memory of a workgroup.
  static mlir::Type pointer(mlir::MLIRContext *context);

  /// What stands behind it is done in that phase, by all invocations of the workgroup at once: it begins when they have ended the last
  /// one. Inside of nothing that only some of them do.
  static void enter(target::Code &code, mlir::ModuleOp module, int64_t phase);

  /// All three phases; `work` writes the iterations, given the bins' address.
  void build(target::Code &code, mlir::ModuleOp module,
             llvm::function_ref<void(mlir::Value memory)> work) const;
  /// Atomics of the task's body, wherever it stands now, are done in the bins at that address.
  void takeAtomics(mlir::Value memory);

private:
  struct Bin {
    mlir::Value block; ///< of the kernel
    int64_t begin;     ///< in the block
    int64_t scope;
    int64_t at; ///< in the workgroup's memory
    int64_t count;
    mlir::arith::AtomicRMWKind kind;
    mlir::Type type;
    llvm::SmallVector<RmwOp> atomics;

    int64_t numberBytes() const { return type.getIntOrFloatBitWidth() / 8; }
  };

  /// For the numbers of a bin that are the invocation's: `fill` gets each one's number and its address.
  void ofInvocation(target::Code &code, mlir::ModuleOp module, const Bin &bin, mlir::Value memory,
                    llvm::function_ref<void(target::Code &, mlir::Value, mlir::Value)> fill) const;
  void clear(target::Code &code, mlir::ModuleOp module, mlir::Value memory) const;
  void gather(target::Code &code, mlir::ModuleOp module, mlir::Value memory) const;

  llvm::SmallVector<Bin, 2> all;
  int64_t group = 1, end = 0;
};

} // namespace metate::grid

#endif
