//===- RulesMath.cpp - functions of one and two numbers ---------*- C++ -*-===//
//
// The C library's functions, of the type's own precision; f16 and bf16 are computed in f32 and
// rounded.
//
//===----------------------------------------------------------------------===//
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
METATE_UNARY(Acos, std::acos(x))
METATE_UNARY(Asin, std::asin(x))
METATE_UNARY(Atan, std::atan(x))
METATE_UNARY(Ceil, std::ceil(x))
METATE_UNARY(Cos, std::cos(x))
METATE_UNARY(Cosh, std::cosh(x))
METATE_UNARY(Exp, std::exp(x))
METATE_UNARY(Exp2, std::exp2(x))
METATE_UNARY(Floor, std::floor(x))
METATE_UNARY(Log, std::log(x))
METATE_UNARY(Log10, std::log10(x))
METATE_UNARY(Log2, std::log2(x))
METATE_UNARY(Round, std::round(x))
METATE_UNARY(RoundEven, std::nearbyint(x)) // the mode is to nearest even: nobody changes it
METATE_UNARY(Rsqrt, decltype(x)(1) / std::sqrt(x))
METATE_UNARY(Sin, std::sin(x))
METATE_UNARY(Sinh, std::sinh(x))
METATE_UNARY(Sqrt, std::sqrt(x))
METATE_UNARY(Tan, std::tan(x))
METATE_UNARY(Tanh, std::tanh(x))
METATE_UNARY(Trunc, std::trunc(x))
#undef METATE_UNARY

static void arcTangent2(Machine &machine, math::Atan2Op op) {
  compute(machine, op, [](auto y, auto x) { return std::atan2(y, x); });
}
static void power(Machine &machine, math::PowFOp op) {
  compute(machine, op, [](auto x, auto y) { return std::pow(x, y); });
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
  METATE_RULE(Acos)
  METATE_RULE(Asin)
  METATE_RULE(Atan)
  METATE_RULE(Ceil)
  METATE_RULE(Cos)
  METATE_RULE(Cosh)
  METATE_RULE(Exp)
  METATE_RULE(Exp2)
  METATE_RULE(Floor)
  METATE_RULE(Log)
  METATE_RULE(Log10)
  METATE_RULE(Log2)
  METATE_RULE(Round)
  METATE_RULE(RoundEven)
  METATE_RULE(Rsqrt)
  METATE_RULE(Sin)
  METATE_RULE(Sinh)
  METATE_RULE(Sqrt)
  METATE_RULE(Tan)
  METATE_RULE(Tanh)
  METATE_RULE(Trunc)
#undef METATE_RULE
  addRule<math::Atan2Op, arcTangent2>(table);
  addRule<math::PowFOp, power>(table);
  addRule<math::CopySignOp, copySign>(table);
  addRule<math::FmaOp, fusedMultiplyAdd>(table);
  addRule<math::AbsIOp, absolute>(table);
  addRule<math::CtPopOp, countOnes>(table);
  addRule<math::CountLeadingZerosOp, countLeadingZeros>(table);
}
