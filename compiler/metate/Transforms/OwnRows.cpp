//===- OwnRows.cpp - rows of members that are an iteration's own -*- C++ -*-===//
//
// `row[p, j]` in a parallel loop over p: fields that stand in for local vectors. A row that only its iteration touches, and touches many times over, is
// a local array, read before and written back behind: nothing else may be in it, its places need no address in a tree, and where iterations become lanes it is
// a row of vectors (Target/Cpu/WidenedArrays.cpp). What the iteration stores everywhere before it reads is not read before.
//
// The array has, and gives back, the numbers that every iteration touches, and nobody touches others: another launch may have what stands beside them.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Level/IndexBuilder.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/Checks.h"
#include "metate/Transforms/ContiguousAxis.h"
#include "metate/Transforms/IntegerRange.h"
#include "metate/Transforms/LeafForm.h"
#include "metate/Transforms/OwnPlaces.h"
#include "metate/Transforms/Passes.h"
#include "metate/Transforms/PlaceAccess.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace metate {
#define GEN_PASS_DEF_OWNROWS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

/// Turns of a loop that is not known to have others.
static constexpr double unknownTurns = 8;
/// How often a condition holds.
static constexpr double takesSide = 0.5;
/// Accesses by an iteration that are looked at one by one, to see what it touches.
static constexpr int64_t mostLookedAt = 1 << 14;
/// Numbers that are copied one by one, where they are not all of a box.
static constexpr unsigned mostApart = 64;

/// A load or store of a number in a dense tree or an array, of a width that lanes have.
static bool isPlain(const PlaceAccess &access) {
  if ((!access.isLoad() && !access.isStore()) || !access.components.empty() ||
      !access.type.isIntOrFloat() || access.type.getIntOrFloatBitWidth() < 32)
    return false;
  std::optional<CellAccess> cell = CellAccess::of(access.op);
  if (!cell)
    return true;
  TreePath path = cell->resolve();
  return path.lastActivity() < 0 && path.place.getType() == access.type;
}

static bool isLoad(Operation *access) { return PlaceAccess::of(access)->isLoad(); }

/// As they are now: what one names may be a number of another row, which has become local.
static SmallVector<Value> coordinatesOf(Operation *access) {
  return std::move(PlaceAccess::of(access)->coordinates);
}

/// How often what stands in a loop or under a condition runs, by what is known of bounds.
static double turnsOf(Operation *op) {
  auto counted = dyn_cast<scf::ForOp>(op);
  if (!counted)
    return isa<scf::WhileOp>(op) ? unknownTurns : isa<scf::IfOp>(op) ? takesSide : 1;
  std::optional<int64_t> step = getConstantIntValue(counted.getStep());
  std::optional<IntegerRange> lower = IntegerRange::of(counted.getLowerBound()),
                              upper = IntegerRange::of(counted.getUpperBound());
  if (!step || *step <= 0 || !lower || !upper)
    return unknownTurns;
  double span = double(upper->least + upper->greatest - lower->least - lower->greatest) / 2;
  return std::max(1.0, span / double(*step));
}

namespace {
/// Numbers of a box, the last axis fastest.
using Places = llvm::BitVector;

/// Along one axis: the coordinate that all accesses share, or what of the row they are at.
struct RowAxis {
  Value shared; ///< of one of the accesses: what `form` says
  LinearForm form;
  int64_t first = 0, count = 1;

  bool isRow() const { return !shared; }
};

/// The turns of nested loops, as far as their bounds are sums of constants and of variables of loops around them; of a loop with other
/// bounds one turn is looked at.
class Turns {
public:
  /// `loops`: the outer one first; `places`: what is asked of each turn.
  Turns(ArrayRef<scf::ForOp> loops, ArrayRef<LinearForm> places) : loops(loops) {
    llvm::SmallDenseSet<Value> variables;
    auto isKnown = [&](const LinearForm &form) {
      return llvm::all_of(form.terms, [&](auto &term) { return variables.contains(term.first); });
    };
    for (scf::ForOp loop : loops) {
      LinearForm lower = LinearForm::of(loop.getLowerBound()),
                 upper = LinearForm::of(loop.getUpperBound());
      bounds.emplace_back();
      if (loop.getUnsignedCmp() || getConstantIntValue(loop.getStep()).value_or(0) <= 0 ||
          !isKnown(lower) || !isKnown(upper))
        continue;
      bounds.back() = {lower, upper};
      variables.insert(loop.getInductionVar());
      name(lower);
      name(upper);
    }
    areNumbers = llvm::all_of(places, isKnown);
    for (const LinearForm &place : places)
      name(place);
  }

  /// Is it known what the places are in each turn?
  bool areKnown() const { return areNumbers; }
  /// Is it known which turns the loop has?
  bool isKnown(unsigned loop) const { return bounds[loop].has_value(); }

  int64_t valueOf(const LinearForm &form) const {
    int64_t sum = form.constant;
    for (auto [value, factor] : form.terms)
      sum += factor * turn.lookup(value);
    return sum;
  }

  /// Visits at most so many; false if there are more.
  bool visit(int64_t &left, llvm::function_ref<void()> visitor, size_t depth = 0) {
    if (--left <= 0)
      return false;
    if (depth == loops.size()) {
      visitor();
      return true;
    }
    if (!bounds[depth])
      return visit(left, visitor, depth + 1);
    scf::ForOp loop = loops[depth];
    Value variable = loop.getInductionVar();
    int64_t to = valueOf(bounds[depth]->second), step = *getConstantIntValue(loop.getStep());
    for (int64_t at = valueOf(bounds[depth]->first); at < to; at += step) {
      turn[variable] = at;
      if (!visit(left, visitor, depth + 1))
        return false;
      if (!named.contains(variable))
        break; // other turns are the same
    }
    return true;
  }

private:
  void name(const LinearForm &form) {
    for (auto [value, factor] : form.terms)
      named.insert(value);
  }

  ArrayRef<scf::ForOp> loops;
  SmallVector<std::optional<std::pair<LinearForm, LinearForm>>> bounds;
  llvm::SmallDenseSet<Value> named;
  llvm::SmallDenseMap<Value, int64_t> turn;
  bool areNumbers;
};

/// The accesses of one member or array in a parallel loop.
class Row {
public:
  Row(RangeOp range, AccessTarget target) : range(range), target(target) {}

  void add(Operation *access) { accesses.push_back(access); }

  /// Is it a row of this iteration alone, of at most so many bytes, of which it is known what is touched?
  bool isOwn(int64_t mostBytes) {
    if (llvm::all_of(accesses, isLoad) || llvm::none_of(accesses, isLoad) || !findAxes(mostBytes) ||
        !isDistinct() || isSideBySide())
      return false;
    block = commonBlock();
    repeated = commonLoop();
    return findTouched() && isCopied(touched);
  }

  /// Accesses by an iteration for each one that copies the row.
  double usesPerCopy() const {
    double uses = 0;
    for (Operation *access : accesses) {
      double turns = 1;
      for (Operation *around : between(access))
        turns *= turnsOf(around);
      uses += turns;
    }
    return uses / double((isStoredFirst ? 0 : touched.count()) + givenBack().count());
  }

  int64_t bytes() const { return cells * type.getIntOrFloatBitWidth() / 8; }

  void makeLocal() {
    Location loc = accesses.front()->getLoc();
    OpBuilder builder(range.getContext());
    builder.setInsertionPointToStart(block);
    array = memref::AllocaOp::create(builder, loc, MemRefType::get({cells}, type));
    if (repeated)
      builder.setInsertionPoint(repeated);
    if (!isStoredFirst && !isMutant(Mutant::OwnRowUnread))
      copy(builder, loc, touched, /*back=*/false);
    if (repeated)
      builder.setInsertionPointAfter(repeated);
    else
      builder.setInsertionPoint(block->getTerminator());
    copy(builder, loc, givenBack(), /*back=*/true);
    for (Operation *access : accesses)
      replace(access);
  }

private:
  Block *body() const { return &range->getRegion(0).front(); }
  bool isArray() const { return isa<MemRefType>(target.first.getType()); }

  /// What an iteration does with the row, without the conditions that all of it is under.
  Block *commonBlock() const {
    Block *common = body();
    while (auto branch = dyn_cast<scf::IfOp>(common->findAncestorOpInBlock(*accesses.front()))) {
      Region *side = accesses.front()->getParentRegion();
      side = branch.getThenRegion().isAncestor(side) ? &branch.getThenRegion()
                                                     : &branch.getElseRegion();
      if (!llvm::all_of(accesses, [&](Operation *access) {
            return side->isAncestor(access->getParentRegion());
          }))
        break;
      common = &side->front();
    }
    return common;
  }

  /// The loop that all accesses are in, if it is not known how many turns it has: if it has any, it may as well have one.
  scf::ForOp commonLoop() const {
    auto loop = dyn_cast<scf::ForOp>(block->findAncestorOpInBlock(*accesses.front()));
    bool isIt = loop && !boundsOf(loop.getInductionVar()) && !loop.getUnsignedCmp() &&
                llvm::all_of(accesses, [&](Operation *access) { return loop->isAncestor(access); });
    return isIt ? loop : scf::ForOp();
  }

  /// Loops and conditions that an access stands in, the inner one first.
  SmallVector<Operation *> between(Operation *access) const {
    SmallVector<Operation *> found;
    for (Operation *around = access->getParentOp(); around != block->getParentOp();
         around = around->getParentOp())
      found.push_back(around);
    return found;
  }

  /// Axes along which all accesses have the same coordinate, and those along the row.
  bool findAxes(int64_t mostBytes) {
    type = PlaceAccess::of(accesses.front())->type;
    SmallVector<Value> first = coordinatesOf(accesses.front());
    for (unsigned k = 0; k < first.size(); ++k) {
      LinearForm form = LinearForm::of(first[k]);
      bool isShared =
          llvm::all_of(form.terms, [&](auto &term) { return isOfIteration(term.first); }) &&
          llvm::all_of(accesses, [&](Operation *access) {
            return isZero(LinearForm::of(coordinatesOf(access)[k]).minus(form));
          });
      std::optional<RowAxis> axis = isShared ? RowAxis{first[k], form} : rowAxis(k);
      if (!axis || axis->count > mostBytes)
        return false;
      axes.push_back(*axis);
      cells *= axis->count;
      if (bytes() > mostBytes)
        return false;
    }
    return cells > 1;
  }

  static bool isZero(const LinearForm &form) { return form.terms.empty() && form.constant == 0; }

  /// The loop's variables, and what is the same for all iterations.
  bool isOfIteration(Value value) const {
    return value.getParentRegion()->isProperAncestor(body()->getParent()) ||
           llvm::is_contained(body()->getArguments(), value);
  }

  /// What the accesses are at along the axis, where that is known.
  std::optional<RowAxis> rowAxis(unsigned k) const {
    std::optional<IntegerRange> all;
    for (Operation *access : accesses) {
      std::optional<IntegerRange> one = IntegerRange::of(coordinatesOf(access)[k]);
      if (!one)
        return std::nullopt;
      all = all ? IntegerRange{std::min(all->least, one->least),
                               std::max(all->greatest, one->greatest)}
                : one;
    }
    return RowAxis{Value(), {}, all->least, all->greatest - all->least + 1};
  }

  /// Iterations differ in the coordinates that all accesses share: then in all of the row.
  bool isDistinct() const {
    SmallVector<Value> shared;
    for (const RowAxis &axis : axes)
      if (!axis.isRow())
        shared.push_back(axis.shared);
    ValueRange place(shared);
    return !shared.empty() && areOwnPlaces(range, place);
  }

  /// Neighbours of a number are other iterations' ones: lanes would have them as they are.
  bool isSideBySide() const {
    SmallVector<Value> byStride = coordinatesByStride(accesses.front());
    return byStride.empty() || llvm::any_of(body()->getArguments(), [&](Value variable) {
             return isContiguousIn(byStride, variable);
           });
  }

  /// What every iteration touches; false if that is not known, or some may touch more.
  bool findTouched() {
    SmallVector<std::pair<Operation *, Operation *>> inOrder; // of the block, with what is in it
    for (Operation *access : accesses)
      inOrder.push_back({block->findAncestorOpInBlock(*access), access});
    llvm::stable_sort(inOrder, [](auto &a, auto &b) {
      return a.first != b.first && a.first->isBeforeInBlock(b.first);
    });
    Operation *reader = nullptr; // the first one
    for (auto [op, access] : inOrder)
      if (isLoad(access) && !reader)
        reader = op;
    Places stored(cells), perhaps(cells);
    touched = written = Places(cells);
    int64_t left = mostLookedAt;
    for (auto [op, access] : inOrder) {
      bool isCertain = true;
      std::optional<Places> places = placesOf(access, left, isCertain);
      if (!places)
        return false;
      if (isCertain && op != reader && op->isBeforeInBlock(reader))
        stored |= *places;
      (isCertain ? touched : perhaps) |= *places;
      if (!isLoad(access))
        written |= *places;
    }
    isStoredFirst = !touched.test(stored);
    return touched.any() && !perhaps.test(touched);
  }

  /// Where an access may be by the ranges of its coordinates.
  Places boxOf(Operation *access) const {
    Places places(cells, true);
    int64_t apart = 1; // neighbours along the axis
    SmallVector<Value> coordinates = coordinatesOf(access);
    for (auto [axis, coordinate] : llvm::reverse(llvm::zip(axes, coordinates))) {
      if (axis.isRow()) {
        IntegerRange known = *IntegerRange::of(coordinate);
        for (int64_t cell = 0; cell < cells; ++cell) {
          int64_t at = axis.first + cell / apart % axis.count;
          if (at < known.least || at > known.greatest)
            places.reset(unsigned(cell));
        }
      }
      apart *= axis.count;
    }
    return places;
  }

  /// Where an access is in all turns of the loops that it stands in, whatever conditions say; nullopt: it is not known. Not certain: it may
  /// be there in no turn.
  std::optional<Places> placesOf(Operation *access, int64_t &left, bool &isCertain) const {
    SmallVector<scf::ForOp> loops; // the outer one first
    for (Operation *around : llvm::reverse(between(access))) {
      if (auto loop = dyn_cast<scf::ForOp>(around))
        loops.push_back(loop);
      else
        isCertain = false;
    }
    SmallVector<LinearForm> forms;
    for (auto [axis, coordinate] : llvm::zip(axes, coordinatesOf(access)))
      forms.push_back(axis.isRow() ? LinearForm::of(coordinate) : LinearForm());
    Turns turns(loops, forms);
    if (!turns.areKnown()) {
      isCertain = false;
      return boxOf(access);
    }
    for (auto [k, loop] : llvm::enumerate(loops))
      isCertain &= loop == repeated || turns.isKnown(k);
    Places places(cells);
    bool isInBox = true;
    bool isAll = turns.visit(left, [&] {
      int64_t cell = 0;
      for (auto [axis, form] : llvm::zip(axes, forms)) {
        int64_t at = axis.isRow() ? turns.valueOf(form) - axis.first : 0;
        isInBox &= at >= 0 && at < axis.count;
        cell = cell * axis.count + at;
      }
      if (isInBox)
        places.set(unsigned(cell));
    });
    return isAll && isInBox ? std::optional(std::move(places)) : std::nullopt;
  }

  /// The number of a place in the local array.
  Value numberOf(OpBuilder &builder, Location loc, ValueRange coordinates) const {
    IndexBuilder at(builder, loc);
    Value number = at.index(0);
    for (auto [axis, coordinate] : llvm::zip(axes, coordinates))
      if (axis.isRow())
        number = at.add(at.multiply(number, axis.count), at.add(coordinate, -axis.first));
    return number;
  }

  /// A box, or a few.
  bool isCopied(const Places &places) const { return isBox(places) || places.count() <= mostApart; }

  /// What is stored, and what is only read where that is no box.
  const Places &givenBack() const { return isCopied(written) ? written : touched; }

  /// The first of some places along each axis, and how far the last one is from it.
  SmallVector<std::pair<int64_t, int64_t>> boxAround(const Places &places) const {
    SmallVector<std::pair<int64_t, int64_t>> box(axes.size(), {INT64_MAX, INT64_MIN});
    for (unsigned place : places.set_bits()) {
      int64_t rest = place;
      for (auto [bounds, axis] : llvm::reverse(llvm::zip(box, axes))) {
        int64_t at = rest % axis.count;
        bounds = {std::min(bounds.first, at), std::max(bounds.second, at)};
        rest /= axis.count;
      }
    }
    return box;
  }

  bool isBox(const Places &places) const {
    int64_t size = 1;
    for (auto [first, last] : boxAround(places))
      size *= last - first + 1;
    return size == int64_t(places.count());
  }

  /// Fills the array, or gives back what is in it, where the loop that all accesses are in has a turn.
  void copy(OpBuilder &builder, Location loc, const Places &places, bool back) {
    OpBuilder::InsertionGuard guard(builder);
    IndexBuilder at(builder, loc);
    if (repeated) {
      Value runs =
          at.compare(arith::CmpIPredicate::slt, repeated.getLowerBound(), repeated.getUpperBound());
      auto branch = scf::IfOp::create(builder, loc, runs, /*withElseRegion=*/false);
      builder.setInsertionPointToStart(branch.thenBlock());
    }
    if (!isBox(places)) {
      for (unsigned place : places.set_bits())
        copyOne(builder, loc, coordinatesAt(at, place), back);
      return;
    }
    SmallVector<Value> coordinates;
    for (auto [axis, bounds] : llvm::zip(axes, boxAround(places))) {
      if (!axis.isRow()) {
        coordinates.push_back(axis.form.emit(at));
        continue;
      }
      auto loop = scf::ForOp::create(builder, loc, at.index(axis.first + bounds.first),
                                     at.index(axis.first + bounds.second + 1), at.index(1));
      coordinates.push_back(loop.getInductionVar());
      builder.setInsertionPointToStart(loop.getBody());
    }
    copyOne(builder, loc, coordinates, back);
  }

  SmallVector<Value> coordinatesAt(IndexBuilder &at, int64_t cell) const {
    SmallVector<Value> coordinates(axes.size());
    for (auto [coordinate, axis] : llvm::reverse(llvm::zip(coordinates, axes))) {
      coordinate = axis.isRow() ? at.index(axis.first + cell % axis.count) : axis.form.emit(at);
      cell /= axis.count;
    }
    return coordinates;
  }

  void copyOne(OpBuilder &builder, Location loc, ValueRange coordinates, bool back) const {
    Value number = numberOf(builder, loc, coordinates);
    if (!back)
      memref::StoreOp::create(builder, loc, loaded(builder, loc, coordinates), array, number);
    else
      store(builder, loc, memref::LoadOp::create(builder, loc, array, number), coordinates);
  }

  Value loaded(OpBuilder &builder, Location loc, ValueRange coordinates) const {
    if (isArray())
      return memref::LoadOp::create(builder, loc, target.first, coordinates);
    return LoadOp::create(builder, loc, type, target.first, target.second, coordinates,
                          ValueRange());
  }

  void store(OpBuilder &builder, Location loc, Value value, ValueRange coordinates) const {
    if (isArray())
      memref::StoreOp::create(builder, loc, value, target.first, coordinates);
    else
      StoreOp::create(builder, loc, value, target.first, target.second, coordinates, ValueRange(),
                      /*active=*/true);
  }

  void replace(Operation *access) {
    OpBuilder builder(access);
    Location loc = access->getLoc();
    Value number = numberOf(builder, loc, coordinatesOf(access));
    if (isLoad(access))
      access->replaceAllUsesWith(memref::LoadOp::create(builder, loc, array, number));
    else
      memref::StoreOp::create(builder, loc, access->getOperand(0), array, number);
    access->erase();
  }

  RangeOp range;
  AccessTarget target;
  SmallVector<Operation *> accesses;
  Block *block = nullptr; ///< in which the row is copied
  scf::ForOp repeated;    ///< around which it is, if not around all of the block
  SmallVector<RowAxis> axes;
  int64_t cells = 1;
  Places touched, written;
  bool isStoredFirst = false; ///< all of it, before any of it is read
  Type type;
  Value array;
};

struct OwnRows : metate::impl::OwnRowsBase<OwnRows> {
  using OwnRowsBase::OwnRowsBase;

  void runOnOperation() override {
    if (mostBytes == 0 || getOperation().getMayAlias())
      return;
    for (RangeOp range : getOperation().getBody().front().getOps<RangeOp>())
      visit(range);
  }

private:
  void visit(RangeOp range) {
    llvm::MapVector<AccessTarget, Row> rows;
    llvm::DenseSet<AccessTarget> mixed; // members with other accesses
    llvm::DenseSet<Value> touched;      // trees that are touched as a whole
    bool isKnown = !range
                        ->walk([&](Operation *op) {
                          if (mayStop(op)) // what was stored until then must be there
                            return WalkResult::interrupt();
                          add(op, range, rows, mixed, touched);
                          return WalkResult::advance();
                        })
                        .wasInterrupted();
    // What functions touch that are called here stays where they find it.
    for (FunctionOp function : functionsCalledIn(range))
      function.walk([&](Operation *op) {
        isKnown = isKnown && !mayStop(op);
        for (Value operand : op->getOperands())
          if (isa<TreeType, MemRefType>(operand.getType()))
            touched.insert(operand);
      });
    if (!isKnown)
      return;
    int64_t left = mostBytes;
    for (auto &[target, row] : rows) {
      if (mixed.contains(target) || touched.contains(target.first) || !row.isOwn(left) ||
          row.usesPerCopy() < double(leastUses))
        continue;
      remarkDone(range, "own-rows", "rows")
          << "'" << accessName(target.first, target.second).name
          << "': the row of an iteration is a local array, which is copied back behind it";
      left -= row.bytes();
      row.makeLocal();
      ++made;
    }
  }

  static void add(Operation *op, RangeOp range, llvm::MapVector<AccessTarget, Row> &rows,
                  llvm::DenseSet<AccessTarget> &mixed, llvm::DenseSet<Value> &touched) {
    std::optional<PlaceAccess> access = PlaceAccess::of(op);
    auto cell = dyn_cast<CellOpInterface>(op);
    if (!access || (cell && cell.changesActivity())) {
      for (Value operand : op->getOperands())
        if (isa<TreeType, MemRefType>(operand.getType()) && !isa<memref::DimOp>(op))
          touched.insert(operand);
    } else if (!isPlain(*access)) {
      mixed.insert(access->target);
    } else if (!access->target.first.getDefiningOp<memref::AllocaOp>()) {
      rows.try_emplace(access->target, Row(range, access->target)).first->second.add(op);
    }
  }
};
} // namespace
