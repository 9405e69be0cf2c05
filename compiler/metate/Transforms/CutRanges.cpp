//===- CutRanges.cpp - ranges over sparse cells go leaf by leaf -*- C++ -*-===//
//
// `for i, j, k in ndrange(256, 256, 256): x[i, j, k] = ...` walks rows across the leaves of a sparse field: each cell looks its leaf up. A parallel loop has no
// order, so it may walk leaf after leaf, as `for b in blocks: for i, j, k in ndrange(8, 8, 8)` does. Then a leaf is looked up once.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace metate {
#define GEN_PASS_DEF_CUTRANGES
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// Dimensions after the cut, at most: more are more divisions a row than they save.
constexpr size_t mostDimensions = 6;

class Cut {
public:
  explicit Cut(RangeOp range)
      : range(range), arguments(range.getBody().front().getArguments()),
        cells(arguments.size(), 1) {}

  /// Do accesses at the loop's own cells have leaves of more than one cell that the bounds are whole numbers of?
  bool find() {
    WalkResult result = range.walk([&](Operation *op) {
      auto access = CellAccess::of(op);
      return access && note(*access) ? WalkResult::interrupt() : WalkResult::advance();
    });
    size_t cut = llvm::count_if(cells, [](int64_t one) { return one > 1; });
    return result.wasInterrupted() && cut && cells.size() + cut <= mostDimensions &&
           llvm::all_of(llvm::enumerate(cells), [&](auto one) { return isWhole(one.index()); });
  }

  RangeOp run() {
    OpBuilder builder(range);
    Location loc = range.getLoc();
    auto number = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    SmallVector<Value> lower, upper;
    for (auto [k, count] : llvm::enumerate(cells)) {
      lower.push_back(count == 1 ? range.getLower()[k]
                                 : number(*getConstantIntValue(range.getLower()[k]) / count));
      upper.push_back(count == 1 ? range.getUpper()[k]
                                 : number(*getConstantIntValue(range.getUpper()[k]) / count));
    }
    for (int64_t count : cells)
      if (count > 1) {
        lower.push_back(number(0));
        upper.push_back(number(isMutant(Mutant::LeavesCutShort) ? count - 1 : count));
      }
    auto made = RangeOp::create(builder, loc, lower, upper);
    made->setDiscardableAttrs(range->getDiscardableAttrDictionary());
    Block &from = range.getBody().front(), &to = made.getBody().front();
    builder.setInsertionPointToStart(&to);
    size_t within = cells.size();
    for (auto [k, count] : llvm::enumerate(cells)) {
      Value variable = to.getArgument(k);
      if (count > 1) {
        constexpr auto nsw = arith::IntegerOverflowFlags::nsw;
        Value first = arith::MulIOp::create(builder, loc, variable, number(count), nsw);
        variable = arith::AddIOp::create(builder, loc, first, to.getArgument(within++), nsw);
        setMark(variable.getDefiningOp(), mark::number);
      }
      from.getArgument(k).replaceAllUsesWith(variable);
    }
    from.getTerminator()->erase();
    to.getOperations().splice(Block::iterator(to.getTerminator()), from.getOperations());
    range.erase();
    return made;
  }

private:
  bool isWhole(size_t k) {
    auto lower = getConstantIntValue(range.getLower()[k]),
         upper = getConstantIntValue(range.getUpper()[k]);
    return cells[k] == 1 ||
           (lower && upper && *lower >= 0 && *lower % cells[k] == 0 && *upper % cells[k] == 0);
  }

  /// True if the access says how to cut: it names cells of a slot by the loop's variables, the last of which walks along.
  bool note(const CellAccess &access) {
    TreePath path = access.resolve();
    int depth = path.lastPool();
    if (depth < 0 || access.coordinates.size() != path.rank())
      return false;
    SmallVector<int64_t> found(arguments.size(), 1);
    for (auto [k, coordinate] : llvm::enumerate(access.coordinates)) {
      auto argument = dyn_cast<BlockArgument>(coordinate);
      if (!argument || argument.getOwner() != arguments[0].getOwner() ||
          path.extents[k] == unboundedExtent)
        return false;
      found[argument.getArgNumber()] = path.extentBelow(depth, k);
    }
    if (found.back() == 1)
      return false;
    cells = found;
    return true;
  }

  RangeOp range;
  Block::BlockArgListType arguments;
  SmallVector<int64_t> cells; ///< of a leaf, along each variable
};

struct CutRanges : metate::impl::CutRangesBase<CutRanges> {
  void runOnOperation() override {
    if (getOperation().getDebug())
      return;
    for (RangeOp range :
         llvm::make_early_inc_range(getOperation().getBody().front().getOps<RangeOp>())) {
      Cut cut(range);
      if (!cut.find())
        continue;
      remarkDone(range, "cut-ranges", "nests")
          << "the loop goes leaf by leaf: it names cells of slots by its variables";
      cut.run();
      ++cutInLeaves;
    }
  }
};
} // namespace
