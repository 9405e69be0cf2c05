//===- ReverseMode.h - a kernel that runs backwards -------------*- C++ -*-===//
//
// Writes the reverse of a kernel's statements. Each block of the primal is first swept forward (the values that are needed are
// computed anew, nothing is written), then its operations are visited from the last to the first, and each adds to the gradients
// of its operands. A value's gradient is a local variable of the block that defines the value; of values of the kernel that
// parallel loops use, an array of the launch that all iterations add to.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_REVERSEMODE_H
#define METATE_TRANSFORMS_REVERSEMODE_H

#include "metate/Transforms/DerivativeRules.h"
#include "metate/Transforms/NeededValues.h"
#include "metate/Transforms/PartialUses.h"
#include "metate/Transforms/WriteNumbers.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>

namespace metate {

class ReverseMode {
public:
  ReverseMode(KernelOp kernel, const DerivativePlaces &places, const DerivativeActivity &activity,
              const CombinedPlaces &combined, const NeededValues &needed,
              const WriteNumbers &numbers);
  /// Replaces the kernel's statements. Fails, with an error at its place, for what cannot be differentiated.
  mlir::LogicalResult run();

private:
  using Values = llvm::SmallVector<mlir::Value>;

  /// A block of the primal, and the block in which its reverse is written.
  struct Scope {
    mlir::Block *block, *written;
  };

  /// What a loop began its turns with, kept where one is not computed anew from another.
  struct Tape {
    Values coarse, fine;    ///< a buffer for each value that is carried
    mlir::Value turns;      ///< how many there were
    mlir::Value stride;     ///< turns between two of `coarse`; null: each has its own
    mlir::Value fineStride; ///< turns between two of `fine`
    Values last;            ///< what the last turn gave
  };

  /// The turns of a loop in order, whether or not their number is known before (ReverseLoops.cpp).
  class Turns;
  class ForTurns;
  class WhileTurns;

  mlir::LogicalResult fail(mlir::Operation *op, const llvm::Twine &why);
  mlir::Value at(mlir::Value value);
  Values atAll(mlir::ValueRange values);
  mlir::Value index(int64_t value);
  DerivativeRules rules(mlir::Location loc);

  // The forward sweep.
  mlir::LogicalResult sweep(mlir::Block &block, bool keeps);
  mlir::LogicalResult sweep(mlir::Operation *op, bool keeps);
  bool runsAgain(mlir::Operation *op) const;
  mlir::LogicalResult sweepIf(mlir::scf::IfOp branch);
  mlir::LogicalResult sweepLoop(mlir::Operation *loop, bool keeps, bool isAgain);
  mlir::LogicalResult copy(mlir::Operation *op, bool isAgain);
  void cloneHere(mlir::Operation *op);

  // The reverse sweep.
  mlir::LogicalResult reverse(mlir::Block &block);
  mlir::LogicalResult reverse(llvm::ArrayRef<mlir::Operation *> statements);
  mlir::LogicalResult reverse(mlir::Operation *op);
  mlir::LogicalResult reverseAccess(const MemoryAccess &access);
  void addToPlace(const MemoryAccess &access, mlir::Value gradient);
  void reverseExtreme(const MemoryAccess &access);
  void reverseProduct(const MemoryAccess &access);
  mlir::LogicalResult reverseIf(mlir::scf::IfOp branch);
  mlir::LogicalResult writeParallel(mlir::Operation *loop, bool isForward);

  // Loops in order (ReverseLoops.cpp).
  using Body = llvm::function_ref<mlir::LogicalResult(mlir::Value, mlir::ValueRange, Values &)>;
  std::unique_ptr<Turns> turnsOf(mlir::Operation *loop);
  mlir::LogicalResult reverseLoop(mlir::Operation *loop);
  mlir::LogicalResult keep(Turns &turns, Tape &tape);
  mlir::LogicalResult reverseKept(Turns &turns, const Tape &tape, mlir::ValueRange carries);
  mlir::LogicalResult reverseSegment(Turns &turns, const Tape &tape, mlir::Value first,
                                     mlir::Value count, mlir::ValueRange begin,
                                     mlir::ValueRange carries);
  mlir::LogicalResult reverseTurn(Turns &turns, mlir::Value turn, mlir::ValueRange carried,
                                  mlir::ValueRange carries);
  mlir::LogicalResult writeLoop(mlir::Value turns, mlir::ValueRange inits, Values &results,
                                Body body);
  mlir::LogicalResult writeBackwards(mlir::Value turns,
                                     llvm::function_ref<mlir::LogicalResult(mlir::Value)> body);
  mlir::Value buffer(mlir::Type type, int64_t size);
  void put(mlir::ValueRange values, mlir::ValueRange buffers, mlir::Value at);
  Values take(mlir::ValueRange buffers, mlir::Value at);

  // Gradients of values.
  mlir::Value variable(mlir::Type type, mlir::Block *written);
  void addGradient(mlir::Value value, mlir::Value gradient);
  mlir::Value gradientOf(mlir::Value value);
  void forgetGradientsIn(mlir::Block &block);
  bool isShared(mlir::Value value);
  mlir::Value sharedArray(mlir::Value value);
  Scope *scopeOf(mlir::Value value);

  KernelOp kernel;
  const DerivativePlaces &places;
  const DerivativeActivity &activity;
  const CombinedPlaces &combined;
  const NeededValues &needed;
  const WriteNumbers &numbers;
  PartialUses partial;
  mlir::OpBuilder builder;
  mlir::IRMapping primal;
  llvm::DenseSet<mlir::Operation *>
      ofPrimal; ///< in the kernel's own block what is written stands beside
  llvm::SmallVector<Scope> scopes;
  llvm::DenseMap<mlir::Value, mlir::Value> gradients, shared;
  llvm::DenseMap<mlir::Operation *, Tape> tapes;
  /// What the sweep does besides: it also writes what the launch keeps for itself, or multiplies gradients with factors.
  enum class Again { Nothing, Writes, Products } again = Again::Nothing;
};

} // namespace metate

#endif
