//===- InteriorBounds.h - which turns a loop's interior has -----*- C++ -*-===//
//
// For SplitBorders.cpp: what choices in a loop require of its variable, for the outcome that most turns are guessed to have, and the turns of which
// all of it holds.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_CPU_INTERIORBOUNDS_H
#define METATE_TARGET_CPU_INTERIORBOUNDS_H

#include "metate/Target/Cpu/BorderForms.h"

namespace metate::cpu {

/// Bounds that say nothing.
inline constexpr int64_t noLower = -(int64_t(1) << 40), noUpper = int64_t(1) << 40;

/// lower <= form <= upper.
struct Requirement {
  LinearForm form;
  int64_t lower, upper;
};

class InteriorBounds {
protected:
  InteriorBounds(mlir::scf::ForOp loop, const Guesses &guesses, const Sources &sizes)
      : whole(loop), before(loop), loc(loop.getLoc()), sizes(sizes), guesses(guesses) {}

  /// Copies the loop, all of whose turns are the interior so far.
  void copyInside();

  mlir::Value variable() const { return mlir::scf::ForOp(inside).getInductionVar(); }
  bool dependsOnVariable(const LinearForm &form) const { return form.coefficient(variable()) != 0; }
  /// The loop inside by whose variable a form differs; null: there is none.
  mlir::scf::ForOp innerLoopIn(const LinearForm &form) const;
  /// What it is guessed to be in the middle of the loop.
  double at(const LinearForm &form) const;

  /// A comparison's requirement for the outcome that the middle of the loop has.
  std::optional<Requirement> decide(const LinearForm &form, mlir::arith::CmpIPredicate predicate,
                                    bool &truth) const;
  /// Of two numbers the difference, with what makes it exact.
  std::optional<LinearForm> compared(mlir::Value a, mlir::Value b,
                                     llvm::SmallVectorImpl<Requirement> &all);
  /// Narrow sums fit their 32 bits; so do variables of 64 bits of which the user takes the lower half.
  static void requireNarrow(const BorderForm &form, llvm::SmallVectorImpl<Requirement> &all);
  /// Makes the interior smaller, so that all hold in it; false: there would not be much left, or it is no range.
  bool take(llvm::ArrayRef<Requirement> some);

  mlir::Value number(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(before, loc, value);
  }
  mlir::Value emitted(mlir::OpBuilder &builder, const LinearForm &form);

  mlir::scf::ForOp whole, inside;
  mlir::OpBuilder before;
  mlir::Location loc;
  Sources sizes;                  ///< that bounds are computed of, of this loop and those around it
  Guesses guesses;                ///< and the loop's variable, and those of loops inside
  mlir::Value begin, end, wanted; ///< of the interior; of the row: whether it has one
  unsigned resolvedForInner = 0;

private:
  void suppose(mlir::Value value, double number);
  void supposeOffsets(const LinearForm &form, const LinearForm &other);
  bool addForAllTurns(const Requirement &one, llvm::SmallVectorImpl<Requirement> &all);
  void emit(const Requirement &one);

  double first = 0, last = 0, turns = 0;
};

} // namespace metate::cpu

#endif
