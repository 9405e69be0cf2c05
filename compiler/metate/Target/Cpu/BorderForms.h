//===- BorderForms.h - what a loop computes of its variable -----*- C++ -*-===//
//
// For SplitBorders.cpp: integers of a loop as the loop's variable times a factor plus what is the same in all turns, indices that wrap
// around, and guesses of numbers that only the launch knows.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_CPU_BORDERFORMS_H
#define METATE_TARGET_CPU_BORDERFORMS_H

#include "metate/Transforms/LeafForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace metate::cpu {

/// Numbers that loop variables and bounds are guessed to be, for what is not a constant. Results never depend on them.
using Guesses = llvm::DenseMap<mlir::Value, double>;
double guess(mlir::Value value, const Guesses &known);
/// Whether a truth value is guessed to hold.
bool guessTruth(mlir::Value value, const Guesses &known);
/// Is it a condition on loop variables that has one outcome for most of their numbers?
bool isBorder(mlir::Value condition, const Guesses &variables);

/// An integer of a loop's body, exactly as long as each of `narrow` is a 32-bit number.
struct BorderForm {
  LinearForm linear;
  llvm::SmallVector<LinearForm> narrow;
};

/// `value` of a turn of `loop`; nullopt: no such form. Terms are the loop's variable, values of before the loop and variables of loops in it.
std::optional<BorderForm> borderForm(mlir::Value value, mlir::scf::ForOp loop);

/// The loop inside of `loop` whose variable it is; null: another value.
mlir::scf::ForOp innerLoopOf(mlir::Value variable, mlir::scf::ForOp loop);

/// Numbers that a value is computed of and that no operation on integers gives.
using Sources = llvm::SmallSetVector<mlir::Value, 8>;
void addSources(mlir::Value value, Sources &sources);

/// What a stencil's size and offsets are guessed to be.
inline constexpr double smallSize = 4;

/// `index % size`, as Python rounds, or the remainder of what is not below zero.
struct Wrap {
  mlir::Value index, size; ///< size: null, if `constant` is it
  int64_t constant = 0;
};
std::optional<Wrap> wrapOf(mlir::Operation *op);

} // namespace metate::cpu

#endif
