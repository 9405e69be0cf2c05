//===- ReverseTurns.h - the turns of a loop in order ------------*- C++ -*-===//
//
// What reverse mode asks of a loop whether or not the number of its turns is known before: to run one, to run them all, and to write the
// reverse of one. How turns are kept and had again is ReverseLoops.cpp's.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TRANSFORMS_REVERSETURNS_H
#define METATE_TRANSFORMS_REVERSETURNS_H

#include "metate/Transforms/ReverseMode.h"

namespace metate {

class ReverseMode::Turns {
public:
  Turns(ReverseMode &mode, mlir::Operation *loop) : mode(mode), loop(loop) {}
  virtual ~Turns() = default;

  /// Types and first values of what is carried from turn to turn and needed, where code is written.
  Values begin() { return mode.atAll(inits); }
  mlir::TypeRange types() const { return mlir::TypeRange(mlir::ValueRange(inits)); }
  bool mustBeKept() const { return mustKeep; }
  /// Is the number of turns known while compiling?
  virtual std::optional<int64_t> knownCount() { return std::nullopt; }
  /// How many turns there are, where code is written; may run them.
  virtual mlir::FailureOr<mlir::Value> count() = 0;
  /// Runs one turn: `carried` becomes what it hands to the next one.
  virtual mlir::LogicalResult run(mlir::Value turn, mlir::ValueRange carried, Values &next) = 0;
  /// Runs all, and maps the results of the loop that are needed.
  virtual mlir::LogicalResult runAll() = 0;
  /// Behind the last turn of a kept loop: maps the results, from what that handed on.
  virtual mlir::LogicalResult finish(mlir::ValueRange last) = 0;
  /// The reverse of what stands behind the last turn: gives the gradients of what that handed on; null: none.
  virtual mlir::LogicalResult reverseEnd(mlir::ValueRange last, Values &gradients) = 0;
  /// The reverse of one turn, which began with `carried`; `gradients` are of what it handed on, then of what it began with.
  virtual mlir::LogicalResult reverse(mlir::Value turn, mlir::ValueRange carried,
                                      Values &gradients) = 0;
  /// The values whose gradients these are: what the first turn begins with.
  virtual mlir::ValueRange firsts() = 0;
  virtual bool isActive(unsigned number) = 0;

  mlir::Location loc() const { return loop->getLoc(); }

protected:
  ReverseMode &mode;
  mlir::Operation *loop;
  Values inits; // of what is needed
  llvm::SmallVector<unsigned> kept;
  bool mustKeep = false;
};

} // namespace metate

#endif
