//===- DemoteAtomics.cpp - atomics that one iteration owns ------*- C++ -*-===//
#include "metate/Dialect/Call.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/Checks.h"
#include "metate/Transforms/Passes.h"

namespace metate {
#define GEN_PASS_DEF_DEMOTEATOMICS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
struct DemoteAtomics : metate::impl::DemoteAtomicsBase<DemoteAtomics> {
  void runOnOperation() override {
    for (Operation &op : getOperation().getBody().front())
      if (isa<RangeOp, ForEachOp>(op))
        visitLoop(&op);
  }

private:
  /// Where an operation writes: the tree or array and its coordinates; nullopt if it writes
  /// nothing.
  static std::optional<std::pair<Value, OperandRange>> writeOf(Operation *op) {
    if (auto cell = CellAccess::of(op))
      return writesMember(op) ? std::optional(std::pair(cell->tree, cell->coordinates))
                              : std::nullopt;
    if (auto store = dyn_cast<memref::StoreOp>(op))
      return std::pair(store.getMemRef(), store.getIndices());
    if (auto rmw = dyn_cast<memref::AtomicRMWOp>(op))
      return std::pair(rmw.getMemref(), rmw.getIndices());
    return std::nullopt;
  }

  /// Exactly the loop's variables come first, in order; more indices (element dimensions) may
  /// follow.
  static bool isOwn(Operation *loop, OperandRange coordinates) {
    auto variables = loop->getRegion(0).getArguments();
    return coordinates.size() >= variables.size() &&
           llvm::equal(variables, coordinates.take_front(variables.size()));
  }

  void visitLoop(Operation *loop) {
    llvm::DenseSet<Value> shared, written;
    bool mayAlias = getOperation().getMayAlias();
    walkWithCalls(loop, [&](Operation *op) {
      if (auto write = writeOf(op)) {
        written.insert(write->first);
        if (!isOwn(loop, write->second))
          shared.insert(write->first);
      }
      return WalkResult::advance();
    });
    // Overlapping arguments: one foreign write anywhere may hit any of them, and the own element of
    // one may be another iteration's of the next.
    bool mayMeet = mayAlias && (written.size() > 1 || !shared.empty());
    SmallVector<Operation *> atomics;
    loop->walk([&](Operation *op) {
      if (!isa<AtomicOp, memref::AtomicRMWOp>(op))
        return;
      if (mayMeet)
        remarkKept(op, ": arguments of this call may overlap");
      else if (shared.contains(writeOf(op)->first))
        remarkKept(op, ": the loop writes it at other places than the iteration's own as well");
      else
        atomics.push_back(op);
    });
    for (Operation *op : atomics)
      demote(op);
  }

  static std::string nameOf(Operation *op) {
    std::optional<CellAccess> cell = CellAccess::of(op);
    return cell ? accessName(cell->tree, cell->path).name : accessName(writeOf(op)->first).name;
  }

  static void remarkKept(Operation *op, StringRef why) {
    if (auto remark = remarkDeclined(op, "demote-atomics", "atomics"))
      remark << "'" << nameOf(op) << "' is changed by an atomic operation" << why;
  }

  void demote(Operation *op) {
    if (auto remark = remarkDone(op, "demote-atomics", "atomics"))
      remark << "the atomic operation on '" << nameOf(op)
             << "' is demoted to a plain load and store: each iteration has a place of its own";
    OpBuilder builder(op);
    Location loc = op->getLoc();
    Value old, next;
    if (auto rmw = dyn_cast<memref::AtomicRMWOp>(op)) {
      old = memref::LoadOp::create(builder, loc, rmw.getMemref(), rmw.getIndices());
      next = combine(builder, loc, rmw.getKind(), old, rmw.getValue());
      memref::StoreOp::create(builder, loc, next, rmw.getMemref(), rmw.getIndices());
    } else {
      auto cell = cast<AtomicOp>(op);
      old = LoadOp::create(builder, loc, cell.getValue().getType(), cell.getTree(),
                           cell.getPathAttr(), cell.getCoordinates(), cell.getComponents());
      next = combine(builder, loc, cell.getKind(), old, cell.getValue());
      StoreOp::create(builder, loc, next, cell.getTree(), cell.getPathAttr(), cell.getCoordinates(),
                      cell.getComponents(), cell.getActiveAttr());
    }
    op->replaceAllUsesWith(ValueRange(isMutant(Mutant::DemotedReturnsNew) ? next : old));
    op->erase();
    ++demoted;
  }

  static Value combine(OpBuilder &builder, Location loc, arith::AtomicRMWKind kind, Value old,
                       Value value) {
    if (isMutant(Mutant::DemotedMaxIsMin) && kind == arith::AtomicRMWKind::maxs)
      kind = arith::AtomicRMWKind::mins;
    if (kind == arith::AtomicRMWKind::assign)
      return value;
    return arith::getReductionOp(kind, builder, loc, old, value);
  }
};
} // namespace
