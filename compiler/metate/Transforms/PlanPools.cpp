//===- PlanPools.cpp - numbers and sizes of planned memory ------*- C++ -*-===//
//
// The one place that knows a kernel's pools: the sizes that hosts read and the numbers that code is made with
// come from here. Must not know what pools are for.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Graph.h"
#include "metate/Transforms/Passes.h"

namespace metate {
#define GEN_PASS_DEF_PLANPOOLS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

/// The first of the entry's slots of an argument: vectors have one for each number.
static int64_t slotOf(BlockArgument argument) {
  int64_t slot = 0;
  for (BlockArgument before :
       argument.getOwner()->getArguments().take_front(argument.getArgNumber())) {
    auto vector = dyn_cast<VectorType>(before.getType());
    slot += vector ? vector.getNumElements() : 1;
  }
  return slot;
}

namespace {
/// The pools of one kernel, in the order in which they are met.
class PoolPlan {
public:
  LogicalResult add(PoolOp op);
  /// `places`: the memories of pools by their names, or null.
  ArrayAttr list(MLIRContext *context, DictionaryAttr places) const;
  bool has(StringRef name) const { return pools.contains(name); }

private:
  struct Entry {
    PoolOp first;
    int64_t bytes, align;
    SmallVector<int64_t> factors;
  };
  llvm::MapVector<StringRef, Entry> pools;
};
} // namespace

LogicalResult PoolPlan::add(PoolOp op) {
  SmallVector<int64_t> factors;
  for (Value factor : op.getFactors())
    factors.push_back(slotOf(cast<BlockArgument>(factor)));
  auto [at, isNew] =
      pools.insert({op.getName(), {op, int64_t(op.getBytes()), int64_t(op.getAlign()), factors}});
  Entry &entry = at->second;
  // Sizes that grow with different arguments have no largest one.
  if (op.getKind() != entry.first.getKind() || op.getScale() != entry.first.getScale() ||
      factors != entry.factors) {
    InFlightDiagnostic error = op.emitOpError("pool '")
                               << op.getName()
                               << "' is planned twice: expected the same kind, scale and factors";
    error.attachNote(entry.first.getLoc()) << "the first one is here";
    return error;
  }
  entry.bytes = std::max<int64_t>(entry.bytes, op.getBytes());
  entry.align = std::max<int64_t>(entry.align, op.getAlign());
  op.setIndex(at - pools.begin());
  return success();
}

ArrayAttr PoolPlan::list(MLIRContext *context, DictionaryAttr places) const {
  SmallVector<Attribute> attributes;
  for (const auto &[name, entry] : pools) {
    PoolOp op = entry.first;
    auto memory = places ? places.getAs<StringAttr>(name) : StringAttr();
    attributes.push_back(PoolAttr::get(context, name, op.getKind(), entry.bytes, entry.align,
                                       op.getScale(), entry.factors, /*variant=*/-1,
                                       memory ? memory.getValue() : ""));
  }
  return attributes.empty() ? ArrayAttr() : ArrayAttr::get(context, attributes);
}

/// Whoever says where a pool is to lie means one that there is.
static LogicalResult checkPlaces(KernelOp kernel, InterfaceOp interface, const PoolPlan &plan,
                                 DictionaryAttr places) {
  for (NamedAttribute place : places)
    if (!plan.has(place.getName()))
      return kernel.emitError() << "kernel '" << interface.getSymName()
                                << "': place: it has no pool " << place.getName()
                                << " that could lie in " << place.getValue();
  return success();
}

/// Operations of one pool are then told its size, which is one.
static LogicalResult planKernel(KernelOp kernel, InterfaceOp interface) {
  PoolPlan plan;
  SmallVector<PoolOp> ops;
  kernel.walk([&](PoolOp op) { ops.push_back(op); });
  for (PoolOp op : ops)
    if (failed(plan.add(op)))
      return failure();
  auto places = kernel->getAttrOfType<DictionaryAttr>(mark::places);
  if (places && failed(checkPlaces(kernel, interface, plan, places)))
    return failure();
  ArrayAttr list = plan.list(kernel.getContext(), places);
  for (PoolOp op : ops) {
    auto pool = cast<PoolAttr>(list[*op.getIndex()]);
    op.setBytes(pool.getBytes());
    op.setAlign(pool.getAlign());
  }
  if (!list)
    return success();
  interface.setPoolsAttr(list);
  return success();
}

/// A graph plans no memory for the kernels that it runs.
static LogicalResult refusePools(KernelOp node) {
  auto planned = node.walk([](PoolOp) { return WalkResult::interrupt(); });
  if (!planned.wasInterrupted())
    return success();
  return node.emitError() << "kernel '" << shownName(node)
                          << "' plans memory, and so cannot be a graph's: launch it by itself";
}

namespace {
struct PlanPools : metate::impl::PlanPoolsBase<PlanPools> {
  void runOnOperation() override {
    llvm::StringMap<KernelOp> kernels;
    for (KernelOp kernel : getOperation().getOps<KernelOp>())
      if (isNode(kernel) && failed(refusePools(kernel)))
        return signalPassFailure();
      else
        kernels[kernel.getSymName()] = kernel;
    for (InterfaceOp interface : getOperation().getOps<InterfaceOp>())
      if (KernelOp kernel = kernels.lookup(interface.getEntry()))
        if (failed(planKernel(kernel, interface)))
          return signalPassFailure();
  }
};
} // namespace
