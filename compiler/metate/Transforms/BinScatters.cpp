//===- BinScatters.cpp - which scatters go block by block -------*- C++ -*-===//
//
// Particles add to a grid that is too large for copies: which loops do that, and whether it pays to put their iterations in order.
//
//===----------------------------------------------------------------------===//
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/Checks.h"
#include "metate/Transforms/Passes.h"
#include "metate/Transforms/ScatterBins.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace metate {
#define GEN_PASS_DEF_BINSCATTERS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// Cells of the grid for an iteration, at most: tiles cost about one addition for each of their cells.
constexpr int64_t mostCells = 8;

/// Operations of a loop that will be there twice.
constexpr size_t mostOperations = 4000;

struct BinScatters : metate::impl::BinScattersBase<BinScatters> {
  using BinScattersBase::BinScattersBase;

  void runOnOperation() override {
    if (mostBytes == 0)
      return;
    for (RangeOp range : scatterLoops(getOperation()))
      visit(range);
  }

private:
  void visit(RangeOp range) {
    if (scatterTargets(range, /*tell=*/false).empty())
      return;
    readOnce(range);
    SmallVector<ScatterTarget> targets = scatterTargets(range, /*tell=*/false);
    if (llvm::any_of(targets, [](const ScatterTarget &target) {
          return ShapedType::isDynamicShape(target.extents);
        }))
      return decline(range, "the size of what it adds to is known at launch only; annotations of "
                            "arrays may say their shape");
    SmallVector<ScatterCells, 2> groups = groupCells(targets);
    std::optional<int64_t> lower = getConstantIntValue(range.getLower()[0]), upper = mostOf(range);
    if (groups.size() != 1 || range.getLower().size() != 1 || !lower || !upper)
      return decline(
          range, "targets of one shape, kind and type, and a range of one dimension that "
                 "is known when compiling, or no longer than a field that it reads, are expected");
    const ScatterCells &cells = groups.front();
    int64_t count = *upper - *lower, size = llvm::product_of(cells.first().extents);
    if (cells.addsOfIteration(range) < leastNumbers || count < least || count * mostCells < size)
      return decline(range, "the loop adds too little");
    if (StringRef problem = problemOf(range, cells); !problem.empty())
      return decline(range, problem);
    // On a copy: where it comes to nothing reads stay behind what guards them.
    auto copy = cast<RangeOp>(OpBuilder(range).clone(*range));
    StringRef problem = build(copy, *lower, *upper);
    copy.erase();
    if (!problem.empty())
      return decline(range, problem);
    range.erase();
    ++binned;
  }

  /// Why the range has no blocks; none: its tasks stand before it.
  StringRef build(RangeOp range, int64_t lower, int64_t upper) {
    readBeforeGuards(range, upper, /*room=*/mostRecorded);
    readOnce(range);
    SmallVector<ScatterTarget> targets = scatterTargets(range, /*tell=*/false);
    SmallVector<ScatterCells, 2> groups = groupCells(targets);
    std::optional<SmallVector<ScatterBase>> bases = basesOf(range, targets);
    if (!bases)
      return "an iteration's places are not around one that is computed from what the loop does "
             "not write";
    int64_t count = upper - lower;
    Bins bins(range, groups.front(), *bases, lower, count, streamed);
    if (!bins.fits() || bins.orderBytes() > mostBytes || count > INT32_MAX)
      return "the memory for it would be too large";
    if (auto remark = remarkDone(range, "bin-scatters", "atomics"))
      remark << "iterations are put in the order of " << Number("blocks", bins.blocks())
             << " blocks of what they add to; those of one add to a tile of "
             << Number("cells", bins.tileCells()) << " cells, without atomic operations"
             << (bins.isStreamed() ? "; what they read is written around the caches" : "");
    bins.build();
    return "";
  }

  /// Where the range ends, at the latest: an iteration beyond what each one reads reads what is not there.
  static std::optional<int64_t> mostOf(RangeOp range) {
    if (std::optional<int64_t> upper = getConstantIntValue(range.getUpper()[0]))
      return upper;
    std::optional<int64_t> lower = getConstantIntValue(range.getLower()[0]), most;
    if (range.getLower().size() != 1 || !lower || *lower < 0)
      return {};
    for (Operation *read : readsOfIteration(range))
      if (std::optional<int64_t> extent = extentOfIteration(range, read))
        most = std::min(most.value_or(*extent), *extent);
    return most;
  }

  static StringRef problemOf(RangeOp range, const ScatterCells &cells) {
    size_t operations = 0, atomics = 0, known = 0;
    bool stops = false;
    range.walk([&](Operation *op) {
      ++operations;
      atomics += isa<AtomicOp, memref::AtomicRMWOp>(op);
      stops |= metate::mayStop(op);
    });
    for (ScatterTarget *target : cells.targets)
      known += target->atomics.size();
    if (stops)
      return "a check in the loop may stop the kernel, and what was added before must not be lost";
    if (atomics != known)
      return "there are other atomic operations in the loop, too";
    return operations > mostOperations ? "the loop is too long to be there twice" : "";
  }

  static void decline(RangeOp range, StringRef problem) {
    remarkDeclined(range, "bin-scatters", "atomics")
        << "iterations are not put in the order of where they add: " << problem;
  }
};
} // namespace
