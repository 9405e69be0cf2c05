//===- GatheredRun.cpp - what a block of iterations writes together --------*- C++ -*-===//
//
// The loop becomes one over blocks of iterations, with two loops inside: one over a block's iterations, which stores what each writes behind what
// the others have, and one over what is there. Must not ask whether that is right: GatherAppends.cpp does.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Cpu/GatheredRun.h"
#include "metate/Dialect/Elementary.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Cpu/CarriedPlaces.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// What is computed for each iteration, for nothing in those that take no place.
static constexpr size_t mostComputedForNothing = 16;

namespace {
class Rewriting {
public:
  Rewriting(GatheredRun &run, int64_t block)
      : run(run), block(block), loc(run.site->getLoc()), builder(run.loop),
        values(run.values.begin(), run.values.end()) {}

  scf::ForOp write() {
    scf::ForOp each = isa<RangeOp>(run.loop) ? cutRange() : cutLoop();
    OpBuilder start = OpBuilder::atBlockBegin(&taskBlockOf(each));
    counter = local(start, 1, start.getIndexType());
    for (Value value : values)
      arrays.push_back(local(start, block, value.getType()));
    builder.setInsertionPoint(each);
    memref::StoreOp::create(builder, loc, index(0), counter, index(0));
    Block *taken = run.site->getBlock();
    builder.setInsertionPointAfter(each);
    writeRun();
    put(taken, each);
    return each;
  }

private:
  Value index(int64_t number) { return arith::ConstantIndexOp::create(builder, loc, number); }

  Value local(OpBuilder &at, int64_t size, Type type) {
    return memref::AllocaOp::create(at, loc, MemRefType::get({size}, type));
  }

  /// The last dimension's variable becomes a block's number.
  scf::ForOp cutRange() {
    auto range = cast<RangeOp>(run.loop);
    SmallVector<Value> lower = range.getLower(), upper = range.getUpper();
    Value first = lower.back(), end = upper.back();
    Value span = builder.createOrFold<arith::SubIOp>(loc, end, first);
    span = builder.createOrFold<arith::MaxSIOp>(loc, span, index(0));
    span = builder.createOrFold<arith::AddIOp>(loc, span, index(block - 1));
    lower.back() = index(0);
    upper.back() = builder.createOrFold<arith::DivUIOp>(loc, span, index(block));
    auto blocks = RangeOp::create(builder, range.getLoc(), lower, upper);
    blocks->setDiscardableAttrs(range->getDiscardableAttrDictionary());
    Block &to = blocks.getBody().front(), &from = range.getBody().front();
    builder.setInsertionPointToStart(&to);
    Value number = to.getArguments().back();
    auto noWrap = arith::IntegerOverflowFlags::nsw;
    Value begin = arith::MulIOp::create(builder, loc, number, index(block), noWrap);
    begin = arith::AddIOp::create(builder, loc, first, begin, noWrap);
    Value next = arith::AddIOp::create(builder, loc, begin, index(block), noWrap);
    next = arith::MinSIOp::create(builder, loc, next, end);
    auto each = scf::ForOp::create(builder, range.getLoc(), begin, next, index(1));
    for (auto [old, made] : llvm::zip(from.getArguments(), to.getArguments()))
      replace(old, old == from.getArguments().back() ? each.getInductionVar() : made);
    take(from, each);
    if (!to.mightHaveTerminator()) {
      OpBuilder atEnd = OpBuilder::atBlockEnd(&to);
      YieldOp::create(atEnd, loc);
    }
    range.erase();
    run.loop = blocks;
    return each;
  }

  /// The loop goes on block by block.
  scf::ForOp cutLoop() {
    auto loop = cast<scf::ForOp>(run.loop);
    Value step = loop.getStep();
    Value many = builder.createOrFold<arith::MulIOp>(loc, step, index(block));
    auto blocks = scf::ForOp::create(builder, loop.getLoc(), loop.getLowerBound(),
                                     loop.getUpperBound(), many, loop.getInitArgs());
    builder.setInsertionPointToStart(blocks.getBody());
    Value next = arith::AddIOp::create(builder, loc, blocks.getInductionVar(), many);
    next = arith::MinSIOp::create(builder, loc, next, loop.getUpperBound());
    auto each = scf::ForOp::create(builder, loop.getLoc(), blocks.getInductionVar(), next, step,
                                   blocks.getRegionIterArgs());
    replace(loop.getInductionVar(), each.getInductionVar());
    for (auto [old, made] : llvm::zip(loop.getRegionIterArgs(), each.getRegionIterArgs()))
      replace(old, made);
    if (loop.getNumResults() != 0) {
      scf::YieldOp::create(builder, loc, each.getResults());
      OpBuilder atEnd = OpBuilder::atBlockEnd(each.getBody());
      scf::YieldOp::create(atEnd, loc, loop.getBody()->getTerminator()->getOperands());
    }
    take(*loop.getBody(), each);
    loop.replaceAllUsesWith(blocks.getResults());
    loop.erase();
    run.loop = blocks;
    return each;
  }

  void replace(Value old, Value by) {
    old.replaceAllUsesWith(by);
    llvm::replace(values, old, by);
  }

  static void take(Block &from, scf::ForOp each) {
    each.getBody()->getOperations().splice(each.getBody()->getTerminator()->getIterator(),
                                           from.getOperations(), from.begin(),
                                           from.getTerminator()->getIterator());
  }

  /// A copy of what gives the value, where it does not depend on the loop.
  Value outside(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !matchPattern(op, m_Constant()))
      return value;
    return builder.clone(*op)->getResult(0);
  }

  /// Takes the places of a block, and does for each what needs it.
  void writeRun() {
    Value count = memref::LoadOp::create(builder, loc, counter, index(0));
    Value any = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, count, index(0));
    auto branch = scf::IfOp::create(builder, loc, any, /*withElseRegion=*/false);
    builder.setInsertionPoint(branch.thenYield());
    Value first = takeRoom(count);
    auto each = scf::ForOp::create(builder, loc, index(0), count, index(1));
    builder.setInsertionPoint(each.getBody()->getTerminator());
    Value number = each.getInductionVar();
    Value place = placeOf(first, number);
    run.site->getResult(0).replaceAllUsesWith(place);
    auto replaceMoved = [&](Value value, Value by) {
      value.replaceUsesWithIf(by, [&](OpOperand &use) {
        return llvm::any_of(run.moved,
                            [&](Operation *op) { return op->isAncestor(use.getOwner()); });
      });
    };
    for (auto [value, array] : llvm::zip(values, arrays))
      replaceMoved(value, memref::LoadOp::create(builder, loc, array, number));
    for (Value value : run.constants)
      replaceMoved(value, outside(value));
    for (Operation *op : run.moved)
      op->moveBefore(each.getBody()->getTerminator());
  }

  /// What the first place is made of.
  Value takeRoom(Value count) {
    if (auto rmw = dyn_cast<RmwOp>(run.site)) {
      Type type = rmw.getValue().getType();
      step = outside(rmw.getValue());
      Value room = arith::IndexCastOp::create(builder, loc, type, count);
      room = builder.createOrFold<arith::MulIOp>(loc, room, step);
      Value offset = outside(rmw.getOffset());
      auto taken = cast<RmwOp>(builder.clone(*rmw));
      taken.getValueMutable().assign(room);
      taken.getOffsetMutable().assign(offset);
      return taken.getOld();
    }
    if (auto kept = dyn_cast<memref::AtomicRMWOp>(run.site)) {
      step = outside(kept.getValue());
      SmallVector<Value> at{index(0)};
      Value first = memref::LoadOp::create(builder, loc, kept.getMemref(), at);
      Value room = arith::IndexCastOp::create(builder, loc, first.getType(), count);
      room = builder.createOrFold<arith::MulIOp>(loc, room, step);
      if (!isMutant(Mutant::KeptRunForgets))
        memref::StoreOp::create(builder, loc, arith::AddIOp::create(builder, loc, first, room),
                                kept.getMemref(), at);
      return first;
    }
    auto call = cast<TreeCallOp>(run.site);
    SmallVector<Value> numbers, coordinates;
    for (Value value : call.getNumbers())
      numbers.push_back(outside(value));
    for (Value value : call.getCoordinates())
      coordinates.push_back(outside(value));
    numbers.push_back(count);
    return TreeCallOp::create(builder, loc, call.getResult().getType(), "append_run",
                              call.getBlock(), call.getLevel(), numbers, coordinates, IntegerAttr(),
                              cast<TreeType>(call.getTree()))
        .getResult();
  }

  /// The place of what was put there as the number-th; of a list that is full -1.
  Value placeOf(Value first, Value number) {
    Type type = first.getType();
    Value own = arith::IndexCastOp::create(builder, loc, type, number);
    if (isMutant(Mutant::RunTakesOnePlace))
      own = arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, 0));
    if (!isa<TreeCallOp>(run.site))
      return builder.createOrFold<arith::AddIOp>(
          loc, first, builder.createOrFold<arith::MulIOp>(loc, own, step));
    auto constant = [&](int64_t value) {
      return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
    };
    Value room = arith::ShRUIOp::create(builder, loc, first, constant(32));
    Value least = arith::AndIOp::create(builder, loc, first, constant(0xffffffff));
    Value isThere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, own, room);
    Value place = arith::AddIOp::create(builder, loc, least, own);
    return arith::SelectOp::create(builder, loc, isThere, place, constant(-1));
  }

  /// Where an iteration takes a place, its values go behind the others'.
  void put(Block *taken, scf::ForOp each) {
    run.site->erase();
    Value condition;
    Operation *end = taken->getTerminator();
    while (auto branch = withoutBranch(end, each)) {
      builder.setInsertionPoint(branch);
      Value own = branch.getCondition();
      for (Operation &op : llvm::make_early_inc_range(branch.thenBlock()->without_terminator()))
        op.moveBefore(branch);
      // What is not computed where `own` is false may be anything.
      condition = condition
                      ? arith::SelectOp::create(builder, loc, own, condition,
                                                arith::ConstantIntOp::create(builder, loc, 0, 1))
                      : own;
      end = branch->getNextNode();
      branch.erase();
    }
    builder.setInsertionPoint(end);
    Value number = memref::LoadOp::create(builder, loc, counter, index(0));
    for (auto [value, array] : llvm::zip(values, arrays))
      memref::StoreOp::create(builder, loc, value, array, number);
    Value more =
        condition
            ? Value(arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), condition))
            : index(1);
    memref::StoreOp::create(builder, loc, arith::AddIOp::create(builder, loc, number, more),
                            counter, index(0));
  }

  /// The branch that `end` is the end of, if what it does may be done in any case.
  scf::IfOp withoutBranch(Operation *end, scf::ForOp each) {
    auto branch = dyn_cast<scf::IfOp>(end->getParentOp());
    if (!branch || branch->getNumResults() || !branch.getElseRegion().empty() ||
        end != branch.thenBlock()->getTerminator())
      return {};
    size_t count = 0;
    for (Operation &op : llvm::make_early_inc_range(branch.thenBlock()->without_terminator())) {
      if (auto read = dyn_cast<ReadOp>(op)) {
        Operation *earlier = earlierLike(read, each);
        if (!earlier)
          return {};
        replace(read.getValue(), earlier->getResult(0));
        read.erase();
      } else if (op.getNumRegions() || !isMemoryEffectFree(&op) || !isSpeculatable(&op) ||
                 isa<ElementaryOp, arith::DivFOp>(op) || ++count > mostComputedForNothing) {
        return {};
      }
    }
    return branch;
  }

  /// The same read, done before in any case, of what the loop does not write.
  static Operation *earlierLike(ReadOp read, scf::ForOp each) {
    bool isWritten = each->walk([&](Operation *op) {
                           bool writes = (isa<WriteOp, RmwOp, CasOp, TreeCallOp>(op)) &&
                                         llvm::is_contained(op->getOperands(), read.getBlock());
                           return writes ? WalkResult::interrupt() : WalkResult::advance();
                         })
                         .wasInterrupted();
    if (isWritten || read.getAcquire())
      return nullptr;
    for (Operation *before = read; before != each; before = before->getParentOp())
      for (Operation *other = before->getPrevNode(); other; other = other->getPrevNode())
        if (OperationEquivalence::isEquivalentTo(read, other,
                                                 OperationEquivalence::IgnoreLocations))
          return other;
    return nullptr;
  }

  GatheredRun &run;
  int64_t block;
  Location loc;
  OpBuilder builder;
  Value counter, step;
  SmallVector<Value> values, arrays; ///< of the iteration; where they wait
};
} // namespace

scf::ForOp cpu::gatherRun(GatheredRun &run, int64_t block) { return Rewriting(run, block).write(); }
