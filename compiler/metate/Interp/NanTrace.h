//===- NanTrace.h - where a NaN came from -----------------------*- C++ -*-===//
//
// A NaN that an operation made of numbers is followed through arithmetic until something keeps it
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
  /// The operation is about to take its operands: reports those that are such NaNs, unless it is
  /// arithmetic.
  void used(Machine &machine, mlir::Operation *op);

private:
  struct Birth {
    mlir::Operation *op;
    std::string text;
  };
  llvm::DenseMap<mlir::Value, Birth> births;
};

/// An operation on numbers as its user might have written it: `0 / 0`, `sqrt(-2)`.
std::string expressionText(mlir::Operation *op, llvm::ArrayRef<uint64_t> operands);

} // namespace metate::interp

#endif
