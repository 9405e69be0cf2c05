//===- PromoteLocals.cpp - local variables become values --------*- C++ -*-===//
//
// SSA construction over structured control flow: one walk carries the current value of every
// promotable variable; loops and conditionals that assign one are rebuilt with it as an extra
// result.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/ParallelLoops.h"
#include "metate/Transforms/Passes.h"

#include "llvm/ADT/SetVector.h"

namespace metate {
#define GEN_PASS_DEF_PROMOTELOCALS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
using Values = llvm::MapVector<Value, Value>;

/// The parallel loop an operation stands in, or null.
Operation *parallelParent(Operation *op) {
  while ((op = op->getParentOp()) && !isa<KernelOp>(op))
    if (isParallel(op))
      return op;
  return nullptr;
}

struct PromoteLocals : metate::impl::PromoteLocalsBase<PromoteLocals> {
  void runOnOperation() override {
    WalkResult valid = getOperation().walk([&](memref::StoreOp store) {
      auto alloca = store.getMemRef().getDefiningOp<memref::AllocaOp>();
      if (!alloca || parallelParent(alloca) == parallelParent(store))
        return WalkResult::advance();
      store.emitError(
               "a variable of the kernel cannot be assigned in a parallel loop; its iterations "
               "are unordered")
              .attachNote(alloca.getLoc())
          << "the variable is defined here; make it local to the loop, or use an array or tree and "
             "an atomic";
      return WalkResult::interrupt();
    });
    if (valid.wasInterrupted())
      return signalPassFailure();
    visitScope(getOperation().getBody().front(), {});
  }

private:
  static bool isPromotable(memref::AllocaOp alloca) {
    return alloca.getType().getRank() == 0 &&
           llvm::all_of(alloca->getUsers(), [&](Operation *user) {
             if (auto store = dyn_cast<memref::StoreOp>(user))
               return store.getValue() != alloca.getResult();
             return isa<memref::LoadOp>(user);
           });
  }

  /// Variables of `values` that are assigned somewhere below `op`.
  static SmallVector<Value> assignedIn(Operation *op, const Values &values) {
    llvm::SetVector<Value> assigned;
    op->walk([&](memref::StoreOp store) {
      if (values.contains(store.getMemRef()))
        assigned.insert(store.getMemRef());
    });
    // In the order of definition, so that the IR does not depend on the walk.
    SmallVector<Value> ordered;
    for (auto &[variable, value] : values)
      if (assigned.contains(variable))
        ordered.push_back(variable);
    return ordered;
  }

  static SmallVector<Value> currentOf(ArrayRef<Value> variables, const Values &values) {
    return llvm::map_to_vector(variables, [&](Value variable) { return values.lookup(variable); });
  }

  void visitBlock(Block &block, Values &values) {
    for (Operation &op : llvm::make_early_inc_range(block))
      visit(op, values);
  }

  void visit(Operation &op, Values &values) {
    if (auto alloca = dyn_cast<memref::AllocaOp>(op)) {
      if (!isPromotable(alloca))
        return;
      OpBuilder builder(alloca);
      values[alloca] = arith::ConstantOp::create(
          builder, alloca.getLoc(), builder.getZeroAttr(alloca.getType().getElementType()));
      pending.push_back(alloca);
      ++promoted;
    } else if (auto load = dyn_cast<memref::LoadOp>(op)) {
      if (Value value = values.lookup(load.getMemRef())) {
        load.replaceAllUsesWith(value);
        load.erase();
      }
    } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
      if (values.contains(store.getMemRef())) {
        values[store.getMemRef()] = store.getValue();
        store.erase();
      }
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      visitIf(branch, values);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      visitFor(loop, values);
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      visitWhile(loop, values);
    } else {
      for (Region &region : op.getRegions())
        for (Block &block : region)
          visitScope(block, values);
    }
  }

  /// Visits a block whose own variables end with it.
  void visitScope(Block &block, Values values) {
    size_t first = pending.size();
    visitBlock(block, values);
    erasePending(first);
  }

  void erasePending(size_t first) {
    for (memref::AllocaOp alloca : ArrayRef(pending).drop_front(first))
      if (alloca->use_empty())
        alloca.erase();
    pending.resize(first);
  }

  /// Visits a block and returns the values of `variables` at its end.
  SmallVector<Value> visitAndCollect(Block &block, Values values, ArrayRef<Value> variables) {
    size_t first = pending.size();
    visitBlock(block, values);
    SmallVector<Value> result = currentOf(variables, values);
    erasePending(first);
    return result;
  }

  static void replaceLoop(Operation *op, Operation *rebuilt, ArrayRef<Value> variables,
                          Values &values) {
    unsigned count = op->getNumResults();
    op->replaceAllUsesWith(rebuilt->getResults().take_front(count));
    for (auto [variable, result] : llvm::zip(variables, rebuilt->getResults().drop_front(count)))
      values[variable] = result;
    op->erase();
  }

  void visitIf(scf::IfOp op, Values &values) {
    SmallVector<Value> variables = assignedIn(op, values);
    OpBuilder builder(op);
    SmallVector<Type> types(op.getResultTypes());
    for (Value value : currentOf(variables, values))
      types.push_back(value.getType());
    auto rebuilt =
        scf::IfOp::create(builder, op.getLoc(), types, op.getCondition(), /*withElse=*/true);
    for (unsigned k : {0u, 1u}) {
      Region &from = op->getRegion(k), &to = rebuilt->getRegion(k);
      if (!from.empty())
        to.takeBody(from);
      else if (to.empty())
        to.emplaceBlock();
      Block &block = to.front();
      if (block.empty() || !block.back().hasTrait<OpTrait::IsTerminator>()) {
        OpBuilder atEnd = OpBuilder::atBlockEnd(&block);
        scf::YieldOp::create(atEnd, op.getLoc());
      }
      SmallVector<Value> results = visitAndCollect(block, values, variables);
      if (isMutant(Mutant::ElseValueDropped) && k == 1)
        results = currentOf(variables, values);
      block.getTerminator()->insertOperands(block.getTerminator()->getNumOperands(), results);
    }
    if (types.empty() && rebuilt.getElseRegion().front().getOperations().size() == 1)
      rebuilt.getElseRegion().getBlocks().clear();
    replaceLoop(op, rebuilt, variables, values);
  }

  /// Moves a loop's region into the rebuilt loop; `variables` enter as block arguments and leave
  /// with the terminator.
  void takeLoopRegion(Operation *rebuilt, Operation *op, unsigned region, ArrayRef<Value> variables,
                      Values inner) {
    rebuilt->getRegion(region).takeBody(op->getRegion(region));
    Block &block = rebuilt->getRegion(region).front();
    for (Value variable : variables)
      inner[variable] = block.addArgument(inner.lookup(variable).getType(), op->getLoc());
    SmallVector<Value> results = visitAndCollect(block, inner, variables);
    block.getTerminator()->insertOperands(block.getTerminator()->getNumOperands(), results);
  }

  void visitFor(scf::ForOp op, Values &values) {
    SmallVector<Value> variables = assignedIn(op, values);
    OpBuilder builder(op);
    SmallVector<Value> inits(op.getInitArgs());
    llvm::append_range(inits, currentOf(variables, values));
    auto rebuilt = scf::ForOp::create(builder, op.getLoc(), op.getLowerBound(), op.getUpperBound(),
                                      op.getStep(), inits);
    rebuilt->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    takeLoopRegion(rebuilt, op, 0, variables, values);
    if (isMutant(Mutant::LoopValuesDropped))
      rebuilt.getBody()->getTerminator()->setOperands(rebuilt.getRegionIterArgs());
    replaceLoop(op, rebuilt, variables, values);
  }

  void visitWhile(scf::WhileOp op, Values &values) {
    SmallVector<Value> variables = assignedIn(op, values);
    OpBuilder builder(op);
    SmallVector<Value> inits(op.getInits());
    llvm::append_range(inits, currentOf(variables, values));
    SmallVector<Type> types(op.getResultTypes());
    for (Value value : currentOf(variables, values))
      types.push_back(value.getType());
    auto rebuilt = scf::WhileOp::create(builder, op.getLoc(), types, inits);
    for (unsigned k : {0u, 1u})
      takeLoopRegion(rebuilt, op, k, variables, values);
    replaceLoop(op, rebuilt, variables, values);
  }

  SmallVector<memref::AllocaOp> pending;
};
} // namespace
