//===- DerivativeRules.cpp - derivatives of operations ----------*- C++ -*-===//
//
// Where a derivative does not exist, one is chosen: of abs and sqrt at 0 it is 0 (so that the norm of a zero vector has one), of min and
// max of equals the second operand has it, of a number and NaN the number, of what rounds it is 0 everywhere. At the border of other domains it is what
// arithmetic gives: of log at 0 it is infinite.
//
//===----------------------------------------------------------------------===//
#include "metate/Transforms/DerivativeRules.h"
#include "metate/Dialect/Derivative.h"
#include "metate/Dialect/Elementary.h"
#include "metate/Mutants/Mutants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace metate;

bool metate::isDifferentiable(Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }

//===-- arithmetic ---------------------------------------------------------------------------------------------===//

Value DerivativeRules::constant(Type type, double value) {
  Attribute scalar = builder.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    scalar = DenseElementsAttr::get(vector, scalar);
  return arith::ConstantOp::create(builder, loc, cast<TypedAttr>(scalar));
}

Value DerivativeRules::add(Value a, Value b) {
  return !a ? b : !b ? a : builder.createOrFold<arith::AddFOp>(loc, a, b);
}

Value DerivativeRules::negate(Value a) { return builder.createOrFold<arith::NegFOp>(loc, a); }

Value DerivativeRules::multiply(Value a, Value b) {
  return builder.createOrFold<arith::MulFOp>(loc, a, b);
}

Value DerivativeRules::divide(Value a, Value b) {
  return builder.createOrFold<arith::DivFOp>(loc, a, b);
}

Value DerivativeRules::subtract(Value a, Value b) {
  return builder.createOrFold<arith::SubFOp>(loc, a, b);
}

Value DerivativeRules::select(Value condition, Value yes, Value no) {
  return builder.createOrFold<arith::SelectOp>(loc, condition, yes, no);
}

/// Operations whose results are steps: their derivative is zero where they have one. Integers have none.
static bool isStep(Operation *op) {
  return isa<math::FloorOp, math::CeilOp, math::RoundOp, math::RoundEvenOp, math::TruncOp,
             arith::SIToFPOp, arith::UIToFPOp, arith::BitcastOp, arith::ConstantOp, ub::PoisonOp,
             StopGradientOp>(op);
}

static bool isOfVectors(Operation *op) {
  return isa<vector::ExtractOp, vector::InsertOp, vector::FromElementsOp, vector::ToElementsOp,
             vector::BroadcastOp, vector::ShapeCastOp, vector::TransposeOp>(op);
}

static bool isComponentwise(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::RemFOp,
             arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
             arith::MinNumFOp, arith::SelectOp, arith::ExtFOp, arith::TruncFOp, math::SqrtOp,
             math::RsqrtOp, math::AbsFOp, math::FmaOp, math::CopySignOp, ElementaryOp>(op);
}

bool DerivativeRules::knows(Operation *op) {
  return isStep(op) || isOfVectors(op) || isComponentwise(op) || isa<CallOp>(op);
}

//===-- component by component ---------------------------------------------------------------------------------===//

Value DerivativeRules::partial(Operation *op, unsigned k, Value seed) {
  auto operand = [&](unsigned number) { return primal(op->getOperand(number)); };
  auto result = [&] { return primal(op->getResult(0)); };
  auto compare = [&](arith::CmpFPredicate predicate, Value a, Value b) -> Value {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  };
  Type type = op->getResult(0).getType();
  return TypeSwitch<Operation *, Value>(op)
      .Case<arith::AddFOp, arith::ExtFOp, arith::TruncFOp>([&](auto) { return seed; })
      .Case<arith::SubFOp>([&](auto) { return k == 0 ? seed : negate(seed); })
      .Case<arith::NegFOp>([&](auto) { return negate(seed); })
      .Case<arith::MulFOp>([&](auto) { return multiply(seed, operand(1 - k)); })
      .Case<arith::DivFOp>([&](auto) {
        Value quotient = divide(seed, operand(1));
        return k == 0 ? quotient : negate(multiply(quotient, result()));
      })
      .Case<arith::RemFOp>([&](auto) { // x - trunc(x / y) y
        if (k == 0)
          return seed;
        Value turns = math::TruncOp::create(builder, loc, divide(operand(0), operand(1)));
        return negate(multiply(seed, turns));
      })
      .Case<math::FmaOp>([&](auto) { return k == 2 ? seed : multiply(seed, operand(1 - k)); })
      .Case<arith::MaximumFOp, arith::MaxNumFOp, arith::MinimumFOp, arith::MinNumFOp>([&](auto) {
        // Of a number and NaN the result is the number, and so is what the derivative is of.
        Value isSecond = compare(arith::CmpFPredicate::OEQ, result(), operand(1));
        return k == 0 ? select(isSecond, zero(type), seed) : select(isSecond, seed, zero(type));
      })
      .Case<arith::SelectOp>([&](auto) {
        Value condition = operand(0);
        return k == 1 ? select(condition, seed, zero(type)) : select(condition, zero(type), seed);
      })
      .Case<math::SqrtOp>([&](auto) {
        Value isZero = compare(arith::CmpFPredicate::OEQ, result(), zero(type));
        Value slope = divide(seed, multiply(constant(type, 2), result()));
        return select(isZero, zero(type), slope);
      })
      .Case<math::RsqrtOp>([&](auto) {
        Value cube = multiply(multiply(result(), result()), result());
        return multiply(multiply(seed, constant(type, -0.5)), cube);
      })
      .Case<math::AbsFOp>([&](auto) {
        Value isBelow = compare(arith::CmpFPredicate::OLT, operand(0), zero(type));
        Value isZero = compare(arith::CmpFPredicate::OEQ, operand(0), zero(type));
        return select(isZero, zero(type), select(isBelow, negate(seed), seed));
      })
      .Case<math::CopySignOp>([&](auto) {
        if (k == 1)
          return Value();
        Value isSame = compare(arith::CmpFPredicate::OEQ, operand(0), result());
        return select(isSame, seed, negate(seed));
      })
      .Case<ElementaryOp>([&](auto) { return elementary(op, k, seed); })
      .Default(Value());
}

Value DerivativeRules::elementary(Operation *op, unsigned k, Value seed) {
  auto function = cast<ElementaryOp>(op).getFunction();
  Type type = op->getResult(0).getType();
  auto x = [&] { return primal(op->getOperand(0)); };
  auto result = [&] { return primal(op->getResult(0)); };
  auto make = [&](ElementaryFunction other, Value value) -> Value {
    return ElementaryOp::create(builder, loc, other, ValueRange(value));
  };
  auto square = [&](Value value) { return multiply(value, value); };
  auto one = [&] { return constant(type, 1); };
  using enum ElementaryFunction;
  switch (function) {
  case Exp:
    return multiply(seed, result());
  case Exp2:
    return multiply(multiply(seed, result()), constant(type, std::numbers::ln2));
  case Log:
    return divide(seed, x());
  case Log2:
    return divide(seed, multiply(x(), constant(type, std::numbers::ln2)));
  case Log10:
    return divide(seed, multiply(x(), constant(type, std::numbers::ln10)));
  case Sin:
    return multiply(seed, make(Cos, x()));
  case Cos: {
    Value sine = make(Sin, x());
    return multiply(seed, isMutant(Mutant::CosineKeepsSign) ? sine : negate(sine));
  }
  case Tan:
    return multiply(seed, add(one(), square(result())));
  case Asin:
  case Acos: {
    Value root = math::SqrtOp::create(builder, loc, subtract(one(), square(x())));
    Value quotient = divide(seed, root);
    return function == Asin ? quotient : negate(quotient);
  }
  case Atan:
    return divide(seed, add(one(), square(x())));
  case Sinh:
    return multiply(seed, make(Cosh, x()));
  case Cosh:
    return multiply(seed, make(Sinh, x()));
  case Tanh:
    return multiply(seed, subtract(one(), square(result())));
  case Atan2: {
    Value y = x(), other = primal(op->getOperand(1));
    Value quotient = divide(seed, add(square(other), square(y)));
    return k == 0 ? multiply(quotient, other) : negate(multiply(quotient, y));
  }
  case Pow:
    return ofPower(op, k, seed);
  }
  llvm_unreachable("an elementary function without a derivative");
}

/// x ** y: the derivative for y exists where x is positive; elsewhere it is taken for zero.
Value DerivativeRules::ofPower(Operation *op, unsigned k, Value seed) {
  Type type = op->getResult(0).getType();
  Value base = primal(op->getOperand(0)), exponent = primal(op->getOperand(1));
  if (k == 0) {
    Value less = subtract(exponent, constant(type, 1));
    Value power =
        ElementaryOp::create(builder, loc, ElementaryFunction::Pow, ValueRange{base, less});
    // x ** 0 is 1 also at 0, where the power beside it is infinite.
    Value isConstant =
        arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, exponent, zero(type));
    return select(isConstant, zero(type), multiply(multiply(seed, exponent), power));
  }
  Value isPositive =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, base, zero(type));
  Value inside = select(isPositive, base, constant(type, 1));
  Value logarithm = ElementaryOp::create(builder, loc, ElementaryFunction::Log, ValueRange(inside));
  Value product = multiply(multiply(seed, primal(op->getResult(0))), logarithm);
  return select(isPositive, product, zero(type));
}

/// A float of another precision.
static Value convert(OpBuilder &builder, Location loc, Value value, Type type) {
  unsigned from = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
  unsigned to = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  if (value.getType() == type)
    return value;
  if (from < to)
    return arith::ExtFOp::create(builder, loc, type, value);
  return arith::TruncFOp::create(builder, loc, type, value);
}

/// Is what an operand gets a product with something that may be infinite or NaN?
static bool mayBeInfinite(Operation *op, unsigned operand) {
  if (isa<arith::MulFOp>(op)) {
    FloatAttr::ValueType factor(0.0);
    bool isKnown = matchPattern(op->getOperand(1 - operand), m_ConstantFloat(&factor));
    return !isKnown || !factor.isFinite();
  }
  return isa<arith::DivFOp, arith::RemFOp, math::FmaOp, math::SqrtOp, math::RsqrtOp, ElementaryOp>(
      op);
}

Value DerivativeRules::unlessZero(Operation *op, unsigned operand, Value seed, Value passed) {
  if (!passed || !mayBeInfinite(op, operand) || isMutant(Mutant::UnusedArmCounts))
    return passed;
  Value none = zero(seed.getType());
  Value isUnused = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, seed, none);
  return select(isUnused, none, passed);
}

SmallVector<Value> DerivativeRules::reverse(Operation *op, ArrayRef<Value> gradients,
                                            llvm::function_ref<bool(Value)> isActive,
                                            bool isPartial) {
  if (auto call = dyn_cast<CallOp>(op))
    return reverseOfCall(call, gradients);
  SmallVector<Value> passed;
  for (OpOperand &operand : op->getOpOperands())
    passed.push_back(isActive(operand.get())
                         ? reverseOf(op, operand.getOperandNumber(), gradients, isPartial)
                         : Value());
  return passed;
}

Value DerivativeRules::reverseOf(Operation *op, unsigned operand, ArrayRef<Value> gradients,
                                 bool isPartial) {
  if (!isDifferentiable(op->getOperand(operand).getType()) || isStep(op))
    return {};
  if (isOfVectors(op))
    return reverseOfVector(op, operand, gradients);
  Value passed = partial(op, operand, gradients.front());
  if (isPartial)
    passed = unlessZero(op, operand, gradients.front(), passed);
  return passed ? convert(builder, loc, passed, op->getOperand(operand).getType()) : Value();
}

SmallVector<Value> DerivativeRules::forward(Operation *op, ArrayRef<Value> derivatives) {
  if (isStep(op))
    return SmallVector<Value>(op->getNumResults());
  if (isOfVectors(op))
    return forwardOfVector(op, derivatives);
  Value sum;
  for (auto [k, derivative] : llvm::enumerate(derivatives)) {
    if (!derivative)
      continue;
    bool isCast = isa<arith::ExtFOp, arith::TruncFOp>(op);
    Value seed =
        isCast ? convert(builder, loc, derivative, op->getResult(0).getType()) : derivative;
    sum = add(sum, partial(op, k, seed));
  }
  return {sum};
}

//===-- functions that have a derivative of their own -----------------------------------------------------------===//

static Value zeroFor(OpBuilder &builder, Location loc, Type type) {
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

/// What the function does not use is not asked for: a zero stands for it.
SmallVector<Value> DerivativeRules::reverseOfCall(CallOp op, ArrayRef<Value> gradients) {
  FunctionOp derivative = derivativeOf(functionOf(op));
  Block::BlockArgListType parameters = derivative.getBody().front().getArguments();
  SmallVector<Value> operands;
  for (Value value : llvm::concat<Value>(op->getOperands(), op->getResults()))
    operands.push_back(parameters[operands.size()].use_empty()
                           ? zeroFor(builder, loc, value.getType())
                           : primal(value));
  SmallVector<Value> given;
  for (auto [result, gradient] : llvm::zip(op->getResults(), gradients))
    if (isDifferentiable(result.getType()))
      given.push_back(gradient ? gradient : zeroFor(builder, loc, result.getType()));
  if (isMutant(Mutant::GivenGradientsReversed) && given.front().getType() == given.back().getType())
    std::swap(given.front(), given.back());
  operands.append(given);
  auto call =
      CallOp::create(builder, loc, derivative.getResultTypes(), derivative.getName(), operands);
  SmallVector<Value> passed;
  unsigned next = 0;
  for (Value operand : op->getOperands())
    passed.push_back(isDifferentiable(operand.getType()) ? call.getResult(next++) : Value());
  return passed;
}

SmallVector<Value> DerivativeRules::forwardOfCall(CallOp op, ArrayRef<Value> derivatives) {
  FunctionOp derivative = derivativeOf(functionOf(op));
  SmallVector<Value> operands(op->getOperands());
  for (auto [operand, one] : llvm::zip(op->getOperands(), derivatives))
    if (isDifferentiable(operand.getType()))
      operands.push_back(one ? one : zeroFor(builder, loc, operand.getType()));
  return CallOp::create(builder, loc, derivative.getResultTypes(), derivative.getName(), operands)
      .getResults();
}

//===-- vectors: what is taken apart and put together -----------------------------------------------------------===//

static SmallVector<int64_t> positionOf(int64_t number, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> position(shape.size());
  for (int64_t axis = int64_t(shape.size()) - 1; axis >= 0; --axis) {
    position[axis] = number % shape[axis];
    number /= shape[axis];
  }
  return position;
}

/// A position of an extract or insert, with values where the code is written.
static SmallVector<OpFoldResult> positionAt(ArrayRef<OpFoldResult> mixed,
                                            const DerivativeRules::ValueAt &primal) {
  return llvm::map_to_vector(mixed, [&](OpFoldResult entry) {
    if (auto value = dyn_cast<Value>(entry))
      return OpFoldResult(primal(value));
    return entry;
  });
}

Value DerivativeRules::reverseOfVector(Operation *op, unsigned operand, ArrayRef<Value> gradients) {
  Type type = op->getOperand(operand).getType();
  Value gradient = gradients.front();
  return TypeSwitch<Operation *, Value>(op)
      .Case<vector::ExtractOp>([&](vector::ExtractOp extract) {
        auto position = positionAt(extract.getMixedPosition(), primal);
        return vector::InsertOp::create(builder, loc, gradient, zero(type), position);
      })
      .Case<vector::InsertOp>([&](vector::InsertOp insert) -> Value {
        auto position = positionAt(insert.getMixedPosition(), primal);
        if (op->getOperand(operand) == insert.getValueToStore() && operand == 0)
          return vector::ExtractOp::create(builder, loc, gradient, position);
        Value nothing = zero(insert.getValueToStore().getType());
        return vector::InsertOp::create(builder, loc, nothing, gradient, position);
      })
      .Case<vector::FromElementsOp>([&](vector::FromElementsOp from) {
        return vector::ExtractOp::create(builder, loc, gradient,
                                         positionOf(operand, from.getType().getShape()));
      })
      .Case<vector::ToElementsOp>([&](vector::ToElementsOp to) {
        SmallVector<Value> elements(gradients);
        Value nothing;
        for (Value &element : elements)
          if (!element)
            element = nothing = nothing ? nothing : zero(getElementTypeOrSelf(type));
        return vector::FromElementsOp::create(builder, loc, cast<VectorType>(type), elements);
      })
      .Case<vector::BroadcastOp>([&](vector::BroadcastOp) {
        // Each component of the operand is spread over leading dimensions.
        auto wide = cast<VectorType>(gradient.getType());
        int64_t count = wide.getNumElements();
        auto narrow = dyn_cast<VectorType>(type);
        int64_t size = narrow ? narrow.getNumElements() : 1;
        SmallVector<Value> sums(size);
        for (int64_t k = 0; k < count; ++k) {
          Value one =
              vector::ExtractOp::create(builder, loc, gradient, positionOf(k, wide.getShape()));
          sums[k % size] = add(sums[k % size], one);
        }
        return narrow ? Value(vector::FromElementsOp::create(builder, loc, narrow, sums))
                      : sums.front();
      })
      .Case<vector::ShapeCastOp>(
          [&](auto) { return vector::ShapeCastOp::create(builder, loc, type, gradient); })
      .Case<vector::TransposeOp>([&](vector::TransposeOp transpose) {
        SmallVector<int64_t> inverse(transpose.getPermutation().size());
        for (auto [to, from] : llvm::enumerate(transpose.getPermutation()))
          inverse[from] = to;
        return vector::TransposeOp::create(builder, loc, gradient, inverse);
      });
}

SmallVector<Value> DerivativeRules::forwardOfVector(Operation *op, ArrayRef<Value> derivatives) {
  // Linear, so that the operation itself does it.
  IRMapping map;
  for (auto [operand, derivative] : llvm::zip(op->getOperands(), derivatives)) {
    bool isLinear = isDifferentiable(operand.getType());
    map.map(operand, derivative ? derivative
                     : isLinear ? zero(operand.getType())
                                : primal(operand));
  }
  // One value may be two operands, and is then linear in both.
  Operation *made = builder.clone(*op, map);
  return SmallVector<Value>(made->getResults());
}
