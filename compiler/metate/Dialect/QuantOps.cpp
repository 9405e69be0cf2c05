//===- QuantOps.cpp - stored bits and values --------------------*- C++ -*-===//
//
// Each verifier's message carries the label of the constraint that QuantOps.td states.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Quant.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace metate;

#define GET_OP_CLASSES
#include "metate/Dialect/MetateQuantOps.cpp.inc"

/// The same scalar or the same vector's, of another element type.
static Type withElement(Type shape, Type element) {
  auto vector = dyn_cast<VectorType>(shape);
  return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
}

static LogicalResult verifyConversion(Operation *op, Type bits, Type value, Type type) {
  std::optional<QuantFormat> format = QuantFormat::of(type);
  if (!format)
    return op->emitOpError("(QC1) expected a quantised type, got ") << type;
  if (!getElementTypeOrSelf(bits).isSignlessInteger(format->bits))
    return op->emitOpError("(QC2) expected bits of type i") << format->bits << ", got " << bits;
  if (value != withElement(bits, signlessType(format->compute)))
    return op->emitOpError("(QC3) expected a value of type ")
           << withElement(bits, signlessType(format->compute)) << ", got " << value;
  return success();
}

void DecodeOp::build(OpBuilder &builder, OperationState &state, Value bits, Type format,
                     bool shared) {
  Type compute = signlessType(QuantFormat::of(format)->compute);
  build(builder, state, withElement(bits.getType(), compute), bits, format, shared);
}

LogicalResult DecodeOp::verify() {
  return verifyConversion(*this, getBits().getType(), getValue().getType(), getFormat());
}

void EncodeOp::build(OpBuilder &builder, OperationState &state, Value value, Type format) {
  Type bits = builder.getIntegerType(QuantFormat::of(format)->bits);
  build(builder, state, withElement(value.getType(), bits), value, format);
}

LogicalResult EncodeOp::verify() {
  return verifyConversion(*this, getBits().getType(), getValue().getType(), getFormat());
}

/// (C1), (C2): the member's path, with one coordinate per axis.
template <typename Op> static FailureOr<TreePath> verifyMember(Op op) {
  std::optional<TreePath> path = findPath(op.getTreeType(), op.getPath());
  if (!path || !path->place) {
    op.emitOpError("(C1) no member '")
        << op.getPath() << "' in the tree; it has " << knownNames(op.getTreeType());
    return failure();
  }
  if (op.getCoordinates().size() != path->rank()) {
    op.emitOpError("(C2) expected ") << path->rank() << " coordinates for '" << op.getPath()
                                     << "', got " << op.getCoordinates().size();
    return failure();
  }
  return *path;
}

LogicalResult LoadSharedOp::verify() {
  FailureOr<TreePath> path = verifyMember(*this);
  if (failed(path))
    return failure();
  if (!sharesExponent(getTreeType(), getPath()) ||
      getValue().getType() != signlessType(path->place.getType()))
    return emitOpError("(QU3) expected a member that shares its exponent and its bits, got ")
           << path->place.getType() << " and " << getValue().getType();
  return success();
}

LogicalResult StoreSharedOp::verify() {
  FailureOr<TreePath> path = verifyMember(*this);
  if (failed(path))
    return failure();
  SmallVector<PlaceAttr> group = sharersOf(getTreeType(), getPath());
  SmallVector<StringRef> members;
  for (Attribute member : getMembers())
    members.push_back(cast<StringAttr>(member).getValue());
  bool isFit =
      members.size() >= 2 && members.size() == getValues().size() && members[0] == getPath();
  for (auto [k, member] : llvm::enumerate(members)) {
    const auto *found =
        llvm::find_if(group, [&](PlaceAttr place) { return place.getName() == member; });
    isFit &= found != group.end() && !llvm::is_contained(ArrayRef(members).take_front(k), member) &&
             getValues()[k].getType() == QuantFormat::of(found->getType())->compute;
    if (!isFit)
      break;
  }
  if (!isFit)
    return emitOpError("(QU5) expected members of one group that shares an exponent, each once, "
                       "with a value each");
  return success();
}

/// (QU4): the word is that of a quant_array.
template <typename Op> static LogicalResult verifyWord(Op op) {
  FailureOr<TreePath> path = verifyMember(op);
  if (failed(path))
    return failure();
  int64_t width = path->levels.empty() ? 0 : path->levels.back().getWordBits();
  if (!width || !op.getValue().getType().isSignlessInteger(width))
    return op.emitOpError("(QU4) expected a quant_array's member and its word, got ")
           << path->place.getType() << " and " << op.getValue().getType();
  return success();
}

LogicalResult LoadWordOp::verify() { return verifyWord(*this); }

LogicalResult StoreWordOp::verify() { return verifyWord(*this); }

LogicalResult UpdateOp::verify() {
  FailureOr<TreePath> path = verifyMember(*this);
  if (failed(path))
    return failure();
  std::optional<QuantFormat> format = QuantFormat::of(path->place.getType());
  if (!format || getValue().getType() != signlessType(format->compute))
    return emitOpError("(QU1) expected a quantised member and a value of its compute type, got ")
           << path->place.getType() << " and " << getValue().getType();
  StringRef kind = arith::stringifyAtomicRMWKind(getKind());
  bool isFloatKind =
      kind.ends_with("f") || kind.starts_with("maxnum") || kind.starts_with("minnum");
  if (kind != "assign" && isFloatKind != isa<FloatType>(getValue().getType()))
    return emitOpError("(QU2) kind '")
           << kind << "' does not fit a value of type " << getValue().getType();
  return success();
}
