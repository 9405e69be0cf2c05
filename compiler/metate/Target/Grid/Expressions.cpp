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

namespace {
/// An operation on two numbers as narrow as its values: what their upper bits have to be.
enum class Upper { nothing, sign, zeros };
struct Binary {
  metate_grid_operation operation;
  Upper upper = Upper::nothing;
};
} // namespace

static std::optional<Binary> binaryOf(Operation *op) {
  using Found = std::optional<Binary>;
  return llvm::TypeSwitch<Operation *, Found>(op)
      .Case([](arith::AddIOp) { return Binary{METATE_GRID_ADD}; })
      .Case([](arith::SubIOp) { return Binary{METATE_GRID_SUB}; })
      .Case([](arith::MulIOp) { return Binary{METATE_GRID_MUL}; })
      .Case([](arith::AndIOp) { return Binary{METATE_GRID_AND}; })
      .Case([](arith::OrIOp) { return Binary{METATE_GRID_OR}; })
      .Case([](arith::XOrIOp) { return Binary{METATE_GRID_XOR}; })
      .Case([](arith::MinSIOp) { return Binary{METATE_GRID_MIN, Upper::sign}; })
      .Case([](arith::MaxSIOp) { return Binary{METATE_GRID_MAX, Upper::sign}; })
      .Case([](arith::DivSIOp) { return Binary{METATE_GRID_DIV, Upper::sign}; })
      .Case([](arith::CeilDivSIOp) { return Binary{METATE_GRID_CEIL_DIV, Upper::sign}; })
      .Case([](arith::ShLIOp) { return Binary{METATE_GRID_SHIFT_LEFT, Upper::zeros}; })
      .Case([](arith::ShRUIOp) { return Binary{METATE_GRID_SHIFT_RIGHT, Upper::zeros}; })
      .Default([](Operation *) { return Found(); });
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
  if (auto place = places.find(value); place != places.end()) { // a part of a graph's pool
    steps.push_back({METATE_GRID_FRAME_AT, place->second});
    return true;
  }
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
  std::optional<Binary> binary = binaryOf(op);
  if (!binary)
    return false;
  unsigned first = isMutant(Mutant::GridStepsReversed) ? 1 : 0;
  for (unsigned k : {first, 1 - first}) {
    Value operand = op->getOperand(k);
    bool isAdded = binary->upper == Upper::nothing
                       ? add(operand, steps)
                       : addExtended(operand, binary->upper == Upper::sign, steps);
    if (!isAdded)
      return false;
  }
  steps.push_back({binary->operation});
  return true;
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

std::optional<std::vector<Step>>
Expressions::ofBuilt(Operation *at, llvm::function_ref<Value(OpBuilder &)> build) const {
  OpBuilder builder(at);
  Operation *before = at->getPrevNode();
  auto steps = of(build(builder));
  for (Operation *op = at->getPrevNode(); op && op != before;) {
    Operation *previous = op->getPrevNode();
    op->erase();
    op = previous;
  }
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
