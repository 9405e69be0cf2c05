//===- ActivationSlice.cpp - a kernel cut down to its activations -*- C++ -*-===//
#include "metate/Transforms/ActivationSlice.h"

#include "metate/Transforms/Checks.h"

#include "metate/Dialect/Call.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace metate;

std::optional<ActivationSlice::Problem> ActivationSlice::run() {
  findCalls();
  countInstead();
  findWrites();
  for (Operation *root : roots)
    mark(root);
  while (!work.empty())
    mark(work.pop_back_val());
  findProblem();
  if (problem)
    return problem;
  markChecks();
  prune(kernel.getBody().front());
  return std::nullopt;
}

/// A function that only computes is part of what its results depend on. What another one does depends on who called it.
void ActivationSlice::findCalls() {
  kernel.walk([&](CallOp call) {
    if (callsIntoMemory(call))
      refuse(call, "what '" + call.getCallee() + "' does, which is called and not inlined");
  });
  kernel.walk([&](FunctionOp function) {
    function.walk([&](Operation *op) {
      live.insert(op);
      llvm::append_range(work, op->getOperands()); // constants may stand outside of it
    });
  });
}

/// Activations stay for now, as what changes the set of active cells; they are taken to succeed.
void ActivationSlice::countInstead() {
  kernel.walk([&](Operation *op) {
    if (auto loop = dyn_cast<ForEachOp>(op))
      loop->removeAttr(mark::changesTopology); // the slice does not
    std::optional<CellAccess> change = changedCell(op);
    if (!change || isa<DeactivateOp>(op))
      return;
    OpBuilder builder(op);
    bool isAppend = isa<AppendOp>(op);
    if (isAppend || change->resolve().lastPool() >= 0)
      roots.push_back(ReserveOp::create(builder, op->getLoc(), change->tree,
                                        builder.getStringAttr(change->path), change->coordinates,
                                        counts, isAppend));
    if (!isAppend)
      op->replaceAllUsesWith(ValueRange(
          arith::ConstantIntOp::create(builder, op->getLoc(), /*value=*/1, /*width=*/1)));
  });
}

/// The argument that an array operation is about; null of a local one.
static Value arrayOf(Operation *op) {
  Value array = llvm::TypeSwitch<Operation *, Value>(op)
                    .Case<memref::LoadOp, memref::StoreOp>([](auto o) { return o.getMemRef(); })
                    .Case<memref::AtomicRMWOp>([](auto o) { return o.getMemref(); })
                    .Default([](Operation *) { return Value(); });
  return isa_and_present<BlockArgument>(array) ? array : Value();
}

void ActivationSlice::findWrites() {
  kernel.walk([&](Operation *op) {
    if (writesMember(op) || changedCell(op) ||
        (isa<memref::StoreOp, memref::AtomicRMWOp>(op) && arrayOf(op)))
      writes.push_back(op);
  });
}

//===-- what the counting depends on ----------------------------------------===//

void ActivationSlice::mark(Operation *op) {
  if (isa<KernelOp>(op) || !live.insert(op).second)
    return;
  mark(op->getParentOp());
  auto cell = dyn_cast<CellOpInterface>(op);
  if ((cell && cell.onlyReads()) || (isa<memref::LoadOp>(op) && arrayOf(op)))
    reads.push_back(op);
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    llvm::append_range(work,
                       ValueRange{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
    return; // what it carries: as far as somebody asks for it
  }
  llvm::append_range(work, op->getOperands());
  if (op->getNumRegions() && !isa<scf::IfOp, RangeOp, ForEachOp>(op))
    markRegion(op);
}

/// Of a loop with a condition, and of anything unknown, all values that go around.
void ActivationSlice::markRegion(Operation *op) {
  for (Region &region : op->getRegions())
    for (Block &block : region)
      mark(block.getTerminator());
}

void ActivationSlice::markCarried(scf::ForOp loop, unsigned number) {
  work.push_back(loop.getInitArgs()[number]);
  work.push_back(loop.getYieldedValues()[number]);
}

/// A local array is what was stored into it.
void ActivationSlice::markWriters(Value local) {
  for (Operation *user : local.getUsers())
    if (!isa<memref::LoadOp, memref::DimOp>(user))
      mark(user);
}

void ActivationSlice::mark(Value value) {
  if (!needed.insert(value).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    mark(parent);
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (loop && argument != loop.getInductionVar())
      markCarried(loop, argument.getArgNumber() - 1);
    return;
  }
  Operation *op = value.getDefiningOp();
  unsigned number = cast<OpResult>(value).getResultNumber();
  if (isa<AppendOp>(op))
    return refuse(op, "the index that append gives");
  if (writesMember(op) || (isa<memref::AtomicRMWOp>(op) && arrayOf(op))) { // metate.update as well
    auto cell = CellAccess::of(op);
    Value target = cell ? cell->tree : arrayOf(op);
    return refuse(op, "what an atomic finds in '" +
                          accessName(target, cell ? cell->path : "").name + "'");
  }
  if (isa<func::CallOp>(op) && llvm::any_of(op->getOperandTypes(), llvm::IsaPred<MemRefType>))
    return refuse(op, "what a function does with an array");
  mark(op);
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    work.push_back(branch.thenYield()->getOperand(number));
    work.push_back(branch.elseYield()->getOperand(number));
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    markCarried(loop, number);
  } else if (isa<memref::AllocaOp>(op)) {
    markWriters(value);
  }
}

/// Is it computed, without reading memory, from what is there anyway?
bool ActivationSlice::isKnown(Value value) {
  if (needed.contains(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op) {
    auto argument = cast<BlockArgument>(value);
    Operation *parent = argument.getOwner()->getParentOp();
    auto loop = dyn_cast<scf::ForOp>(parent);
    return isa<KernelOp>(parent) ||
           (live.contains(parent) &&
            (isa<RangeOp, ForEachOp>(parent) || (loop && argument == loop.getInductionVar())));
  }
  return op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isKnown(operand); });
}

/// A debug kernel's slice stops where the kernel would, rather than read outside of an array.
void ActivationSlice::markChecks() {
  kernel.walk([&](Operation *op) {
    auto check = dyn_cast<CheckOp>(op);
    bool keeps = check ? check.getKind() != CheckKind::Capacity : isa<PollOp>(op);
    if (!keeps || !(isa<KernelOp>(op->getParentOp()) || live.contains(op->getParentOp())) ||
        !llvm::all_of(op->getOperands(), [&](Value operand) { return isKnown(operand); }))
      return;
    mark(op);
    while (!work.empty())
      mark(work.pop_back_val());
  });
}

//===-- what is left out ----------------------------------------------------===//

/// What nobody needs is left out, so any value will do.
void ActivationSlice::replaceUses(Operation *op) {
  OpBuilder builder(op);
  for (Value result : op->getResults()) {
    if (result.use_empty())
      continue;
    TypedAttr zero = builder.getZeroAttr(result.getType());
    result.replaceAllUsesWith(
        zero ? arith::ConstantOp::create(builder, op->getLoc(), zero).getResult()
             : ub::PoisonOp::create(builder, op->getLoc(), result.getType()).getResult());
  }
}

/// Uses stand behind what they use, so they go first.
void ActivationSlice::prune(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue;
    if (live.contains(&op)) {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          prune(inner);
      continue;
    }
    replaceUses(&op);
    op.erase();
  }
}
