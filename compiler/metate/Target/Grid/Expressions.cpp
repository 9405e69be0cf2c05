//===- Expressions.cpp - values as steps ------------------------*- C++ -*-===//
#include "metate/Target/Grid/Expressions.h"

#include "metate/Dialect/Metate.h"
#include "metate/Mutants/Mutants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace metate;
using namespace metate::grid;

/// Bits of a number; 0: it is none. An address and an index have 64.
static unsigned widthOf(Type type) {
  if (isa<BlockType, IndexType>(type))
    return 64;
  return type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 0;
}

/// What is computed of numbers whose upper bits are nothing.
static metate_grid_operation operationOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, metate_grid_operation>(op)
      .Case<arith::AddIOp>([](auto) { return METATE_GRID_ADD; })
      .Case<arith::SubIOp>([](auto) { return METATE_GRID_SUB; })
      .Case<arith::MulIOp>([](auto) { return METATE_GRID_MUL; })
      .Case<arith::AndIOp>([](auto) { return METATE_GRID_AND; })
      .Case<arith::OrIOp>([](auto) { return METATE_GRID_OR; })
      .Case<arith::XOrIOp>([](auto) { return METATE_GRID_XOR; })
      .Default([](auto) { return metate_grid_operation(0); });
}

static metate_grid_operation signedOperationOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, metate_grid_operation>(op)
      .Case<arith::MinSIOp>([](auto) { return METATE_GRID_MIN; })
      .Case<arith::MaxSIOp>([](auto) { return METATE_GRID_MAX; })
      .Case<arith::DivSIOp>([](auto) { return METATE_GRID_DIV; })
      .Case<arith::CeilDivSIOp>([](auto) { return METATE_GRID_CEIL_DIV; })
      .Default([](auto) { return metate_grid_operation(0); });
}

/// A shift's second number is as wide as the first one.
static metate_grid_operation shiftOf(Operation *op) {
  if (isa<arith::ShLIOp>(op))
    return METATE_GRID_SHIFT_LEFT;
  return isa<arith::ShRUIOp>(op) ? METATE_GRID_SHIFT_RIGHT : metate_grid_operation(0);
}

bool Expressions::addConstant(Attribute constant, Steps &steps) const {
  APInt bits;
  if (auto number = dyn_cast<IntegerAttr>(constant))
    bits = number.getValue();
  else if (auto real = dyn_cast<FloatAttr>(constant))
    bits = real.getValue().bitcastToAPInt();
  else
    return false;
  if (bits.getBitWidth() > 64)
    return false;
  bool isWide = bits.getBitWidth() == 64;
  steps.push_back(
      {METATE_GRID_CONSTANT, isWide ? bits.getSExtValue() : int64_t(bits.getZExtValue())});
  return true;
}

/// The loop's variable: lower + turn * step.
bool Expressions::addTurn(BlockArgument variable, Steps &steps) const {
  for (auto [depth, loop] : llvm::enumerate(loops)) {
    if (variable != scf::ForOp(loop).getInductionVar())
      continue;
    scf::ForOp around = loop;
    if (!add(around.getLowerBound(), steps))
      return false;
    steps.push_back({METATE_GRID_TURN, isMutant(Mutant::GridTurnOfOuter) ? 0 : int64_t(depth)});
    if (!add(around.getStep(), steps))
      return false;
    steps.push_back({METATE_GRID_MUL});
    steps.push_back({METATE_GRID_ADD});
    return true;
  }
  return false;
}

bool Expressions::addExtended(Value value, bool isSigned, Steps &steps) const {
  unsigned width = widthOf(value.getType());
  if (!add(value, steps))
    return false;
  isSigned &= !isMutant(Mutant::GridSignLost);
  if (width < 64)
    steps.push_back({isSigned ? METATE_GRID_SIGN_EXTEND : METATE_GRID_ZERO_EXTEND, int64_t(width)});
  return true;
}

bool Expressions::add(Value value, Steps &steps) const {
  unsigned width = widthOf(value.getType());
  if (!width || width > 64)
    return false;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (!isa<KernelOp>(argument.getOwner()->getParentOp()))
      return addTurn(argument, steps);
    steps.push_back({METATE_GRID_SLOT, slots[argument.getArgNumber()]});
    return true;
  }
  Operation *op = value.getDefiningOp();
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    return addConstant(constant, steps);
  if (auto address = dyn_cast<memref::ExtractAlignedPointerAsIndexOp>(op)) {
    auto place = places.find(address.getSource());
    if (place == places.end())
      return false;
    steps.push_back({METATE_GRID_FRAME_AT, place->second});
    return true;
  }
  if (isa<arith::TruncIOp, arith::BitcastOp>(op))
    return add(op->getOperand(0), steps);
  if (isa<arith::ExtSIOp, arith::IndexCastOp>(op))
    return addExtended(op->getOperand(0), true, steps);
  if (isa<arith::ExtUIOp, arith::IndexCastUIOp>(op))
    return addExtended(op->getOperand(0), false, steps);
  auto addBoth = [&](metate_grid_operation operation, llvm::function_ref<bool(Value)> each) {
    unsigned first = isMutant(Mutant::GridStepsReversed) ? 1 : 0;
    if (!operation || !each(op->getOperand(first)) || !each(op->getOperand(1 - first)))
      return false;
    steps.push_back({operation});
    return true;
  };
  if (auto operation = operationOf(op))
    return addBoth(operation, [&](Value one) { return add(one, steps); });
  if (auto operation = signedOperationOf(op))
    return addBoth(operation, [&](Value one) { return addExtended(one, true, steps); });
  return addBoth(shiftOf(op), [&](Value one) { return addExtended(one, false, steps); });
}

/// The stack that the steps need.
static unsigned depthOf(ArrayRef<Step> steps) {
  unsigned depth = 0, most = 0;
  for (const Step &step : steps) {
    if (step.operation <= METATE_GRID_FRAME_AT)
      ++depth;
    else if (step.operation >= METATE_GRID_ADD)
      --depth;
    most = std::max(most, depth);
  }
  return most;
}

std::optional<std::vector<Step>> Expressions::of(Value value) const {
  Steps steps;
  if (!add(value, steps) || depthOf(steps) > METATE_GRID_MAX_DEPTH)
    return std::nullopt;
  return steps;
}

std::optional<std::vector<std::vector<Step>>> Expressions::slotsOf(Value value) const {
  std::vector<Steps> all;
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector) {
    auto one = of(value);
    if (!one)
      return std::nullopt;
    all.push_back(std::move(*one));
    return all;
  }
  auto argument = dyn_cast<BlockArgument>(value);
  auto parts = value.getDefiningOp<vector::FromElementsOp>();
  DenseElementsAttr constant;
  bool isConstant = matchPattern(value, m_Constant(&constant));
  for (int64_t i = 0; i < vector.getNumElements(); ++i) {
    Steps steps;
    if (argument)
      steps.push_back({METATE_GRID_SLOT, slots[argument.getArgNumber()] + i});
    else if (isConstant && !addConstant(constant.getValues<Attribute>()[i], steps))
      return std::nullopt;
    else if (!isConstant && (!parts || !add(parts.getElements()[i], steps)))
      return std::nullopt;
    all.push_back(std::move(steps));
  }
  return all;
}
