//===- RulesMath.cpp - functions of one and two numbers ---------*- C++ -*-===//
//
// Elementary functions are Elementary/'s, in numbers of C++; the others are exact, or rounded once, of the type's own
// precision. f16 and bf16 are computed in f32 and rounded.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Elementary.h"
#include "metate/Interp/Rules.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace metate;
using namespace metate::interp;

/// `function` has an overload for float and one for double.
template <typename Op, typename Function>
static void compute(Machine &machine, Op op, Function function) {
  Type type = scalarOf(op.getType());
  elementwise(machine, op, [&](ArrayRef<uint64_t> in) {
    auto apply = [&](auto... operands) { return function(operands...); };
    auto wide = [&](size_t k) { return toDouble(type, in[k]); };
    if constexpr (Op::template hasTrait<OpTrait::OneOperand>())
      return fromDouble(type, type.isF64() ? apply(wide(0)) : double(apply(float(wide(0)))));
    else
      return fromDouble(type, type.isF64() ? apply(wide(0), wide(1))
                                           : double(apply(float(wide(0)), float(wide(1)))));
  });
}

#define METATE_UNARY(Name, call)                                                                   \
  static void rule##Name(Machine &machine, math::Name##Op op) {                                    \
    compute(machine, op, [](auto x) { return call; });                                             \
  }
METATE_UNARY(AbsF, std::fabs(x))
METATE_UNARY(Ceil, std::ceil(x))
METATE_UNARY(Floor, std::floor(x))
METATE_UNARY(Round, std::round(x))
METATE_UNARY(RoundEven, std::nearbyint(x)) // the mode is to nearest even: nobody changes it
METATE_UNARY(Rsqrt, decltype(x)(1) / std::sqrt(x))
METATE_UNARY(Sqrt, std::sqrt(x))
METATE_UNARY(Trunc, std::trunc(x))
#undef METATE_UNARY

static void elementaryFunction(Machine &machine, ElementaryOp op) {
  Type type = scalarOf(op.getType());
  auto which = elementary::Function(op.getFunction());
  elementwise(machine, op, [&](ArrayRef<uint64_t> in) {
    double x = toDouble(type, in.front()), y = toDouble(type, in.back());
    return fromDouble(type, type.isF64() ? elementary::evaluate(which, x, y)
                                         : double(elementary::evaluate(which, float(x), float(y))));
  });
}
static void copySign(Machine &machine, math::CopySignOp op) {
  compute(machine, op, [](auto x, auto y) { return std::copysign(x, y); });
}

static void fusedMultiplyAdd(Machine &machine, math::FmaOp op) {
  Type type = scalarOf(op.getType());
  elementwise(machine, op, [&](ArrayRef<uint64_t> in) {
    llvm::APFloat product = toFloat(type, in[0]);
    product.fusedMultiplyAdd(toFloat(type, in[1]), toFloat(type, in[2]),
                             llvm::APFloat::rmNearestTiesToEven);
    return wrap(product.bitcastToAPInt());
  });
}

static void absolute(Machine &machine, math::AbsIOp op) {
  Type scalar = scalarOf(op.getType());
  unsigned width = widthOf(scalar);
  elementwise(machine, op, [&](ArrayRef<uint64_t> in) {
    if (machine.checks.overflow && in[0] == uint64_t(1) << (width - 1))
      machine.report("overflow", op,
                     "abs(" + show(scalar, in[0]) + ") does not fit " + nameOf(scalar) +
                         " and stays " + show(scalar, in[0]));
    return wrap(signedOf(in[0], width) < 0 ? 0 - in[0] : in[0], width);
  });
}

static void countOnes(Machine &machine, math::CtPopOp op) {
  elementwise(machine, op, [](ArrayRef<uint64_t> in) -> uint64_t { return llvm::popcount(in[0]); });
}

static void countLeadingZeros(Machine &machine, math::CountLeadingZerosOp op) {
  unsigned width = widthOf(scalarOf(op.getType()));
  elementwise(machine, op, [&](ArrayRef<uint64_t> in) -> uint64_t {
    return llvm::countl_zero(in[0]) - (64 - width);
  });
}

void interp::addMathRules(RuleTable &table) {
#define METATE_RULE(Name) addRule<math::Name##Op, rule##Name>(table);
  METATE_RULE(AbsF)
  METATE_RULE(Ceil)
  METATE_RULE(Floor)
  METATE_RULE(Round)
  METATE_RULE(RoundEven)
  METATE_RULE(Rsqrt)
  METATE_RULE(Sqrt)
  METATE_RULE(Trunc)
#undef METATE_RULE
  addRule<ElementaryOp, elementaryFunction>(table);
  addRule<math::CopySignOp, copySign>(table);
  addRule<math::FmaOp, fusedMultiplyAdd>(table);
  addRule<math::AbsIOp, absolute>(table);
  addRule<math::CtPopOp, countOnes>(table);
  addRule<math::CountLeadingZerosOp, countLeadingZeros>(table);
}
