//===- CountPlaces.cpp - appends to many lists, counted beforehand -*- C++ -*-===//
//
// `for p in keys: x[keys[p]].append(p)`, and `table[c, atomic_add(count[c], 1)] = p`: workers meet at lists. Which loops have their places counted
// before they run, and whether it pays.
//
//===----------------------------------------------------------------------===//
#include "metate/Remarks/Remarks.h"
#include "metate/Transforms/Checks.h"
#include "metate/Transforms/Passes.h"
#include "metate/Transforms/PlaceCounts.h"
#include "metate/Transforms/ScatterTargets.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace metate {
#define GEN_PASS_DEF_COUNTPLACES
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// Operations of a loop that may be there twice.
constexpr size_t mostRepeated = 1000;

/// Iterations of a first dimension that gives parts for all workers.
constexpr int64_t leastSlabs = 64;

struct CountPlaces : metate::impl::CountPlacesBase<CountPlaces> {
  using CountPlacesBase::CountPlacesBase;

  void runOnOperation() override {
    if (mostBytes == 0)
      return;
    for (RangeOp range : scatterLoops(getOperation()))
      visit(range);
  }

private:
  void visit(RangeOp range) {
    SmallVector<TakenPlaces> targets = takenPlaces(range);
    if (targets.empty())
      return;
    size_t operations = 0;
    bool stops = false;
    range.walk([&](Operation *op) {
      ++operations;
      stops |= metate::mayStop(op);
    });
    if (stops || operations > mostRepeated)
      return decline(range, stops ? "a check in the loop may stop the kernel before all places "
                                    "that were counted are taken"
                                  : "the loop is too long to be there twice");
    PlaceSlice slice(range, targets);
    if (!slice.problem().empty())
      return decline(range, slice.problem());
    PlaceCounts counts(range, targets, slice, turnsOf(targets), least);
    std::optional<int64_t> lower = getConstantIntValue(range.getLower()[0]),
                           upper = getConstantIntValue(range.getUpper()[0]);
    bool isFlat = range.getLower().size() > 1 && lower && upper && *upper - *lower < leastSlabs;
    if (counts.isTooShort() || isFlat)
      return decline(range, "the loop takes too few places for so many lists");
    if (counts.bytes() > mostBytes)
      return decline(range, "the memory for it would be too large");
    if (auto remark = remarkDone(range, "count-places", "appends"))
      remark << "places in " << Number("lists", counts.lists())
             << " lists are counted before the loop runs: iterations take theirs without atomic "
                "operations";
    counts.build();
    ++counted;
  }

  /// Turns of the loops around the first site that are known.
  static int64_t turnsOf(ArrayRef<TakenPlaces> targets) {
    int64_t turns = 1;
    for (Operation *op = targets.front().sites.front(); op && !isa<RangeOp>(op);
         op = op->getParentOp())
      if (auto loop = dyn_cast<scf::ForOp>(op))
        if (std::optional<APInt> known = loop.getStaticTripCount(); known && known->ult(1 << 20))
          turns = std::min<int64_t>(turns * known->getSExtValue(), 1 << 20);
    return turns;
  }

  static void decline(RangeOp range, StringRef problem) {
    remarkDeclined(range, "count-places", "appends")
        << "places in lists are not counted before the loop runs: " << problem;
  }
};
} // namespace
