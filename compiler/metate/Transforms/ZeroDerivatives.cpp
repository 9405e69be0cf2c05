//===- ZeroDerivatives.cpp - derivatives that are zero where one may have meant otherwise -------===//
#include "metate/Transforms/ZeroDerivatives.h"

#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/DerivativeActivity.h"
#include "metate/Transforms/DerivativeRules.h"
#include "metate/Transforms/StaleReads.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace metate;

namespace {
/// What becomes of a value that is read.
class Ways {
public:
  explicit Ways(const DerivativePlaces &places) : places(places) {}

  bool isSmooth =
      false; ///< one goes to a place with a derivative through operations that have some
  Operation *through = nullptr; ///< the first operation of another way that has none

  void follow(Value read) {
    reach(read, nullptr);
    while (!work.empty()) {
      auto [value, flat] = work.pop_back_val();
      for (OpOperand &use : value.getUses())
        visit(use, flat);
    }
  }

private:
  /// `flat`: the operation without a derivative that is behind it; null: there is none.
  void reach(Value value, Operation *flat) {
    if ((flat ? behindFlat : behindSmooth).insert(value).second)
      work.emplace_back(value, flat);
  }

  void arrive(Operation *flat) {
    if (!flat)
      isSmooth = true;
    else if (!through ||
             (flat->getBlock() == through->getBlock() && flat->isBeforeInBlock(through)))
      through = flat;
  }

  static bool isFlat(Operation *op, OpOperand &use) {
    if (isa<math::FloorOp, math::CeilOp, math::RoundOp, math::RoundEvenOp, math::TruncOp>(op))
      return true;
    bool chooses = isa<arith::SelectOp>(op) && use.getOperandNumber() == 0;
    return chooses ||
           llvm::none_of(op->getResultTypes(), [](Type type) { return isDifferentiable(type); });
  }

  void visit(OpOperand &use, Operation *flat) {
    Operation *user = use.getOwner();
    for (Value next : handedOnTo(use))
      reach(next, flat);
    if (auto branch = dyn_cast<scf::IfOp>(user))
      return decide(branch, flat);
    std::optional<MemoryAccess> access = MemoryAccess::of(user);
    if (access) {
      if (access->writes() && use.get() == access->written && places.has(*access))
        arrive(flat);
      return;
    }
    if (user->getNumRegions() || isa<StopGradientOp>(user))
      return; // a bound; what was meant
    if (!flat && isFlat(user, use))
      flat = user;
    for (Value result : user->getResults())
      reach(result, flat);
  }

  /// A condition decides what is written in its branches, and what they give.
  void decide(scf::IfOp branch, Operation *flat) {
    for (Value result : branch.getResults())
      reach(result, flat);
    branch.walk([&](Operation *op) {
      std::optional<MemoryAccess> access = MemoryAccess::of(op);
      if (access && access->writes() && places.has(*access))
        arrive(flat);
    });
  }

  const DerivativePlaces &places;
  SmallVector<std::pair<Value, Operation *>> work;
  llvm::DenseSet<Value> behindFlat, behindSmooth;
};
} // namespace

static StringRef wordsFor(Operation *op) {
  if (isa<arith::CmpFOp, arith::SelectOp>(op))
    return "this comparison";
  if (isa<math::FloorOp, math::CeilOp, math::RoundOp, math::RoundEvenOp, math::TruncOp>(op))
    return "this rounding";
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op))
    return "this conversion to an integer";
  return "this operation";
}

void metate::remarkZeroDerivatives(KernelOp kernel, const DerivativePlaces &places) {
  if (!wantsRemarks(kernel.getContext()))
    return;
  struct Variable {
    MemoryAccess read;
    Ways ways;
  };
  llvm::MapVector<std::pair<Value, StringRef>, Variable> variables;
  kernel.walk([&](Operation *op) {
    std::optional<MemoryAccess> access = MemoryAccess::of(op);
    if (!access || !access->reads() || !places.has(*access) || isLocalArray(kernel, access->base))
      return;
    auto [at, isNew] =
        variables.try_emplace({access->base, access->path}, Variable{*access, Ways(places)});
    at->second.ways.follow(access->result);
  });
  for (auto &[place, variable] : variables)
    if (!variable.ways.isSmooth && variable.ways.through)
      remarkNoted(variable.ways.through, "differentiate", "gradients")
          << ("all that the kernel computes of '" + shownName(kernel, variable.read) +
              "' goes through " + wordsFor(variable.ways.through) +
              ", whose derivative is zero: no gradient comes back; compute with the number itself, "
              "or say mt.stop_grad")
                 .str();
}
