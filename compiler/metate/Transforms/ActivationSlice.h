//===- ActivationSlice.h - a kernel cut down to its activations -*- C++ -*-===//
//
// A kernel whose activations only count keeps what they depend on: control around them, their
// coordinates, what these are computed and loaded from. It counts what the kernel activates if nothing
// of that is written by the kernel itself before it is read; otherwise it says what is, and where.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_ACTIVATIONSLICE_H
#define METATE_TRANSFORMS_ACTIVATIONSLICE_H

#include "metate/Transforms/CellAccess.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <string>

namespace metate {

class ActivationSlice {
public:
  struct Problem {
    mlir::Location place;
    std::string text;
  };

  /// `kernel` is after explicit-activation, and is changed; `counts` is its argument for the counts. `isGraph`: it is a graph whose
  /// runs are inlined, which is what texts call it.
  ActivationSlice(KernelOp kernel, mlir::Value counts, bool isGraph = false)
      : kernel(kernel), counts(counts), isGraph(isGraph) {}

  /// Cuts the kernel down, or says why that would not count what the kernel activates: then what is
  /// left of the kernel means nothing.
  std::optional<Problem> run();

private:
  void findCalls();
  void countInstead();
  void findWrites();

  // What the counting depends on.
  void mark(mlir::Operation *op);
  void mark(mlir::Value value);
  void markCarried(mlir::scf::ForOp loop, unsigned number);
  void markWriters(mlir::Value local);
  void markRegion(mlir::Operation *op);
  void markChecks();
  bool isKnown(mlir::Value value);

  // What the kernel itself may have changed before it is read.
  void findProblem();
  void refuseMixedLists(AppendOp append);
  void refuseLateSlots(mlir::Operation *change);
  void refuse(mlir::Operation *op, const llvm::Twine &text);
  bool mayChange(mlir::Operation *write, mlir::Operation *read);
  bool mayPrecede(mlir::Operation *write, mlir::Operation *read);
  bool isSameTask(mlir::Operation *a, mlir::Operation *b);

  // The rest goes.
  void prune(mlir::Block &block);
  void replaceUses(mlir::Operation *op);

  KernelOp kernel;
  mlir::Value counts;
  bool isGraph;
  llvm::SmallVector<mlir::Operation *> roots; ///< metate.reserve
  llvm::SmallVector<mlir::Operation *> writes, reads;
  llvm::DenseSet<mlir::Operation *> live;
  llvm::DenseSet<mlir::Value> needed;
  llvm::SmallVector<mlir::Value> work;
  std::optional<Problem> problem;
};

} // namespace metate

#endif
