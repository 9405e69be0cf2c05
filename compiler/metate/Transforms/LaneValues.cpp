//===- LaneValues.cpp - numbers side by side as one vector ------*- C++ -*-===//
#include "metate/Transforms/LaneValues.h"

#include "metate/Mutants/Mutants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace metate;

/// Arithmetic of a kernel is less deep; what is deeper is taken as it is.
static constexpr unsigned mostDepth = 48;

static Type numberType(Value value) { return getElementTypeOrSelf(value.getType()); }

/// The same number, nearer to where it comes from: elements of vectors, not what took them out.
static Lane sourceOf(Lane lane) {
  while (Operation *op = lane ? lane.value.getDefiningOp() : nullptr) {
    if (lane.element < 0) {
      if (auto extract = dyn_cast<vector::ExtractOp>(op); extract && !extract.hasDynamicPosition())
        lane = {extract.getSource(),
                linearize(extract.getStaticPosition(),
                          computeStrides(extract.getSourceVectorType().getShape()))};
      else if (auto elements = dyn_cast<vector::ToElementsOp>(op))
        lane = {elements.getSource(), int64_t(cast<OpResult>(lane.value).getResultNumber())};
      else
        return lane;
    } else if (auto elements = dyn_cast<vector::FromElementsOp>(op)) {
      lane = {elements.getElements()[lane.element]};
    } else if (auto broadcast = dyn_cast<vector::BroadcastOp>(op);
               broadcast && !isa<VectorType>(broadcast.getSourceType())) {
      lane = {broadcast.getSource()};
    } else {
      return lane;
    }
  }
  return lane;
}

static TypedAttr constantOf(Lane lane) {
  Attribute value;
  if (!lane || !matchPattern(lane.value, m_Constant(&value)))
    return {};
  if (lane.element < 0)
    return dyn_cast<TypedAttr>(value);
  auto elements = dyn_cast<DenseElementsAttr>(value);
  return elements ? dyn_cast<TypedAttr>(elements.getValues<Attribute>()[lane.element])
                  : TypedAttr();
}

/// Does the operation nothing else than to compute, of each number of a vector the same?
static bool isArithmetic(Operation *op) {
  return op->getNumResults() == 1 && op->getNumRegions() == 0 && op->getNumOperands() > 0 &&
         OpTrait::hasElementwiseMappableTraits(op) && isPure(op);
}

/// What computes the number by itself.
static Operation *arithmeticOf(Lane lane) {
  Operation *op = lane && lane.element < 0 ? lane.value.getDefiningOp() : nullptr;
  return op && isArithmetic(op) ? op : nullptr;
}

/// The number by itself.
static Value scalarOf(Lane lane, OpBuilder &builder, Location loc) {
  if (lane.element < 0)
    return lane.value;
  if (TypedAttr constant = constantOf(lane))
    return arith::ConstantOp::create(builder, loc, constant);
  auto type = cast<VectorType>(lane.value.getType());
  return vector::ExtractOp::create(builder, loc, lane.value,
                                   delinearize(lane.element, computeStrides(type.getShape())));
}

void metate::takeVectorsApart(Operation *root) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (isArithmetic(op) && isa<VectorType>(op->getResult(0).getType()))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder builder(op);
    auto type = cast<VectorType>(op->getResult(0).getType());
    SmallVector<Value> numbers;
    for (int64_t k = 0; k < type.getNumElements(); ++k) {
      OperationState state(op->getLoc(), op->getName());
      for (Value operand : op->getOperands())
        state.addOperands(scalarOf(sourceOf({operand, isa<VectorType>(operand.getType()) ? k : -1}),
                                   builder, op->getLoc()));
      state.addAttributes(op->getAttrs());
      state.addTypes(type.getElementType());
      numbers.push_back(builder.create(state)->getResult(0));
    }
    op->replaceAllUsesWith(
        vector::FromElementsOp::create(builder, op->getLoc(), type, numbers)->getResults());
    op->erase();
  }
}

static bool isSameArithmetic(Operation *a, Operation *b) {
  if (a->getName() != b->getName() || a->getNumOperands() != b->getNumOperands() ||
      a->getAttrDictionary() != b->getAttrDictionary() ||
      numberType(a->getResult(0)) != numberType(b->getResult(0)))
    return false;
  return llvm::all_of(llvm::zip(a->getOperands(), b->getOperands()), [](auto pair) {
    return numberType(std::get<0>(pair)) == numberType(std::get<1>(pair));
  });
}

static bool dominates(Value value, Operation *user) {
  Operation *made = value.getDefiningOp();
  Operation *there = made->getBlock()->findAncestorOpInBlock(*user);
  return there && made->isBeforeInBlock(there);
}

Value LaneValues::vectorOf(const Lanes &lanes, Operation *before) { return make(lanes, before, 0); }

Value LaneValues::scalar(Lane lane, Operation *before) {
  OpBuilder builder(before);
  return scalarOf(sourceOf(lane), builder, before->getLoc());
}

Value LaneValues::make(const Lanes &given, Operation *before, unsigned depth) {
  Lanes lanes;
  Key key;
  for (Lane lane : given) {
    Lane source = sourceOf(lane);
    lanes.push_back(source);
    key.push_back({source.value.getAsOpaquePointer(), source.element});
  }
  Value &known = made[key];
  if (known && dominates(known, before))
    return known;
  Value value = build(lanes, before, depth);
  return made[key] = value;
}

Value LaneValues::build(const Lanes &lanes, Operation *before, unsigned depth) {
  OpBuilder builder(before);
  Location loc = before->getLoc();
  Lane first = *llvm::find_if(lanes, [](Lane lane) { return bool(lane); });
  auto type = VectorType::get(int64_t(lanes.size()), numberType(first.value));
  auto isAny = [](Lane lane) { return !lane; };
  if (llvm::all_of(lanes, [&](Lane lane) { return isAny(lane) || constantOf(lane); })) {
    SmallVector<Attribute> numbers;
    for (Lane lane : lanes)
      numbers.push_back(constantOf(lane ? lane : first));
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, numbers));
  }
  if (llvm::all_of(lanes, [&](Lane lane) { return isAny(lane) || lane == first; }))
    return vector::BroadcastOp::create(builder, loc, type, scalarOf(first, builder, loc));
  if (Value value = elementsOfOne(lanes, before))
    return value;
  if (Value value = depth < mostDepth ? arithmetic(lanes, before, depth) : Value())
    return value;
  SmallVector<Value> numbers;
  for (Lane lane : lanes)
    numbers.push_back(scalarOf(lane ? lane : first, builder, loc));
  return vector::FromElementsOp::create(builder, loc, type, numbers);
}

/// Elements of one vector that nothing computes: a permutation of it.
Value LaneValues::elementsOfOne(const Lanes &lanes, Operation *before) {
  Lane first = *llvm::find_if(lanes, [](Lane lane) { return bool(lane); });
  auto type = first.element < 0 ? VectorType() : cast<VectorType>(first.value.getType());
  if (!type || type.getRank() != 1)
    return {};
  SmallVector<int64_t> positions;
  for (Lane lane : lanes) {
    if (lane && (lane.value != first.value || lane.element < 0))
      return {};
    positions.push_back(lane ? lane.element : first.element);
  }
  OpBuilder builder(before);
  return vector::ShuffleOp::create(builder, before->getLoc(), first.value, first.value, positions);
}

/// The arithmetic that most of the lanes do, once for all of them; others are put in.
Value LaneValues::arithmetic(const Lanes &lanes, Operation *before, unsigned depth) {
  Operation *most = nullptr;
  int64_t best = 1, numbers = 0;
  for (Lane lane : lanes) {
    numbers += bool(lane);
    Operation *op = arithmeticOf(lane);
    if (!op)
      continue;
    int64_t alike = llvm::count_if(lanes, [&](Lane other) {
      Operation *its = arithmeticOf(other);
      return its && isSameArithmetic(op, its);
    });
    if (alike > best)
      best = alike, most = op;
  }
  if (!most || 2 * best <= numbers)
    return {};
  auto isOne = [&](Lane lane) {
    Operation *op = arithmeticOf(lane);
    return op && isSameArithmetic(most, op);
  };
  OpBuilder builder(before);
  OperationState state(most->getLoc(), most->getName());
  for (unsigned k = 0; k < most->getNumOperands(); ++k) {
    Lanes operands;
    for (Lane lane : lanes)
      operands.push_back(isOne(lane) ? Lane{lane.value.getDefiningOp()->getOperand(k)} : Lane());
    state.addOperands(make(operands, before, depth + 1));
  }
  state.addAttributes(most->getAttrs());
  Type type = numberType(most->getResult(0));
  state.addTypes(VectorType::get(int64_t(lanes.size()), type));
  Value value = builder.create(state)->getResult(0);
  for (auto [k, lane] : llvm::enumerate(lanes))
    if (lane && !isOne(lane) && !isMutant(Mutant::OddLaneLost))
      value = vector::InsertOp::create(
          builder, before->getLoc(), scalarOf(lane, builder, before->getLoc()), value, int64_t(k));
  return value;
}
