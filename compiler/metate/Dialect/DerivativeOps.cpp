//===- DerivativeOps.cpp - what is differentiated ---------------*- C++ -*-===//
//
// Each verifier's message carries the label of the constraint that DerivativeOps.td states.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Derivative.h"
#include "metate/Dialect/Quant.h"
#include "metate/Dialect/Tree.h"

using namespace mlir;
using namespace metate;

#define GET_OP_CLASSES
#include "metate/Dialect/MetateDerivativeOps.cpp.inc"

namespace {
/// What a member's cells or an array's elements hold, and how many coordinates name one; a null type: there is no such place.
struct Held {
  Type type;
  int64_t rank = 0;

  static Held in(Value base, StringRef path) {
    if (auto array = dyn_cast<MemRefType>(base.getType()))
      return path.empty() ? Held{array.getElementType(), array.getRank()} : Held();
    auto tree = dyn_cast<TreeType>(base.getType());
    std::optional<TreePath> found = tree ? findPath(tree, path) : std::nullopt;
    if (!found || !found->place)
      return {};
    // Of a quantised number what kernels compute with.
    Type type = found->place.getType();
    if (std::optional<QuantFormat> format = QuantFormat::of(type))
      type = format->compute;
    return {signlessType(type), int64_t(found->rank())};
  }
};
} // namespace

static bool isArgument(Operation *said, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner() == said->getBlock();
}

LogicalResult DerivativeOp::verify() {
  for (Value base : {getPrimal(), getDerivative()}) {
    if (!isArgument(*this, base) || !isa<TreeType, MemRefType>(base.getType()))
      return emitOpError("(V1) expected two trees or arrays that are arguments of the kernel");
  }
  Held primal = Held::in(getPrimal(), getPrimalPath());
  Held derivative = Held::in(getDerivative(), getDerivativePath());
  for (auto [held, path] :
       {std::pair(primal, getPrimalPath()), std::pair(derivative, getDerivativePath())})
    if (!held.type)
      return emitOpError("(V2) no member '") << path << "'";
  if (!isa<FloatType>(getElementTypeOrSelf(primal.type)) || primal.type != derivative.type ||
      primal.rank != derivative.rank)
    return emitOpError("(V3) expected floats of one shape in as many dimensions, got ")
           << primal.type << " in " << primal.rank << " and " << derivative.type << " in "
           << derivative.rank;
  return success();
}

LogicalResult DerivedOp::verify() {
  if (getMode() != reverseMode && getMode() != forwardMode)
    return emitOpError("(V4) expected the mode \"reverse\" or \"forward\", got \"")
           << getMode() << "\"";
  if (getKernel() == getPrimal())
    return emitOpError("(V5) expected two kernels, got '") << getKernel() << "' twice";
  return success();
}

static bool isNumberOf(const Held &numbers, const Held &primal) {
  if (!numbers.type || !getElementTypeOrSelf(numbers.type).isInteger(64) ||
      numbers.rank != primal.rank)
    return false;
  auto shape = dyn_cast<VectorType>(numbers.type), other = dyn_cast<VectorType>(primal.type);
  return bool(shape) == bool(other) && (!shape || shape.getShape() == other.getShape());
}

LogicalResult WrittenOp::verify() {
  Type type = getPrimal().getType();
  if (!isArgument(*this, getPrimal()) || !isArgument(*this, getNumbers()) ||
      !isArgument(*this, getCall()) || !isa<TreeType, MemRefType>(type) ||
      isa<TreeType>(type) != isa<TreeType>(getNumbers().getType()))
    return emitOpError("(V7) expected two trees or two arrays and an i64 that are arguments");
  SmallVector<std::string> paths = {""};
  if (auto tree = dyn_cast<TreeType>(type))
    paths = memberNames(tree);
  for (const std::string &path : paths)
    if (!isNumberOf(Held::in(getNumbers(), path), Held::in(getPrimal(), path)))
      return emitOpError("(V8) expected an i64 for each scalar of '") << path << "'";
  return success();
}
