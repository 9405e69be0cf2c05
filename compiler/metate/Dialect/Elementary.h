//===- Elementary.h - sin, exp, pow and their kin ---------------*- C++ -*-===//
#ifndef METATE_DIALECT_ELEMENTARY_H
#define METATE_DIALECT_ELEMENTARY_H

#include "metate/Dialect/Metate.h"
#include "metate/Elementary/Elementary.h"

#include "metate/Dialect/MetateElementaryEnums.h.inc"

#define GET_OP_CLASSES
#include "metate/Dialect/MetateElementaryOps.h.inc"

namespace metate {

/// How many operands the function has.
unsigned operandsOf(ElementaryFunction function);
/// The function's value; `operands` are of one format, and so is the result.
llvm::APFloat evaluate(ElementaryFunction function, llvm::ArrayRef<llvm::APFloat> operands);

} // namespace metate

#endif
