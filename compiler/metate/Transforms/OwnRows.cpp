//===- OwnRows.cpp - rows of members that are an iteration's own -*- C++ -*-===//
//
// `row[p, j]` in a parallel loop over p: fields that stand in for local vectors. A row that only its iteration touches, and touches many times over, is
// a local array, read before and written back behind: nothing else may be in it, its places need no address in a tree, and where iterations become lanes it is
// a row of vectors (Target/Cpu/WidenedArrays.cpp). What the iteration stores everywhere before it reads is not read before.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Level/IndexBuilder.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/Checks.h"
#include "metate/Transforms/ContiguousAxis.h"
#include "metate/Transforms/IntegerRange.h"
#include "metate/Transforms/LeafForm.h"
#include "metate/Transforms/OwnPlaces.h"
#include "metate/Transforms/Passes.h"

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
/// Accesses that are looked at, to see that a row is touched everywhere.
static constexpr int64_t mostLookedAt = 4096;

/// An access of a number in a dense tree or an array, of a width that lanes have.
static bool isPlain(Operation *op) {
  if (!isa<LoadOp, StoreOp, memref::LoadOp, memref::StoreOp>(op))
    return false;
  bool isLoad = isa<LoadOp, memref::LoadOp>(op);
  Type type = isLoad ? op->getResult(0).getType() : op->getOperand(0).getType();
  if (!type.isIntOrFloat() || type.getIntOrFloatBitWidth() < 32)
    return false;
  std::optional<CellAccess> cell = CellAccess::of(op);
  if (!cell)
    return true;
  TreePath path = cell->resolve();
  return cast<CellOpInterface>(op).getCellComponents().empty() && path.lastActivity() < 0 &&
         path.place.getType() == type;
}

static bool isLoad(Operation *access) { return isa<LoadOp, memref::LoadOp>(access); }

static OperandRange coordinatesOf(Operation *access) {
  if (std::optional<CellAccess> cell = CellAccess::of(access))
    return cell->coordinates;
  if (auto load = dyn_cast<memref::LoadOp>(access))
    return load.getIndices();
  return cast<memref::StoreOp>(access).getIndices();
}

static Value memoryOf(Operation *arrayAccess) {
  if (auto load = dyn_cast<memref::LoadOp>(arrayAccess))
    return load.getMemRef();
  return cast<memref::StoreOp>(arrayAccess).getMemRef();
}

static Type valueTypeOf(Operation *access) {
  return isLoad(access) ? access->getResult(0).getType() : access->getOperand(0).getType();
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
/// Along one axis: the coordinate that all accesses share, or the row's part of it.
struct RowAxis {
  Value shared; ///< of one of the accesses: what `form` says
  LinearForm form;
  int64_t first = 0, count = 1;
  bool isKnown = true; ///< no access leaves that part

  bool isRow() const { return !shared; }
};

/// The accesses of one member or array in a parallel loop.
class Row {
public:
  Row(RangeOp range, Target target) : range(range), target(target) {}

  void add(Operation *access) { accesses.push_back(access); }

  /// Is it a row of this iteration alone, of at most so many bytes, that may be read and stored as a whole?
  bool isOwn(int64_t mostBytes) {
    if (llvm::all_of(accesses, isLoad) || llvm::none_of(accesses, isLoad) || !findAxes(mostBytes) ||
        !isDistinct() || isSideBySide())
      return false;
    block = commonBlock();
    llvm::BitVector stored(cells), touched(cells);
    findTouched(stored, touched);
    isStoredFirst = stored.all();
    return isInside() || touched.all();
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
    return uses / double(cells * (isStoredFirst ? 1 : 2));
  }

  int64_t bytes() const { return cells * type.getIntOrFloatBitWidth() / 8; }

  void makeLocal() {
    Location loc = accesses.front()->getLoc();
    OpBuilder builder(range.getContext());
    builder.setInsertionPointToStart(block);
    // What is outside of the row is read from, and stored to, a number behind it.
    array = memref::AllocaOp::create(builder, loc, MemRefType::get({cells + 1}, type));
    if (!isStoredFirst && !isMutant(Mutant::OwnRowUnread))
      copy(builder, loc, /*back=*/false);
    builder.setInsertionPoint(block->getTerminator());
    copy(builder, loc, /*back=*/true);
    for (Operation *access : accesses)
      replace(access);
  }

private:
  Block *body() const { return &range->getRegion(0).front(); }

  /// What an iteration does with the row, without the conditions that all of it is under.
  Block *commonBlock() const {
    Block *common = body();
    while (true) {
      Operation *first = common->findAncestorOpInBlock(*accesses.front());
      auto branch = dyn_cast<scf::IfOp>(first);
      if (!branch)
        return common;
      Region *side = branch.getThenRegion().isAncestor(accesses.front()->getParentRegion())
                         ? &branch.getThenRegion()
                         : &branch.getElseRegion();
      if (!llvm::all_of(accesses, [&](Operation *access) {
            return side->isAncestor(access->getParentRegion());
          }))
        return common;
      common = &side->front();
    }
  }

  /// Loops and conditions that an access stands in, the inner one first.
  SmallVector<Operation *> between(Operation *access) const {
    SmallVector<Operation *> found;
    for (Operation *around = access->getParentOp(); around != block->getParentOp();
         around = around->getParentOp())
      found.push_back(around);
    return found;
  }

  bool isArray() const { return isa<MemRefType>(target.first.getType()); }

  /// Axes along which all accesses have the same coordinate, and those along the row.
  bool findAxes(int64_t mostBytes) {
    type = valueTypeOf(accesses.front());
    OperandRange first = coordinatesOf(accesses.front());
    for (unsigned k = 0; k < first.size() && cells <= mostBytes; ++k) {
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
    }
    return cells > 1 && bytes() <= mostBytes;
  }

  static bool isZero(const LinearForm &form) { return form.terms.empty() && form.constant == 0; }

  /// The loop's variables, and what is the same for all iterations.
  bool isOfIteration(Value value) const {
    return value.getParentRegion()->isProperAncestor(body()->getParent()) ||
           llvm::is_contained(body()->getArguments(), value);
  }

  /// Cells along the axis of a tree; of an array it is not known.
  std::optional<int64_t> extentOf(unsigned axis) const {
    if (isArray())
      return std::nullopt;
    return CellAccess::of(accesses.front())->resolve().extents[axis];
  }

  /// What the accesses are at along the axis, where that is known, else all cells of it.
  std::optional<RowAxis> rowAxis(unsigned k) const {
    std::optional<int64_t> extent = extentOf(k);
    std::optional<IntegerRange> all;
    for (Operation *access : accesses) {
      std::optional<IntegerRange> one = IntegerRange::of(coordinatesOf(access)[k]);
      if (!one || one->least < 0 || (extent && one->greatest >= *extent))
        return extent ? std::optional(RowAxis{Value(), {}, 0, *extent, false}) : std::nullopt;
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

  /// Is every place of the row one of the tree, whatever the loop does?
  bool isInside() const {
    return llvm::all_of(llvm::enumerate(axes), [&](auto one) {
      std::optional<int64_t> extent = extentOf(one.index());
      std::optional<IntegerRange> known =
          one.value().isRow() ? IntegerRange{} : IntegerRange::of(one.value().shared);
      return extent && known && known->least >= 0 && known->greatest < *extent;
    });
  }

  /// What every iteration touches, and what it stores before it reads any of the row.
  void findTouched(llvm::BitVector &stored, llvm::BitVector &touched) const {
    SmallVector<std::pair<Operation *, Operation *>> inOrder; // of the block, with what is in it
    for (Operation *access : accesses)
      inOrder.push_back({block->findAncestorOpInBlock(*access), access});
    llvm::stable_sort(inOrder, [](auto &a, auto &b) {
      return a.first != b.first && a.first->isBeforeInBlock(b.first);
    });
    int64_t left = mostLookedAt;
    Operation *reader = nullptr; // the first one
    for (auto [op, access] : inOrder)
      if (isLoad(access) && !reader)
        reader = op;
    for (auto [op, access] : inOrder) {
      mark(access, touched, left);
      if (op != reader && op->isBeforeInBlock(reader))
        mark(access, stored, left);
    }
  }

  /// Marks where an access under no condition is, in loops whose turns are known.
  void mark(Operation *access, llvm::BitVector &marked, int64_t &left) const {
    SmallVector<scf::ForOp> loops;
    for (Operation *around : between(access)) {
      auto loop = dyn_cast<scf::ForOp>(around);
      if (!loop || !boundsOf(loop.getInductionVar()) || !getConstantIntValue(loop.getStep()))
        return;
      loops.push_back(loop);
    }
    SmallVector<LinearForm> forms;
    for (auto [axis, coordinate] : llvm::zip(axes, coordinatesOf(access))) {
      forms.push_back(axis.isRow() ? LinearForm::of(coordinate) : LinearForm());
      for (auto [value, factor] : forms.back().terms)
        if (llvm::none_of(loops, [&](scf::ForOp loop) { return loop.getInductionVar() == value; }))
          return;
    }
    llvm::SmallDenseMap<Value, int64_t> turn;
    markTurns(loops, forms, turn, marked, left);
  }

  void markTurns(ArrayRef<scf::ForOp> loops, ArrayRef<LinearForm> forms,
                 llvm::SmallDenseMap<Value, int64_t> &turn, llvm::BitVector &marked,
                 int64_t &left) const {
    if (loops.empty()) {
      int64_t cell = 0;
      for (auto [axis, form] : llvm::zip(axes, forms)) {
        int64_t at = form.constant - axis.first;
        for (auto [value, factor] : form.terms)
          at += factor * turn.lookup(value);
        if (at < 0 || at >= axis.count)
          return;
        cell = cell * axis.count + at;
      }
      marked.set(cell);
      return;
    }
    scf::ForOp loop = loops.back();
    auto [from, to] = *boundsOf(loop.getInductionVar());
    int64_t step = *getConstantIntValue(loop.getStep());
    for (int64_t at = from; at < to && left > 0; at += step, --left) {
      turn[loop.getInductionVar()] = at;
      markTurns(loops.drop_back(), forms, turn, marked, left);
    }
  }

  /// The number of a place in the local array; `isInRow`: it is for sure.
  Value numberOf(OpBuilder &builder, Location loc, ValueRange coordinates, bool isInRow) const {
    IndexBuilder at(builder, loc);
    Value number = at.index(0), isInside;
    for (auto [axis, coordinate] : llvm::zip(axes, coordinates)) {
      if (!axis.isRow())
        continue;
      Value own = at.add(coordinate, -axis.first);
      number = at.add(at.multiply(number, axis.count), own);
      if (isInRow || axis.isKnown)
        continue;
      Value below = at.compare(arith::CmpIPredicate::ult, own, at.index(axis.count));
      isInside = isInside ? arith::AndIOp::create(builder, loc, isInside, below) : below;
    }
    return isInside ? at.select(isInside, number, at.index(cells)) : number;
  }

  void copy(OpBuilder &builder, Location loc, bool back) {
    OpBuilder::InsertionGuard guard(builder);
    IndexBuilder at(builder, loc);
    SmallVector<Value> coordinates;
    for (const RowAxis &axis : axes) {
      if (!axis.isRow()) {
        coordinates.push_back(axis.form.emit(at));
        continue;
      }
      auto loop = scf::ForOp::create(builder, loc, at.index(axis.first),
                                     at.index(axis.first + axis.count), at.index(1));
      coordinates.push_back(loop.getInductionVar());
      builder.setInsertionPointToStart(loop.getBody());
    }
    Value number = numberOf(builder, loc, coordinates, /*isInRow=*/true);
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
    Value number = numberOf(builder, loc, coordinatesOf(access), /*isInRow=*/false);
    if (isLoad(access))
      access->replaceAllUsesWith(memref::LoadOp::create(builder, loc, array, number));
    else
      memref::StoreOp::create(builder, loc, access->getOperand(0), array, number);
    access->erase();
  }

  RangeOp range;
  Target target;
  SmallVector<Operation *> accesses;
  Block *block = nullptr; ///< around which the row is copied
  SmallVector<RowAxis> axes;
  int64_t cells = 1;
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
    llvm::MapVector<Target, Row> rows;
    llvm::DenseSet<Target> mixed;  // members with other accesses
    llvm::DenseSet<Value> touched; // trees that are touched as a whole
    bool isKnown = !range
                        ->walk([&](Operation *op) {
                          if (mayStop(op)) // what was stored until then must be there
                            return WalkResult::interrupt();
                          add(op, range, rows, mixed, touched);
                          return WalkResult::advance();
                        })
                        .wasInterrupted();
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

  static void add(Operation *op, RangeOp range, llvm::MapVector<Target, Row> &rows,
                  llvm::DenseSet<Target> &mixed, llvm::DenseSet<Value> &touched) {
    if (isa<memref::DimOp>(op))
      return;
    Target target;
    if (auto cell = dyn_cast<CellOpInterface>(op); cell && cell.namesCell())
      target = {cell.getTree(), cell.getPath()};
    else if (isPlain(op))
      target = {memoryOf(op), ""};
    if (!target.first || (!target.second.empty() && cast<CellOpInterface>(op).changesActivity())) {
      for (Value operand : op->getOperands())
        if (isa<TreeType, MemRefType>(operand.getType()))
          touched.insert(operand);
    } else if (!isPlain(op)) {
      mixed.insert(target);
    } else if (!target.first.getDefiningOp<memref::AllocaOp>()) {
      rows.try_emplace(target, Row(range, target)).first->second.add(op);
    }
  }
};
} // namespace
