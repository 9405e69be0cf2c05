//===- Elementary.h - elementary functions of the language ------*- C++ -*-===//
//
// What sin, exp, pow and the like are: sequences of IEEE operations, none of them fused, so that a number has the same bits
// wherever it is computed: in the interpreter, by folding, as a scalar, as a lane of a vector, on any target. The sequences
// are templates over an arithmetic (Expansions.h): numbers of C++ (Native.h), or operations of the IR that compute them
// (Target/Common/ExpandElementary.cpp). Must not know LLVM or MLIR.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_ELEMENTARY_ELEMENTARY_H
#define METATE_ELEMENTARY_ELEMENTARY_H

namespace metate::elementary {

enum class Function {
#define METATE_ELEMENTARY(Name, name, operands) Name,
#include "metate/Elementary/Functions.def"
};

/// The function's value, by the templates over numbers of C++. `y` is the second operand of those that have one:
/// atan2(x, y) is the angle of the point (y, x), and pow(x, y) is x to the power of y.
float evaluate(Function function, float x, float y = 0);
double evaluate(Function function, double x, double y = 0);

} // namespace metate::elementary

#endif
