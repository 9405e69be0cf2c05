//===- Monomial.cpp - products of values that a loop does not change -*- C++ -*-===//
#include "metate/Transforms/Monomial.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace metate;

/// No divisor of a 32-bit number is greater.
static constexpr int64_t mostConstant = std::numeric_limits<int32_t>::max();
static constexpr size_t mostFactors = 6;

bool Monomial::operator==(const Monomial &other) const {
  std::optional<Monomial> ratio = *this / other;
  return ratio && ratio->isOne();
}

std::optional<Monomial> Monomial::operator*(const Monomial &other) const {
  if (factors.size() + other.factors.size() > mostFactors ||
      constant > mostConstant / other.constant)
    return std::nullopt;
  Monomial product{constant * other.constant, factors};
  product.factors.append(other.factors);
  return product;
}

std::optional<Monomial> Monomial::operator/(const Monomial &other) const {
  if (constant % other.constant)
    return std::nullopt;
  Monomial ratio{constant / other.constant, factors};
  for (Value factor : other.factors) {
    auto *found = llvm::find(ratio.factors, factor);
    if (found == ratio.factors.end())
      return std::nullopt;
    ratio.factors.erase(found);
  }
  return ratio;
}

bool Monomial::isBelow(const Monomial &other) const {
  std::optional<Monomial> ratio = other / *this;
  return ratio && !ratio->isOne();
}

/// What a guard against zero and the like chooses otherwise: `select(divisor == 0, 1, divisor)`.
static Value guarded(Operation *op) {
  auto select = dyn_cast<arith::SelectOp>(op);
  return select && matchPattern(select.getTrueValue(), m_One()) ? select.getFalseValue() : Value();
}

std::optional<Monomial> Monomial::of(Value value, Operation *loop, llvm::SetVector<Value> *seen) {
  if (seen)
    seen->insert(value);
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.isStrictlyPositive() && constant.ule(mostConstant)
               ? std::optional(Monomial{int64_t(constant.getZExtValue()), {}})
               : std::nullopt;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp>(op))
    return of(op->getOperand(0), loop, seen);
  if (Value inner = op ? guarded(op) : Value())
    return of(inner, loop, seen);
  if (auto product = dyn_cast_or_null<arith::MulIOp>(op)) {
    // The second one of a square that has too many factors already is not looked at: squares of squares are looked at once.
    auto lhs = of(product.getLhs(), loop, seen);
    auto rhs = lhs ? of(product.getRhs(), loop, seen) : std::nullopt;
    return rhs ? *lhs * *rhs : std::nullopt;
  }
  bool isOutside = !loop->isProperAncestor(value.getParentBlock()->getParentOp()) &&
                   value.getParentBlock()->getParentOp() != loop;
  return isOutside ? std::optional(Monomial{1, {value}}) : std::nullopt;
}
