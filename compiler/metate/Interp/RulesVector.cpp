//===- RulesVector.cpp - small vectors and matrices -------------*- C++ -*-===//
//
// A vector's scalars stand in row-major order; what is taken out of it or put into it is a run of
// them.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Derivative.h"
#include "metate/Interp/Rules.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace metate;
using namespace metate::interp;

/// First scalar of the part at `position` in a vector, and how many scalars it has.
static std::pair<int64_t, int64_t> partOf(VectorType type, ArrayRef<int64_t> position) {
  int64_t first = 0, count = type.getNumElements();
  for (auto [index, size] : llvm::zip(position, type.getShape())) {
    count /= size;
    first += index * count;
  }
  return {first, count};
}

/// A position's numbers, from constants and operands.
static SmallVector<int64_t> positionOf(Machine &machine, ArrayRef<OpFoldResult> mixed) {
  return llvm::map_to_vector(mixed, [&](OpFoldResult entry) {
    if (auto value = dyn_cast<Value>(entry))
      return machine.integer(value);
    return cast<IntegerAttr>(cast<Attribute>(entry)).getInt();
  });
}

static bool isInside(VectorType type, ArrayRef<int64_t> position) {
  return llvm::all_of(llvm::zip(position, type.getShape()), [](auto pair) {
    return std::get<0>(pair) >= 0 && std::get<0>(pair) < std::get<1>(pair);
  });
}

/// False, with a finding, if a component is asked for that is not there.
static bool checkPosition(Machine &machine, Operation *op, VectorType type,
                          ArrayRef<int64_t> position) {
  if (isInside(type, position))
    return true;
  machine.report("bounds", op,
                 "index out of range: component " + placeText("", position) +
                     " of a value of shape " + shapeText(type.getShape()),
                 METATE_E_OUT_OF_RANGE);
  return false;
}

static void extract(Machine &machine, vector::ExtractOp op) {
  auto type = cast<VectorType>(op.getSource().getType());
  SmallVector<int64_t> position = positionOf(machine, op.getMixedPosition());
  if (!checkPosition(machine, op, type, position))
    return machine.set(op, Components(countOf(op.getType()), 0));
  auto [first, count] = partOf(type, position);
  ArrayRef<uint64_t> all = machine.components(op.getSource());
  machine.set(op, Components(all.slice(first, count)));
}

static void insert(Machine &machine, vector::InsertOp op) {
  auto type = cast<VectorType>(op.getType());
  SmallVector<int64_t> position = positionOf(machine, op.getMixedPosition());
  Components all = machine.components(op.getDest());
  if (checkPosition(machine, op, type, position))
    std::copy_n(machine.components(op.getValueToStore()).begin(),
                countOf(op.getValueToStore().getType()),
                all.begin() + partOf(type, position).first);
  machine.set(op, std::move(all));
}

static void fromElements(Machine &machine, vector::FromElementsOp op) {
  Components all;
  for (Value element : op.getElements())
    all.push_back(machine.bits(element));
  machine.set(op, std::move(all));
}

static void toElements(Machine &machine, vector::ToElementsOp op) {
  Components all = machine.components(op.getSource());
  for (auto [result, bits] : llvm::zip(op.getElements(), all))
    machine.set(result, bits);
}

/// A lower rank is repeated along the leading dimensions, a dimension of one along itself.
static void broadcast(Machine &machine, vector::BroadcastOp op) {
  auto type = cast<VectorType>(op.getType());
  auto source = dyn_cast<VectorType>(op.getSource().getType());
  const Components &from = machine.components(op.getSource());
  Components all;
  for (int64_t k = 0; k < type.getNumElements(); ++k) {
    int64_t index = 0, stride = 1, rest = k;
    for (int64_t axis = type.getRank() - 1, below = source ? source.getRank() - 1 : -1; below >= 0;
         --axis, --below) {
      int64_t at = rest % type.getDimSize(axis);
      rest /= type.getDimSize(axis);
      index += (source.getDimSize(below) == 1 ? 0 : at) * stride;
      stride *= source.getDimSize(below);
    }
    all.push_back(from[index]);
  }
  machine.set(op, std::move(all));
}

static void shapeCast(Machine &machine, vector::ShapeCastOp op) {
  machine.set(op, Components(machine.components(op.getSource())));
}

static void transpose(Machine &machine, vector::TransposeOp op) {
  auto source = cast<VectorType>(op.getVector().getType()), type = cast<VectorType>(op.getType());
  const Components &from = machine.components(op.getVector());
  Components all;
  for (int64_t k = 0; k < type.getNumElements(); ++k) {
    SmallVector<int64_t> position(type.getRank());
    int64_t rest = k;
    for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
      position[op.getPermutation()[axis]] = rest % type.getDimSize(axis);
      rest /= type.getDimSize(axis);
    }
    all.push_back(from[partOf(source, position).first]);
  }
  machine.set(op, std::move(all));
}

/// The cipher as its paper states it: each round multiplies two words and crosses the halves over.
static void philox(Machine &machine, PhiloxOp op) {
  auto word = [&](Value value) { return uint32_t(machine.bits(value)); };
  uint32_t r0 = word(op.getC0()), l0 = word(op.getC1()), r1 = word(op.getC2()),
           l1 = word(op.getC3()), k0 = word(op.getK0()), k1 = word(op.getK1());
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t(0xD2511F53) * r0, p1 = uint64_t(0xCD9E8D57) * r1;
    r0 = uint32_t(p1 >> 32) ^ l0 ^ k0;
    l0 = uint32_t(p1);
    r1 = uint32_t(p0 >> 32) ^ l1 ^ k1;
    l1 = uint32_t(p0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  machine.set(op, Components{r0, l0, r1, l1});
}

/// What it says is said to metate-differentiate.
static void differentiate(Machine &, Operation *) {}

static void stopGradient(Machine &machine, StopGradientOp op) {
  machine.set(op, Components(machine.components(op.getValue())));
}

void interp::addVectorRules(RuleTable &table) {
  table[TypeID::get<DerivativeOp>()] = differentiate;
  table[TypeID::get<WrittenOp>()] = differentiate;
  addRule<StopGradientOp, stopGradient>(table);
  addRule<PhiloxOp, philox>(table);
  addRule<vector::ExtractOp, extract>(table);
  addRule<vector::InsertOp, insert>(table);
  addRule<vector::FromElementsOp, fromElements>(table);
  addRule<vector::ToElementsOp, toElements>(table);
  addRule<vector::BroadcastOp, broadcast>(table);
  addRule<vector::ShapeCastOp, shapeCast>(table);
  addRule<vector::TransposeOp, transpose>(table);
}
