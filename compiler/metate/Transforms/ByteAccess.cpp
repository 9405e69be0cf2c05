//===- ByteAccess.cpp - which bytes two accesses touch --------------------===//
#include "metate/Transforms/ByteAccess.h"

using namespace mlir;
using namespace metate;

static int64_t bytesOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  Type number = vector ? vector.getElementType() : type;
  int64_t each = number.isIndex() ? 8 : std::max(8u, number.getIntOrFloatBitWidth()) / 8;
  return vector ? each * vector.getNumElements() : each;
}

std::optional<ByteAccess> ByteAccess::of(Operation *op) {
  auto made = [&](auto access, Type type, bool isOrdered) {
    DenseI64ArrayAttr mark; // vectors may be of several cells
    if (!isa<VectorType>(type))
      mark = op->getAttrOfType<DenseI64ArrayAttr>(mark::member);
    return ByteAccess{access.getBlock(),
                      LinearForm::of(access.getOffset()),
                      bytesOf(type),
                      int64_t(access.getScope()),
                      mark ? mark.asArrayRef() : ArrayRef<int64_t>(),
                      isOrdered};
  };
  if (auto read = dyn_cast<ReadOp>(op))
    return made(read, read.getType(), read.getAcquire());
  if (auto write = dyn_cast<WriteOp>(op))
    return made(write, write.getValue().getType(), write.getRelease());
  if (auto atomic = dyn_cast<RmwOp>(op))
    return made(atomic, atomic.getValue().getType(), false);
  if (auto merge = dyn_cast<MergeOp>(op))
    return made(merge, merge.getBits().getType(), false);
  if (auto add = dyn_cast<AddBitsOp>(op))
    return made(add, add.getBits().getType(), false);
  if (auto exchange = dyn_cast<CasOp>(op))
    return made(exchange, exchange.getDesired().getType(), true);
  return std::nullopt;
}

bool ByteAccess::isSameAs(const ByteAccess &other) const {
  if (block != other.block || bytes != other.bytes)
    return false;
  LinearForm distance = form.minus(other.form);
  return distance.terms.empty() && distance.constant == 0;
}

bool ByteAccess::mayOverlap(const ByteAccess &other) const {
  if (scope != other.scope)
    return scope < 0 || other.scope < 0;
  // Cells of two levels do not overlap, nor do two members of cells of one.
  if (!member.empty() && !other.member.empty() &&
      (member[0] != other.member[0] || member[1] + bytes <= other.member[1] ||
       other.member[1] + other.bytes <= member[1]))
    return false;
  if (block != other.block)
    return true;
  LinearForm distance = form.minus(other.form);
  return !distance.terms.empty() || (distance.constant < other.bytes && distance.constant > -bytes);
}
