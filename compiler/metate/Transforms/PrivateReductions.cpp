//===- PrivateReductions.cpp - atomics that only accumulate -----*- C++ -*-===//
//
// Marks, never rewrites: what an iteration does stays what it says. The mark allows the target to
// keep a partial result for each chunk of iterations and to add it to the place once.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/Checks.h"
#include "metate/Transforms/Passes.h"

#include "mlir/IR/Matchers.h"

namespace metate {
#define GEN_PASS_DEF_PRIVATEREDUCTIONS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// An access of memory that workers share.
struct SharedAccess {
  Operation *op;
  Value target;   ///< the tree or array
  StringRef path; ///< the tree's member; empty for an array
  SmallVector<Value> indices;
  std::optional<arith::AtomicRMWKind> kind; ///< of an atomic whose old value nobody asks for
  bool activates = false; ///< its cell may have to be activated first, or it asks for that
};

struct PrivateReductions : metate::impl::PrivateReductionsBase<PrivateReductions> {
  void runOnOperation() override {
    for (Operation &op : getOperation().getBody().front())
      if (isa<RangeOp, ForEachOp>(op))
        visitLoop(&op);
  }

private:
  static SharedAccess ofTree(Operation *op, const CellAccess &cell) {
    SharedAccess access{op,           cell.tree, cell.path, llvm::to_vector(cell.coordinates),
                        std::nullopt, false};
    if (auto atomic = dyn_cast<AtomicOp>(op)) {
      llvm::append_range(access.indices, atomic.getComponents());
      if (atomic.getOld().use_empty())
        access.kind = atomic.getKind();
    }
    access.activates = !isa<LoadOp>(op) && cell.resolve().lastActivity() >= 0;
    return access;
  }

  static std::optional<SharedAccess> of(Operation *op) {
    if (auto cell = CellAccess::of(op))
      return ofTree(op, *cell);
    if (auto load = dyn_cast<memref::LoadOp>(op))
      return SharedAccess{op, load.getMemRef(), "", llvm::to_vector(load.getIndices()), {}};
    if (auto store = dyn_cast<memref::StoreOp>(op))
      return SharedAccess{op, store.getMemRef(), "", llvm::to_vector(store.getIndices()), {}};
    auto rmw = dyn_cast<memref::AtomicRMWOp>(op);
    if (!rmw)
      return std::nullopt;
    SharedAccess access{op, rmw.getMemref(), "", llvm::to_vector(rmw.getIndices()), {}};
    if (rmw.getResult().use_empty())
      access.kind = rmw.getKind();
    return access;
  }

  /// Never one place: other members, or constants that differ along an axis.
  static bool areApart(const SharedAccess &a, const SharedAccess &b) {
    if (a.path != b.path)
      return true;
    for (auto [left, right] : llvm::zip(a.indices, b.indices)) {
      APInt first, second;
      if (matchPattern(left, m_ConstantInt(&first)) &&
          matchPattern(right, m_ConstantInt(&second)) && first != second)
        return true;
    }
    return false;
  }

  /// One place for the whole loop.
  static bool isFixed(Operation *loop, const SharedAccess &access) {
    return llvm::all_of(access.indices, [&](Value index) {
      return index.getParentRegion()->isProperAncestor(&loop->getRegion(0)) ||
             matchPattern(index, m_Constant());
    });
  }

  void visitLoop(Operation *loop) {
    SmallVector<SharedAccess> accesses;
    // What iterations before a failed check added must not be lost with the rest.
    bool stops = false;
    walkWithCalls(loop, [&](Operation *op) {
      stops |= mayStop(op) || (isa<ActivateOp>(op) && getOperation().getDebug());
      if (std::optional<SharedAccess> access = of(op))
        accesses.push_back(std::move(*access));
      return WalkResult::advance();
    });
    for (const SharedAccess &access : accesses) {
      if (!loop->isAncestor(access.op)) // a function's, which other loops may call
        continue;
      StringRef problem = stops ? "a check in the loop may stop the kernel, and what was added "
                                  "before must not be lost"
                                : problemOf(loop, access, accesses);
      remark(access, problem);
      if (!problem.empty())
        continue;
      setMark(access.op, mark::reduction);
      ++marked;
    }
  }

  /// Why an access is no reduction; empty: it is one.
  StringRef problemOf(Operation *loop, const SharedAccess &access,
                      ArrayRef<SharedAccess> accesses) {
    if (!access.kind)
      return "the value from before is used";
    if (access.kind == arith::AtomicRMWKind::assign)
      return "it assigns";
    if (!isFixed(loop, access))
      return "its place depends on the iteration";
    if (access.activates)
      return "it may have to activate its cell";
    // Whoever touches the place adds to it in the same way, and looks at nothing.
    bool mayAlias = getOperation().getMayAlias();
    bool alone = llvm::all_of(accesses, [&](const SharedAccess &other) {
      bool elsewhere = access.target != other.target
                           ? !mayAlias || !isa<MemRefType, TreeType>(other.target.getType())
                           : areApart(access, other);
      return elsewhere || other.kind == access.kind;
    });
    return alone ? "" : "the loop reads or changes its place in another way too";
  }

  /// Of atomics alone: other accesses ask for nothing.
  static void remark(const SharedAccess &access, StringRef problem) {
    if (!isa<AtomicOp, memref::AtomicRMWOp>(access.op) || !wantsRemarks(access.op->getContext()))
      return;
    std::string name = accessName(access.target, access.path).name;
    if (problem.empty())
      remarkDone(access.op, "private-reductions", "reductions")
          << "'" << name
          << "' gets a partial result for each chunk of iterations, added to it once";
    else
      remarkDeclined(access.op, "private-reductions", "reductions")
          << "no partial results for the atomic operation on '" << name << "': " << problem;
  }
};
} // namespace
