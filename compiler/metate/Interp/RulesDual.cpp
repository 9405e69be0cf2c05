//===- RulesDual.cpp - derivatives of operations on numbers -----*- C++ -*-===//
//
// From the mathematics, in f64. Where a derivative does not exist: of abs and sqrt at 0 it is 0, of min and max of equals the
// second operand has it, of a number and NaN the number, of x ** y for y it is 0 where x is not positive. What rounds has none,
// but what quantised members store has that of the value.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Elementary.h"
#include "metate/Dialect/Quant.h"
#include "metate/Interp/Duals.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace metate;
using namespace metate::interp;

/// d(x ** y) = y x ** (y - 1) dx + x ** y log(x) dy.
static double ofPower(Dual x, Dual y) {
  double sum = 0;
  if (x.derivative != 0 && y.value != 0)
    sum += y.value * std::pow(x.value, y.value - 1) * x.derivative;
  if (x.value > 0)
    sum += std::pow(x.value, y.value) * std::log(x.value) * y.derivative;
  return sum;
}

static double ofFunction(ElementaryFunction function, ArrayRef<Dual> in) {
  double x = in[0].value, d = in[0].derivative;
  using enum ElementaryFunction;
  switch (function) {
  case Exp:
    return std::exp(x) * d;
  case Exp2:
    return std::exp2(x) * std::numbers::ln2 * d;
  case Log:
    return d / x;
  case Log2:
    return d / (x * std::numbers::ln2);
  case Log10:
    return d / (x * std::numbers::ln10);
  case Sin:
    return std::cos(x) * d;
  case Cos:
    return -std::sin(x) * d;
  case Tan:
    return d / (std::cos(x) * std::cos(x));
  case Asin:
    return d / std::sqrt((1 - x) * (1 + x));
  case Acos:
    return -d / std::sqrt((1 - x) * (1 + x));
  case Atan:
    return d / (1 + x * x);
  case Sinh:
    return std::cosh(x) * d;
  case Cosh:
    return std::sinh(x) * d;
  case Tanh:
    return d / (std::cosh(x) * std::cosh(x));
  case Atan2: {
    double other = in[1].value;
    return (d * other - x * in[1].derivative) / (x * x + other * other);
  }
  case Pow:
    return ofPower(in[0], in[1]);
  }
  llvm_unreachable("an elementary function without a derivative");
}

std::optional<double> interp::derivativeOf(Operation *op, ArrayRef<Dual> in) {
  auto x = [&] { return in[0].value; };
  auto y = [&] { return in[1].value; };
  auto dx = [&] { return in[0].derivative; };
  auto dy = [&] { return in[1].derivative; };
  using Result = std::optional<double>;
  return TypeSwitch<Operation *, Result>(op)
      .Case<arith::AddFOp>([&](auto) { return dx() + dy(); })
      .Case<arith::SubFOp>([&](auto) { return dx() - dy(); })
      .Case<arith::MulFOp>([&](auto) { return dx() * y() + x() * dy(); })
      .Case<arith::DivFOp>([&](auto) { return (dx() - x() / y() * dy()) / y(); })
      .Case<arith::RemFOp>([&](auto) { return dx() - std::trunc(x() / y()) * dy(); })
      .Case<arith::NegFOp>([&](auto) { return -dx(); })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>(
          [&](auto) { return x() > y() || std::isnan(y()) ? dx() : dy(); })
      .Case<arith::MinimumFOp, arith::MinNumFOp>(
          [&](auto) { return x() < y() || std::isnan(y()) ? dx() : dy(); })
      .Case<arith::SelectOp>([&](auto) { return x() != 0 ? dy() : in[2].derivative; })
      .Case<arith::ExtFOp, arith::TruncFOp, EncodeOp, DecodeOp>([&](auto) { return dx(); })
      .Case<math::FmaOp>([&](auto) { return dx() * y() + x() * dy() + in[2].derivative; })
      .Case<math::AbsFOp>([&](auto) { return x() > 0   ? dx()
                                             : x() < 0 ? -dx()
                                                       : 0; })
      .Case<math::SqrtOp>([&](auto) { return x() == 0 ? 0 : dx() / (2 * std::sqrt(x())); })
      .Case<math::RsqrtOp>([&](auto) { return -dx() / (2 * x() * std::sqrt(x())); })
      .Case<math::CopySignOp>([&](auto) { return std::copysign(x(), y()) == x() ? dx() : -dx(); })
      .Case<ElementaryOp>([&](ElementaryOp f) { return ofFunction(f.getFunction(), in); })
      .Default(Result());
}
