//===- Grain.cpp - how much work makes a chunk ------------------*- C++ -*-===//
//
// An estimate of a task's work, as arithmetic in the entry: trip counts that are known when the
// kernel is launched come in as values. It need only tell apart what is worth waking a worker for from
// what is not, so that errors of a factor of three do no harm; where it must guess, it guesses much.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Elementary.h"
#include "metate/Layout/TypeBlob.h"
#include "metate/Target/Cpu/MapTasks.h"
#include "metate/abi/tree.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

namespace {
/// Estimates stay below this, so that sums and products of two of them do not wrap (2^30 ps are a
/// millisecond: more work than any chunk needs).
constexpr int64_t most = int64_t(1) << 30;

/// Turns of a loop whose number depends on memory, or on a loop around it that is inside of the task.
constexpr int64_t guessedTurns = 64;

/// Operations of a loop that is likely to become vectors.
constexpr size_t longest = 100;

/// A conditional that only chooses what is accumulated (Conditionals.cpp).
bool isChoice(Operation &op) {
  auto mayStay = [](Operation *inner) {
    return isa<scf::IfOp, ReadOp, memref::LoadOp>(inner) || inner->hasAttr(mark::reduction) ||
           (inner->getNumRegions() == 0 && isMemoryEffectFree(inner));
  };
  auto visit = [&](Operation *inner) {
    return mayStay(inner) ? WalkResult::advance() : WalkResult::interrupt();
  };
  return isa<scf::IfOp>(op) && !op.walk(visit).wasInterrupted();
}

class Estimate {
public:
  Estimate(const LaunchedTask &task, OpBuilder &builder, bool alone)
      : task(task), range(task.range), builder(builder), loc(range.getLoc()), alone(alone) {
    // Straight code is computed as vectors, if it is not long.
    auto isBranch = [](Operation &op) {
      return op.getNumRegions() && !op.hasAttr(mark::nest) && !isChoice(op);
    };
    Block &body = range.getBody().front();
    isStraight = llvm::range_size(body) < longest && llvm::none_of(body, isBranch);
  }

  /// Is it sure to be computed as it was counted?
  bool isSure() const { return isStraight; }

  /// Picoseconds of one iteration, and of a row of them.
  Value ofIteration() { return atLeastOne(ofBlock(range.getBody().front())); }

  Value times(Value a, Value b) { return bounded(make<arith::MulIOp>(bounded(a), bounded(b))); }

  Value atLeastOne(Value value) { return make<arith::MaxSIOp>(value, number(1)); }
  Value number(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  template <typename Op> Value make(Value a, Value b) {
    return builder.createOrFold<Op>(loc, a, b);
  }

private:
  Value bounded(Value value) { return make<arith::MinSIOp>(value, number(most)); }

  int64_t ofOperation(Operation &op) const {
    int64_t factor = isStraight ? 1 : 8;
    if (auto rmw = dyn_cast<RmwOp>(op)) {
      if (rmw->hasAttr(mark::reduction))
        return 30 * factor;
      // Floats go through a compare-exchange.
      return alone ? 500 : isa<FloatType>(rmw.getValue().getType()) ? 10000 : 5000;
    }
    if (isa<CasOp>(op))
      return 10000;
    // Lengths come from the other worker. Who is alone waits for memory, and for the chunks of lists that are short.
    if (auto call = dyn_cast<TreeCallOp>(op); call && call.getCallee() == "append")
      return !alone ? 15000 : isOneList(call) ? 3000 : 3000 + 128000 / cellsOfChunk(call);
    if (isa<func::CallOp, TreeCallOp, PrintOp>(op))
      return 20000;
    if (isa<ReadOp, WriteOp, memref::LoadOp, memref::StoreOp>(op))
      return 50 * factor;
    if (auto function = dyn_cast<ElementaryOp>(op))
      return ofFunction(function) * components(op);
    if (isa<math::SqrtOp, math::RsqrtOp, arith::DivFOp>(op))
      return 200 * factor;
    if (isa<math::MathDialect>(op.getDialect()))
      return isa<math::FmaOp, math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp>(op)
                 ? 20 * factor
                 : 5000;
    if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op))
      return 1000;
    // Addresses cost nothing beside what is at them.
    bool isIndex = op.getNumResults() == 1 && op.getResult(0).getType().isIndex();
    bool isFree = isIndex || isa<arith::ConstantOp>(op) || op.hasTrait<OpTrait::IsTerminator>();
    return isFree ? 0 : 20 * factor * components(op);
  }

  /// As vectors or alone, in f32; f64 takes three times as long.
  int64_t ofFunction(ElementaryOp op) const {
    using Function = ElementaryFunction;
    Function function = op.getFunction();
    bool isLong = function == Function::Pow || function == Function::Tan;
    int64_t one = (isLong ? 4000 : 1500) * (isStraight ? 1 : 4);
    return getElementTypeOrSelf(op.getType()).isF64() ? 3 * one : one;
  }

  bool isOneList(TreeCallOp append) const {
    return llvm::all_of(append.getNumbers(), [&](Value value) {
      return matchPattern(value, m_Constant()) ||
             value.getParentRegion()->isProperAncestor(&range->getRegion(0));
    });
  }

  static int64_t cellsOfChunk(TreeCallOp append) {
    std::string blob = cantFail(layout::treeTypeBlob(cast<TreeType>(append.getTree())));
    auto *levels = reinterpret_cast<const metate_level *>(
        reinterpret_cast<const metate_tree_type *>(blob.data()) + 1);
    return std::max<int64_t>(levels[append.getLevel()].slot_cells, 1);
  }

  static int64_t components(Operation &op) {
    auto vector =
        op.getNumResults() == 1 ? dyn_cast<VectorType>(op.getResult(0).getType()) : VectorType();
    return vector ? vector.getNumElements() : 1;
  }

  Value ofBlock(Block &block) {
    int64_t known = 0;
    Value sum;
    auto add = [&](Value part) { sum = sum ? bounded(make<arith::AddIOp>(sum, part)) : part; };
    for (Operation &op : block) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        add(times(turnsOf(loop), ofBlock(*loop.getBody())));
      } else if (op.getNumRegions()) {
        bool repeats = isa<scf::WhileOp>(op);
        for (Region &region : op.getRegions())
          for (Block &inner : region) {
            Value once = ofBlock(inner);
            add(repeats ? times(number(guessedTurns), once) : once);
          }
      } else {
        known = std::min(most, known + ofOperation(op));
      }
    }
    add(number(known));
    return sum;
  }

  Value turnsOf(scf::ForOp loop) {
    Value lower = task.ofMiddle(loop.getLowerBound(), builder),
          upper = task.ofMiddle(loop.getUpperBound(), builder);
    APInt step;
    if (!lower || !upper || !matchPattern(loop.getStep(), m_ConstantInt(&step)))
      return number(guessedTurns);
    Value turns = make<arith::MaxSIOp>(make<arith::SubIOp>(upper, lower), number(0));
    return step.isOne() ? turns : make<arith::DivUIOp>(turns, number(step.getSExtValue()));
  }

  const LaunchedTask &task;
  RangeOp range;
  OpBuilder &builder;
  Location loc;
  bool alone, isStraight;
};
} // namespace

/// Nanoseconds of work that threads that are awake may share: its halves take longer than to tell one another. An
/// estimate that may be much too high asks for more.
constexpr uint64_t leastShared = 2500, leastSharedIfUnsure = 5000;

/// Does a worker beside another one cost nothing but its start? Where one worker does little work, floats that are added up come
/// to the same sum each time, and the first check that fails is told.
static bool isBestShared(RangeOp range) {
  auto holdsBack = [](Operation *op) {
    bool isShared = isa<CasOp, TreeCallOp, func::CallOp, PrintOp, AssertOp, CheckOp>(op) ||
                    (isa<RmwOp>(op) && !op->hasAttr(mark::reduction));
    return isShared ? WalkResult::interrupt() : WalkResult::advance();
  };
  return !hasRoundedPartials(range) && !range.walk(holdsBack).wasInterrupted();
}

TaskCost cpu::costOf(const LaunchedTask &task, OpBuilder &builder, uint64_t nanoseconds) {
  RangeOp range = task.range;
  Estimate estimate(task, builder, /*alone=*/false);
  Value one = estimate.number(1);
  if (nanoseconds == 0)
    return {one, one};
  Value work = estimate.ofIteration(), loners = one;
  if (range
          .walk([](Operation *op) {
            auto call = dyn_cast<TreeCallOp>(op);
            bool isCheaperAlone = (isa<RmwOp>(op) && !op->hasAttr(mark::reduction)) ||
                                  (call && call.getCallee() == "append");
            return isCheaperAlone ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted()) {
    Value plain = Estimate(task, builder, /*alone=*/true).ofIteration();
    loners = estimate.atLeastOne(estimate.make<arith::DivUIOp>(work, plain));
  }
  // Of several dimensions, rows are shared out.
  if (range.getLower().size() > 1) {
    Value row = estimate.make<arith::SubIOp>(task.inHost(range.getUpper().back(), builder),
                                             task.inHost(range.getLower().back(), builder));
    work = estimate.times(work, estimate.atLeastOne(row));
  }
  Value grain = estimate.make<arith::DivUIOp>(
      estimate.number(int64_t(std::min<uint64_t>(nanoseconds, 1000000) * 1000)), work);
  uint64_t parts = nanoseconds / (estimate.isSure() ? leastShared : leastSharedIfUnsure);
  return {estimate.atLeastOne(grain), loners,
          parts && isBestShared(range) ? llvm::Log2_64(parts) : 0};
}
