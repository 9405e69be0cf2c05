//===- PromoteCells.cpp - what an inner loop keeps in one place -*- C++ -*-===//
//
// A cell, element or component at coordinates that an inner loop does not change becomes a variable around that loop, if nothing
// else in the loop may be at its place: read once before, stored once after. LLVM does so too where it can tell places
// apart; it cannot tell members of one tree apart, nor does it before iterations become lanes.
//
// Others see less: what is stored between the turns. They may not ask for it without an atomic (semantics 5.5), but a store
// that did not take place before must not, unless the iteration owns the place.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/Checks.h"
#include "metate/Transforms/IntegerRange.h"
#include "metate/Transforms/LeafForm.h"
#include "metate/Transforms/OwnPlaces.h"
#include "metate/Transforms/Passes.h"
#include "metate/Transforms/PlaceAccess.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

namespace metate {
#define GEN_PASS_DEF_PROMOTECELLS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// More scalars than this would not stay in registers.
constexpr int64_t mostScalars = 32;
/// Each place is compared with each access: beyond this the loop's body is long, and a place more or less in memory nothing.
constexpr size_t mostAccesses = 256;

/// Accesses of one place.
struct OnePlace {
  SmallVector<PlaceAccess> accesses;
  bool isStored = false;
  bool isCertain = false;       ///< each turn reads or stores it
  bool isStoredForSure = false; ///< each turn stores it

  bool isLoaded() const {
    return llvm::any_of(accesses, [](const PlaceAccess &one) { return one.isLoad(); });
  }
};

/// What a loop does to memory.
struct LoopEffects {
  SmallVector<PlaceAccess> accesses;
  SmallVector<Value> changed; ///< trees whose active cells change, what functions get
  bool isKnown = true;

  LoopEffects() = default;
  explicit LoopEffects(Operation *loop) {
    walkWithCalls(loop, [&](Operation *op) {
      add(op);
      return isKnown ? WalkResult::advance() : WalkResult::interrupt();
    });
  }

private:
  void add(Operation *op) {
    if (mayStop(op)) {
      isKnown = false; // what was stored until then must be there
    } else if (auto access = PlaceAccess::of(op)) {
      accesses.push_back(std::move(*access));
      isKnown = accesses.size() <= mostAccesses;
    } else if (auto cell = dyn_cast<CellOpInterface>(op)) {
      if (cell.activates() || cell.deactivates() || cell.writesMember())
        changed.push_back(cell.getTree());
    } else if (isa<CallOp>(op)) {
      llvm::append_range(changed, op->getOperands());
    } else if (!isa<PrintOp, memref::AllocaOp>(op) && op->getNumRegions() == 0 &&
               !isMemoryEffectFree(op)) {
      isKnown = false;
    }
  }
};

class LoopPromotion {
public:
  /// `writes`: of the parallel loop around; null in a task that one worker runs.
  LoopPromotion(scf::ForOp loop, const LoopWrites *writes, bool isFunction)
      : loop(loop), kernel(loop->getParentOfType<KernelOp>()), writes(writes),
        isFunction(isFunction) {}

  /// How many places were promoted. What was read may be the coordinate of another place: x[k[i]].
  unsigned run() {
    unsigned promoted = 0;
    while (unsigned more = runOnce()) {
      promoted += more;
      moveLoopInvariantCode(cast<LoopLikeOpInterface>(loop.getOperation()));
    }
    return promoted;
  }

private:
  unsigned runOnce() {
    effects = LoopEffects(loop);
    if (!effects.isKnown)
      return 0;
    unsigned promoted = 0;
    SmallVector<Operation *> replaced; // accesses name their values
    for (OnePlace &place : places()) {
      auto vector = dyn_cast<VectorType>(place.accesses.front().type);
      int64_t width = vector ? vector.getNumElements() : 1;
      if (!isAlone(place) || scalars + width > mostScalars)
        continue;
      // A branch would keep iterations from becoming lanes, and LLVM moves what is only read.
      if (!place.isStored && !needsNoGuard(place))
        continue;
      scalars += width;
      promote(place);
      for (const PlaceAccess &access : place.accesses)
        replaced.push_back(access.op);
      ++promoted;
    }
    for (Operation *op : replaced)
      op->erase();
    return promoted;
  }

  bool isOutside(Value value) {
    return value.getParentRegion()->isProperAncestor(&loop.getRegion()) ||
           matchPattern(value, m_Constant());
  }

  /// Places that the loop does not change, in the order of their first accesses.
  SmallVector<OnePlace> places() {
    SmallVector<OnePlace> result;
    for (const PlaceAccess &access : effects.accesses) {
      if (!loop->isAncestor(access.op) || !isOutside(access.target.first) ||
          access.target.first.getDefiningOp<memref::AllocaOp>() ||
          !llvm::all_of(access.coordinates, [&](Value one) { return isOutside(one); }) ||
          !llvm::all_of(access.components, [&](Value one) { return isOutside(one); }))
        continue;
      auto known = llvm::find_if(
          result, [&](OnePlace &place) { return place.accesses.front().isAtSamePlace(access); });
      if (known == result.end())
        known = &result.emplace_back();
      bool isCertain = access.op->getBlock() == loop.getBody();
      known->accesses.push_back(access);
      known->isStored |= !access.isLoad();
      known->isCertain |= isCertain;
      known->isStoredForSure |= isCertain && access.isStore();
    }
    return result;
  }

  bool isOwn(const OnePlace &place) {
    return !isFunction && (!writes || writes->areOwn(place.accesses.front().target));
  }

  /// Nothing else in the loop is at the place, and it may be read before the loop and stored after it.
  bool isAlone(const OnePlace &place) {
    const PlaceAccess &first = place.accesses.front();
    if (place.isLoaded()
            ? !place.isCertain && !(place.isStored && isOwn(place) && mayBeTouched(first))
            : place.isStoredForSure) // LLVM moves what each turn stores
      return false;
    if (llvm::any_of(place.accesses,
                     [](const PlaceAccess &one) { return !one.isLoad() && !one.isStore(); }))
      return false;
    if (place.isStored && !(place.isStoredForSure || isOwn(place)))
      return false;
    // A store that finds no active cell leaves nothing to be read; one under a condition may be under that of its activity.
    bool isActive = llvm::all_of(place.accesses, [&](const PlaceAccess &one) {
      auto store = dyn_cast<StoreOp>(one.op);
      return !store || CellAccess::of(store)->resolve().lastActivity() < 0 ||
             (store.getActive() && place.isStoredForSure);
    });
    bool mayAlias = kernel.getMayAlias();
    return isActive &&
           llvm::none_of(effects.changed,
                         [&](Value value) {
                           return value == first.target.first ||
                                  (mayAlias && isa<TreeType, MemRefType>(value.getType()));
                         }) &&
           llvm::all_of(effects.accesses, [&](const PlaceAccess &other) {
             // What a function does that the loop calls stays in memory.
             return (!place.isStored && other.isLoad()) ||
                    (loop->isAncestor(other.op) && first.isAtSamePlace(other)) ||
                    first.isApartFrom(other, mayAlias);
           });
  }

  /// Does the loop run, or is the place one that may be touched all the same?
  bool needsNoGuard(const OnePlace &place) {
    if (runs())
      return true;
    const PlaceAccess &first = place.accesses.front();
    return (!place.isStored || isOwn(place)) && mayBeTouched(first);
  }

  /// Whatever the loop does.
  bool mayBeTouched(const PlaceAccess &access) {
    return isInside(access) || isTouchedBeside(access);
  }

  /// Where the loop is reached, the place has been read or stored.
  bool isTouchedBeside(const PlaceAccess &access) {
    return llvm::any_of(llvm::make_range(loop->getBlock()->begin(), loop->getIterator()),
                        [&](Operation &op) {
                          auto other = PlaceAccess::of(&op);
                          return other && access.isAtSamePlace(*other);
                        });
  }

  /// At least one turn, since the bounds say so or a loop around with the same ones runs.
  bool runs() {
    APInt lower, upper;
    if (matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) &&
        matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)))
      return lower.slt(upper);
    for (Operation *around = loop->getParentOp(); !isa<KernelOp, FunctionOp>(around);
         around = around->getParentOp()) {
      if (auto outer = dyn_cast<scf::ForOp>(around))
        if (isEqualConstantIntOrValue(outer.getLowerBound(), loop.getLowerBound()) &&
            isEqualConstantIntOrValue(outer.getUpperBound(), loop.getUpperBound()))
          return true;
      if (auto range = dyn_cast<RangeOp>(around))
        for (auto [least, end] : llvm::zip(range.getLower(), range.getUpper()))
          if (isEqualConstantIntOrValue(least, loop.getLowerBound()) &&
              isEqualConstantIntOrValue(end, loop.getUpperBound()))
            return true;
    }
    return false;
  }

  /// Coordinates that name an element or a cell for sure.
  static bool isInside(const PlaceAccess &access) {
    if (access.isArray())
      return llvm::all_of(llvm::enumerate(access.coordinates), [&](auto one) {
        return isBelowExtent(one.value(), access.target.first, one.index());
      });
    TreePath path = CellAccess::of(access.op)->resolve();
    return llvm::all_of(llvm::zip(access.coordinates, path.extents), [](auto pair) {
      auto [coordinate, extent] = pair;
      if (auto argument = dyn_cast<BlockArgument>(coordinate))
        if (auto loop = dyn_cast<ForEachOp>(argument.getOwner()->getParentOp()))
          return findPath(cast<TreeType>(loop.getTree().getType()), loop.getPath())
                     ->extents[argument.getArgNumber()] <= extent;
      auto range = IntegerRange::of(coordinate);
      return range && range->least >= 0 && range->greatest < extent;
    });
  }

  /// A variable of the parallel loop over that axis of the array.
  static bool isBelowExtent(Value coordinate, Value array, unsigned axis) {
    auto argument = dyn_cast<BlockArgument>(coordinate);
    auto range = argument ? dyn_cast<RangeOp>(argument.getOwner()->getParentOp()) : RangeOp();
    if (!range || !matchPattern(range.getLower()[argument.getArgNumber()], m_Zero()))
      return false;
    auto extent = range.getUpper()[argument.getArgNumber()].getDefiningOp<memref::DimOp>();
    return extent && extent.getSource() == array && extent.getConstantIndex() == int64_t(axis);
  }

  /// Where what stands before or after the loop goes: under the condition that it runs.
  void guarded(OpBuilder &builder, bool isGuarded, function_ref<void(OpBuilder &)> write) {
    if (!isGuarded)
      return write(builder);
    Location loc = loop.getLoc();
    Value isRun = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                        loop.getLowerBound(), loop.getUpperBound());
    auto branch = scf::IfOp::create(builder, loc, isRun, /*withElseRegion=*/false);
    OpBuilder inside = branch.getThenBodyBuilder();
    write(inside);
  }

  void promote(OnePlace &place) {
    const PlaceAccess &first = place.accesses.front();
    const PlaceAccess *store =
        llvm::find_if(place.accesses, [](const PlaceAccess &one) { return one.isStore(); });
    const PlaceAccess *load =
        llvm::find_if(place.accesses, [](const PlaceAccess &one) { return one.isLoad(); });
    if (auto remark = remarkDone(loop, "promote-cells", "values"))
      remark << "'" << accessName(first.target.first, first.target.second).name << "' is "
             << (!place.isLoaded() ? "stored once, after the loop, if a turn stores it"
                 : place.isStored  ? "accumulated in a value and stored once, after the loop"
                                   : "read once, before the loop")
             << atLine(first.op);
    OpBuilder before(loop), after(loop->getContext());
    if (!place.isLoaded())
      return promoteStored(place, *store);
    if (!place.isStored) {
      Operation *read = copyOf(before, load->op);
      for (const PlaceAccess &access : place.accesses)
        access.op->replaceAllUsesWith(read);
      return;
    }
    after.setInsertionPointAfter(loop);
    bool isGuarded = !needsNoGuard(place);
    Value variable =
        memref::AllocaOp::create(before, loop.getLoc(), MemRefType::get({}, first.type));
    Value stored = isGuarded ? Value() : takeStoreBefore(*load);
    guarded(before, isGuarded, [&](OpBuilder &builder) {
      Value start = stored ? stored : copyOf(builder, load->op)->getResult(0);
      memref::StoreOp::create(builder, load->op->getLoc(), start, variable);
    });
    if (!isMutant(Mutant::PromotedCellNotStored))
      guarded(after, isGuarded, [&](OpBuilder &builder) {
        Value last = memref::LoadOp::create(builder, store->op->getLoc(), variable);
        copyOf(builder, store->op)->setOperand(0, last);
      });
    for (PlaceAccess &access : place.accesses) {
      OpBuilder builder(access.op);
      if (access.isLoad())
        access.op->replaceAllUsesWith(
            memref::LoadOp::create(builder, access.op->getLoc(), variable));
      else
        memref::StoreOp::create(builder, access.op->getLoc(), access.op->getOperand(0), variable);
    }
  }

  /// What the place has got just before the loop, by a store that the one after the loop makes needless; null: not known.
  Value takeStoreBefore(const PlaceAccess &place) {
    bool mayAlias = kernel.getMayAlias();
    for (Operation *op = loop->getPrevNode(); op; op = op->getPrevNode()) {
      auto access = PlaceAccess::of(op);
      if (access && access->isAtSamePlace(place)) {
        if (!access->isStore() || access->op->getOperand(0).getType() != place.type ||
            (isa<StoreOp>(op) && CellAccess::of(op)->resolve().lastActivity() >= 0))
          return {};
        Value value = op->getOperand(0);
        op->erase();
        return value;
      }
      bool isApart = access ? access->isApartFrom(place, mayAlias)
                            : isa<memref::AllocaOp>(op) ||
                                  (op->getNumRegions() == 0 && isMemoryEffectFree(op));
      if (!isApart)
        return {};
    }
    return {};
  }

  /// A place that some turns store and none reads: stored after the loop if one has.
  void promoteStored(OnePlace &place, const PlaceAccess &store) {
    Location loc = loop.getLoc();
    OpBuilder before(loop), after(loop->getContext());
    after.setInsertionPointAfter(loop);
    auto local = [&](Type type) -> Value {
      return memref::AllocaOp::create(before, loc, MemRefType::get({}, type));
    };
    auto truth = [&](OpBuilder &builder, bool value) -> Value {
      return arith::ConstantOp::create(builder, loc, builder.getBoolAttr(value));
    };
    Value variable = local(store.type), isStored = local(before.getI1Type());
    memref::StoreOp::create(before, loc, truth(before, false), isStored);
    Value condition = memref::LoadOp::create(after, loc, isStored);
    auto branch = scf::IfOp::create(after, loc, condition, /*withElseRegion=*/false);
    OpBuilder inside = branch.getThenBodyBuilder();
    Value last = memref::LoadOp::create(inside, store.op->getLoc(), variable);
    if (!isMutant(Mutant::PromotedCellNotStored))
      copyOf(inside, store.op)->setOperand(0, last);
    for (PlaceAccess &access : place.accesses) {
      OpBuilder builder(access.op);
      memref::StoreOp::create(builder, access.op->getLoc(), access.op->getOperand(0), variable);
      memref::StoreOp::create(builder, access.op->getLoc(), truth(builder, true), isStored);
    }
  }

  /// The operation outside of the loop: constants inside of it are copied along.
  Operation *copyOf(OpBuilder &builder, Operation *op) {
    Operation *copy = builder.clone(*op);
    for (OpOperand &operand : copy->getOpOperands())
      if (Operation *constant = operand.get().getDefiningOp();
          constant && loop->isProperAncestor(constant) &&
          matchPattern(operand.get(), m_Constant())) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(copy);
        operand.set(builder.clone(*constant)->getResult(0));
      }
    return copy;
  }

  scf::ForOp loop;
  KernelOp kernel;
  const LoopWrites *writes;
  bool isFunction;
  LoopEffects effects;
  int64_t scalars = 0;
};

struct PromoteCells : metate::impl::PromoteCellsBase<PromoteCells> {
  void runOnOperation() override {
    for (Operation &op : getOperation().getBody().front()) {
      SmallVector<scf::ForOp> loops; // from the inside out
      op.walk([&](scf::ForOp loop) { loops.push_back(loop); });
      if (loops.empty())
        continue;
      std::optional<LoopWrites> writes;
      if (isa<RangeOp, ForEachOp>(op))
        writes.emplace(&op, getOperation().getMayAlias());
      for (scf::ForOp loop : loops)
        promoted += LoopPromotion(loop, writes ? &*writes : nullptr, isa<FunctionOp>(op)).run();
    }
    for (Operation &op : getOperation().getBody().front())
      if (isa<RangeOp, ForEachOp>(op) && storesUnderConditions(op))
        promoted += promoteInIteration(op);
  }

private:
  /// Is there a place of the iteration's own that it stores more than once, and under a condition?
  bool storesUnderConditions(Operation &parallel) {
    SmallVector<PlaceAccess> stores, twice;
    parallel.walk([&](Operation *op) {
      auto access = PlaceAccess::of(op);
      if (!access || !access->isStore() || stores.size() > mostAccesses)
        return;
      bool isUnderCondition = isa<scf::IfOp>(op->getParentOp());
      if (llvm::any_of(stores, [&](const PlaceAccess &other) {
            return other.isAtSamePlace(*access) &&
                   (isUnderCondition || isa<scf::IfOp>(other.op->getParentOp()));
          }))
        twice.push_back(*access);
      stores.push_back(std::move(*access));
    });
    if (twice.empty()) // most loops: whose the places are takes longer to see
      return false;
    LoopWrites writes(&parallel, getOperation().getMayAlias());
    return llvm::any_of(twice, [&](const PlaceAccess &one) { return writes.areOwn(one.target); });
  }

  /// As if the iteration were a loop of one turn.
  unsigned promoteInIteration(Operation &parallel) {
    Block &body = parallel.getRegion(0).front();
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    Location loc = parallel.getLoc();
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0),
          one = arith::ConstantIndexOp::create(builder, loc, 1);
    auto once = scf::ForOp::create(builder, loc, zero, one, one);
    once.getBody()->getOperations().splice(once.getBody()->begin(), body.getOperations(),
                                           std::next(once->getIterator()), std::prev(body.end()));
    moveLoopInvariantCode(cast<LoopLikeOpInterface>(once.getOperation()));
    LoopWrites writes(&parallel, getOperation().getMayAlias());
    unsigned count = LoopPromotion(once, &writes, /*isFunction=*/false).run();
    once.getBody()->getTerminator()->erase();
    body.getOperations().splice(once->getIterator(), once.getBody()->getOperations());
    once.erase();
    return count;
  }
};
} // namespace
