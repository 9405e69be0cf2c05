//===- OrderDimensions.cpp - what lies side by side is innermost -*- C++ -*-===//
//
// `for j, i in ndrange(m, n): b[i, j] = 2 * a[i, j]` walks memory across its lines: rows of a parallel loop, of which vectors are made and
// which workers share out, go along its last variable. Its iterations have no order, so the variable that names what lies side by side
// becomes the last one, and those before it are in the order of the memory that they name.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/ContiguousAxis.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

namespace metate {
#define GEN_PASS_DEF_ORDERDIMENSIONS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// A row is at least a vector.
constexpr int64_t shortestRow = 16;
/// Rows are what workers share out.
constexpr int64_t fewestRows = 64;

/// How accesses name one variable of a loop.
struct Use {
  int64_t along = 0; ///< accesses to what lies side by side, less those that lie apart
  double place = 0,
         count = 0; ///< among the coordinates, 0 the slowest and 1 the fastest; summed up

  void add(ArrayRef<Value> byStride, Value variable) {
    bool isAlong = isContiguousIn(byStride, variable);
    if (!isAlong && !isNamedBy(byStride, variable))
      return;
    along += isAlong ? 1 : -1;
    for (auto [k, coordinate] : llvm::enumerate(byStride))
      if (isNamedBy(coordinate, variable)) {
        place += double(k + 1) / double(byStride.size());
        ++count;
      }
  }

  double middle() const { return count > 0 ? place / count : 0; }
};

struct OrderDimensions : metate::impl::OrderDimensionsBase<OrderDimensions> {
  using OrderDimensionsBase::OrderDimensionsBase;

  void runOnOperation() override {
    SmallVector<RangeOp> ranges(getOperation().getBody().front().getOps<RangeOp>());
    for (RangeOp range : ranges)
      if (range.getLower().size() > 1 && !(deterministic && showsOrder(range)))
        visit(range);
  }

private:
  /// Where the order of the iterations is the program's, what they do together shows it.
  static bool showsOrder(RangeOp range) {
    return range
        ->walk([](Operation *op) {
          bool isFree = isa<LoadOp, StoreOp, memref::LoadOp, memref::StoreOp>(op) ||
                        op->getNumRegions() || isPure(op) || op->hasTrait<OpTrait::IsTerminator>();
          return isFree ? WalkResult::advance() : WalkResult::interrupt();
        })
        .wasInterrupted();
  }

  static std::optional<int64_t> extentOf(RangeOp range, size_t axis) {
    APInt lower, upper;
    if (!matchPattern(range.getLower()[axis], m_ConstantInt(&lower)) ||
        !matchPattern(range.getUpper()[axis], m_ConstantInt(&upper)))
      return std::nullopt;
    return upper.getSExtValue() - lower.getSExtValue();
  }

  /// Are there rows for all workers, if they go along the axis?
  static bool hasRows(RangeOp range, size_t axis) {
    if (extentOf(range, axis).value_or(shortestRow) < shortestRow)
      return false;
    int64_t rows = 1;
    for (size_t k = 0; k < range.getLower().size(); ++k)
      if (k != axis)
        rows = std::min(fewestRows, rows * extentOf(range, k).value_or(fewestRows));
    return rows >= fewestRows;
  }

  void visit(RangeOp range) {
    ArrayRef<BlockArgument> variables = range.getBody().front().getArguments();
    SmallVector<Use> uses(variables.size());
    range->walk([&](Operation *op) {
      SmallVector<Value> byStride = coordinatesByStride(op);
      for (auto [use, variable] : llvm::zip(uses, variables))
        use.add(byStride, variable);
    });
    size_t last = uses.size() - 1, best = last;
    for (size_t k = 0; k < last; ++k)
      if (uses[k].along > uses[best].along)
        best = k;
    if (best == last || uses[best].along <= 0 || !hasRows(range, best))
      return;
    SmallVector<size_t> order;
    for (size_t k = 0; k <= last; ++k)
      if (k != best)
        order.push_back(k);
    llvm::stable_sort(order,
                      [&](size_t a, size_t b) { return uses[a].middle() < uses[b].middle(); });
    order.push_back(best);
    remarkDone(range, "order-dimensions", "order")
        << "dimension " << Number("dimension", int64_t(best) + 1)
        << " of the loop goes innermost: it names what lies side by side";
    permute(range, order);
    ++ordered;
  }

  static void permute(RangeOp range, ArrayRef<size_t> order) {
    SmallVector<Value> lower, upper;
    for (auto [k, from] : llvm::enumerate(order)) {
      lower.push_back(range.getLower()[from]);
      upper.push_back(range.getUpper()[isMutant(Mutant::ExtentsNotOrdered) ? k : from]);
    }
    OpBuilder builder(range);
    auto made = RangeOp::create(builder, range.getLoc(), lower, upper);
    made->setDiscardableAttrs(range->getDiscardableAttrDictionary());
    Block &from = range.getBody().front(), &to = made.getBody().front();
    for (auto [k, axis] : llvm::enumerate(order))
      from.getArgument(axis).replaceAllUsesWith(to.getArgument(k));
    to.getOperations().clear();
    to.getOperations().splice(to.begin(), from.getOperations());
    range.erase();
  }
};
} // namespace
