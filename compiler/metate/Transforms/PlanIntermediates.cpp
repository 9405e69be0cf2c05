//===- PlanIntermediates.cpp - memory of a graph's own arrays ---*- C++ -*-===//
//
// Each array gets a place in one pool, so that arrays which are needed at the same time lie apart. Offsets do not depend on the
// launch: they are those of the largest extents. An array is needed from the first run that uses it to the last one; one that a loop
// uses, in the whole loop, whose next turn may find what this one left. How the places are found is Arena's business (Arena.h).
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Graph.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/Arena.h"
#include "metate/Transforms/Passes.h"
#include "metate/abi/module.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

namespace metate {
#define GEN_PASS_DEF_PLANINTERMEDIATES
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

/// The bytes of the largest array that it may be; nullopt, with a diagnostic, where nothing bounds it.
static FailureOr<uint64_t> largestBytes(IntermediateOp op) {
  auto type = cast<MemRefType>(op.getArray().getType());
  uint64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  bool overflows = false;
  for (int64_t k = 0; k < type.getRank(); ++k) {
    int64_t extent = type.getDimSize(k);
    if (ShapedType::isDynamic(extent)) {
      auto dim = cast<DimAttr>(op.getShape()[k]);
      if (dim.getMax() == INT32_MAX) {
        op.emitError() << "intermediate '" << op.getName() << "': dim '" << dim.getName()
                       << "' has no maximum, by which its memory is planned: give the Dim a max";
        return failure();
      }
      extent = dim.getMax();
    }
    overflows |= __builtin_mul_overflow(bytes, uint64_t(extent), &bytes);
  }
  if (!overflows && bytes < (uint64_t(1) << 62))
    return bytes;
  op.emitError() << "intermediate '" << op.getName() << "' has more than 2^62 bytes";
  return failure();
}

namespace {
class GraphPlan {
public:
  explicit GraphPlan(KernelOp graph) : graph(graph) {}

  LogicalResult run() {
    graph.walk([&](RunOp run) { steps.insert({run, steps.size()}); });
    SmallVector<IntermediateOp> ops;
    for (IntermediateOp op : llvm::make_early_inc_range(graph.getBody().getOps<IntermediateOp>())) {
      if (op->use_empty()) {
        op.erase();
        continue;
      }
      FailureOr<uint64_t> bytes = largestBytes(op);
      if (failed(bytes) || failed(checkWritten(op)))
        return failure();
      auto [begin, end] = stepsOf(op);
      arena.add(*bytes, begin, end);
      ops.push_back(op);
    }
    if (ops.empty())
      return success();
    ArenaPlan plan = arena.plan();
    Builder builder(graph.getContext());
    for (auto [op, offset] : llvm::zip_equal(ops, plan.offsets)) {
      op.setOffsetAttr(builder.getI64IntegerAttr(int64_t(offset)));
      op.setTotalAttr(builder.getI64IntegerAttr(int64_t(plan.bytes)));
    }
    if (auto remark = remarkNoted(ops.front(), "plan-intermediates", "intermediates"))
      remark << Number("arrays", ops.size()) << " intermediates lie in "
             << Number("bytes", plan.bytes) << " bytes, "
             << Number("above", plan.bytes - plan.leastBytes) << " more than the "
             << Number("bound", plan.leastBytes)
             << " that are needed at once; apart they would have "
             << Number("apart", plan.apartBytes);
    return success();
  }

private:
  /// The first and the last step that it must be there for.
  std::pair<unsigned, unsigned> stepsOf(IntermediateOp op) {
    unsigned begin = ~0u, end = 0;
    auto cover = [&](RunOp run) {
      begin = std::min(begin, steps.lookup(run));
      end = std::max(end, steps.lookup(run));
    };
    for (Operation *user : op->getUsers()) {
      cover(cast<RunOp>(user));
      Operation *loop = nullptr; // the outermost one around it
      for (Operation *parent = user->getParentOp(); parent != graph; parent = parent->getParentOp())
        loop = isa<scf::ForOp>(parent) ? parent : loop;
      if (loop && !isMutant(Mutant::LoopLifeForgotten))
        loop->walk(cover);
    }
    return {begin, end};
  }

  /// A loop that may make no turn leaves unwritten what others read behind it.
  LogicalResult checkLoops(IntermediateOp op, RunOp writer) {
    for (Operation *parent = writer->getParentOp(); parent != graph;
         parent = parent->getParentOp()) {
      auto loop = dyn_cast<scf::ForOp>(parent);
      if (!loop || llvm::all_of(op->getUsers(),
                                [&](Operation *user) { return loop->isProperAncestor(user); }))
        continue;
      std::optional<int64_t> low = getConstantIntValue(loop.getLowerBound()),
                             high = getConstantIntValue(loop.getUpperBound());
      if (!low || !high || *low >= *high)
        return writer.emitError()
               << "intermediate '" << op.getName()
               << "' is first written in a loop that may make no turn, and used behind it: "
                  "write it before the loop as well";
    }
    return success();
  }

  /// What nobody has written has no meaning: the first kernel that is given it writes it.
  LogicalResult checkWritten(IntermediateOp op) {
    RunOp first;
    for (Operation *user : op->getUsers())
      if (auto run = cast<RunOp>(user); !first || steps.lookup(run) < steps.lookup(first))
        first = run;
    for (auto [number, operand] : llvm::enumerate(first.getOperands())) {
      auto access = kernelOf(first).getArgAttrOfType<IntegerAttr>(number, mark::access);
      if (operand == op.getArray() && access && access.getInt() & METATE_ACCESS_WRITE)
        return checkLoops(op, first);
    }
    return first.emitError() << "intermediate '" << op.getName()
                             << "' is given to a kernel that does not write it, before any other "
                                "kernel of the graph has written it";
  }

  KernelOp graph;
  llvm::MapVector<Operation *, unsigned> steps;
  Arena arena;
};

struct PlanIntermediates : metate::impl::PlanIntermediatesBase<PlanIntermediates> {
  void runOnOperation() override {
    for (KernelOp kernel : getOperation().getOps<KernelOp>())
      if (!isNode(kernel) && failed(GraphPlan(kernel).run()))
        return signalPassFailure();
  }
};
} // namespace
