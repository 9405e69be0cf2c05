//===- PlanIntermediates.cpp - memory of a graph's own arrays ---*- C++ -*-===//
//
// Each array gets a place in one pool, so that arrays which are needed at the same time lie apart. Offsets do not depend on the
// launch: they are those of the largest extents. An array is needed from a run that writes it to the last one that uses that: until one
// that writes all of it (WholeWrites.h) there are others. One that a loop uses is needed in the whole loop, whose next turn may find what
// this one left, unless each turn begins by writing all of it. How the places are found is Arena's business (Arena.h).
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Graph.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/Arena.h"
#include "metate/Transforms/Passes.h"
#include "metate/Transforms/WholeWrites.h"
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
      arena.add(*bytes, timesOf(op));
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
    tellHosts(plan);
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
  /// A line behind what the author wrote: headers, inspect and `metate build` show it.
  void tellHosts(const ArenaPlan &plan) {
    std::string text;
    if (auto written = graph->getAttrOfType<StringAttr>(mark::documentation))
      text = written.str() + "\n\n";
    text += intermediatesNote.str() + std::to_string(plan.offsets.size()) + " arrays in " +
            std::to_string(plan.bytes) + " bytes, " + std::to_string(plan.bytes - plan.leastBytes) +
            " more than are needed at once; " + std::to_string(plan.apartBytes) +
            " without sharing";
    graph->setAttr(mark::documentation, StringAttr::get(graph.getContext(), text));
  }

  RunOp firstOf(IntermediateOp op) {
    RunOp first;
    for (Operation *user : op->getUsers())
      if (auto run = cast<RunOp>(user); !first || steps.lookup(run) < steps.lookup(first))
        first = run;
    return first;
  }

  /// The innermost loop around all runs that use it; null: none.
  Operation *homeOf(IntermediateOp op) {
    Operation *home = nullptr;
    for (Operation *parent = (*op->user_begin())->getParentOp(); parent != graph && !home;
         parent = parent->getParentOp())
      if (isa<scf::ForOp>(parent) && llvm::all_of(op->getUsers(), [&](Operation *user) {
            return parent->isProperAncestor(user);
          }))
        home = parent;
    return home;
  }

  /// Does the run write all of it, and read nothing of it? Then nobody needs what it held before.
  static bool renews(RunOp run, IntermediateOp op) {
    for (auto [number, operand] : llvm::enumerate(run.getOperands()))
      if (operand == op.getArray() && !writesAllOf(kernelOf(run), unsigned(number)))
        return false;
    return true;
  }

  /// The outermost loop around a run that is inside of `around`; null: none.
  static Operation *loopIn(Operation *around, Operation *run) {
    Operation *loop = nullptr;
    for (Operation *parent = run->getParentOp(); parent != around; parent = parent->getParentOp())
      loop = isa<scf::ForOp>(parent) ? parent : loop;
    return loop;
  }

  /// The steps in which it must be there: from each run that renews it to the last one that uses that.
  std::vector<Lifetime> timesOf(IntermediateOp op) {
    // Where each turn of a loop begins by renewing it, its times are those of a turn.
    Operation *home = homeOf(op), *around = graph;
    if (RunOp first = firstOf(op); home && first->getParentOp() == home && renews(first, op))
      around = home;
    SmallVector<Operation *> users(op->user_begin(), op->user_end());
    llvm::sort(users,
               [&](Operation *a, Operation *b) { return steps.lookup(a) < steps.lookup(b); });
    std::vector<Lifetime> times;
    for (Operation *user : users) {
      Lifetime time = {steps.lookup(user), steps.lookup(user)};
      Operation *loop = loopIn(around, user);
      if (loop && !isMutant(Mutant::LoopLifeForgotten)) // what its turns leave for one another
        loop->walk([&](RunOp run) {
          time = {std::min(time.begin, steps.lookup(run)), std::max(time.end, steps.lookup(run))};
        });
      if (times.empty() ||
          (!loop && renews(cast<RunOp>(user), op) && time.begin > times.back().end))
        times.push_back(time);
      else
        times.back().end = std::max(times.back().end, time.end);
    }
    return times;
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
    RunOp first = firstOf(op);
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
