//===- NanTrace.h - where a NaN came from -----------------------*- C++ -*-===//
//
// A NaN that an operation made of numbers is followed through arithmetic and variables until something keeps it
// or acts on it: a NaN that a selection, a minimum or a comparison does away with harms nobody.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_INTERP_NANTRACE_H
#define METATE_INTERP_NANTRACE_H

#include "metate/Interp/Objects.h"

namespace metate::interp {

class Machine;

class NanTrace {
public:
  bool empty() const { return births.empty(); }
  /// The operation's result is computed anew.
  void forget(mlir::Value result) {
    if (!births.empty())
      births.erase(result);
  }
  /// A component of the operation's result has become a NaN, of these operands.
  void made(Machine &machine, mlir::Operation *op, llvm::ArrayRef<uint64_t> operands);
  /// The operation is about to take its operands: reports those that are such NaNs, unless it only
  /// passes them on.
  void used(Machine &machine, mlir::Operation *op);
  /// The operation has run: one that takes vectors apart and puts them together, and a variable
  /// that is written or read, pass a NaN on.
  void passed(Machine &machine, mlir::Operation *op);

private:
  struct Birth {
    mlir::Operation *op;
    std::string text;
  };
  /// By the value that is the NaN; of a local variable, by the variable.
  llvm::DenseMap<mlir::Value, Birth> births;
};

/// An operation on numbers as its user might have written it: `0 / 0`, `sqrt(-2)`.
std::string expressionText(mlir::Operation *op, llvm::ArrayRef<uint64_t> operands);

/// A number after a sign: a negative one in brackets.
std::string inBrackets(std::string number);

} // namespace metate::interp

#endif
