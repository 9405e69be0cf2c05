//===- SpreadNests.cpp - cells of leaves become iterations ------*- C++ -*-===//
//
// On a CPU an iteration is a slot, and a loop in it walks over the cells of its leaf. An invocation is not worth that much: it is given a
// cell, and invocations side by side have cells side by side. Where slots of another tree, or its cells by words of a mask, are activated
// for a leaf's cells, a range before does that, slot by slot, and each cell finds them.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Metate.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Common/Order.h"
#include "metate/Target/Grid/Holds.h"
#include "metate/Target/Grid/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace metate {
#define GEN_PASS_DEF_SPREADNESTS
#include "metate/Target/Grid/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;
using grid::holds;

/// The turns of a loop whose bounds are constants; 0: they are not.
static int64_t turnsOf(scf::ForOp loop) {
  APInt low, high, step;
  if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&low)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&high)) ||
      !matchPattern(loop.getStep(), m_ConstantInt(&step)) || !low.isZero() || !step.isOne())
    return 0;
  return std::max<int64_t>(0, high.getSExtValue());
}

/// The read of the link that a call claims a slot for; null: it is no such call.
static ReadOp linkOf(Operation *op) {
  auto call = dyn_cast<TreeCallOp>(op);
  if (!call || call.getCallee() != "claim")
    return {};
  for (Operation *user : call.getNumbers().front().getUsers())
    if (auto read = dyn_cast<ReadOp>(user); read && read.getBlock() == call.getBlock())
      return read;
  return {};
}

static bool isFind(Operation *op) {
  auto call = dyn_cast<TreeCallOp>(op);
  return call && call.getCallee().ends_with("find");
}

/// Numbers alone.
static bool isPlain(Operation *op) {
  return !isa<TreeCallOp>(op) && !op->getNumRegions() && isMemoryEffectFree(op);
}

/// What is computed for each cell instead of each slot changes nothing, and takes little. `claims`, if there are any to be had: calls that
/// claim a slot, which a range before does.
static bool mayBeRepeated(Operation *op, SmallVectorImpl<TreeCallOp> *claims = nullptr) {
  return !holds(op, [&](Operation *one) {
    if (claims && linkOf(one)) {
      claims->push_back(cast<TreeCallOp>(one));
      return false;
    }
    return !isa<ReadOp, scf::IfOp, scf::YieldOp>(one) && !isFind(one) && !isPlain(one);
  });
}

/// May what is done for each slot be done by a range before, for all slots?
static bool mayGoBefore(Operation *op) {
  return !holds(op, [](Operation *one) {
    return !isa<ReadOp, WriteOp, RmwOp, scf::ForOp, scf::IfOp, scf::YieldOp>(one) && !linkOf(one) &&
           !isFind(one) && !isPlain(one);
  });
}

static bool holdsClaim(Operation *op) {
  return holds(op, [](Operation *one) { return bool(linkOf(one)); });
}

/// Does `op` change what is read in the scope? One tree's numbers are in one.
static bool changes(Operation *op, uint64_t scope) {
  return holds(op, [&](Operation *one) {
    auto write = dyn_cast<WriteOp>(one);
    auto rmw = dyn_cast<RmwOp>(one);
    ReadOp link = linkOf(one);
    return (write && write.getScope() == scope) || (rmw && rmw.getScope() == scope) ||
           (link && link.getScope() == scope);
  });
}

namespace {
/// The loops of a range over the cells of one leaf, one in the other, and what is around them.
struct Nest {
  SmallVector<scf::ForOp> loops;
  SmallVector<TreeCallOp> claims;  ///< around the loops, for which cells look again
  SmallVector<Operation *> around; ///< all that is around the loops, in order
  SmallVector<Operation *>
      before;        ///< of it: what changes more than claims do, and is for a range before
  scf::ForOp column; ///< each invocation's own; around the loops, or in the first of them
  int64_t cells = 1;

  static std::optional<Nest> of(RangeOp range) {
    Nest nest;
    Block *block = &range.getBody().front();
    while (true) {
      Operation *only = nullptr; // that has something inside
      for (Operation &op : block->without_terminator()) {
        auto loop = dyn_cast<scf::ForOp>(op);
        bool isDeeper =
            (loop && loop->hasAttr(mark::nest)) || (isa<scf::IfOp>(op) && holdsNest(&op));
        if (isDeeper && only)
          return std::nullopt;
        if (isDeeper)
          only = &op;
        else if (!nest.isInside() && !nest.take(&op, /*isBefore=*/!only))
          return std::nullopt;
      }
      if (nest.isInside() && !isPerfect(block, only))
        break; // the cell's own code
      if (!only)
        return std::nullopt;
      if (auto branch = dyn_cast<scf::IfOp>(only)) {
        if (nest.isInside() || branch.getNumResults() || (branch.elseBlock() && holdsMore(branch)))
          return std::nullopt;
        block = branch.thenBlock();
        continue;
      }
      auto loop = cast<scf::ForOp>(only);
      int64_t turns = turnsOf(loop);
      if (turns == 0 || !loop.getInitArgs().empty())
        return std::nullopt;
      nest.cells *= turns;
      nest.loops.push_back(loop);
      block = loop.getBody();
    }
    if (nest.loops.empty() || nest.cells > (1 << 20) ||
        (!nest.before.empty() && !nest.dropForCells()))
      return std::nullopt;
    return nest;
  }

  scf::ForOp outermost() const {
    return column && !loops.front()->isAncestor(column) ? column : loops.front();
  }

  /// Some turns of the outermost loop stay an invocation's own, a column of cells, for which it looks its neighbours up once: where the
  /// leaf has cells enough for a warp all the same, and the code is short, for it is written out.
  void keepColumns() {
    scf::ForOp loop = loops.front();
    int64_t turns = turnsOf(loop), length = mostInColumn, ops = 0;
    loop.walk([&](Operation *op) { ops += !op->hasTrait<OpTrait::ConstantLike>(); });
    while (length > 1 && (turns % length != 0 || cells / length < leastColumns))
      length /= 2;
    if (loops.size() < 2 || length == 1 || ops * length > mostOps)
      return;
    cells /= length;
    column = loop;
    if (turns == length) {
      loops.erase(loops.begin());
      return;
    }
    OpBuilder builder(loop);
    Location loc = loop.getLoc();
    auto index = [&](int64_t value) {
      return arith::ConstantIndexOp::create(builder, loc, value).getResult();
    };
    Value size = index(length);
    auto outer = scf::ForOp::create(builder, loc, index(0), index(turns / length), index(1));
    loop->moveBefore(outer.getBody()->getTerminator());
    loop.getUpperBoundMutable().assign(size);
    builder.setInsertionPointToStart(loop.getBody());
    Value first = arith::MulIOp::create(builder, loc, outer.getInductionVar(), size);
    auto at = arith::AddIOp::create(builder, loc, first, loop.getInductionVar());
    loop.getInductionVar().replaceAllUsesExcept(at, at);
    loops.front() = outer;
  }

private:
  static constexpr int64_t mostInColumn = 8, leastColumns = 32, mostOps = 4096;

  /// What stands around the loops. False: cells cannot do it, nor a range before.
  bool take(Operation *op, bool isBefore) {
    around.push_back(op);
    SmallVector<TreeCallOp> found;
    if (mayBeRepeated(op, &found)) {
      claims.append(found);
      return true;
    }
    before.push_back(op);
    return isBefore && mayGoBefore(op);
  }

  /// Leaves in `around` what cells do not need: all that a range before does alone. False: they need more than they may do again.
  bool dropForCells() {
    llvm::SetVector<Operation *> needed;
    auto need = [&](Operation *user) {
      user->walk([&](Operation *one) {
        for (Value operand : one->getOperands())
          for (Operation *from = operand.getDefiningOp(); from; from = from->getParentOp())
            if (llvm::is_contained(around, from))
              needed.insert(from);
      });
    };
    need(loops.front());
    for (auto *up = loops.front()->getParentOp(); isa<scf::IfOp>(up); up = up->getParentOp())
      for (Value operand : up->getOperands())
        if (Operation *from = operand.getDefiningOp(); llvm::is_contained(around, from))
          needed.insert(from);
    for (size_t k = 0; k < needed.size(); ++k)
      need(needed[k]);
    if (llvm::any_of(before, [&](Operation *op) { return needed.contains(op); }))
      return false;
    // What a cell reads again would be what the range before has made of it, where that comes behind the read.
    for (Operation *op : needed) {
      auto behind = llvm::make_filter_range(
          before, [&](Operation *one) { return llvm::find(around, one) > llvm::find(around, op); });
      bool isStale = holds(op, [&](Operation *one) {
        auto read = dyn_cast<ReadOp>(one);
        return llvm::any_of(behind, [&](Operation *other) {
          return (isFind(one) && holdsClaim(other)) ||
                 (read && !read->hasAttr(mark::record) && changes(other, read.getScope()));
        });
      });
      if (isStale)
        return false;
    }
    llvm::erase_if(around, [&](Operation *op) { return needed.contains(op); });
    llvm::erase_if(claims, [&](TreeCallOp claim) {
      return llvm::any_of(around, [&](Operation *op) { return op->isAncestor(claim); });
    });
    return true;
  }

  bool isInside() const { return !loops.empty(); }
  static bool holdsNest(Operation *op) {
    return holds(op,
                 [](Operation *one) { return isa<scf::ForOp>(one) && one->hasAttr(mark::nest); });
  }
  static bool holdsMore(scf::IfOp branch) {
    return llvm::any_of(branch.elseBlock()->without_terminator(),
                        [](Operation &op) { return !isMemoryEffectFree(&op); });
  }
  /// Is the next loop of the nest all that a turn does, beside numbers?
  static bool isPerfect(Block *block, Operation *next) {
    auto loop = dyn_cast_or_null<scf::ForOp>(next);
    return loop && llvm::all_of(block->without_terminator(),
                                [&](Operation &op) { return &op == next || mayBeRepeated(&op); });
  }
};

struct SpreadNests : metate::impl::SpreadNestsBase<SpreadNests> {
  void runOnOperation() override {
    for (RangeOp range : llvm::to_vector(getOperation().getBody().getOps<RangeOp>()))
      if (std::optional<Nest> nest = Nest::of(range)) {
        // Columns are walked first, rows are what a loop in order would walk.
        if (!getOperation()->hasAttr(mark::deterministic) || !target::showsOrder(range))
          nest->keepColumns();
        if (!nest->claims.empty() || !nest->before.empty())
          activateBefore(range, *nest);
        spread(range, *nest);
        if (nest->column)
          writeOut(nest->column);
      }
    getOperation().walk(readPlainly);
  }

private:
  /// Where no iteration changes which cells are active, what says so was there before the range: no read waits for another one.
  static void readPlainly(RangeOp range) {
    bool isChanged = holds(range, [](Operation *op) {
      auto call = dyn_cast<TreeCallOp>(op);
      auto rmw = dyn_cast<RmwOp>(op);
      return (call && !isFind(call)) || isa<CasOp, CallOpInterface>(op) ||
             (isa<WriteOp>(op) && cast<WriteOp>(op).getRelease()) ||
             (rmw && (rmw.getKind() == arith::AtomicRMWKind::ori ||
                      rmw.getKind() == arith::AtomicRMWKind::andi));
    });
    if (!isChanged)
      range->walk([](ReadOp read) { read.setAcquire(false); });
  }

  /// A range of the slots alone activates what the cells find then: the link once more is what a claim gave, or 0 where there was no slot.
  static void activateBefore(RangeOp range, Nest &nest) {
    OpBuilder builder(range);
    IRMapping mapping;
    Operation *first = builder.clone(*range, mapping);
    mapping.lookup(nest.outermost().getOperation())->erase();
    if (isMutant(Mutant::GridClaimsLeftOut))
      first->erase();
    for (TreeCallOp claim : nest.claims) {
      ReadOp link = linkOf(claim);
      builder.setInsertionPoint(claim);
      auto again = ReadOp::create(builder, claim.getLoc(), claim->getResult(0).getType(),
                                  claim.getBlock(), link.getOffset(), link.getScope(),
                                  /*acquire=*/true, /*invariant=*/false);
      claim->replaceAllUsesWith(again);
      claim.erase();
    }
    if (!nest.before.empty())
      for (Operation *op : llvm::reverse(nest.around))
        op->erase();
  }

  /// The range gets a dimension more; each loop runs its one turn where it stood.
  static void spread(RangeOp range, const Nest &nest) {
    OpBuilder builder(range);
    Location loc = range.getLoc();
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value cells = arith::ConstantIndexOp::create(
        builder, loc, nest.cells - (isMutant(Mutant::GridCellLost) ? 1 : 0));
    SmallVector<Value> lower(range.getLower()), upper(range.getUpper());
    lower.push_back(zero);
    upper.push_back(cells);
    auto wider = RangeOp::create(builder, loc, lower, upper);
    wider->setDiscardableAttrs(range->getDiscardableAttrDictionary());
    Block &from = range.getBody().front(), &to = wider.getBody().front();
    for (auto [old, argument] : llvm::zip(from.getArguments(), to.getArguments()))
      old.replaceAllUsesWith(argument);
    while (!to.empty())
      to.back().erase();
    to.getOperations().splice(to.end(), from.getOperations());
    builder.setInsertionPointToStart(&to);
    Value rest = to.getArguments().back();
    SmallVector<Value> variables(nest.loops.size());
    for (size_t k = nest.loops.size(); k-- > 0;) {
      Value size = arith::ConstantIndexOp::create(builder, loc, turnsOf(nest.loops[k]));
      variables[k] = k ? arith::RemUIOp::create(builder, loc, rest, size).getResult() : rest;
      rest = k ? arith::DivUIOp::create(builder, loc, rest, size).getResult() : rest;
    }
    for (auto [loop, variable] : llvm::reverse(llvm::zip(nest.loops, variables)))
      dissolve(loop, variable);
    range.erase();
  }

  /// The turns of a column one after the other. Where each has a test, as cells that ask whether they are active, all are asked first: of a
  /// column whose tests all hold the rest has no branches, so what is read for one cell is there for the next; others keep the loop.
  /// What a turn read for its test is what it goes on with, for those before may have written there since.
  static void writeOut(scf::ForOp column) {
    Block *body = column.getBody();
    auto branch = dyn_cast_or_null<scf::IfOp>(body->getTerminator()->getPrevNode());
    bool isTest = branch && !branch.getNumResults() && !branch.elseBlock() &&
                  branch.getCondition().getParentBlock() == body;
    for (Operation &op : body->without_terminator())
      isTest = isTest && (&op == branch || mayBeRepeated(&op));
    if (!isTest) {
      (void)loopUnrollFull(column);
      return;
    }
    OpBuilder builder(column);
    Location loc = column.getLoc();
    SmallVector<IRMapping> turns(turnsOf(column));
    Value isFull;
    for (auto [number, turn] : llvm::enumerate(turns)) {
      turn.map(column.getInductionVar(),
               arith::ConstantIndexOp::create(builder, loc, int64_t(number)).getResult());
      for (Operation &op : body->without_terminator())
        if (&op != branch)
          builder.clone(op, turn);
      if (number && isMutant(Mutant::GridColumnAskedOnce))
        continue;
      Value holds = turn.lookup(branch.getCondition());
      isFull = isFull ? arith::AndIOp::create(builder, loc, isFull, holds) : holds;
    }
    auto either = scf::IfOp::create(builder, loc, isFull, /*withElseRegion=*/true);
    column->moveBefore(either.elseBlock()->getTerminator());
    builder.setInsertionPointToStart(either.thenBlock());
    for (IRMapping &turn : turns)
      for (Operation &op : branch.thenBlock()->without_terminator())
        builder.clone(op, turn);
  }

  static void dissolve(scf::ForOp loop, Value variable) {
    loop.getInductionVar().replaceAllUsesWith(variable);
    loop.getBody()->getTerminator()->erase();
    loop->getBlock()->getOperations().splice(loop->getIterator(), loop.getBody()->getOperations());
    loop.erase();
  }
};
} // namespace
