//===- ByteBuilder.cpp - byte-addressed code for one block ------*- C++ -*-===//
#include "metate/Level/ByteBuilder.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace metate;

Value ByteBuilder::readInteger(Value offset, unsigned width, bool acquire, bool invariant) {
  return ReadOp::create(builder, loc, builder.getIntegerType(width), block, offset, uint64_t(scope),
                        acquire, invariant);
}

void ByteBuilder::markMember(Operation *access) {
  if (member)
    access->setAttr(mark::member,
                    builder.getDenseI64ArrayAttr({member->node, member->offset, member->bytes}));
}

void ByteBuilder::write(Value value, Value offset, bool release) {
  auto write = WriteOp::create(builder, loc, value, block, offset, uint64_t(scope), release);
  if (onlyWriter)
    setMark(write, mark::onlyWriter);
  markMember(write);
}

Value ByteBuilder::compareExchange(Value offset, Value expected, Value desired) {
  return CasOp::create(builder, loc, expected.getType(), expected, desired, block, offset,
                       uint64_t(scope));
}

Value ByteBuilder::atomic(arith::AtomicRMWKind kind, Value offset, Value value) {
  auto rmw =
      RmwOp::create(builder, loc, value.getType(), kind, value, block, offset, uint64_t(scope));
  if (reduction)
    setMark(rmw, mark::reduction);
  if (bins)
    rmw->setAttr(mark::bins, bins);
  return rmw;
}

Value ByteBuilder::call(StringRef callee, uint64_t number, ValueRange numbers,
                        ValueRange coordinates, std::optional<bool> flag, Type result) {
  return TreeCallOp::create(builder, loc, result, callee, block, number, numbers, coordinates,
                            flag ? builder.getI64IntegerAttr(*flag) : IntegerAttr(), tree)
      .getResult();
}

Value ByteBuilder::readValue(Type type, Value offset) {
  if (auto vector = dyn_cast<VectorType>(type)) {
    SmallVector<Value> components;
    int64_t bytes = layout::scalarBytes(vector.getElementType());
    for (int64_t k = 0; k < vector.getNumElements(); ++k)
      ofMemberFrom(k * bytes, [&] {
        components.push_back(readValue(vector.getElementType(), add(offset, k * bytes)));
      });
    return vector::FromElementsOp::create(builder, loc, vector, components);
  }
  if (type.isInteger(1))
    return isNonzero(readInteger(offset, 8));
  auto read = ReadOp::create(builder, loc, type, block, offset, uint64_t(scope), false, false);
  if (knownSlot)
    setMark(read, mark::knownSlot);
  markMember(read);
  return read;
}

void ByteBuilder::writeValue(Value value, Value offset) {
  if (auto vector = dyn_cast<VectorType>(value.getType())) {
    int64_t bytes = layout::scalarBytes(vector.getElementType());
    auto components = vector::ToElementsOp::create(builder, loc, value);
    for (auto [k, component] : llvm::enumerate(components.getElements())) {
      int64_t begin = int64_t(k) * bytes;
      ofMemberFrom(begin, [&] { writeValue(component, add(offset, begin)); });
    }
    return;
  }
  if (value.getType().isInteger(1))
    value = arith::ExtUIOp::create(builder, loc, builder.getI8Type(), value);
  write(value, offset);
}

Value ByteBuilder::slotsBase(unsigned pool) {
  if (knownSlotsBase)
    return knownSlotsBase(pool);
  return toIndex(readInteger(index(layout::header::poolSlots(pool)), 64, /*acquire=*/false,
                             /*invariant=*/true));
}

Value ByteBuilder::slotAt(const layout::Node &node, Value slot) {
  if (!slot.getType().isIndex())
    slot = toIndex(slot);
  return add(slotsBase(node.pool), multiply(slot, node.slotBytes));
}

void ByteBuilder::markChanged() {
  Value at = index(layout::header::changed());
  Value known = isNonzero(readInteger(at, 32, /*acquire=*/true));
  Value isFirst = arith::XOrIOp::create(builder, loc, known, integer(1, 1));
  auto branch = scf::IfOp::create(builder, loc, isFirst);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  write(integer(1, 32), at, /*release=*/true);
}
