//===- ShareSums.cpp - invocations side by side share out a loop's turns -*- C++ -*-===//
//
// An iteration whose work is a loop that only accumulates (a body's forces, a row of a matrix) becomes several: each takes every so many-th
// turn, then they combine what they have. So few iterations fill a GPU, and a row is read as it lies.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Dialect/Metate.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Grid/Holds.h"
#include "metate/Target/Grid/Passes.h"
#include "metate/Transforms/PlainAtomics.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace metate {
#define GEN_PASS_DEF_SHARESUMS
#include "metate/Target/Grid/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;
using grid::holds;

/// A loop of fewer turns is not worth it; of more each invocation has at least four.
static constexpr uint64_t leastTurns = 32, turnsEach = 4;
/// Where the number of turns is the launch's, and where that of the iterations is: a row's sector, or few wasted ones.
static constexpr int64_t unknownShare = 8;
/// Bytes from one turn's number to the next one's that are side by side.
static constexpr int64_t near = 16;

namespace {
/// By how much an offset grows with a variable: a constant, a constant times an argument of the kernel, or something else.
struct Growth {
  int64_t by = 0;
  BlockArgument times;
  bool isKnown = true;

  bool isNone() const { return isKnown && by == 0; }
  /// Is what lies side by side along the other variable not so along this one? Of strides of an array the last one is the least.
  bool isNear(const Growth &other) const {
    if (!isKnown || by == 0)
      return false;
    if (!times)
      return -near <= by && by <= near;
    return !other.times || other.times.getArgNumber() <= times.getArgNumber();
  }
};

/// How offsets grow with one variable. Values are looked at once each, since sums of sums share what they add.
class Growths {
public:
  Growths(Value variable, RangeOp range) : variable(variable), range(range) {}

  Growth of(Value value) {
    if (value == variable)
      return {1, {}, true};
    Operation *op = value.getDefiningOp();
    if (!op || !range.getBody().isAncestor(value.getParentRegion()))
      return {};
    auto [known, isNew] = all.try_emplace(value, unknown());
    if (!isNew)
      return known->second;
    Growth growth = ofResult(op);
    return all[value] = growth;
  }

private:
  static Growth unknown() { return {0, {}, false}; }

  Growth ofResult(Operation *op) {
    SmallVector<Growth> parts;
    for (Value operand : op->getOperands())
      parts.push_back(of(operand));
    if (op->getNumRegions())
      return unknown();
    if (llvm::all_of(parts, [](const Growth &part) { return part.isNone(); }))
      return {};
    if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp,
            arith::TruncIOp>(op))
      return parts[0];
    if (isa<arith::AddIOp, arith::SubIOp>(op))
      return ofSum(parts[0], parts[1], isa<arith::SubIOp>(op) ? -1 : 1);
    return isa<arith::MulIOp>(op) ? ofProduct(op, parts) : unknown();
  }

  static Growth ofSum(const Growth &a, const Growth &b, int64_t sign) {
    if (b.isNone())
      return a;
    Growth sum = b;
    if (llvm::MulOverflow(b.by, sign, sum.by))
      return unknown();
    if (a.isNone())
      return sum;
    bool isKnown = a.isKnown && b.isKnown && !a.times && !b.times;
    return isKnown && !llvm::AddOverflow(a.by, sum.by, sum.by) ? sum : unknown();
  }

  static Growth ofProduct(Operation *op, ArrayRef<Growth> parts) {
    for (unsigned k : {0, 1}) {
      if (!parts[1 - k].isNone() || !parts[k].isKnown)
        continue;
      Value factor = op->getOperand(1 - k);
      Growth grown = parts[k];
      APInt constant;
      if (matchPattern(factor, m_ConstantInt(&constant)) && constant.isSignedIntN(32))
        return llvm::MulOverflow(grown.by, constant.getSExtValue(), grown.by) ? unknown() : grown;
      auto argument = dyn_cast<BlockArgument>(factor);
      if (!argument || grown.times || !isa<KernelOp>(argument.getOwner()->getParentOp()))
        return unknown();
      grown.times = argument;
      return grown;
    }
    return unknown();
  }

  Value variable;
  RangeOp range;
  llvm::DenseMap<Value, Growth> all;
};
} // namespace

/// The operation that combines a turn's number with what the turns before have, if the order may be another one.
static std::optional<arith::AtomicRMWKind> kindOf(scf::ForOp loop, unsigned index) {
  using Kind = arith::AtomicRMWKind;
  BlockArgument carried = loop.getRegionIterArg(index);
  Operation *op = loop.getBody()->getTerminator()->getOperand(index).getDefiningOp();
  // A sum that the loop looks at meanwhile is one of all turns before.
  if (!op || !carried.hasOneUse() || *carried.user_begin() != op ||
      op->getBlock() != loop.getBody() || !(op->hasOneUse() || isMutant(Mutant::GridSumSeen)))
    return std::nullopt;
  Type scalar = getElementTypeOrSelf(carried.getType());
  if (!scalar.isF32() && !scalar.isF64() && !scalar.isInteger(32) && !scalar.isInteger(64))
    return std::nullopt;
  if (auto sum = dyn_cast<arith::AddFOp>(op))
    return arith::bitEnumContainsAny(sum.getFastmath(), arith::FastMathFlags::reassoc)
               ? std::optional(Kind::addf)
               : std::nullopt;
  if (isa<arith::AddIOp>(op))
    return Kind::addi;
  return std::nullopt;
}

static bool onlyReads(Operation *op) {
  return !holds(op, [](Operation *one) {
    return !isa<ReadOp, scf::ForOp, scf::IfOp, scf::YieldOp>(one) &&
           (one->getNumRegions() || !isMemoryEffectFree(one));
  });
}

/// What leaves the iterations early, or claims slots, of which there may be fewer than invocations of a share.
static bool mayLeave(Operation *op) {
  return holds(op, [](Operation *one) {
    return isa<TreeCallOp, CallOp, ReturnStatusOp, CallOpInterface>(one) ||
           one->hasTrait<MayStop>();
  });
}

namespace {
class Sharing {
public:
  explicit Sharing(RangeOp range)
      : range(range), builder(range), loc(range.getLoc()),
        variable(range.getBody().front().getArguments().back()) {}

  void run() {
    if (!find())
      return;
    int64_t share = shareOf();
    if (share > 1)
      makeShared(share);
  }

private:
  Block &body() { return range.getBody().front(); }

  /// Loops to share, and nothing else that takes long or changes memory before the last one.
  bool find() {
    if (range->hasAttr(mark::cells) || mayLeave(range))
      return false;
    for (Operation &op : body().without_terminator()) {
      auto loop = dyn_cast<scf::ForOp>(op);
      bool holdsLoop = holds(&op, [](Operation *one) { return isa<LoopLikeOpInterface>(one); });
      if (loop ? !isShared(loop) : holdsLoop || (op.getNumRegions() && !isa<scf::IfOp>(op)))
        return false;
      if (loop)
        loops.push_back(loop);
    }
    if (loops.empty())
      return false;
    for (Operation &op : body().without_terminator()) {
      if (&op == loops.back())
        return true;
      if (!onlyReads(&op))
        return false;
    }
    return true;
  }

  bool isOutside(Value value) { return !range.getBody().isAncestor(value.getParentRegion()); }

  bool isShared(scf::ForOp loop) {
    if (!loop.getNumResults() || !isOutside(loop.getLowerBound()) ||
        !isOutside(loop.getUpperBound()) || !isOutside(loop.getStep()) || !onlyReads(loop))
      return false;
    for (unsigned k = 0; k < loop.getNumResults(); ++k)
      if (!kindOf(loop, k))
        return false;
    return true;
  }

  std::optional<int64_t> iterations() {
    int64_t count = 1;
    for (auto [low, high] : llvm::zip(range.getLower(), range.getUpper())) {
      auto from = getConstantIntValue(low), to = getConstantIntValue(high);
      if (!from || !to || llvm::MulOverflow(count, std::max<int64_t>(0, *to - *from), count))
        return std::nullopt;
    }
    return count;
  }

  /// Invocations for an iteration, a power of two; 1: it stays one's.
  int64_t shareOf() {
    bool isOfRows = false;
    int64_t most = 32;
    for (scf::ForOp loop : loops) {
      std::optional<APInt> count = loop.getStaticTripCount(); // none: only the launch knows
      uint64_t known = count ? count->getLimitedValue() : 0;
      if (count && known < leastTurns)
        return 1;
      most = std::min(most, count ? int64_t(llvm::bit_floor(known / turnsEach)) : unknownShare);
      Growths turns(loop.getInductionVar(), range), iterationsOf(variable, range);
      auto result = loop.walk([&](ReadOp read) {
        Growth turn = turns.of(read.getOffset()), iteration = iterationsOf.of(read.getOffset());
        if (!turn.isNone() && iteration.isNear(turn) && !turn.isNear(iteration))
          return WalkResult::interrupt(); // a column: iterations read side by side
        isOfRows |= !iteration.isNone() && turn.isNear(iteration);
        return WalkResult::advance();
      });
      if (result.wasInterrupted())
        return 1;
    }
    if (isOfRows)
      return most;
    std::optional<int64_t> count = iterations();
    if (!count)
      return std::min(most, unknownShare);
    if (*count <= 0)
      return 1;
    return std::min(most, int64_t(llvm::PowerOf2Ceil(uint64_t(llvm::divideCeil(enough, *count)))));
  }

  Value index(int64_t number) { return arith::ConstantIndexOp::create(builder, loc, number); }

  void makeShared(int64_t share) {
    SmallVector<Value> lower(range.getLower()), upper(range.getUpper());
    lower.push_back(index(0));
    upper.push_back(index(share));
    auto made = RangeOp::create(builder, loc, lower, upper);
    made->setDiscardableAttrs(range->getDiscardableAttrDictionary());
    made.getBody().takeBody(range.getBody());
    range.erase();
    Block &body = made.getBody().front();
    Value own = body.addArgument(builder.getIndexType(), loc);
    builder.setInsertionPointToStart(&body);
    Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, own, index(0));
    Operation *last = nullptr;
    for (scf::ForOp loop : loops)
      last = shareOut(loop, own, isFirst, share);
    finishByFirst(last, isFirst);
  }

  /// Each takes every `share`-th turn. Gives the last operation of what combines the results.
  Operation *shareOut(scf::ForOp loop, Value own, Value isFirst, int64_t share) {
    builder.setInsertionPoint(loop);
    loc = loop.getLoc();
    Value step = loop.getStep();
    Value ahead = builder.createOrFold<arith::MulIOp>(loc, own, step);
    loop.setLowerBound(builder.createOrFold<arith::AddIOp>(loc, loop.getLowerBound(), ahead));
    loop.setStep(builder.createOrFold<arith::MulIOp>(loc, step, index(share)));
    SmallVector<arith::AtomicRMWKind> kinds;
    for (auto [k, init] : llvm::enumerate(loop.getInitArgsMutable())) {
      kinds.push_back(*kindOf(loop, unsigned(k)));
      TypedAttr nothing = neutralOf(builder, loc, kinds.back(), getElementTypeOrSelf(init.get()));
      if (auto vector = dyn_cast<VectorType>(init.get().getType()))
        nothing = DenseElementsAttr::get(vector, Attribute(nothing));
      Value neutral = arith::ConstantOp::create(builder, loc, nothing);
      init.set(arith::SelectOp::create(builder, loc, isFirst, init.get(), neutral));
    }
    builder.setInsertionPointAfter(loop);
    Operation *last = loop;
    for (auto [result, kind] : llvm::zip(loop.getResults(), kinds)) {
      SmallVector<OpOperand *> uses;
      for (OpOperand &use : result.getUses())
        uses.push_back(&use);
      Value all = combine(result, kind, share);
      for (OpOperand *use : uses)
        use->set(all);
      last = all.getDefiningOp();
    }
    return last;
  }

  Value combine(Value value, arith::AtomicRMWKind kind, int64_t share) {
    auto vector = dyn_cast<VectorType>(value.getType());
    if (!vector)
      return combineScalar(value, kind, share);
    SmallVector<Value> parts;
    auto all = vector::ToElementsOp::create(builder, loc, value);
    for (Value part : all.getResults())
      parts.push_back(combineScalar(part, kind, share));
    return vector::FromElementsOp::create(builder, loc, vector, parts);
  }

  /// Of two invocations at a time: all have the same result in the end, for both add the same two.
  Value combineScalar(Value value, arith::AtomicRMWKind kind, int64_t share) {
    Type type = value.getType(), bits = builder.getIntegerType(type.getIntOrFloatBitWidth());
    for (int64_t distance = share / 2; distance; distance /= 2) {
      Value given = type == bits ? value : arith::BitcastOp::create(builder, loc, bits, value);
      auto constant = [&](int64_t number) -> Value {
        return arith::ConstantIntOp::create(builder, loc, builder.getI32Type(), number);
      };
      Value other = LLVM::CallOp::create(builder, loc, functionFor(bits),
                                         ValueRange{given, constant(distance), constant(share)})
                        .getResult();
      if (type != bits)
        other = arith::BitcastOp::create(builder, loc, type, other);
      value = combinePlain(builder, loc, kind, value, other);
    }
    return value;
  }

  /// The family's: the number of the invocation at a distance, of `share` side by side.
  LLVM::LLVMFuncOp functionFor(Type bits) {
    auto module = loops.front()->getParentOfType<ModuleOp>();
    std::string name = bits.isInteger(32) ? "metate_grid_across_i32" : "metate_grid_across_i64";
    if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
      return known;
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    Type i32 = top.getI32Type();
    return LLVM::LLVMFuncOp::create(top, module.getLoc(), name,
                                    LLVM::LLVMFunctionType::get(bits, {bits, i32, i32}));
  }

  /// What is behind the loops is done once.
  void finishByFirst(Operation *last, Value isFirst) {
    SmallVector<Operation *> rest;
    for (Operation *op = last->getNextNode(); op && !op->hasTrait<OpTrait::IsTerminator>();
         op = op->getNextNode())
      rest.push_back(op);
    if (rest.empty())
      return;
    builder.setInsertionPointAfter(last);
    auto branch = scf::IfOp::create(builder, loc, isFirst);
    for (Operation *op : rest)
      op->moveBefore(branch.thenBlock()->getTerminator());
  }

  /// Invocations that fill a large GPU twice.
  static constexpr uint64_t enough = 1 << 19;

  RangeOp range;
  OpBuilder builder;
  Location loc;
  Value variable;
  SmallVector<scf::ForOp> loops;
};

struct ShareSums : metate::impl::ShareSumsBase<ShareSums> {
  void runOnOperation() override {
    if (getOperation()->hasAttr(mark::deterministic))
      return;
    for (RangeOp range : llvm::to_vector(getOperation().getBody().getOps<RangeOp>()))
      Sharing(range).run();
  }
};
} // namespace
