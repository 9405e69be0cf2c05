//===- Bricks.cpp - workgroups take bricks of a stencil's cells -*- C++ -*-===//
//
// Iterations side by side lie along the last dimension, so a workgroup that reads neighbours across rows reads each of these rows for one row
// of results, out of a cache that all workgroups share. A range over stencils becomes one over bricks and the cells of a brick: the
// invocations of a workgroup have a brick, whose rows most of its reads have in common. Where there are many iterations, an invocation
// takes several cells along one dimension, and keeps what it has read.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Metate.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Common/Order.h"
#include "metate/Target/Grid/Passes.h"
#include "metate/Target/Grid/Stencils.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace metate {
#define GEN_PASS_DEF_GRIDBRICKS
#include "metate/Target/Grid/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;
using namespace metate::grid;

/// A brick's rows are so long at least, and begin at a multiple of that many cells: lines of memory.
static constexpr int64_t line = 32;
/// By what factor bricks read less, at least: edges and numbers cost something.
static constexpr double leastGain = 1.2;
/// Operations of a body that is written out for each cell of an invocation, at most.
static constexpr unsigned mostWritten = 200;

/// Does it matter in which order iterations run, or which one of them fails?
static bool keepsOrder(RangeOp range, bool isDeterministic) {
  bool isOrdered =
      range
          ->walk([](Operation *op) {
            auto rmw = dyn_cast<RmwOp>(op);
            bool asksOld =
                rmw && (!rmw.getOld().use_empty() || rmw.getKind() == arith::AtomicRMWKind::assign);
            return asksOld || isa<PrintOp, AssertOp, CheckOp, TreeCallOp, CasOp, func::CallOp>(op)
                       ? WalkResult::interrupt()
                       : WalkResult::advance();
          })
          .wasInterrupted();
  return isOrdered || (isDeterministic && target::showsOrder(range));
}

/// Reads, writes and arithmetic alone, without loops.
static bool isShort(RangeOp range) {
  unsigned count = 0;
  return !range.getBody()
              .walk([&](Operation *op) {
                bool isPlain = isa<ReadOp, WriteOp, scf::IfOp, scf::YieldOp, YieldOp>(op) ||
                               (!op->getNumRegions() && isMemoryEffectFree(op));
                return isPlain && ++count <= mostWritten ? WalkResult::advance()
                                                         : WalkResult::interrupt();
              })
              .wasInterrupted();
}

static std::optional<int64_t> sizeOf(RangeOp range, unsigned axis) {
  std::optional<int64_t> low = getConstantIntValue(range.getLower()[axis]),
                         high = getConstantIntValue(range.getUpper()[axis]);
  return low && high ? std::optional(std::max<int64_t>(*high - *low, 0)) : std::nullopt;
}

namespace {
/// The invocations of a brick along each dimension, powers of two, and the cells that each of them takes along one.
struct Shape {
  SmallVector<int64_t> invocations;
  unsigned axis = 0;
  int64_t cells = 1;

  int64_t extent(unsigned k) const { return invocations[k] * (k == axis ? cells : 1); }
  SmallVector<int64_t> extents() const {
    return llvm::map_to_vector(llvm::seq<unsigned>(0, invocations.size()),
                               [&](unsigned k) { return extent(k); });
  }
};

/// Finds the shape in which the fewest cells are read, those of iterations that have nothing to do among them.
class Search {
public:
  Search(RangeOp range, const Stencil &stencil, int64_t group, int64_t cells)
      : range(range), stencil(stencil), group(group) {
    begun.invocations.assign(range.getLower().size(), 1);
    begun.axis = stencil.axis();
    begun.cells = cells;
  }

  std::optional<Shape> run() {
    tryFrom(0, group);
    SmallVector<int64_t> row(begun.invocations.size(), 1);
    row.back() = group;
    return best && least * leastGain <= stencil.readsPerCell(row) ? best : std::nullopt;
  }

private:
  /// Shares out `left` invocations to the dimensions from this one on.
  void tryFrom(unsigned k, int64_t left) {
    if (k + 1 == begun.invocations.size()) {
      begun.invocations[k] = left;
      if (left >= std::min(line, group) && fits(k))
        compare();
      return;
    }
    for (int64_t count = 1; count <= left; count *= 2) {
      begun.invocations[k] = count;
      if (fits(k))
        tryFrom(k + 1, left / count);
    }
  }

  bool fits(unsigned k) const {
    std::optional<int64_t> size = sizeOf(range, k);
    return begun.extent(k) == 1 || !size || begun.extent(k) <= *size;
  }

  void compare() {
    double reads = stencil.readsPerCell(begun.extents());
    for (auto [k, extent] : llvm::enumerate(begun.extents()))
      if (std::optional<int64_t> size = sizeOf(range, k); size && *size)
        reads *= double(llvm::alignTo(*size, extent)) / double(*size);
    if (!best || reads < least) {
      best = begun;
      least = reads;
    }
  }

  RangeOp range;
  const Stencil &stencil;
  const int64_t group;
  Shape begun;
  std::optional<Shape> best;
  double least = 0;
};

/// Writes a range as one over bricks.
class Bricks {
public:
  Bricks(RangeOp range, Shape shape, int64_t many)
      : range(range), shape(std::move(shape)), many(many), builder(range), loc(range.getLoc()) {}

  void run() {
    findTaken();
    SmallVector<Value> lower, upper;
    for (unsigned k = 0; k < shape.invocations.size(); ++k) {
      lower.push_back(isCut(k) ? number(0) : Value(range.getLower()[k]));
      upper.push_back(isCut(k) ? bricksAlong(k) : Value(range.getUpper()[k]));
    }
    int64_t group = 1;
    for (int64_t count : shape.invocations)
      group *= count;
    lower.push_back(number(0));
    upper.push_back(number(group));
    auto bricks = RangeOp::create(builder, loc, lower, upper);
    bricks->setDiscardableAttrs(range->getDiscardableAttrDictionary());
    Block &body = bricks.getBody().front();
    while (!body.empty())
      body.back().erase();
    builder.setInsertionPointToStart(&body);
    findVariables(body.getArguments());
    YieldOp::create(builder, loc);
    builder.setInsertionPoint(body.getTerminator());
    if (Value isInside = guard()) {
      auto branch = scf::IfOp::create(builder, loc, isInside);
      builder.setInsertionPointToStart(branch.thenBlock());
    }
    if (shape.cells == 1)
      copyBody(variables);
    else
      takeCells();
    range.erase();
  }

private:
  Value number(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  template <typename Op> Value made(Value a, Value b) {
    return builder.createOrFold<Op>(loc, a, b);
  }
  Value isLess(Value a, Value b) {
    return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, a, b);
  }

  /// Is a brick more than one cell along the dimension?
  bool isCut(unsigned k) const { return shape.extent(k) > 1; }
  bool isLast(unsigned k) const { return k + 1 == shape.invocations.size(); }

  Value sizeAlong(unsigned k) {
    Value size = made<arith::SubIOp>(range.getUpper()[k], first(k));
    return made<arith::MaxSIOp>(size, number(0));
  }

  /// Where the first brick begins: of rows, at a line.
  Value first(unsigned k) {
    Value low = range.getLower()[k];
    return isLast(k) && isCut(k)
               ? made<arith::AndIOp>(low, number(-std::min(line, shape.extent(k))))
               : low;
  }

  /// How many cells an invocation takes, as a power of two: all or one, where that is known at the launch only.
  void findTaken() {
    const int64_t all = int64_t(llvm::Log2_64(uint64_t(shape.cells)));
    taken = number(all);
    if (shape.cells == 1)
      return;
    Value count = number(1);
    for (unsigned k = 0; k < shape.invocations.size(); ++k)
      count = made<arith::MulIOp>(count, sizeAlong(k));
    Value rounds =
        made<arith::ShRUIOp>(count, number(int64_t(llvm::Log2_64(uint64_t(many))) + all));
    taken = made<arith::MulIOp>(made<arith::MinSIOp>(rounds, number(1)), number(all));
  }

  /// The binary logarithm of the brick's extent.
  Value shift(unsigned k) {
    Value own = number(int64_t(llvm::Log2_64(uint64_t(shape.invocations[k]))));
    return k == shape.axis ? made<arith::AddIOp>(own, taken) : own;
  }

  Value bricksAlong(unsigned k) {
    Value size = sizeAlong(k), by = shift(k);
    if (!(isLast(k) && isMutant(Mutant::GridBrickLost))) {
      Value extent = made<arith::ShLIOp>(number(1), by);
      size = made<arith::AddIOp>(size, made<arith::SubIOp>(extent, number(1)));
    }
    return made<arith::ShRUIOp>(size, by);
  }

  /// The invocation's first cell, of the brick's number along each dimension and the invocation's in the brick.
  void findVariables(ValueRange numbers) {
    variables.resize(shape.invocations.size());
    Value rest = numbers.back();
    for (unsigned k = variables.size(); k-- > 0;) {
      variables[k] = numbers[k];
      if (!isCut(k))
        continue;
      Value at = made<arith::ShLIOp>(numbers[k], shift(k));
      if (int64_t count = shape.invocations[k]; count > 1) {
        Value own = made<arith::AndIOp>(rest, number(count - 1));
        rest = made<arith::ShRUIOp>(rest, number(int64_t(llvm::Log2_64(uint64_t(count)))));
        if (k == shape.axis)
          own = made<arith::ShLIOp>(own, taken);
        at = made<arith::AddIOp>(at, own);
      }
      variables[k] = made<arith::AddIOp>(first(k), at);
    }
  }

  /// Is the cell one of the range's? Null: they all are.
  Value guard() {
    Value all;
    auto ask = [&](Value one) { all = all ? made<arith::AndIOp>(all, one) : one; };
    for (unsigned k = 0; k < variables.size(); ++k) {
      Value low = range.getLower()[k], high = range.getUpper()[k], begin = first(k);
      std::optional<int64_t> from = getConstantIntValue(begin), to = getConstantIntValue(high);
      bool isWhole = from && to && (*to - *from) % shape.extent(k) == 0 && k != shape.axis;
      if (isCut(k) && !isWhole && !isMutant(Mutant::GridBrickEdge))
        ask(isLess(variables[k], high));
      if (isCut(k) && isLast(k) && !(from && from == getConstantIntValue(low)))
        ask(builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, variables[k], low));
    }
    return all;
  }

  void copyBody(ArrayRef<Value> cell) {
    IRMapping mapping;
    mapping.map(range.getBody().getArguments(), cell);
    for (Operation &op : range.getBody().front().without_terminator())
      builder.clone(op, mapping);
  }

  /// All cells are written out one behind the other where they are there; else a loop goes over those that are.
  void takeCells() {
    Value from = variables[shape.axis], high = range.getUpper()[shape.axis];
    Value to = made<arith::AddIOp>(from, made<arith::ShLIOp>(number(1), taken));
    Value isWhole = builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::sle, to, high);
    if (!getConstantIntValue(taken)) {
      Value isAll = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, taken, number(0));
      isWhole = made<arith::AndIOp>(isWhole, isAll);
    }
    auto branch = scf::IfOp::create(builder, loc, isWhole, /*withElseRegion=*/true);
    SmallVector<Value> cell(variables);
    builder.setInsertionPointToStart(branch.thenBlock());
    for (int64_t turn = 0; turn < shape.cells; ++turn) {
      cell[shape.axis] = made<arith::AddIOp>(from, number(turn));
      copyBody(cell);
    }
    builder.setInsertionPointToStart(branch.elseBlock());
    to = made<arith::MinSIOp>(to, high);
    auto loop = scf::ForOp::create(builder, loc, from, to, number(1));
    builder.setInsertionPointToStart(loop.getBody());
    cell[shape.axis] = loop.getInductionVar();
    copyBody(cell);
  }

  RangeOp range;
  const Shape shape;
  const int64_t many;
  OpBuilder builder;
  Location loc;
  Value taken;
  SmallVector<Value> variables;
};

struct GridBricks : metate::impl::GridBricksBase<GridBricks> {
  using GridBricksBase::GridBricksBase;

  void runOnOperation() override {
    for (RangeOp range : llvm::to_vector(getOperation().getBody().getOps<RangeOp>()))
      visit(range);
  }

private:
  void visit(RangeOp range) {
    if (range.getLower().size() < 2 || range->hasAttr(mark::cells) ||
        keepsOrder(range, getOperation()->hasAttr(mark::deterministic)))
      return;
    std::optional<Stencil> stencil = Stencil::of(range);
    if (!stencil)
      return;
    std::optional<Shape> shape =
        Search(range, *stencil, group, cellsFor(range, stencil->axis())).run();
    if (!shape)
      return;
    readFreely(range);
    Bricks(range, *shape, many).run();
  }

  /// Cells of an invocation: one, if all iterations together are too few.
  int64_t cellsFor(RangeOp range, unsigned axis) {
    if (!isShort(range))
      return 1;
    int64_t count = 1;
    for (unsigned k = 0; k < range.getLower().size(); ++k) {
      std::optional<int64_t> size = sizeOf(range, k);
      if (!size)
        return cells;
      if (llvm::MulOverflow(count, *size, count))
        return cells;
    }
    return count / cells >= many && sizeOf(range, axis) >= cells ? int64_t(cells) : 1;
  }

  /// What the range only reads is nobody's to change while it runs: reads need not stay behind the writes of the cell before.
  void readFreely(RangeOp range) {
    if (getOperation().getMayAlias())
      return;
    llvm::DenseSet<int64_t> written;
    bool isKnown = true;
    range.walk([&](Operation *op) {
      if (isa<ReadOp>(op) || op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
          isMemoryEffectFree(op))
        return;
      auto scope = op->getAttrOfType<IntegerAttr>("scope");
      isKnown &= scope && scope.getInt() >= 0;
      if (scope)
        written.insert(scope.getInt());
    });
    if (!isKnown)
      return;
    range.walk([&](ReadOp read) {
      if (int64_t scope = read.getScope();
          scope >= 0 && !written.contains(scope) && !read.getAcquire())
        read.setInvariant(true);
    });
  }
};
} // namespace
