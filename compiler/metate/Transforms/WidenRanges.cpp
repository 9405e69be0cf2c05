//===- WidenRanges.cpp - serial boxes join the loop around them -*- C++ -*-===//
//
// `for b in blocks: for i, j, k in ndrange(8, 8, 8): x[8 * b + ...] = ...` walks a leaf in order, though no turn depends on another:
// what makes nests of leaves, and activates them by words, looks at parallel loops. A nest of known extents is part of the parallel loop
// if each of its turns reads and writes places of its own of all that it writes.
//
// `for j in range(m): for i in range(n): b[i, j] = ...` walks columns, though rows lie side by side: its inner loop joins too, whatever its
// extent, so that the loops may change places (OrderDimensions.cpp).
//
// `for w in range(s): for i in range(w, n, s): z[i] = ...` shares the turns of one loop among workers: it is that loop.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/ContiguousAxis.h"
#include "metate/Transforms/IntegerRange.h"
#include "metate/Transforms/LeafForm.h"
#include "metate/Transforms/LoopBox.h"
#include "metate/Transforms/OwnPlaces.h"
#include "metate/Transforms/Passes.h"
#include "metate/Transforms/StridedTurns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace metate {
#define GEN_PASS_DEF_WIDENRANGES
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// A leaf and its like; longer loops are what one worker does.
constexpr int64_t mostInBox = 4096;

/// Turns of a loop by one, where they are known: `range(8 * b, 8 * b + 8)` has 8, if nothing wraps.
std::optional<int64_t> knownTurns(scf::ForOp loop) {
  APInt step;
  if (!matchPattern(loop.getStep(), m_ConstantInt(&step)) || !step.isOne())
    return std::nullopt;
  auto past32 = [](Value value) { // what a bound was computed as
    auto cast = value.getDefiningOp<arith::IndexCastOp>();
    return cast && cast.getIn().getType().isInteger(32) ? cast.getIn() : value;
  };
  Value lower = past32(loop.getLowerBound()), upper = past32(loop.getUpperBound());
  LinearForm from = LinearForm::of(lower), to = LinearForm::of(upper);
  bool isSame = from.terms.size() == to.terms.size() && llvm::all_of(from.terms, [&](auto &term) {
                  return to.coefficient(term.first) == term.second;
                });
  int64_t turns = to.constant - from.constant;
  if (!isSame || turns <= 0 || turns > mostInBox)
    return std::nullopt;
  std::optional<IntegerRange> least = IntegerRange::of(lower);
  if (!from.terms.empty() && (!least || least->greatest > (int64_t(1) << 31) - 1 - mostInBox))
    return std::nullopt;
  return turns;
}

/// Does a parallel loop's last variable name what lies side by side in all that a loop in it writes, which goes across it?
bool isAcross(Operation *parallel, scf::ForOp serial) {
  Value along = parallel->getRegion(0).getArguments().back();
  bool anyWrite = false;
  bool isEach =
      !serial
           .walk([&](Operation *op) {
             if (!writeOf(op))
               return WalkResult::advance();
             anyWrite = true;
             SmallVector<Value> byStride = coordinatesByStride(op);
             return isContiguousIn(byStride, along) && isNamedBy(byStride, serial.getInductionVar())
                        ? WalkResult::advance()
                        : WalkResult::interrupt();
           })
           .wasInterrupted();
  return isEach && anyWrite;
}

/// A parallel loop around a nest.
class Box {
public:
  explicit Box(Operation *loop) : loop(loop), body(loop->getRegion(0).front()) {}

  /// The nest: loops of known extents, each with nothing but the next one and values; empty: there is none.
  ArrayRef<scf::ForOp> find() {
    for (scf::ForOp next = onlyLoop(body); next && next.getNumResults() == 0;
         next = onlyLoop(*next.getBody())) {
      std::optional<int64_t> known = knownTurns(next);
      if (!known || !isOutside(next.getLowerBound()))
        break;
      nest.push_back(next);
      turns.push_back(*known);
    }
    while (!nest.empty() && !isIndependent())
      nest.pop_back();
    turns.resize(nest.size());
    int64_t all = 1;
    for (int64_t one : turns)
      all = std::min(all * one, mostInBox + 1);
    if (all > mostInBox)
      nest.clear();
    if (nest.empty())
      findAcross();
    if (nest.empty())
      findStrided();
    return nest;
  }

  RangeOp join() {
    if (firstShared)
      return joinShared();
    OpBuilder builder(loop);
    Location loc = loop->getLoc();
    auto number = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    auto [lower, upper] = LoopBox::of(loop, builder);
    size_t outside = lower.size();
    for (int64_t count : turns) {
      lower.push_back(number(0));
      upper.push_back(number(count));
    }
    if (turns.empty()) {
      lower.push_back(number(0));
      upper.push_back(arith::SubIOp::create(builder, loc, nest.front().getUpperBound(),
                                            nest.front().getLowerBound()));
    }
    auto wide = RangeOp::create(builder, loc, lower, upper);
    Block &to = wide.getBody().front();
    if (isa<RangeOp>(loop))
      wide->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    for (auto [from, variable] : llvm::zip(body.getArguments(), to.getArguments()))
      from.replaceAllUsesWith(variable);
    body.getTerminator()->erase();
    move(body, to);
    for (auto [inner, variable] : llvm::zip(nest, to.getArguments().drop_front(outside))) {
      builder.setInsertionPoint(inner);
      Value turn = arith::AddIOp::create(builder, loc, inner.getLowerBound(), variable,
                                         arith::IntegerOverflowFlags::nsw);
      inner.getInductionVar().replaceAllUsesWith(isMutant(Mutant::BoxFromZero) ? variable : turn);
      inner.getBody()->getTerminator()->erase();
      move(*inner.getBody(), to, inner);
      inner.erase();
    }
    loop->erase();
    return wide;
  }

private:
  /// The loop whose turns the workers share.
  RangeOp joinShared() {
    OpBuilder builder(loop);
    scf::ForOp serial = nest.front();
    Value first = arith::ConstantIndexOp::create(builder, loop->getLoc(), *firstShared);
    auto whole = RangeOp::create(builder, loop->getLoc(), ValueRange(first),
                                 ValueRange(serial.getUpperBound()));
    Block &to = whole.getBody().front();
    if (isa<RangeOp>(loop))
      whole->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    body.getArgument(0).replaceAllUsesWith(first);
    serial.getInductionVar().replaceAllUsesWith(to.getArgument(0));
    body.getTerminator()->erase();
    move(body, to);
    serial.getBody()->getTerminator()->erase();
    move(*serial.getBody(), to, serial);
    serial.erase();
    loop->erase();
    return whole;
  }

  static void move(Block &from, Block &to, Operation *before = nullptr) {
    auto at = before ? Block::iterator(before) : Block::iterator(to.getTerminator());
    to.getOperations().splice(at, from.getOperations());
  }

  /// The loop in the block, if all else in it is values, or reads.
  static scf::ForOp onlyLoop(Block &block) {
    scf::ForOp found;
    for (Operation &op : block.without_terminator()) {
      if (auto inner = dyn_cast<scf::ForOp>(op); inner && !found) {
        found = inner;
        continue;
      }
      bool isRead = isa<memref::LoadOp, LoadOp>(op);
      if (op.getNumRegions() || !(isPure(&op) || (isRead && !found)))
        return scf::ForOp();
    }
    return found;
  }

  /// One loop across what lies side by side, by one; how many turns it has is known before the parallel loop.
  void findAcross() {
    turns.clear();
    scf::ForOp serial = onlyLoop(body);
    APInt step;
    auto isBefore = [&](Value bound) {
      return !loop->isAncestor(bound.getParentBlock()->getParentOp());
    };
    if (!serial || serial.getNumResults() ||
        !matchPattern(serial.getStep(), m_ConstantInt(&step)) || !step.isOne() ||
        !isBefore(serial.getLowerBound()) || !isBefore(serial.getUpperBound()) ||
        !isAcross(loop, serial))
      return;
    nest.push_back(serial);
    if (!isIndependent())
      nest.clear();
  }

  /// One loop whose turns are shared among workers.
  void findStrided() {
    scf::ForOp serial = onlyLoop(body);
    if (!serial || serial.getNumResults() || !(firstShared = firstOfStridedTurns(loop, serial)))
      return;
    nest.push_back(serial);
    if (!isIndependent())
      nest.clear();
  }

  bool isOutside(Value value) const {
    Operation *owner = value.getParentBlock()->getParentOp();
    return owner == loop || !loop->isAncestor(owner);
  }

  using Places = llvm::MapVector<AccessTarget, SmallVector<ValueRange>>;

  /// What the operation reads or writes; false: it has other effects.
  static bool note(Operation *op, Places &places, llvm::DenseSet<AccessTarget> &written) {
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      places[{load.getMemRef(), ""}].push_back(load.getIndices());
      return true;
    }
    if (isa<LoadOp, StoreOp, AtomicOp>(op)) {
      auto cell = CellAccess::of(op);
      places[{cell->tree, cell->path}].push_back(cell->coordinates);
    } else if (!isa<memref::StoreOp, memref::AtomicRMWOp>(op)) {
      return isa<scf::ForOp, scf::IfOp, scf::YieldOp, YieldOp>(op) || isPure(op);
    }
    if (auto write = writeOf(op)) {
      written.insert(write->first);
      if (!CellAccess::of(op))
        places[write->first].push_back(write->second);
    }
    return true;
  }

  /// No turn of the nest touches what another one writes, and nothing before it reads such.
  bool isIndependent() {
    Places places;
    llvm::DenseSet<AccessTarget> written;
    bool isKnown = !loop->walk([&](Operation *op) {
                          return op == loop || note(op, places, written) ? WalkResult::advance()
                                                                         : WalkResult::interrupt();
                        })
                        .wasInterrupted();
    return isKnown && !written.empty() && llvm::all_of(written, [&](AccessTarget target) {
             return areOwnPlaces(ArrayRef(nest), places[target]);
           });
  }

  Operation *loop;
  Block &body;
  SmallVector<scf::ForOp> nest;
  SmallVector<int64_t> turns;
  std::optional<int64_t> firstShared; ///< of turns that are shared among workers
};

struct WidenRanges : metate::impl::WidenRangesBase<WidenRanges> {
  void runOnOperation() override {
    if (getOperation().getDebug() || getOperation().getMayAlias() ||
        llvm::none_of(getOperation().getBody().front(), [](Operation &op) { return mayGain(&op); }))
      return;
    // Coordinates are known once vectors are taken apart, and numbers.
    OpPassManager passes(KernelOp::getOperationName());
    passes.addPass(createScalarizeIndices());
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createDelinearizeRanges());
    passes.addPass(createFoldIndexCasts());
    passes.addPass(createCSEPass());
    passes.addPass(createLoopInvariantCodeMotionPass());
    if (failed(runPipeline(passes, getOperation())))
      return signalPassFailure();
    for (Operation &op : llvm::make_early_inc_range(getOperation().getBody().front()))
      if (mayGain(&op))
        visit(&op);
  }

private:
  /// A parallel loop with a loop in it that names cells in slots, or whose turns have loops of their own: those turns can be lanes, if
  /// they do not add to places that others add to.
  static bool mayGain(Operation *op) {
    if (!isa<RangeOp, ForEachOp>(op) || !LoopBox::is(op))
      return false;
    bool anySlots = false, anyDeeper = false, anyAtomic = false;
    op->walk([&](Operation *inner) {
      auto around = inner->getParentOfType<scf::ForOp>();
      auto access = around ? CellAccess::of(inner) : std::nullopt;
      anySlots |= access && access->resolve().lastPool() >= 0;
      anyDeeper |= around && isa<scf::ForOp>(inner) && around->getParentOp() == op;
      anyAtomic |= isa<AtomicOp, memref::AtomicRMWOp>(inner);
    });
    auto loops = op->getRegion(0).front().getOps<scf::ForOp>();
    bool goesAcross = llvm::any_of(loops, [&](scf::ForOp loop) { return isAcross(op, loop); });
    bool goesInStrides =
        llvm::any_of(loops, [](scf::ForOp loop) { return !matchPattern(loop.getStep(), m_One()); });
    return anySlots || ((anyDeeper || goesAcross || goesInStrides) && !anyAtomic);
  }

  void visit(Operation *loop) {
    Box box(loop);
    size_t depth = box.find().size();
    if (depth == 0) {
      remarkDeclined(loop, "widen-ranges", "nests")
          << "loops inside stay in order: their extents are not known, or a turn may depend on "
             "another one";
      return;
    }
    remarkDone(loop, "widen-ranges", "nests")
        << Number("loops", depth)
        << " loops inside are part of the parallel loop: no turn depends on another";
    box.join();
    ++widened;
  }
};
} // namespace
