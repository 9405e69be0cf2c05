//===- DemoteAtomics.cpp - atomics that one iteration owns ------*- C++ -*-===//
#include "metate/Dialect/Call.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/Checks.h"
#include "metate/Transforms/OwnPlaces.h"
#include "metate/Transforms/Passes.h"
#include "metate/Transforms/PlainAtomics.h"

namespace metate {
#define GEN_PASS_DEF_DEMOTEATOMICS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
struct DemoteAtomics : metate::impl::DemoteAtomicsBase<DemoteAtomics> {
  void runOnOperation() override {
    for (Operation &op : llvm::make_early_inc_range(getOperation().getBody().front()))
      if (isa<RangeOp, ForEachOp>(op))
        visitLoop(&op);
      else if (!isa<FunctionOp>(op)) // which parallel loops may call
        visitSerial(&op);
  }

private:
  /// Tasks of a launch run one after the other: no iteration runs beside what one worker runs alone. The host may: what a loop
  /// asks for again and again until something happens is asked for.
  void visitSerial(Operation *op) {
    SmallVector<Operation *> atomics;
    op->walk([&](Operation *inner) {
      if (!isa<AtomicOp, memref::AtomicRMWOp>(inner))
        return;
      if (!inner->use_empty() && inner->getParentOfType<scf::WhileOp>())
        remarkKept(inner, ": its old value may be what the loop waits for");
      else
        atomics.push_back(inner);
    });
    for (Operation *atomic : atomics)
      demote(atomic, "no other iterations run beside it");
  }

  void visitLoop(Operation *loop) {
    LoopWrites writes(loop, getOperation().getMayAlias());
    SmallVector<Operation *> atomics;
    loop->walk([&](Operation *op) {
      if (!isa<AtomicOp, memref::AtomicRMWOp>(op))
        return;
      if (writes.mayMeet())
        remarkKept(op, ": arguments of this call may overlap");
      else if (!writes.areOwn(writeOf(op)->first))
        remarkKept(op, ": the loop writes it at other places than the iteration's own as well");
      else
        atomics.push_back(op);
    });
    for (Operation *op : atomics)
      demote(op, "each iteration has a place of its own");
  }

  static std::string nameOf(Operation *op) {
    std::optional<CellAccess> cell = CellAccess::of(op);
    return cell ? accessName(cell->tree, cell->path).name
                : accessName(writeOf(op)->first.first).name;
  }

  static void remarkKept(Operation *op, StringRef why) {
    if (auto remark = remarkDeclined(op, "demote-atomics", "atomics"))
      remark << "'" << nameOf(op) << "' is changed by an atomic operation" << why;
  }

  void demote(Operation *op, StringRef why) {
    if (auto remark = remarkDone(op, "demote-atomics", "atomics"))
      remark << "the atomic operation on '" << nameOf(op)
             << "' is demoted to a plain load and store: " << why;
    makePlain(op);
    ++demoted;
  }
};
} // namespace
