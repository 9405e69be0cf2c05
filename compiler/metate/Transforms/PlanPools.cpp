//===- PlanPools.cpp - numbers and sizes of planned memory ------*- C++ -*-===//
//
// The one place that knows a kernel's pools: the sizes that hosts read and the numbers that code is made with
// come from here. Must not know what pools are for.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Graph.h"
#include "metate/Transforms/Passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

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
  /// "'a', 'b'"; empty: the kernel plans no memory.
  std::string names() const;

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

std::string PoolPlan::names() const {
  return llvm::join(
      llvm::map_range(pools, [](const auto &pool) { return "'" + pool.first.str() + "'"; }), ", ");
}

/// A place is the memory's name and the line that says so.
static StringAttr memoryOf(Attribute place) { return cast<StringAttr>(cast<ArrayAttr>(place)[0]); }
static LocationAttr lineOf(Attribute place) {
  return cast<LocationAttr>(cast<ArrayAttr>(place)[1]);
}

ArrayAttr PoolPlan::list(MLIRContext *context, DictionaryAttr places) const {
  SmallVector<Attribute> attributes;
  for (const auto &[name, entry] : pools) {
    PoolOp op = entry.first;
    Attribute place = places ? places.get(name) : Attribute();
    attributes.push_back(PoolAttr::get(context, name, op.getKind(), entry.bytes, entry.align,
                                       op.getScale(), entry.factors, /*variant=*/-1,
                                       place ? memoryOf(place).getValue() : ""));
  }
  return attributes.empty() ? ArrayAttr() : ArrayAttr::get(context, attributes);
}

namespace {
/// A kernel of the module, as hosts know it.
struct PlannedKernel {
  KernelOp kernel;
  InterfaceOp interface;
  PoolPlan plan;
  SmallVector<PoolOp> ops;

  /// Operations of one pool are then told its size, which is one.
  void finish();
  DictionaryAttr places() { return kernel->getAttrOfType<DictionaryAttr>(mark::places); }
};
} // namespace

void PlannedKernel::finish() {
  ArrayAttr list = plan.list(kernel.getContext(), places());
  for (PoolOp op : ops) {
    auto pool = cast<PoolAttr>(list[*op.getIndex()]);
    op.setBytes(pool.getBytes());
    op.setAlign(pool.getAlign());
  }
  if (list)
    interface.setPoolsAttr(list);
}

/// Whoever says where a pool is to lie means one that there is.
static LogicalResult checkPlaces(PlannedKernel &planned, MutableArrayRef<PlannedKernel> all) {
  for (NamedAttribute place : planned.places()) {
    if (planned.plan.has(place.getName()))
      continue;
    StringRef kernel = planned.interface.getSymName();
    std::string own = planned.plan.names(), others;
    for (PlannedKernel &other : all)
      if (other.interface != planned.interface && !other.plan.names().empty())
        others += (others.empty() ? "" : ", ") + other.plan.names() + " of '" +
                  other.interface.getSymName().str() + "'";
    // At the location itself: an operation's error shows the operation.
    InFlightDiagnostic error = mlir::emitError(lineOf(place.getValue()));
    error << "place: kernel '" << kernel << "' has no pool '" << place.getName().getValue()
          << "' that could lie in '" << memoryOf(place.getValue()).getValue() << "': ";
    if (own.empty())
      error << "it plans no memory: leave place= away";
    else
      error << "name one of its pools: " << own;
    if (!others.empty())
      error << "; the module's other pools: " << others;
    return error;
  }
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
    SmallVector<PlannedKernel> all;
    for (InterfaceOp interface : getOperation().getOps<InterfaceOp>()) {
      KernelOp kernel = kernels.lookup(interface.getEntry());
      if (!kernel)
        continue;
      PlannedKernel &planned = all.emplace_back(PlannedKernel{kernel, interface, {}, {}});
      kernel.walk([&](PoolOp op) { planned.ops.push_back(op); });
      for (PoolOp op : planned.ops)
        if (failed(planned.plan.add(op)))
          return signalPassFailure();
    }
    for (PlannedKernel &planned : all) {
      if (planned.places() && failed(checkPlaces(planned, all)))
        return signalPassFailure();
      planned.finish();
    }
  }
};
} // namespace
