//===- BlendStores.cpp - stores under conditions become selections -*- C++ -*-===//
//
// `if t < y[i]: y[i] = t` branches in each turn, or is a vector that is stored under a mask, which some machines take apart. The turn has read
// y[i] already: `y[i] = t if t < y[i] else y[i]` is straight code. Reads in the branch of what the turn knows already are that value.
//
// `around == 3 or (around == 2 and a[i, j] == 1)` reads a[i, j] in some turns: where the loop's bounds say that it is inside, it is read in all of
// them and the result chosen. Of numbers of 8 and 16 bits some machines have no reads under a mask.
//
// `if x[i] < 0.5: y[low] = x[i] else: y[high] = x[i]` is one store, and the condition chooses where: what is foreseen wrongly costs more.
//
// Old values only where nobody else writes the place, and in rows: a place that is stored for nothing costs no line that is not written anyway.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Speculation.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/ContiguousAxis.h"
#include "metate/Transforms/LeafForm.h"
#include "metate/Transforms/OwnPlaces.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace metate {
#define GEN_PASS_DEF_BLENDSTORES
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// A branch of more operations is not computed for nothing.
constexpr unsigned mostBlended = 24;
/// Bodies know few places; looking for each of many would take long.
constexpr size_t mostKnown = 64;

/// A number in an array, or in cells that are all active.
struct NumberPlace {
  AccessTarget target;
  ValueRange coordinates;
  Type type;

  static std::optional<NumberPlace> of(Operation *op) {
    std::optional<NumberPlace> place;
    if (auto load = dyn_cast<memref::LoadOp>(op))
      place = {{load.getMemRef(), ""}, load.getIndices(), load.getType()};
    else if (auto store = dyn_cast<memref::StoreOp>(op))
      place = {{store.getMemRef(), ""}, store.getIndices(), store.getValue().getType()};
    else if (auto load = dyn_cast<LoadOp>(op); load && load.getComponents().empty())
      place = ofCell(op, load.getType());
    else if (auto store = dyn_cast<StoreOp>(op); store && store.getComponents().empty())
      place = ofCell(op, store.getValue().getType());
    return place && place->type.isIntOrFloat() && place->type.getIntOrFloatBitWidth() >= 8
               ? place
               : std::nullopt;
  }

  bool operator==(const NumberPlace &other) const {
    return target == other.target && type == other.type &&
           llvm::equal(coordinates, other.coordinates);
  }

private:
  static std::optional<NumberPlace> ofCell(Operation *op, Type type) {
    CellAccess cell = *CellAccess::of(op);
    TreePath path = cell.resolve();
    if (path.lastActivity() >= 0 || path.lastPool() >= 0)
      return std::nullopt;
    return NumberPlace{{cell.tree, cell.path}, cell.coordinates, type};
  }
};

struct KnownNumber {
  NumberPlace place;
  Value value;
};
using KnownNumbers = SmallVector<KnownNumber>;

Value numberAt(ArrayRef<KnownNumber> known, const NumberPlace &place) {
  for (const KnownNumber &one : llvm::reverse(known))
    if (one.place == place)
      return one.value;
  return Value();
}

/// Is the number in a cell that is always there, whatever the turn?
bool isInside(Operation *read) {
  auto load = dyn_cast<LoadOp>(read);
  if (!load || !NumberPlace::of(read))
    return false;
  TreePath path = CellAccess::from(load).resolve();
  return llvm::all_of(llvm::zip(load.getCoordinates(), path.extents), [](auto pair) {
    auto [coordinate, extent] = pair;
    return LinearForm::of(coordinate).isWithin(extent);
  });
}

bool isRead(Operation *op) { return isa<LoadOp, memref::LoadOp>(op); }
bool isStore(Operation *op) { return isa<StoreOp, memref::StoreOp>(op); }

Value storedValue(Operation *store) {
  if (auto cell = dyn_cast<StoreOp>(store))
    return cell.getValue();
  return cast<memref::StoreOp>(store).getValue();
}

/// Is it between numbers of the same member or array that the turn has asked for already, along each axis?
bool isBetween(Operation *read, ArrayRef<KnownNumber> known) {
  std::optional<NumberPlace> place = NumberPlace::of(read);
  if (!place)
    return false;
  for (auto [axis, coordinate] : llvm::enumerate(place->coordinates)) {
    LinearForm form = LinearForm::of(coordinate);
    bool isBehind = false, isBefore = false;
    for (const KnownNumber &one : known) {
      if (one.place.target != place->target)
        continue;
      LinearForm distance = form.minus(LinearForm::of(one.place.coordinates[axis]));
      isBehind |= distance.terms.empty() && distance.constant >= 0;
      isBefore |= distance.terms.empty() && distance.constant <= 0;
    }
    if (!isBehind || !isBefore)
      return false;
  }
  return true;
}

void forget(KnownNumbers &known, AccessTarget target) {
  if (!isMutant(Mutant::BlendedStale))
    llvm::erase_if(known, [&](KnownNumber &one) { return one.place.target == target; });
}

/// What an operation, and what it has inside or calls, writes is known no longer.
void forgetWrites(KnownNumbers &known, Operation *op) {
  walkWithCalls(op, [&](Operation *inner) {
    if (auto write = writeOf(inner))
      forget(known, write->first);
    return WalkResult::advance();
  });
}

/// Does the condition ask memory? Borders ask for the variables, and leave the loop (metate-map-tasks-cpu).
bool asksMemory(Value condition) {
  SmallVector<Value> values(1, condition);
  llvm::DenseSet<Operation *> seen;
  while (!values.empty()) {
    Operation *op = values.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (isRead(op))
      return true;
    llvm::append_range(values, op->getOperands());
  }
  return false;
}

/// One loop without loops in it: a parallel one, or one in order.
class RowLoop {
public:
  RowLoop(Operation *loop, bool mayAlias) : loop(loop), mayAlias(mayAlias) {}

  /// Loops of numbers, and what conditions choose of them.
  static bool is(Operation *loop) {
    return isa<RangeOp, scf::ForOp>(loop) &&
           !loop->walk([&](Operation *op) {
                  bool isPlain = op == loop || isa<scf::IfOp>(op) ||
                                 op->hasTrait<OpTrait::IsTerminator>() || isRead(op) ||
                                 isStore(op) || (!op->getNumRegions() && isPure(op));
                  return isPlain ? WalkResult::advance() : WalkResult::interrupt();
                })
                .wasInterrupted();
  }

  unsigned run() {
    visit(loop->getRegion(0).front(), {});
    return blended;
  }

private:
  KnownNumbers visit(Block &block, KnownNumbers known) {
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
      if (auto branch = dyn_cast<scf::IfOp>(op)) {
        for (Region &region : branch->getRegions())
          for (Block &inner : region)
            visit(inner, known);
        bool isBlended = mayBlend(branch, known);
        KnownNumbers before = known;
        forgetWrites(known, branch);
        if (isBlended)
          blend(branch, before, known);
        else if (mayChoose(branch, before))
          choose(branch);
        else if (std::optional<StorePair> stores = storesElsewhere(branch, before))
          chooseWhere(branch, *stores);
      } else if (std::optional<NumberPlace> place = NumberPlace::of(&op)) {
        access(op, *place, known);
      } else {
        forgetWrites(known, &op);
      }
    }
    return known;
  }

  static void access(Operation &op, const NumberPlace &place, KnownNumbers &known) {
    Value old = isRead(&op) ? numberAt(known, place) : Value();
    if (old) {
      op.getResult(0).replaceAllUsesWith(old);
      op.erase();
      return;
    }
    if (isStore(&op))
      forget(known, place.target);
    if (known.size() == mostKnown)
      known.erase(known.begin());
    known.push_back({place, isRead(&op) ? op.getResult(0) : storedValue(&op)});
  }

  using Sides = std::pair<NumberPlace, std::array<Operation *, 2>>;

  /// Numbers that are computed at once and stored: where, the last store of each side is in `sides`.
  bool mayBlend(scf::IfOp branch, ArrayRef<KnownNumber> known) {
    sides.clear();
    unsigned count = 0;
    for (auto [side, region] : llvm::enumerate(branch->getRegions()))
      for (Block &block : region)
        for (Operation &op : block.without_terminator())
          if (++count > mostBlended || !(isStore(&op)  ? note(&op, side)
                                         : isRead(&op) ? isAside(&op, known)
                                                       : isCheap(&op)))
            return false;
    return branch.getNumResults() == 0 && !sides.empty() && asksMemory(branch.getCondition()) &&
           llvm::all_of(sides, [&](auto &entry) { return isReady(entry, known); });
  }

  /// A read that may run in each turn, before the stores of the branch.
  bool isAside(Operation *read, ArrayRef<KnownNumber> known) const {
    return mayReadAlways(read, known) && llvm::none_of(sides, [&](const Sides &entry) {
             return entry.first.target == NumberPlace::of(read)->target;
           });
  }

  /// In rows, and inside of the cells.
  bool mayReadAlways(Operation *read, ArrayRef<KnownNumber> known) const {
    return (isInside(read) || isBetween(read, known)) &&
           isContiguousIn(coordinatesByStride(read), variable());
  }

  static bool isCheap(Operation *op) {
    return isa<arith::ArithDialect>(op->getDialect())
               ? mayRunAnywhere(op) && !isa<arith::RemFOp>(op)
               : isa<math::SqrtOp, math::AbsFOp, math::FloorOp, math::CeilOp, math::FmaOp>(op);
  }

  /// A few numbers that are computed of what is read inside of the cells, in rows.
  bool mayChoose(scf::IfOp branch, ArrayRef<KnownNumber> known) {
    unsigned count = 0, reads = 0;
    for (Region &region : branch->getRegions())
      for (Block &block : region)
        for (Operation &op : block.without_terminator()) {
          bool isFine = isRead(&op) ? mayReadAlways(&op, known) : isCheap(&op);
          if (!isFine || ++count > mostBlended)
            return false;
          reads += isRead(&op);
        }
    auto isNumber = [](Type type) { return type.isIntOrFloat(); };
    return reads > 0 && branch.getNumResults() > 0 &&
           llvm::all_of(branch.getResultTypes(), isNumber) && asksMemory(branch.getCondition());
  }

  void choose(scf::IfOp branch) {
    remarkDone(branch, "blend-stores", "conditionals")
        << "both sides are computed and one is chosen, so that the loop may become vectors: what "
           "they read is there in each turn";
    leave(branch);
  }

  /// Both sides are computed; the branch's results are chosen.
  void leave(scf::IfOp branch) {
    for (Region &region : branch->getRegions())
      for (Block &block : region)
        for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
          op.moveBefore(branch);
    OpBuilder builder(branch);
    for (auto [result, yes, no] : llvm::zip(branch.getResults(), branch.thenYield().getOperands(),
                                            branch.elseYield().getOperands()))
      result.replaceAllUsesWith(
          arith::SelectOp::create(builder, branch.getLoc(), branch.getCondition(), yes, no));
    branch.erase();
    ++blended;
  }

  using StorePair = std::array<Operation *, 2>;

  /// A store on each side, to numbers of one array or member, beside what is computed at once.
  std::optional<StorePair> storesElsewhere(scf::IfOp branch, ArrayRef<KnownNumber> known) const {
    StorePair stores{nullptr, nullptr};
    unsigned count = 0;
    for (auto [side, region] : llvm::enumerate(branch->getRegions()))
      for (Block &block : region)
        for (Operation &op : block.without_terminator()) {
          bool isFirst = isStore(&op) && !stores[side];
          if (isFirst)
            stores[side] = &op;
          if (++count > mostBlended ||
              !(isFirst || (isRead(&op) ? mayReadAlways(&op, known) : isCheap(&op))))
            return std::nullopt;
        }
    if (!stores[0] || !stores[1] || !asksMemory(branch.getCondition()) ||
        stores[0]->getName() != stores[1]->getName() ||
        stores[0]->getAttrDictionary() != stores[1]->getAttrDictionary())
      return std::nullopt;
    std::optional<NumberPlace> places[] = {NumberPlace::of(stores[0]), NumberPlace::of(stores[1])};
    bool isFine =
        places[0] && places[1] && places[0]->target == places[1]->target &&
        llvm::all_of(branch.getResultTypes(), [](Type type) { return type.isIntOrIndexOrFloat(); });
    // A read would come before the other side's store; it is before its own one only if it stands there.
    for (Region &region : branch->getRegions())
      for (Operation &op : region.front().without_terminator())
        isFine = isFine && !(isRead(&op) && NumberPlace::of(&op)->target == places[0]->target);
    return isFine ? std::optional(stores) : std::nullopt;
  }

  void chooseWhere(scf::IfOp branch, const StorePair &stores) {
    remarkDone(branch, "blend-stores", "conditionals")
        << "the condition chooses where the number is stored, without a branch";
    Value condition = branch.getCondition();
    leave(branch);
    auto [yes, no] = stores;
    OpBuilder builder(no);
    for (auto [operand, other] : llvm::zip(no->getOpOperands(), yes->getOperands())) {
      Value chosen[] = {other, operand.get()};
      bool isOther = isMutant(Mutant::StoredAtOther);
      if (chosen[0] != chosen[1])
        operand.set(arith::SelectOp::create(builder, no->getLoc(), condition, chosen[isOther],
                                            chosen[!isOther]));
    }
    yes->erase();
  }

  Value variable() const {
    Block &body = loop->getRegion(0).front();
    return isa<RangeOp>(loop) ? body.getArguments().back() : body.getArgument(0);
  }

  bool note(Operation *store, size_t side) {
    std::optional<NumberPlace> place = NumberPlace::of(store);
    if (!place)
      return false;
    for (auto &[known, stores] : sides) {
      if (known == *place) {
        stores[side] = store;
        return true;
      }
      if (known.target == place->target) // which of them is last may matter
        return false;
    }
    sides.push_back({*place, {nullptr, nullptr}});
    sides.back().second[side] = store;
    return true;
  }

  /// Is the place this turn's own, in a row, and what it holds known or overwritten on both sides?
  bool isReady(const Sides &entry, ArrayRef<KnownNumber> known) {
    const auto &[place, stores] = entry;
    Operation *store = stores[0] ? stores[0] : stores[1];
    bool isKnown = (stores[0] && stores[1]) || numberAt(known, place);
    return isKnown && isContiguousIn(coordinatesByStride(store), variable()) && isOwn(place.target);
  }

  bool isOwn(AccessTarget target) {
    Operation *parallel = loop;
    while (!isa<RangeOp, SerialOp, CellsOp, KernelOp>(parallel))
      parallel = parallel->getParentOp();
    if (!isa<RangeOp>(parallel))
      return isa<SerialOp>(parallel);
    if (!writes)
      writes.emplace(parallel, mayAlias);
    return writes->areOwn(target);
  }

  void blend(scf::IfOp branch, ArrayRef<KnownNumber> before, KnownNumbers &known) {
    remarkDone(branch, "blend-stores", "conditionals")
        << "where the condition does not hold the old value is stored, so that the loop may become "
           "vectors";
    for (Region &region : branch->getRegions())
      for (Block &block : region)
        for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
          if (!isStore(&op))
            op.moveBefore(branch);
    OpBuilder builder(branch);
    for (auto &[place, stores] : sides) {
      Value old = numberAt(before, place);
      auto value = [&](Operation *store) { return store ? storedValue(store) : old; };
      Value chosen = arith::SelectOp::create(builder, branch.getLoc(), branch.getCondition(),
                                             value(stores[0]), value(stores[1]));
      Operation *store = stores[0] ? stores[0] : stores[1];
      store->moveBefore(branch);
      store->setOperand(0, chosen);
      known.push_back({place, chosen});
    }
    branch.erase();
    ++blended;
  }

  Operation *loop;
  bool mayAlias;
  std::optional<LoopWrites> writes;
  SmallVector<Sides> sides;
  unsigned blended = 0;
};

struct BlendStores : metate::impl::BlendStoresBase<BlendStores> {
  void runOnOperation() override {
    // Of overlapping arguments each could be what another one was read as.
    if (getOperation().getMayAlias())
      return;
    SmallVector<Operation *> loops;
    getOperation().walk([&](scf::IfOp branch) {
      Operation *loop = branch->getParentOp();
      while (isa<scf::IfOp>(loop))
        loop = loop->getParentOp();
      if (!llvm::is_contained(loops, loop) && RowLoop::is(loop))
        loops.push_back(loop);
    });
    for (Operation *loop : loops)
      blended += RowLoop(loop, /*mayAlias=*/false).run();
  }
};
} // namespace
