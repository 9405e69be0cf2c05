//===- Graphs.cpp - runs of kernels as a driver's nodes ---------*- C++ -*-===//
//
// A graph is no function: its driver walks through its runs, and computes what it gives to each of them.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Grid/Graphs.h"

#include "metate/Dialect/Graph.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Grid/Expressions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace metate;
using namespace metate::grid;

namespace {
class GraphMapping {
public:
  GraphMapping(KernelOp graph, const GraphParts &parts, Kernel &made, std::vector<Kernel> &segments)
      : graph(graph), parts(parts), made(made), segments(segments), expressions(parts.slots) {}

  LogicalResult run() {
    placeArrays();
    if (failed(placeIntermediates()))
      return failure();
    SmallVector<Operation *> rest;
    for (Operation &op : llvm::make_early_inc_range(graph.getBody().front())) {
      if (!isNode(&op) && !isNothing(&op)) {
        rest.push_back(&op);
        continue;
      }
      if (isNode(&op) && (failed(addSegment(rest)) || failed(add(&op))))
        return failure();
    }
    return addSegment(rest);
  }

private:
  KernelOp graph;
  const GraphParts &parts;
  Kernel &made;
  std::vector<Kernel> &segments;
  Expressions expressions;

  static bool isNode(Operation *op) { return isa<RunOp, scf::ForOp, SerialOp>(op); }
  /// A driver asks the host in each turn anyhow; numbers are computed where they are used.
  static bool isNothing(Operation *op) {
    return isa<PollOp, memref::AllocaOp, ReturnOp>(op) || op->hasTrait<OpTrait::IsTerminator>() ||
           (op->getNumRegions() == 0 && isMemoryEffectFree(op));
  }

  LogicalResult refuse(Operation *op, const Twine &what) const {
    return op->emitError("a graph on this target has runs of kernels and loops around them; ")
           << what;
  }

  /// Behind what its kernels leave in the frame.
  void placeArrays() {
    graph.walk([&](RunOp run) {
      made.frameBytes = std::max(made.frameBytes, parts.table.find(run.getKernel())->frameBytes);
    });
    graph.walk([&](memref::AllocaOp array) {
      auto type = array.getType();
      int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8) * type.getNumElements();
      expressions.places[array] = made.frameBytes;
      made.frameBytes = uint32_t(llvm::alignTo(made.frameBytes + bytes, 64));
      made.flags |= METATE_GRID_FRAME;
    });
  }

  /// The graph's pool is a part of the frame, which is the device's as the pool would be: the interface has it no more.
  LogicalResult placeIntermediates() {
    std::optional<uint64_t> begin;
    auto result = graph.walk([&](PoolOp pool) {
      if (!begin) {
        begin = llvm::alignTo(made.frameBytes, 64);
        if (pool.getBytes() > UINT32_MAX / 2 - *begin)
          return WalkResult(refuse(pool, "its intermediates have more than 2^31 bytes"));
        made.frameBytes = uint32_t(llvm::alignTo(*begin + pool.getBytes(), 64));
        made.flags |= METATE_GRID_FRAME;
      }
      expressions.places[pool] = int64_t(*begin + pool.getOffset());
      return WalkResult::advance();
    });
    for (auto interface : graph->getParentOfType<ModuleOp>().getOps<InterfaceOp>())
      if (begin && interface.getEntry() == graph.getSymName())
        interface.removePoolsAttr();
    return failure(result.wasInterrupted());
  }

  LogicalResult addAll(Block &block) {
    for (Operation &op : block) {
      if (isNode(&op) ? failed(add(&op)) : !isNothing(&op))
        return isNode(&op) ? failure() : refuse(&op, "in a loop this is neither");
    }
    return success();
  }

  LogicalResult add(Operation *op) {
    if (auto run = dyn_cast<RunOp>(op))
      return addRun(run);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return addLoop(loop);
    return addAll(cast<SerialOp>(op).getBody().front());
  }

  /// What the graph itself asks of a tree, say: its kernel takes the graph's slots.
  LogicalResult addSegment(SmallVector<Operation *> &ops) {
    if (ops.empty())
      return success();
    Node node;
    for (unsigned slot = 0; slot < made.slots; ++slot)
      node.operands.push_back({{METATE_GRID_SLOT, slot}});
    if (made.slots > METATE_GRID_MAX_SLOTS)
      return refuse(ops.front(), "this one has too many arguments");
    segments.push_back(parts.makeSegment(ops));
    node.kernel = segments.back().entry;
    made.flags |= segments.back().flags;
    made.nodes.push_back(std::move(node));
    ops.clear();
    return success();
  }

  LogicalResult addRun(RunOp run) {
    Node node;
    node.kernel = run.getKernel().str();
    const Kernel *inner = parts.table.find(node.kernel);
    for (Value operand : run.getOperands()) {
      auto steps = expressions.slotsOf(operand);
      if (!steps)
        return refuse(run, "an operand is computed in a way that no driver knows");
      llvm::append_range(node.operands, std::move(*steps));
    }
    if (inner->slots > METATE_GRID_MAX_SLOTS || node.operands.size() != inner->slots)
      return refuse(run, "this kernel has too many arguments");
    if (node.operands.size() > 1 && isMutant(Mutant::GridOperandsExchanged))
      std::swap(node.operands.end()[-1], node.operands.end()[-2]);
    made.flags |= inner->flags;
    made.nodes.push_back(std::move(node));
    return success();
  }

  LogicalResult addLoop(scf::ForOp loop) {
    if (loop.getNumResults())
      return refuse(loop, "this loop carries values");
    if (expressions.loops.size() == METATE_GRID_MAX_LOOPS)
      return refuse(loop, "this loop stands in too many others");
    auto turns = turnsOf(loop);
    if (!turns)
      return refuse(loop, "the turns of this loop are computed in a way that no driver knows");
    size_t at = made.nodes.size();
    made.nodes.push_back({"", {std::move(*turns)}, 0});
    expressions.loops.push_back(loop);
    LogicalResult result = addAll(*loop.getBody());
    expressions.loops.pop_back();
    made.nodes[at].body = uint32_t(made.nodes.size() - at - 1);
    if (!made.nodes[at].body) // of runs that are gone
      made.nodes.pop_back();
    return result;
  }

  std::optional<std::vector<Step>> turnsOf(scf::ForOp loop) {
    auto steps = expressions.ofBuilt(loop, [&](OpBuilder &builder) {
      Location loc = loop.getLoc();
      Value size =
          builder.createOrFold<arith::SubIOp>(loc, loop.getUpperBound(), loop.getLowerBound());
      return builder.createOrFold<arith::CeilDivSIOp>(loc, size, loop.getStep());
    });
    if (steps && isMutant(Mutant::GridTurnLeftOut))
      steps->insert(steps->end(), {{METATE_GRID_CONSTANT, 1}, {METATE_GRID_SUB}});
    return steps;
  }
};
} // namespace

LogicalResult grid::mapGraph(KernelOp graph, const GraphParts &parts, Kernel &made,
                             std::vector<Kernel> &segments) {
  return GraphMapping(graph, parts, made, segments).run();
}
