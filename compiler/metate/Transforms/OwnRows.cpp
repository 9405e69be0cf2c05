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
/// Stores that are looked at, to see that a row is stored everywhere.
static constexpr int64_t mostStores = 4096;

static Type valueTypeOf(Operation *access) {
  return isa<LoadOp>(access) ? access->getResult(0).getType() : access->getOperand(0).getType();
}

/// A number of a dense cell that is read or written as it is, of a width that lanes have.
static bool isPlain(Operation *op) {
  if (!isa<LoadOp, StoreOp>(op) || !cast<CellOpInterface>(op).getCellComponents().empty())
    return false;
  Type type = valueTypeOf(op);
  std::optional<CellAccess> cell = CellAccess::of(op);
  return type.isIntOrFloat() && type.getIntOrFloatBitWidth() >= 32 && cell &&
         cell->resolve().lastActivity() < 0 && cell->resolve().place.getType() == type;
}

/// How often a loop turns, by what is known of its bounds.
static double turnsOf(Operation *loop) {
  auto counted = dyn_cast<scf::ForOp>(loop);
  if (!counted)
    return isa<scf::WhileOp>(loop) ? unknownTurns : 1;
  std::optional<int64_t> step = getConstantIntValue(counted.getStep());
  std::optional<IntegerRange> lower = IntegerRange::of(counted.getLowerBound()),
                              upper = IntegerRange::of(counted.getUpperBound());
  if (!step || *step <= 0 || !lower || !upper)
    return unknownTurns;
  double span = double(upper->least + upper->greatest - lower->least - lower->greatest) / 2;
  return std::max(1.0, span / double(*step));
}

namespace {
/// The accesses of one member in a parallel loop.
class Row {
public:
  Row(RangeOp range, Target target) : range(range), target(target) {}

  void add(Operation *access) { accesses.push_back(access); }

  /// Is it a row of this iteration alone, of at most so many bytes?
  bool isOwn(int64_t mostBytes) {
    bool isRead = llvm::any_of(accesses, llvm::IsaPred<LoadOp>),
         isWritten = llvm::any_of(accesses, llvm::IsaPred<StoreOp>);
    return isRead && isWritten && findAxes(mostBytes) && isDistinct() && !isSideBySide();
  }

  /// Accesses by an iteration for each one that copies the row.
  double usesPerCopy() const {
    double uses = 0;
    for (Operation *access : accesses) {
      double turns = 1;
      for (Operation *around = access->getParentOp(); around != range;
           around = around->getParentOp())
        turns *= turnsOf(around);
      uses += turns;
    }
    return uses / double(cells * (isStoredFirst() ? 1 : 2));
  }

  int64_t bytes() const { return cells * bitsOf(type) / 8; }

  void makeLocal() {
    Location loc = accesses.front()->getLoc();
    OpBuilder builder(range.getContext());
    builder.setInsertionPointToStart(body());
    // What is outside of the row is read from, and stored to, a number behind it.
    array = memref::AllocaOp::create(builder, loc, MemRefType::get({cells + 1}, type));
    if (!isStoredFirst() && !isMutant(Mutant::OwnRowUnread))
      copy(builder, loc, /*back=*/false);
    builder.setInsertionPoint(body()->getTerminator());
    copy(builder, loc, /*back=*/true);
    for (Operation *access : accesses)
      replace(access);
  }

private:
  Block *body() const { return &range->getRegion(0).front(); }
  static int64_t bitsOf(Type type) { return type.getIntOrFloatBitWidth(); }
  static OperandRange coordinatesOf(Operation *access) {
    return CellAccess::of(access)->coordinates;
  }

  /// Axes along which all accesses have the same coordinate, and those along the row.
  bool findAxes(int64_t mostBytes) {
    TreePath path = CellAccess::of(accesses.front())->resolve();
    type = valueTypeOf(accesses.front());
    extents.assign(path.extents.begin(), path.extents.end());
    OperandRange first = coordinatesOf(accesses.front());
    for (unsigned k = 0; k < path.rank(); ++k) {
      bool isOne = isOfIteration(first[k]) && llvm::all_of(accesses, [&](Operation *access) {
                     return isEqualConstantIntOrValue(first[k], coordinatesOf(access)[k]);
                   });
      own.push_back(isOne ? first[k] : Value());
      if (isOne ? !isWithin(first[k], extents[k]) : extents[k] > mostBytes)
        return false;
      cells *= isOne ? 1 : extents[k];
      if (cells > mostBytes)
        return false;
    }
    return cells > 1 && bytes() <= mostBytes;
  }

  /// The loop's variables, constants, and what is the same for all iterations.
  bool isOfIteration(Value value) const {
    return getConstantIntValue(value) ||
           value.getParentRegion()->isProperAncestor(body()->getParent()) ||
           llvm::is_contained(body()->getArguments(), value);
  }

  static bool isWithin(Value value, int64_t extent) {
    std::optional<IntegerRange> known = IntegerRange::of(value);
    return known && known->least >= 0 && known->greatest < extent;
  }

  /// Iterations differ in the coordinates that all accesses share: then in all of the row.
  bool isDistinct() const {
    SmallVector<Value> shared;
    for (Value one : own)
      if (one)
        shared.push_back(one);
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

  /// Does every iteration store all of the row before it reads any of it?
  bool isStoredFirst() const {
    llvm::BitVector stored(cells);
    int64_t left = mostStores;
    for (Operation &op : *body()) {
      SmallVector<Operation *> inside;
      for (Operation *access : accesses)
        if (op.isAncestor(access))
          inside.push_back(access);
      if (llvm::any_of(inside, llvm::IsaPred<LoadOp>))
        break;
      for (Operation *store : inside)
        markStored(store, stored, left);
    }
    return stored.all();
  }

  /// Marks what a store under no condition stores, in loops whose turns are known.
  void markStored(Operation *store, llvm::BitVector &stored, int64_t &left) const {
    SmallVector<scf::ForOp> loops;
    for (Operation *around = store->getParentOp(); around != range;
         around = around->getParentOp()) {
      auto loop = dyn_cast<scf::ForOp>(around);
      if (!loop || !boundsOf(loop.getInductionVar()) || !getConstantIntValue(loop.getStep()))
        return;
      loops.push_back(loop);
    }
    SmallVector<LinearForm> forms;
    for (auto [k, coordinate] : llvm::enumerate(coordinatesOf(store)))
      if (!own[k]) {
        forms.push_back(LinearForm::of(coordinate));
        for (auto [value, factor] : forms.back().terms)
          if (llvm::none_of(loops,
                            [&](scf::ForOp loop) { return loop.getInductionVar() == value; }))
            return;
      }
    llvm::SmallDenseMap<Value, int64_t> turn;
    markTurns(loops, forms, turn, stored, left);
  }

  void markTurns(ArrayRef<scf::ForOp> loops, ArrayRef<LinearForm> forms,
                 llvm::SmallDenseMap<Value, int64_t> &turn, llvm::BitVector &stored,
                 int64_t &left) const {
    if (loops.empty()) {
      --left;
      int64_t cell = 0;
      unsigned next = 0;
      for (auto [k, one] : llvm::enumerate(own)) {
        if (one)
          continue;
        const LinearForm &form = forms[next++];
        int64_t at = form.constant;
        for (auto [value, factor] : form.terms)
          at += factor * turn.lookup(value);
        if (at < 0 || at >= extents[k])
          return;
        cell = cell * extents[k] + at;
      }
      stored.set(cell);
      return;
    }
    scf::ForOp loop = loops.back();
    auto [from, to] = *boundsOf(loop.getInductionVar());
    int64_t step = *getConstantIntValue(loop.getStep());
    for (int64_t at = from; at < to && left > 0; at += step) {
      turn[loop.getInductionVar()] = at;
      markTurns(loops.drop_back(), forms, turn, stored, left);
    }
  }

  /// The number of a place in the local array; `isKnown`: it is in the row.
  Value numberOf(OpBuilder &builder, Location loc, ValueRange coordinates, bool isKnown) const {
    IndexBuilder at(builder, loc);
    Value number = at.index(0), isInside;
    for (auto [k, coordinate] : llvm::enumerate(coordinates)) {
      if (own[k])
        continue;
      number = at.add(at.multiply(number, extents[k]), coordinate);
      if (isKnown || isWithin(coordinate, extents[k]) ||
          LinearForm::of(coordinate).isWithin(extents[k]))
        continue;
      Value below = at.compare(arith::CmpIPredicate::ult, coordinate, at.index(extents[k]));
      isInside = isInside ? arith::AndIOp::create(builder, loc, isInside, below) : below;
    }
    return isInside ? at.select(isInside, number, at.index(cells)) : number;
  }

  void copy(OpBuilder &builder, Location loc, bool back) {
    OpBuilder::InsertionGuard guard(builder);
    IndexBuilder at(builder, loc);
    SmallVector<Value> coordinates(own);
    for (auto [k, one] : llvm::enumerate(coordinates)) {
      if (one)
        continue;
      auto loop = scf::ForOp::create(builder, loc, at.index(0), at.index(extents[k]), at.index(1));
      one = loop.getInductionVar();
      builder.setInsertionPointToStart(loop.getBody());
    }
    Value number = numberOf(builder, loc, coordinates, /*isKnown=*/true);
    if (back) {
      Value value = memref::LoadOp::create(builder, loc, array, number);
      StoreOp::create(builder, loc, value, target.first, target.second, coordinates, ValueRange(),
                      /*active=*/true);
    } else {
      Value value = LoadOp::create(builder, loc, type, target.first, target.second, coordinates,
                                   ValueRange());
      memref::StoreOp::create(builder, loc, value, array, number);
    }
  }

  void replace(Operation *access) {
    OpBuilder builder(access);
    Location loc = access->getLoc();
    Value number = numberOf(builder, loc, coordinatesOf(access), /*isKnown=*/false);
    if (auto load = dyn_cast<LoadOp>(access))
      load.replaceAllUsesWith(memref::LoadOp::create(builder, loc, array, number).getResult());
    else
      memref::StoreOp::create(builder, loc, cast<StoreOp>(access).getValue(), array, number);
    access->erase();
  }

  RangeOp range;
  Target target;
  SmallVector<Operation *> accesses;
  SmallVector<Value> own; ///< the shared coordinate along an axis; null along the row
  SmallVector<int64_t> extents;
  int64_t cells = 1;
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
    auto cell = dyn_cast<CellOpInterface>(op);
    if (cell && cell.namesCell() && !cell.changesActivity()) {
      Target target{cell.getTree(), cell.getPath()};
      if (isPlain(op))
        rows.try_emplace(target, Row(range, target)).first->second.add(op);
      else
        mixed.insert(target);
      return;
    }
    for (Value operand : op->getOperands())
      if (isa<TreeType>(operand.getType()))
        touched.insert(operand);
  }
};
} // namespace
