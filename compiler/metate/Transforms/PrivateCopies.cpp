//===- PrivateCopies.cpp - scatters without atomics -------------*- C++ -*-===//
//
// Particles add to a grid, values to a histogram: places that data says, each by an atomic operation. A loop that does many of
// them for each cell of its targets becomes one over a few pieces of its iterations. A piece adds, without atomics, to a copy of
// the targets that is its own, in planned memory; a second loop combines the copies with the targets, in the order of the
// pieces. How many pieces depends on the iterations alone, so that results do not depend on the workers.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/Checks.h"
#include "metate/Transforms/LaneValues.h"
#include "metate/Transforms/OwnWords.h"
#include "metate/Transforms/Passes.h"
#include "metate/Transforms/ScatterCells.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace metate {
#define GEN_PASS_DEF_PRIVATECOPIES
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
constexpr int64_t mostPieces = 16;

/// Of a piece, to each number that shares a word: what it adds there without copies is a loop of compare-and-exchange.
constexpr int64_t addsPerPacked = 2;

/// Where sizes are known at launch only: the pool of all copies.
constexpr int64_t poolOfUnknown = 2 << 20;

/// Elements of one row that a task combines, where the target has no other rows: about so many, in whole words.
constexpr int64_t rowOfOne = 1024;

/// Operations of a loop that may be there twice, where the launch decides.
constexpr size_t mostCopied = 400;

/// Targets that share cells, and where they lie in a copy.
struct Group {
  ScatterCells cells;
  SmallVector<Value> extents;
  Value count = {};  ///< of cells
  Value offset = {}; ///< in a copy, in bytes
};

/// The copies of one loop's targets. Values stand before the loop.
class Copies {
public:
  Copies(RangeOp range, MutableArrayRef<ScatterTarget> targets, int64_t perCell, int64_t leastAdds,
         int64_t mostBytes)
      : range(range), builder(range), at(builder, range.getLoc()) {
    for (ScatterCells &cells : groupCells(targets))
      groups.push_back({std::move(cells), {}});
    bytes = at.index(0);
    Value addsOfPiece = at.index(0);
    for (Group &group : groups) {
      addShape(group);
      group.offset = bytes;
      bool isPacked = bool(group.cells.first().stored);
      int64_t least = isPacked ? std::min(perCell, addsPerPacked) : perCell;
      addsOfPiece = at.add(addsOfPiece, at.multiply(group.count, group.cells.padded() * least));
      Value size = at.multiply(group.count, group.cells.bytes());
      bytes = at.add(bytes, at.multiply(at.divide(at.add(size, 63), 64), 64));
    }
    isKnown = bool(getConstantIntValue(bytes));
    decide(addsOfPiece, leastAdds, mostBytes);
  }

  /// None or one: the loop stays as it is.
  Value pieces;
  Value
      shift; ///< of a number that is divided by them: what may be zero divides nothing where tasks are estimated
  Value bytes; ///< of one copy
  bool isKnown;

  void build();

private:
  void addShape(Group &group) {
    const ScatterTarget &first = group.cells.first();
    group.count = at.index(1);
    for (auto [k, extent] : llvm::enumerate(first.extents)) {
      Value size = ShapedType::isDynamic(extent)
                       ? memref::DimOp::create(builder, at.loc, first.place.first, k)
                       : at.index(extent);
      group.extents.push_back(size);
      group.count = at.multiply(group.count, size);
    }
  }

  /// A piece adds so often to a cell that filling and combining its copy does not matter.
  void decide(Value addsOfPiece, int64_t leastAdds, int64_t mostBytes) {
    Value iterations = at.index(1);
    for (auto [lower, upper] : llvm::zip(range.getLower(), range.getUpper()))
      iterations = at.multiply(iterations, at.greatest(at.subtract(upper, lower), at.index(0)));
    int64_t addsOfIteration = 0;
    for (const Group &group : groups)
      addsOfIteration += group.cells.addsOfIteration(range);
    Value adds = at.multiply(iterations, addsOfIteration);
    Value each = at.greatest(addsOfPiece, at.index(leastAdds));
    Value wanted = at.divide(adds, at.greatest(each, at.index(1)));
    Value rows = at.subtract(range.getUpper()[0], range.getLower()[0]);
    wanted = at.least(at.least(wanted, rows), at.index(mostPieces));
    Value room = at.index(isKnown ? mostBytes : poolOfUnknown);
    wanted = at.least(wanted, at.divide(room, at.greatest(bytes, at.index(1))));
    // Pieces are alike: with a power of two none is left over for two, four or eight workers.
    pieces = at.index(0), shift = at.index(0);
    for (int64_t power = 2, bits = 1; power <= mostPieces; power *= 2, ++bits) {
      Value isMore = at.compare(arith::CmpIPredicate::sge, wanted, at.index(power));
      pieces = at.select(isMore, at.index(power), pieces);
      shift = at.select(isMore, at.index(bits), shift);
    }
  }

  int64_t poolBytes() const {
    if (!isKnown)
      return poolOfUnknown;
    return *getConstantIntValue(bytes) * getConstantIntValue(pieces).value_or(mostPieces);
  }

  Value poolHere() {
    return PoolOp::create(builder, at.loc, BlockType::get(builder.getContext()), "private_copies",
                          PoolKind::Launch, poolBytes(), /*align=*/64, /*scale=*/0, ValueRange(),
                          IntegerAttr());
  }

  /// Behind those of all arguments: nothing else is there.
  int64_t scope() const { return range->getParentOfType<KernelOp>().getBody().getNumArguments(); }

  /// A loop's variable; what is built next stands in the loop.
  Value enter(Value from, Value to) {
    auto loop = scf::ForOp::create(builder, at.loc, from, to, at.index(1));
    builder.setInsertionPointToStart(loop.getBody());
    return loop.getInductionVar();
  }

  /// Do iterations run loops of their own, and add single numbers?
  bool mayBeLanes() {
    auto isLoop = [](Operation *op) {
      return isa<scf::ForOp, scf::WhileOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
    };
    return range.getBody().walk(isLoop).wasInterrupted() &&
           llvm::all_of(groups, [](const Group &group) {
             return group.cells.width == 1 &&
                    group.cells.first().kind != arith::AtomicRMWKind::assign;
           });
  }

  void buildPieces();
  void combineCopies(const Group &group);

  RangeOp range;
  OpBuilder builder;
  IndexBuilder at;
  SmallVector<Group, 2> groups;
};

/// Where a cell begins, in the group's part of a copy.
static Value byteOf(IndexBuilder &at, const Group &group, ValueRange coordinates) {
  Value cell = coordinates.front();
  for (auto [extent, coordinate] :
       llvm::zip(ArrayRef(group.extents).drop_front(), coordinates.drop_front()))
    cell = at.add(at.multiply(cell, extent), coordinate);
  return at.multiply(cell, group.cells.bytes());
}

/// The loop's body moves into loops over a piece of its first dimension and all of the others.
void Copies::buildPieces() {
  OpBuilder::InsertionGuard guard(builder);
  auto made = RangeOp::create(builder, at.loc, at.index(0), pieces);
  Block &body = made.getBody().front();
  builder.setInsertionPointToStart(&body);
  Value piece = body.getArgument(0), pool = poolHere(), copy = at.multiply(piece, bytes);
  for (Group &group : groups)
    fillCells(at, group.cells, {pool, scope()}, at.add(copy, group.offset), group.count);
  Value lower = range.getLower()[0], rows = at.subtract(range.getUpper()[0], lower);
  auto edge = [&](Value number) {
    Value before = arith::ShRUIOp::create(builder, at.loc, at.multiply(rows, number), shift);
    return at.add(lower, before);
  };
  SmallVector<Value> variables{enter(edge(piece), edge(at.add(piece, 1)))};
  for (size_t k = 1; k < range.getLower().size(); ++k)
    variables.push_back(enter(range.getLower()[k], range.getUpper()[k]));
  Block &from = range.getBody().front(), &to = *builder.getInsertionBlock();
  bool isForLanes = mayBeLanes();
  if (isForLanes)
    setMark(to.getParentOp(), mark::piece);
  for (auto [argument, variable] : llvm::zip(from.getArguments(), variables))
    argument.replaceAllUsesWith(variable);
  to.getOperations().splice(builder.getInsertionPoint(), from.getOperations(), from.begin(),
                            Block::iterator(from.getTerminator()));
  if (llvm::any_of(groups, [](const Group &group) { return group.cells.width > 1; })) {
    takeVectorsApart(made);
    setMark(made, mark::sideBySide);
  }
  for (const Group &group : groups)
    addToCells(group.cells, {pool, scope(), isForLanes},
               [&](IndexBuilder &here, ValueRange coordinates) {
                 return here.add(here.add(copy, group.offset), byteOf(here, group, coordinates));
               });
}

/// Elements of a word that all targets of the group have along their rows: 1 where there are none.
static int64_t elementsOfWords(const ScatterCells &cells) {
  auto elementsOf = [](const ScatterTarget *target) -> int64_t {
    auto [value, path] = target->place;
    if (target->isArray())
      return 1;
    return elementsOfWord(*findPath(cast<TreeType>(value.getType()), path));
  };
  int64_t elements = elementsOf(cells.targets.front());
  bool isOfAll = llvm::all_of(
      cells.targets, [&](const ScatterTarget *other) { return elementsOf(other) == elements; });
  return isOfAll ? elements : 1;
}

/// A task over the rows of a group's targets; of targets with one row, over parts of it. Along a row it goes by words, if there are any:
/// its words are a task's own.
void Copies::combineCopies(const Group &group) {
  OpBuilder::InsertionGuard guard(builder);
  size_t outer = group.extents.size() - 1;
  const int64_t elements = elementsOfWords(group.cells),
                part = std::max<int64_t>(rowOfOne / elements, 1);
  Value zero = at.index(0), words = at.divide(group.extents.back(), elements);
  SmallVector<Value> lower(std::max<size_t>(outer, 1), zero),
      upper(group.extents.begin(), group.extents.begin() + outer);
  if (outer == 0)
    upper.push_back(at.divide(at.add(words, part - 1), part));
  // Without pieces there are no copies.
  upper[0] = at.select(at.compare(arith::CmpIPredicate::sgt, pieces, zero), upper[0], zero);
  auto made = RangeOp::create(builder, at.loc, lower, upper);
  Block &body = made.getBody().front();
  builder.setInsertionPointToStart(&body);
  Value pool = poolHere(), from = zero, to = words;
  SmallVector<Value> coordinates;
  if (outer == 0) {
    from = at.multiply(body.getArgument(0), part);
    to = at.least(at.add(from, part), words);
  } else {
    llvm::append_range(coordinates, body.getArguments());
  }
  Value first = at.index(isMutant(Mutant::FirstCopyLost) ? 1 : 0);
  Value copy = at.add(at.multiply(enter(first, pieces), bytes), group.offset);
  coordinates.push_back(enter(from, to));
  if (elements > 1) {
    Value word = at.multiply(coordinates.back(), elements);
    coordinates.back() = at.add(word, enter(zero, at.index(elements)));
  }
  Value begin = at.add(copy, byteOf(at, group, coordinates));
  combineCell(at, group.cells, {pool, scope()}, begin, coordinates);
}

void Copies::build() {
  buildPieces();
  for (Group &group : groups)
    combineCopies(group);
}

struct PrivateCopies : metate::impl::PrivateCopiesBase<PrivateCopies> {
  using PrivateCopiesBase::PrivateCopiesBase;

  void runOnOperation() override {
    if (mostBytes == 0)
      return;
    for (RangeOp range : scatterLoops(getOperation()))
      visit(range);
  }

private:
  static bool mayStopIn(RangeOp range) {
    auto visit = [](Operation *op) {
      return metate::mayStop(op) ? WalkResult::interrupt() : WalkResult::advance();
    };
    return range.walk(visit).wasInterrupted();
  }

  void visit(RangeOp range) {
    SmallVector<ScatterTarget> targets = scatterTargets(range);
    if (targets.empty())
      return;
    if (mayStopIn(range))
      return decline(range, "a check in the loop may stop the kernel, and what was added before "
                            "must not be lost");
    Copies copies(range, targets, perCell, leastAdds, mostBytes);
    std::optional<int64_t> pieces = getConstantIntValue(copies.pieces);
    if (pieces == 0)
      return decline(range, copies.isKnown && *getConstantIntValue(copies.bytes) > mostBytes / 2
                                ? "they would be too large"
                                : "the loop adds too little to be worth the copies");
    size_t operations = 0;
    range.walk([&](Operation *) { ++operations; });
    if (!pieces && operations > mostCopied)
      return decline(range, "whether they pay is known at launch only, and the loop is too long to "
                            "be there twice");
    tell(range, copies, pieces);
    if (!pieces)
      keepOtherwise(range, copies);
    copies.build();
    range.erase();
    ++copied;
  }

  /// The loop as it is runs in launches without copies.
  static void keepOtherwise(RangeOp range, const Copies &copies) {
    OpBuilder builder(range);
    IndexBuilder at(builder, range.getLoc());
    Value isCopied = at.compare(arith::CmpIPredicate::sgt, copies.pieces, at.index(0));
    Value end = at.select(isCopied, range.getLower()[0], range.getUpper()[0]);
    cast<RangeOp>(builder.clone(*range)).getUpperMutable()[0].set(end);
  }

  static void decline(RangeOp range, StringRef problem) {
    remarkDeclined(range, "private-copies", "atomics")
        << "no copies to add to without atomics: " << problem;
  }

  static void tell(RangeOp range, const Copies &copies, std::optional<int64_t> pieces) {
    auto remark = remarkDone(range, "private-copies", "atomics");
    if (!remark)
      return;
    remark << "the loop is done in ";
    if (pieces)
      remark << Number("pieces", *pieces) << " pieces";
    else
      remark << "as many as its turns in a launch make worthwhile, at most "
             << Number("pieces", mostPieces) << " pieces";
    remark << ", each of which adds to a copy of its own, without atomic operations";
    if (copies.isKnown)
      remark << ", of " << Number("bytes", *getConstantIntValue(copies.bytes)) << " bytes";
  }
};
} // namespace
