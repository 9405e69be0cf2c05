//===- CombinedPlaces.cpp - minima, maxima and products in places ---*- C++ -*-===//
#include "metate/Transforms/CombinedPlaces.h"
#include "metate/Dialect/Place.h"
#include "metate/Transforms/DerivativeRules.h"
#include "metate/Transforms/StaleReads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace metate;

CombinedPlaces::CombinedPlaces(KernelOp kernel, const DerivativePlaces &places,
                               const DerivativeActivity &activity)
    : kernel(kernel) {
  kernel.walk([&](Operation *op) {
    std::optional<MemoryAccess> access = MemoryAccess::of(op);
    if (access && places.has(*access))
      accesses.push_back(*access);
  });
  auto isVariable = [&](const MemoryAccess &access) {
    return access.isProduct() && activity.isActive(access.written);
  };
  for (const MemoryAccess &access : accesses) {
    bool isOfVariables = llvm::any_of(accesses, [&](const MemoryAccess &other) {
      return areOfOnePlace(access, other) && isVariable(other);
    });
    if (!access.isExtreme() && !(access.isProduct() && isOfVariables))
      continue;
    combined.insert(access.op);
    for (Operation *op = access.op; access.isProduct() && !isa<KernelOp>(op);
         op = op->getParentOp())
      passedOn.insert(op);
  }
}

InFlightDiagnostic CombinedPlaces::error(Operation *op) const {
  return op->emitError("gradient of kernel '" + KernelOp(kernel).getSymName() + "': ");
}

static std::string placeText(Operation *op) {
  FileLineColLoc place = placeOf(op->getLoc());
  if (!place)
    return "another place";
  return (place.getFilename().getValue() + ":" + Twine(place.getLine()) + ":" +
          Twine(place.getColumn()))
      .str();
}

static bool isSignChangeOf(Value value, llvm::function_ref<bool(Operation *)> is) {
  while (auto negated = value.getDefiningOp<arith::NegFOp>())
    value = negated.getOperand();
  Operation *op = value.getDefiningOp();
  return op && is(op);
}

/// An operation on the way to the value whose result may have other bits when it is computed again, in other code: a product that
/// a sum may take in unrounded, what may be reordered, a sum in a loop, and a total of iterations. Null: there is none.
static Operation *inexact(KernelOp kernel, Value value, llvm::DenseSet<Value> &seen) {
  if (!seen.insert(value).second || !isDifferentiable(value.getType()))
    return nullptr;
  auto isProduct = [](Operation *op) { return isa<arith::MulFOp>(op); };
  Operation *op = value.getDefiningOp();
  if (!op || isa<scf::ForOp, scf::WhileOp, CallOp>(op)) {
    Operation *of = op ? op : cast<BlockArgument>(value).getOwner()->getParentOp();
    return isa<scf::ForOp, scf::WhileOp, CallOp>(of) ? of : nullptr;
  }
  if (std::optional<MemoryAccess> access = MemoryAccess::of(op))
    return isLocalArray(kernel, access->base) ? op : nullptr;
  if (isa<arith::AddFOp, arith::SubFOp>(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
        return isSignChangeOf(operand, isProduct);
      }))
    return op;
  using enum arith::FastMathFlags;
  if (auto floats = dyn_cast<arith::ArithFastMathInterface>(op))
    if (auto flags = floats.getFastMathFlagsAttr();
        flags && arith::bitEnumContainsAny(flags.getValue(), reassoc | arcp | afn))
      return op;
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (Value yielded : handedOnFrom(value))
      if (Operation *found = inexact(kernel, yielded, seen))
        return found;
    return nullptr;
  }
  for (Value operand : op->getOperands())
    if (Operation *found = inexact(kernel, operand, seen))
      return found;
  return nullptr;
}

static StringRef shownKind(const MemoryAccess &access) {
  return access.isProduct() ? "product" : access.isLeast() ? "minimum" : "maximum";
}

LogicalResult CombinedPlaces::check(const DerivativePlaces &places,
                                    const DerivativeActivity &activity) const {
  for (const MemoryAccess &access : accesses) {
    if (!has(access))
      continue;
    if (activity.isActive(access.result))
      return error(access.op) << "what was there before this " << shownKind(access)
                              << " is used, and has no derivative here; read it before, in "
                                 "another kernel";
    llvm::DenseSet<Value> seen;
    Operation *rounds = access.isExtreme() ? inexact(kernel, access.written, seen) : nullptr;
    if (rounds)
      return error(access.op) << "the gradient of a " << shownKind(access)
                              << " goes to the number that equals it, but this one may be "
                                 "rounded otherwise when it is computed again (at "
                              << placeText(rounds)
                              << "); write it to a field in another kernel, and take the "
                              << shownKind(access) << " of that";
    for (const MemoryAccess &other : accesses)
      if (areOfOnePlace(access, other) && failed(checkOne(access, other, activity)))
        return failure();
  }
  return success();
}

/// Of two accesses of one place, of which the first is combined.
LogicalResult CombinedPlaces::checkOne(const MemoryAccess &access, const MemoryAccess &other,
                                       const DerivativeActivity &activity) const {
  std::string name = shownName(kernel, access);
  StringRef kind = shownKind(access);
  if (!other.writes()) {
    if (activity.isActive(other.result) && mayOverwrite(other, access))
      return error(other.op) << "'" << name << "' is read here, but is no whole " << kind
                             << " yet: see " << placeText(access.op)
                             << "; read it in another kernel";
    return success();
  }
  if (other.combined == access.combined)
    return success();
  if (mayOverwrite(access, other))
    return error(access.op) << "the gradient of a " << kind << " needs its result, but '" << name
                            << "' may have been changed since, at " << placeText(other.op)
                            << "; change it in another kernel";
  if (access.isProduct() && activity.isActive(other.written) && mayOverwrite(other, access))
    return error(other.op) << "'" << name
                           << "' gets a value with a derivative here, and is multiplied, at "
                           << placeText(access.op)
                           << "; multiply the value first, or in another kernel";
  return success();
}
