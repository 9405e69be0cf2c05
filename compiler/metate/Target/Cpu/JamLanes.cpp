//===- JamLanes.cpp - groups of lanes that take turns together --*- C++ -*-===//
//
// A sum of lanes waits for itself: each turn of `s += a[i, k] * b[k, j]` adds to what the last one made, in four cycles or so, and a
// machine could begin eight additions meanwhile. Iterations have no order, so that the inner loops of several rows, or of several groups
// of lanes of a row, are one loop: as many sums, and what is the same for all of them is read once.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Cpu/AcrossIterations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// Sums of lanes that one loop carries, at most: of sixteen numbers of 32 bits, two registers each where vectors have 32 bytes.
static constexpr int64_t mostSums = 4;

/// Operations of a loop's body that one group leaves a machine idle with. A longer one has enough to do.
static constexpr size_t mostJammed = 24;

/// Vectors of sixteen numbers of 32 bits that a loop carries; nothing if it carries others.
static std::optional<int64_t> sumsOf(scf::ForOp inner, int64_t lanes) {
  int64_t sums = 0;
  for (Type type : inner.getResultTypes()) {
    auto vector = dyn_cast<VectorType>(type);
    if (!vector || vector.getNumElements() != lanes)
      return std::nullopt;
    sums += vector.getElementTypeBitWidth() > 32 ? 2 : 1;
  }
  return sums ? std::optional(sums) : std::nullopt;
}

/// How many copies of a loop's body may run their inner loops as one; 1: none.
static int64_t copiesOf(scf::ForOp around, scf::ForOp lanesLoop, int64_t lanes) {
  int64_t copies = mostSums;
  bool anyLoop = false, isPossible = true;
  lanesLoop.getBody()->walk([&](Operation *op) {
    if (op->getNumRegions() == 0)
      return;
    auto inner = dyn_cast<scf::ForOp>(op);
    std::optional<int64_t> sums = inner ? sumsOf(inner, lanes) : std::nullopt;
    isPossible &=
        sums.has_value() && llvm::range_size(*inner.getBody()) <= mostJammed &&
        llvm::all_of(ArrayRef<Value>{inner.getLowerBound(), inner.getUpperBound(), inner.getStep()},
                     [&](Value bound) { return around.isDefinedOutsideOfLoop(bound); });
    if (isPossible)
      copies = std::min(copies, mostSums / *sums);
    anyLoop = true;
  });
  return anyLoop && isPossible ? copies : 1;
}

/// As many iterations of the loop at a time as `copies`, their inner loops as one. The loop keeps what is left over.
static void jam(scf::ForOp loop, int64_t copies) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  APInt step;
  [[maybe_unused]] bool isKnown = matchPattern(loop.getStep(), m_ConstantInt(&step));
  assert(isKnown && "loops of lanes and of rows have known steps");
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound(),
        width = number(copies * step.getSExtValue());
  Value span = arith::MaxSIOp::create(builder, loc,
                                      arith::SubIOp::create(builder, loc, upper, lower), number(0));
  Value rest = arith::RemUIOp::create(builder, loc, span, width);
  Value middle =
      arith::AddIOp::create(builder, loc, lower, arith::SubIOp::create(builder, loc, span, rest));
  auto outer = scf::ForOp::create(builder, loc, lower, middle, width);
  loop.setLowerBound(isMutant(Mutant::JammedTwice) ? lower : middle);
  // A loop of as many turns, with bounds that say so.
  builder.setInsertionPointToStart(outer.getBody());
  auto inner = cast<scf::ForOp>(builder.clone(*loop));
  builder.setInsertionPoint(inner);
  inner.setLowerBound(number(0));
  inner.setUpperBound(width);
  builder.setInsertionPointToStart(inner.getBody());
  auto place = arith::AddIOp::create(builder, loc, outer.getInductionVar(), inner.getInductionVar(),
                                     arith::IntegerOverflowFlags::nsw);
  inner.getInductionVar().replaceAllUsesExcept(place, place);
  if (failed(loopUnrollJamByFactor(inner, uint64_t(copies))))
    llvm_unreachable("its turns are known, and the bounds of all inner loops");
}

/// Is the value computed from the loop's variable, or from what the loop's other values are?
static bool dependsOn(Value value, scf::ForOp loop, llvm::DenseSet<Value> &seen) {
  if (value == loop.getInductionVar())
    return true;
  Operation *op = value.getDefiningOp();
  return op && loop->isProperAncestor(op) && seen.insert(value).second &&
         llvm::any_of(op->getOperands(),
                      [&](Value operand) { return dependsOn(operand, loop, seen); });
}

/// Does an inner loop read lanes that are the same in each of the rows? Those are read once for all rows that take turns together.
static bool sharesLanes(scf::ForOp rows, int64_t lanes) {
  return rows
      ->walk([&](Operation *op) {
        bool isRead = op->getNumResults() == 1 && !isMemoryEffectFree(op) && !op->getNumRegions();
        auto type = isRead ? dyn_cast<VectorType>(op->getResult(0).getType()) : VectorType();
        llvm::DenseSet<Value> seen;
        return type && type.getNumElements() == lanes &&
                       op->getParentOfType<scf::ForOp>()->getNumResults() &&
                       llvm::none_of(op->getOperands(),
                                     [&](Value value) { return dependsOn(value, rows, seen); })
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

int64_t cpu::jamLanes(scf::ForOp wide, int64_t lanes) {
  int64_t copies = copiesOf(wide, wide, lanes);
  if (copies > 1)
    jam(wide, copies);
  return copies;
}

int64_t cpu::jamRows(scf::ForOp rows, int64_t lanes) {
  moveLoopInvariantCode(rows);
  int64_t copies = mostSums;
  for (Operation &op : rows.getBody()->without_terminator()) {
    auto wide = dyn_cast<scf::ForOp>(op);
    if (op.getNumRegions() && !wide)
      return 1;
    if (!wide)
      continue;
    if (wide.getNumResults() ||
        !llvm::all_of(ArrayRef<Value>{wide.getLowerBound(), wide.getUpperBound(), wide.getStep()},
                      [&](Value bound) { return rows.isDefinedOutsideOfLoop(bound); }))
      return 1;
    copies = std::min(copies, copiesOf(rows, wide, lanes));
  }
  if (copies < 2 || !sharesLanes(rows, lanes))
    return 1;
  jam(rows, copies);
  return copies;
}
