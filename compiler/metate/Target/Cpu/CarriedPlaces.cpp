//===- CarriedPlaces.cpp - places that a loop in order counts itself -------*- C++ -*-===//
#include "metate/Target/Cpu/CarriedPlaces.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

Block &cpu::taskBlockOf(Operation *op) {
  while (!isa<KernelOp>(op->getParentOp()))
    op = op->getParentOp();
  return op->getRegion(0).front();
}

/// A conditional gives the value unchanged on one side: what it gives on the other one; null: not so.
static Value otherThan(Value same, scf::IfOp branch, unsigned result) {
  if (branch.getElseRegion().empty())
    return {};
  Value there = branch.thenYield().getOperand(result),
        otherwise = branch.elseYield().getOperand(result);
  return there == same ? otherwise : otherwise == same ? there : Value();
}

/// The addition at the end of the conditionals that say whether the loop's value goes up; null: it does something else.
static arith::AddIOp additionOf(scf::ForOp loop, unsigned number) {
  BlockArgument carried = loop.getRegionIterArg(number);
  Value value = cast<scf::YieldOp>(loop.getBody()->getTerminator()).getOperand(number);
  while (auto branch = value.getDefiningOp<scf::IfOp>()) {
    if (!value.hasOneUse() || !loop->isProperAncestor(branch))
      return {};
    value = otherThan(carried, branch, cast<OpResult>(value).getResultNumber());
    if (!value)
      return {};
  }
  auto addition = value.getDefiningOp<arith::AddIOp>();
  bool isConditional = addition && addition->getParentOp() != loop &&
                       loop->isProperAncestor(addition) && addition.getLhs() == carried &&
                       matchPattern(addition.getRhs(), m_Constant());
  return isConditional ? addition : arith::AddIOp();
}

/// Is the number only looked at where it goes up, by something else than the addition?
static bool isCounter(scf::ForOp loop, unsigned number) {
  BlockArgument carried = loop.getRegionIterArg(number);
  arith::AddIOp addition = additionOf(loop, number);
  if (!addition || !carried.getType().isInteger())
    return false;
  Operation *where = addition->getParentOp(), *end = addition->getBlock()->getTerminator();
  if (llvm::count(end->getOperands(), addition.getResult()) != 1)
    return false;
  int64_t handedOn = 0;
  bool isPlace = false; // else it is a sum, as others are
  bool isOnlyThere = llvm::all_of(carried.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (addition->getBlock()->findAncestorOpInBlock(*user)) {
      isPlace |= user != addition;
      return user != end;
    }
    ++handedOn;
    return isa<scf::YieldOp>(user) && user->getParentOp()->isProperAncestor(addition);
  });
  // By each conditional around on its other side, as this number; nothing else is what it was.
  for (Operation *op = where; op != loop; op = op->getParentOp())
    --handedOn;
  return isOnlyThere && isPlace && handedOn == 0;
}

CarriedPlaces::CarriedPlaces(scf::ForOp loop) : loop(loop) {
  for (unsigned k = 0; k < loop.getNumResults(); ++k)
    if (isCounter(loop, k))
      counters.push_back(k);
}

/// What stands in a side of a conditional, with those of its values that are kept.
static void moveSide(Block *from, Block *to, ArrayRef<unsigned> kept) {
  if (!to->empty())
    to->front().erase(); // the terminator of a conditional without results
  Operation *end = from->getTerminator();
  end->setOperands(llvm::map_to_vector(kept, [&](unsigned k) { return end->getOperand(k); }));
  to->getOperations().splice(to->end(), from->getOperations());
}

/// The conditional without results that nobody uses; one without results is a conditional for each side.
static void dropResults(scf::IfOp branch) {
  SmallVector<unsigned> kept;
  SmallVector<Type> types;
  for (OpResult result : branch.getResults())
    if (!result.use_empty()) {
      kept.push_back(result.getResultNumber());
      types.push_back(result.getType());
    }
  if (kept.size() == branch.getNumResults())
    return;
  OpBuilder builder(branch);
  Location loc = branch.getLoc();
  Value condition = branch.getCondition();
  if (kept.empty()) {
    Value one = arith::ConstantIntOp::create(builder, loc, 1, 1);
    for (Block *side : {branch.thenBlock(), branch.elseBlock()}) {
      if (&side->front() == side->getTerminator())
        continue;
      Value own = side == branch.thenBlock()
                      ? condition
                      : arith::XOrIOp::create(builder, loc, condition, one).getResult();
      auto made = scf::IfOp::create(builder, loc, own, /*withElseRegion=*/false);
      moveSide(side, made.thenBlock(), {});
    }
  } else {
    auto made = scf::IfOp::create(builder, loc, types, condition, /*withElseRegion=*/true);
    moveSide(branch.thenBlock(), made.thenBlock(), kept);
    moveSide(branch.elseBlock(), made.elseBlock(), kept);
    for (auto [k, number] : llvm::enumerate(kept))
      branch.getResult(number).replaceAllUsesWith(made.getResult(k));
  }
  branch.erase();
}

memref::AtomicRMWOp CarriedPlaces::takeInMemory(unsigned number, Value cell) {
  BlockArgument carried = made.getRegionIterArg(number);
  arith::AddIOp addition = additionOf(made, number);
  Block *block = addition->getBlock();
  OpBuilder builder(block, block->begin());
  Location loc = addition.getLoc();
  Value step = builder.clone(*addition.getRhs().getDefiningOp())->getResult(0);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  auto site = memref::AtomicRMWOp::create(builder, loc, step.getType(), arith::AtomicRMWKind::addi,
                                          step, cell, zero);
  SmallVector<scf::IfOp> around;
  for (Operation *op = addition->getParentOp(); op != made; op = op->getParentOp())
    around.push_back(cast<scf::IfOp>(op));
  // From the outside: a result is unused once the one around it is.
  cast<scf::YieldOp>(made.getBody()->getTerminator()).setOperand(number, carried);
  Operation *end = block->getTerminator();
  for (OpOperand &operand : end->getOpOperands())
    if (operand.get() == addition.getResult())
      operand.set(carried);
  carried.replaceUsesWithIf(site.getResult(), [&](OpOperand &use) {
    return use.getOwner() != end && block->findAncestorOpInBlock(*use.getOwner());
  });
  for (scf::IfOp branch : llvm::reverse(around))
    dropResults(branch);
  return site;
}

/// The copy's loop without the values that are in memory.
void CarriedPlaces::dropFromLoop() {
  OpBuilder builder(made);
  SmallVector<Value> inits, yields;
  SmallVector<unsigned> kept;
  auto end = cast<scf::YieldOp>(made.getBody()->getTerminator());
  for (unsigned k = 0; k < made.getNumResults(); ++k)
    if (!llvm::is_contained(moved, k)) {
      kept.push_back(k);
      inits.push_back(made.getInitArgs()[k]);
      yields.push_back(end.getOperand(k));
    }
  auto fewer = scf::ForOp::create(builder, made.getLoc(), made.getLowerBound(),
                                  made.getUpperBound(), made.getStep(), inits);
  fewer->setDiscardableAttrs(made->getDiscardableAttrDictionary());
  Block &to = *fewer.getBody();
  if (!to.empty())
    to.front().erase();
  end->setOperands(yields);
  made.getInductionVar().replaceAllUsesWith(fewer.getInductionVar());
  for (auto [k, number] : llvm::enumerate(kept))
    made.getRegionIterArg(number).replaceAllUsesWith(fewer.getRegionIterArg(k));
  to.getOperations().splice(to.end(), made.getBody()->getOperations());
  made.erase();
  made = fewer;
}

SmallVector<memref::AtomicRMWOp> CarriedPlaces::copy(ArrayRef<unsigned> chosen) {
  moved.assign(chosen.begin(), chosen.end());
  cells.clear();
  created.clear();
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  created.push_back(zero.getDefiningOp());
  for (unsigned number : chosen) {
    OpBuilder start = OpBuilder::atBlockBegin(&taskBlockOf(loop));
    Type type = loop.getRegionIterArg(number).getType();
    cells.push_back(memref::AllocaOp::create(start, loc, MemRefType::get({1}, type)));
    created.push_back(cells.back().getDefiningOp());
    created.push_back(
        memref::StoreOp::create(builder, loc, loop.getInitArgs()[number], cells.back(), zero));
  }
  made = cast<scf::ForOp>(builder.clone(*loop));
  SmallVector<memref::AtomicRMWOp> sites;
  for (auto [number, cell] : llvm::zip(chosen, cells))
    sites.push_back(takeInMemory(number, cell));
  dropFromLoop();
  return sites;
}

void CarriedPlaces::keep() {
  OpBuilder builder(loop);
  Value zero = arith::ConstantIndexOp::create(builder, loop.getLoc(), 0);
  unsigned next = 0;
  for (OpResult result : loop.getResults()) {
    auto at = llvm::find(moved, result.getResultNumber());
    Value value = at == moved.end() ? Value(made.getResult(next++))
                                    : memref::LoadOp::create(builder, loop.getLoc(),
                                                             cells[at - moved.begin()], zero)
                                          .getResult();
    result.replaceAllUsesWith(value);
  }
  loop.erase();
}

void CarriedPlaces::drop() {
  made.erase();
  for (Operation *op : llvm::reverse(created))
    op->erase();
}

void cpu::takePlainly(memref::AtomicRMWOp site) {
  OpBuilder builder(site);
  Value old = memref::LoadOp::create(builder, site.getLoc(), site.getMemref(), site.getIndices());
  Value next = arith::AddIOp::create(builder, site.getLoc(), old, site.getValue());
  memref::StoreOp::create(builder, site.getLoc(), next, site.getMemref(), site.getIndices());
  site.getResult().replaceAllUsesWith(old);
  site.erase();
}
