//===- PerTarget.cpp - a copy of the module for each target -----*- C++ -*-===//
#include "metate/Pipelines/PerTarget.h"

#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/OwningOpRef.h"

using namespace mlir;
using namespace metate;
using llvm::Error;

/// The operations that describe a module to its hosts.
static SmallVector<Operation *> descriptionOf(ModuleOp module) {
  SmallVector<Operation *> ops;
  for (Operation &op : *module.getBody())
    if (!isa<PayloadOp>(op))
      ops.push_back(&op);
  return ops;
}

/// A host launches a kernel by one description, whichever payload it runs.
static Error checkSameDescription(ModuleOp first, const Target &firstTarget, ModuleOp other,
                                  const Target &otherTarget) {
  SmallVector<Operation *> a = descriptionOf(first), b = descriptionOf(other);
  auto differ = [&](const Twine &what) {
    return llvm::createStringError("targets '" + firstTarget.name() + "' and '" +
                                   otherTarget.name() +
                                   "' describe the module differently: " + what);
  };
  if (a.size() != b.size())
    return differ("expected as many interfaces, types and texts, got " + Twine(a.size()) + " and " +
                  Twine(b.size()));
  for (auto [one, two] : llvm::zip_equal(a, b))
    if (!OperationEquivalence::isEquivalentTo(one, two, OperationEquivalence::None)) {
      std::string text;
      llvm::raw_string_ostream(text) << *one << " and " << *two;
      return differ(text);
    }
  return Error::success();
}

/// What the interfaces of one copy say of its target's own code, kernel by kernel: the memory that it plans, and into how many tasks it
/// is cut.
struct OwnParts {
  SmallVector<ArrayAttr> pools;
  SmallVector<int64_t> tasks;
};

/// The interfaces are left without.
static OwnParts takeOwnParts(ModuleOp module) {
  OwnParts parts;
  for (InterfaceOp interface : module.getOps<InterfaceOp>()) {
    parts.pools.push_back(interface.getPoolsAttr());
    parts.tasks.push_back(interface.getTaskCount());
    interface.removePoolsAttr();
    interface.setTaskCount(0);
  }
  return parts;
}

/// A kernel's pools of all targets: one list where they are the same, else one behind the other with their variants.
static ArrayAttr joinPools(MLIRContext *context, ArrayRef<OwnParts> ofTargets, size_t kernel) {
  ArrayAttr first = ofTargets.front().pools[kernel];
  if (llvm::all_of(ofTargets, [&](const OwnParts &one) { return one.pools[kernel] == first; }))
    return first;
  SmallVector<Attribute> all;
  for (auto [variant, one] : llvm::enumerate(ofTargets))
    if (one.pools[kernel])
      for (PoolAttr pool : one.pools[kernel].getAsRange<PoolAttr>())
        all.push_back(PoolAttr::get(context, pool.getName(), pool.getKind(), pool.getBytes(),
                                    pool.getAlign(), pool.getScale(), pool.getFactors(),
                                    int64_t(variant), pool.getMemory()));
  return ArrayAttr::get(context, all);
}

/// Moves what the copies have become into the module.
static void join(ModuleOp module, MutableArrayRef<OwningOpRef<ModuleOp>> copies) {
  Block *body = module.getBody();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
    op.erase();
  Block *first = copies.front()->getBody();
  body->getOperations().splice(body->end(), first->getOperations());
  unsigned number = 0;
  for (OwningOpRef<ModuleOp> &copy : copies)
    for (PayloadOp payload : llvm::make_early_inc_range(
             copy->getBody()->getOps<PayloadOp>())) // none of the first: moved
      payload->moveBefore(body, body->end());
  for (PayloadOp payload : module.getOps<PayloadOp>())
    payload.setSymName(("payload" + Twine(number++)).str());
}

Error metate::forEachTarget(ModuleOp module, ArrayRef<TargetPtr> targets,
                            llvm::function_ref<Error(ModuleOp, const Target &)> work) {
  if (targets.size() == 1)
    return work(module, *targets.front());
  SmallVector<OwningOpRef<ModuleOp>> copies;
  SmallVector<OwnParts> parts;
  for (const TargetPtr &target : targets) {
    copies.push_back(module.clone());
    if (Error error = work(*copies.back(), *target))
      return error;
    parts.push_back(takeOwnParts(*copies.back()));
    if (Error error =
            checkSameDescription(*copies.front(), *targets.front(), *copies.back(), *target))
      return error;
  }
  join(module, copies);
  for (auto [k, interface] : llvm::enumerate(module.getOps<InterfaceOp>())) {
    if (ArrayAttr joined = joinPools(module.getContext(), parts, k))
      interface.setPoolsAttr(joined);
    for (const OwnParts &one : parts) // hosts are told of the most
      interface.setTaskCount(std::max<int64_t>(interface.getTaskCount(), one.tasks[k]));
  }
  return Error::success();
}
