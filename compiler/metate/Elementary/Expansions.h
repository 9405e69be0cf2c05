//===- Expansions.h - each function by its name -----------------*- C++ -*-===//
#ifndef METATE_ELEMENTARY_EXPANSIONS_H
#define METATE_ELEMENTARY_EXPANSIONS_H

#include "metate/Elementary/Angles.h"
#include "metate/Elementary/Arcs.h"
#include "metate/Elementary/Elementary.h"
#include "metate/Elementary/Exponentials.h"
#include "metate/Elementary/Logarithms.h"
#include "metate/Elementary/Powers.h"

namespace metate::elementary {

/// The function in this arithmetic; `y` is used by functions of two operands.
template <class A>
typename A::Float expand(const A &a, Function function, typename A::Float x, typename A::Float y) {
  switch (function) {
  case Function::Exp:
    return exp(a, x);
  case Function::Exp2:
    return exp2(a, x);
  case Function::Log:
    return log(a, x, a.k().natural);
  case Function::Log2:
    return log(a, x, a.k().binary);
  case Function::Log10:
    return log(a, x, a.k().decimal);
  case Function::Sin:
    return sin(a, x);
  case Function::Cos:
    return cos(a, x);
  case Function::Tan:
    return tan(a, x);
  case Function::Asin:
    return asin(a, x);
  case Function::Acos:
    return acos(a, x);
  case Function::Atan:
    return atan(a, x);
  case Function::Sinh:
    return sinh(a, x);
  case Function::Cosh:
    return cosh(a, x);
  case Function::Tanh:
    return tanh(a, x);
  case Function::Atan2:
    return atan2(a, x, y);
  case Function::Pow:
    return pow(a, x, y);
  }
  return x;
}

} // namespace metate::elementary

#endif
