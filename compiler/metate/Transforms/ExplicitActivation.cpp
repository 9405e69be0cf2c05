//===- ExplicitActivation.cpp - sparsity made explicit ----------*- C++ -*-===//
//
// Stage 3. After it, every store and atomic is `active`: guarded by an activate or proved to need
// none.
//
//===----------------------------------------------------------------------===//
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/Checks.h"
#include "metate/Transforms/Passes.h"

#include "metate/Mutants/Mutants.h"
#include "metate/abi/module.h"

namespace metate {
#define GEN_PASS_DEF_EXPLICITACTIVATION
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
struct ExplicitActivation : metate::impl::ExplicitActivationBase<ExplicitActivation> {
  void runOnOperation() override {
    SmallVector<Operation *> writes;
    getOperation().walk([&](Operation *op) {
      if (isa<StoreOp, AtomicOp>(op) && !op->hasAttr("active"))
        writes.push_back(op);
    });
    for (Operation *op : writes)
      guard(op);
    getOperation().walk([&](ForEachOp loop) { markTopology(loop); });
    recordAccess();
  }

private:
  /// True if the access is at the own cell of the struct-for around it, under the same slots.
  bool isOwnCell(const CellAccess &access, const TreePath &path, Operation *op) {
    for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp()) {
      auto loop = dyn_cast<ForEachOp>(parent);
      if (!loop)
        continue;
      auto loopPath = findPath(cast<TreeType>(loop.getTree().getType()), loop.getPath());
      return loop.getTree() == access.tree && loopPath->rank() == path.rank() &&
             loopPath->extents == path.extents && poolLevels(*loopPath) == poolLevels(path) &&
             (llvm::equal(loop.getBody().getArguments(), access.coordinates) ||
              isMutant(Mutant::NeighbourStoreProved));
    }
    return false;
  }

  /// An earlier activate of the same cell that reaches `op`, or null.
  Value earlierActivation(const CellAccess &access, const TreePath &path, Operation *op) {
    for (ActivateOp earlier : activations[access.tree]) {
      TreePath other = *findPath(earlier.getTreeType(), earlier.getPath());
      if (other.extents == path.extents && poolLevels(other) == poolLevels(path) &&
          (llvm::equal(earlier.getCoordinates(), access.coordinates) ||
           isMutant(Mutant::OtherCellProved)) &&
          earlier->getBlock()->findAncestorOpInBlock(*op) &&
          earlier->isBeforeInBlock(earlier->getBlock()->findAncestorOpInBlock(*op)))
        return earlier.getActive();
    }
    return {};
  }

  void guard(Operation *op) {
    CellAccess access = *CellAccess::of(op);
    TreePath path = access.resolve();
    if (path.lastPool() < 0 || isOwnCell(access, path, op)) {
      ++proved;
      op->setAttr("active", UnitAttr::get(&getContext()));
      return;
    }
    OpBuilder builder(op);
    Value active = earlierActivation(access, path, op);
    if (active) {
      ++proved;
    } else {
      auto activate = ActivateOp::create(builder, op->getLoc(), builder.getI1Type(), access.tree,
                                         builder.getStringAttr(access.path), access.coordinates);
      activations[access.tree].push_back(activate);
      active = activate.getActive();
      if (getOperation().getDebug())
        checkActivation(activate);
      ++inserted;
    }
    op->setAttr("active", builder.getUnitAttr());
    wrap(op, active, path);
  }

  /// Puts the access under `active`; an atomic that did not happen yields the background.
  void wrap(Operation *op, Value active, const TreePath &path) {
    OpBuilder builder(op);
    auto branch = scf::IfOp::create(builder, op->getLoc(), op->getResultTypes(), active,
                                    /*withElse=*/op->getNumResults() != 0);
    op->replaceAllUsesWith(branch);
    Block *then = branch.thenBlock();
    op->moveBefore(then, then->begin());
    if (op->getNumResults() == 0)
      return;
    builder.setInsertionPointToEnd(then);
    scf::YieldOp::create(builder, op->getLoc(), op->getResults());
    builder.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(builder, op->getLoc(), backgroundOf(builder, cast<AtomicOp>(op), path));
  }

  static Value backgroundOf(OpBuilder &builder, AtomicOp op, const TreePath &path) {
    Type type = op.getOld().getType();
    TypedAttr background = path.place.getBackground();
    if (!background)
      background = builder.getZeroAttr(type);
    else if (auto integer = dyn_cast<IntegerAttr>(background)) // an unsigned member's has a sign
      background = IntegerAttr::get(type, integer.getValue());
    if (background.getType() == type)
      return arith::ConstantOp::create(builder, op.getLoc(), background);
    // Of a vector or a component of one: reading the inactive cell gives it.
    return LoadOp::create(builder, op.getLoc(), type, op.getTree(), op.getPathAttr(),
                          op.getCoordinates(), op.getComponents());
  }

  /// A loop that may activate cells of a tree it walks visits the cells of earlier epochs only.
  void markTopology(ForEachOp loop) {
    WalkResult changes = loop.walk([&](ActivateOp activate) {
      return mayBeSameTree(getOperation(), activate.getTree(), loop.getTree())
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (changes.wasInterrupted())
      loop->setAttr("metate.changes_topology", UnitAttr::get(&getContext()));
  }

  void recordAccess() {
    llvm::DenseMap<Value, int64_t> access;
    getOperation().walk([&](Operation *op) {
      TypeSwitch<Operation *>(op)
          .Case<LoadOp, IsActiveOp, ForEachOp>(
              [&](auto read) { access[read.getTree()] |= METATE_ACCESS_READ; })
          .Case<StoreOp>([&](StoreOp store) { access[store.getTree()] |= METATE_ACCESS_WRITE; })
          .Case<AtomicOp>([&](AtomicOp rmw) {
            access[rmw.getTree()] |= METATE_ACCESS_READ | METATE_ACCESS_WRITE;
          })
          .Case<ActivateOp>([&](ActivateOp op) {
            access[op.getTree()] |= METATE_ACCESS_WRITE | METATE_ACCESS_ACTIVATE;
          })
          .Case<memref::LoadOp>([&](auto load) { access[load.getMemRef()] |= METATE_ACCESS_READ; })
          .Case<memref::StoreOp>(
              [&](auto store) { access[store.getMemRef()] |= METATE_ACCESS_WRITE; })
          .Case<memref::AtomicRMWOp>([&](auto rmw) {
            access[rmw.getMemref()] |= METATE_ACCESS_READ | METATE_ACCESS_WRITE;
          });
      if (auto loop = dyn_cast<ForEachOp>(op); loop && loop->hasAttr("metate.changes_topology"))
        access[loop.getTree()] |= METATE_ACCESS_WRITE;
    });
    KernelOp kernel = getOperation();
    Builder builder(&getContext());
    for (BlockArgument argument : kernel.getBody().getArguments())
      if (isa<TreeType, MemRefType>(argument.getType()))
        kernel.setArgAttr(argument.getArgNumber(), "metate.access",
                          builder.getI64IntegerAttr(access.lookup(argument)));
  }

  llvm::DenseMap<Value, SmallVector<ActivateOp>> activations;
};
} // namespace
