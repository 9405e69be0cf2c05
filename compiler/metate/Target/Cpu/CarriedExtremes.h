//===- CarriedExtremes.h - loops that look for the least one ---------------*- C++ -*-===//
//
// What ExtremesInLanes.cpp is told of a loop: which of what it carries are extremes, what was chosen with them, totals, and what the
// last turn left; and of what that is made. Must not know how lanes are written.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_CPU_CARRIEDEXTREMES_H
#define METATE_TARGET_CPU_CARRIEDEXTREMES_H

#include "metate/Dialect/Metate.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace metate::cpu {

/// A copy of a loop whose branches, where they choose between what is carried, are selects. It is for looking at: what a branch
/// guarded runs in it before the test. Gone with the object.
class StraightLoop {
public:
  explicit StraightLoop(mlir::scf::ForOp original);
  ~StraightLoop();
  StraightLoop(const StraightLoop &) = delete;
  StraightLoop &operator=(const StraightLoop &) = delete;

  mlir::scf::ForOp loop;
  bool isStraight = true; ///< false: a branch that chooses does more than read and compute

  /// Is it made of nothing that the loop carries?
  bool isFree(mlir::Value value) const { return !ofCarried.contains(value); }

  using Values = llvm::SmallSetVector<mlir::Value, 4>;
  /// Adds the operations of the body that make the value, in order; behind those that make their guards, which must be free then.
  void collect(mlir::Value value, llvm::SetVector<mlir::Operation *> &ops,
               bool withGuards = false) const;
  /// Does the original run them in each turn in which all the conditions hold?
  bool runWhere(const llvm::SetVector<mlir::Operation *> &ops, const Values &conditions) const;
  /// All hold where the original runs the operation; none: it runs in each turn.
  Values guardsOf(mlir::Operation *op) const { return guards.lookup(op); }
  bool areFree(const Values &values) const {
    return llvm::all_of(values, [&](mlir::Value value) { return value && isFree(value); });
  }

private:
  void spread();
  bool flatten(mlir::scf::IfOp branch);
  bool moveOut(mlir::Region &side, mlir::scf::IfOp branch, mlir::Value condition);

  llvm::DenseSet<mlir::Value> ofCarried;
  llvm::DenseMap<mlir::Operation *, Values> guards; ///< null: what cannot be said as a value
};

/// Values of a condition that all hold where it holds.
void addConditions(mlir::Value condition, StraightLoop::Values &conditions);

/// How an extreme is compared: `value` is taken where it is better than what there is.
struct Order {
  std::optional<mlir::arith::CmpFPredicate> floats;
  std::optional<mlir::arith::CmpIPredicate> integers;
  bool isStrict; ///< of equal ones the first is taken; else the last

  static std::optional<Order> of(mlir::Operation *test, bool exchanged);
  bool operator==(const Order &) const = default;
  /// `least(a, b)` by a comparison that never takes an equal one.
  Order strict() const;
  mlir::Value compare(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                      mlir::Value than) const;
};

/// `if value < least: least = value`, or `least = min(least, value)`.
struct Extreme {
  unsigned number; ///< of what the loop carries
  mlir::Value value;
  Order order;
  bool isNamed;                    ///< by min or max: a NaN is no value, and of two zeros either
  StraightLoop::Values masks = {}; ///< other conditions for taking it
  mlir::Value test = {};           ///< null, of a named one: none that others share
  llvm::SmallVector<unsigned> chosen = {};

  /// Does it matter in which turn it was found? Of a comparison, for the first of two zeros.
  bool needsTurn() const {
    return !chosen.empty() || (!isNamed && isa<mlir::FloatType>(value.getType()));
  }
};

/// `sum += value`, in any order.
struct Total {
  unsigned number;
  mlir::Value value;
  mlir::Operation *step;
  StraightLoop::Values masks;
};

/// All that a loop carries.
struct CarriedExtremes {
  llvm::SmallVector<Extreme> extremes;
  llvm::SmallVector<Total> totals;
  llvm::SmallVector<unsigned> latest;           ///< what the last turn left
  llvm::DenseMap<unsigned, mlir::Value> values; ///< of one chosen or latest: what the turn gives

  /// Nothing if it carries something else, or no extreme that LLVM leaves one by one.
  static std::optional<CarriedExtremes> of(const StraightLoop &straight);
};

} // namespace metate::cpu

#endif
