//===- Evaluate.cpp - elementary functions of numbers -----------*- C++ -*-===//
//
// Compiled without contraction (CMakeLists.txt): a product and a sum that became one instruction would be other bits.
//
//===----------------------------------------------------------------------===//
#include "metate/Elementary/Elementary.h"
#include "metate/Elementary/Expansions.h"
#include "metate/Elementary/Native.h"

using namespace metate::elementary;

float metate::elementary::evaluate(Function function, float x, float y) {
  return expand(Native<float>(), function, x, y);
}

double metate::elementary::evaluate(Function function, double x, double y) {
  return expand(Native<double>(), function, x, y);
}
