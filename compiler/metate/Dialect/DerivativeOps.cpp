//===- DerivativeOps.cpp - what is differentiated ---------------*- C++ -*-===//
//
// Each verifier's message carries the label of the constraint that DerivativeOps.td states.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Derivative.h"
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
    return {signlessType(found->place.getType()), int64_t(found->rank())};
  }
};
} // namespace

LogicalResult DerivativeOp::verify() {
  auto kernel = cast<KernelOp>((*this)->getParentOp());
  for (Value base : {getPrimal(), getDerivative()}) {
    auto argument = dyn_cast<BlockArgument>(base);
    if (!argument || argument.getOwner() != &kernel.getBody().front() ||
        !isa<TreeType, MemRefType>(base.getType()))
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
