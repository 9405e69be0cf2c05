//===- FoldIndexCasts.cpp - index arithmetic in 64 bits ---------*- C++ -*-===//
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/CellAccess.h"
#include "metate/Transforms/IntegerRange.h"
#include "metate/Transforms/LoopVariable.h"
#include "metate/Transforms/Passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace metate {
#define GEN_PASS_DEF_FOLDINDEXCASTS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// Constants beyond this are left alone: a wrapped index could then be inside a very large array.
constexpr int64_t smallConstant = 1024;

/// A loop variable that is never negative: with any 32-bit value added or subtracted, it wraps to a negative index alone.
bool isCount(Value value) {
  Value variable = loopVariableOf(value);
  auto argument = dyn_cast_if_present<BlockArgument>(variable);
  if (!argument)
    return bool(variable);
  Operation *loop = argument.getOwner()->getParentOp();
  auto range = dyn_cast<RangeOp>(loop);
  APInt least;
  return isa<ForEachOp>(loop) ||
         (range && matchPattern(range.getLower()[argument.getArgNumber()], m_ConstantInt(&least)) &&
          least.isNonNegative());
}

bool isSmallConstant(Value value) {
  APInt constant;
  return matchPattern(value, m_ConstantInt(&constant)) &&
         constant.getSExtValue() <= smallConstant && constant.getSExtValue() >= -smallConstant;
}

/// Does the condition only ever go into checks?
bool isOnlyChecked(Operation *condition) {
  return llvm::all_of(condition->getUsers(), [](Operation *user) {
    return isa<CheckOp>(user) || (isa<arith::AndIOp>(user) && isOnlyChecked(user));
  });
}

/// Does the index only ever say which element or cell? One that wraps is outside of all of them. A
/// loop's bound that wraps is another loop.
bool isOnlyAddress(Value index) {
  return llvm::all_of(index.getUsers(), [](Operation *user) {
    if (isa<arith::AddIOp, arith::SubIOp>(user))
      return isOnlyAddress(user->getResult(0));
    if (auto compare = dyn_cast<arith::CmpIOp>(user))
      return compare.getPredicate() == arith::CmpIPredicate::ult && isOnlyChecked(compare);
    return isa<memref::LoadOp, memref::StoreOp, memref::AtomicRMWOp, CheckOp>(user) ||
           isa<CellOpInterface>(user);
  });
}

/// cmpi ult, %i, 25 -> true, where the loops say that %i is from 0 to 24
struct KnownInside : OpRewritePattern<arith::CmpIOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::CmpIOp op, PatternRewriter &rewriter) const override {
    APInt extent;
    if (op.getPredicate() != arith::CmpIPredicate::ult ||
        !matchPattern(op.getRhs(), m_ConstantInt(&extent)) || extent.getActiveBits() > 31)
      return failure();
    std::optional<IntegerRange> range = IntegerRange::of(op.getLhs());
    if (!range || range->least < 0 || range->greatest >= int64_t(extent.getZExtValue()))
      return failure();
    rewriter.replaceOpWithNewOp<arith::ConstantIntOp>(op, /*value=*/1, /*width=*/1);
    return success();
  }
};

/// index_cast(index_cast(%i : index to i32) : i32 to index) -> %i
struct FoldRoundTrip : OpRewritePattern<arith::IndexCastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::IndexCastOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().isIndex() || !op.getIn().getType().isInteger(32))
      return failure();
    Value variable = loopVariableOf(op.getIn());
    auto narrowed = op.getIn().getDefiningOp<arith::IndexCastOp>();
    if (!variable && narrowed && narrowed.getIn().getType().isIndex() &&
        IntegerRange::of32Bits(narrowed.getIn())) // nothing was lost
      variable = narrowed.getIn();
    if (!variable)
      return failure();
    rewriter.replaceOp(op, variable);
    return success();
  }
};

/// index_cast(%a + c : i32) -> index_cast(%a) + c, and the same for a difference, for two loop
/// variables, and for a loop variable that counts and any value.
template <typename Op> struct WidenArithmetic : OpRewritePattern<arith::IndexCastOp> {
  using OpRewritePattern<arith::IndexCastOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::IndexCastOp op, PatternRewriter &rewriter) const override {
    auto arithmetic = op.getIn().getDefiningOp<Op>();
    if (!op.getType().isIndex() || !arithmetic || !arithmetic.getType().isInteger(32) ||
        !isOnlyAddress(op.getResult()))
      return failure();
    Value lhs = arithmetic.getLhs(), rhs = arithmetic.getRhs();
    bool bothLoops = loopVariableOf(lhs) && loopVariableOf(rhs);
    bool addsConstant =
        isSmallConstant(rhs) || (isa<arith::AddIOp>(arithmetic) && isSmallConstant(lhs));
    bool countAndAny = isCount(lhs) || (isa<arith::AddIOp>(arithmetic) && isCount(rhs));
    if (!bothLoops && !addsConstant && !countAndAny)
      return failure();
    auto widen = [&](Value value) {
      return arith::IndexCastOp::create(rewriter, op.getLoc(), rewriter.getIndexType(), value);
    };
    if (isMutant(Mutant::DifferenceBecomesSum))
      rewriter.replaceOpWithNewOp<arith::AddIOp>(op, widen(lhs), widen(rhs));
    else
      rewriter.replaceOpWithNewOp<Op>(op, widen(lhs), widen(rhs));
    return success();
  }
};

/// Of numbers in known ranges, such as extents that are a dim and variables of loops up to these: what does not wrap in 32 bits is
/// the same in 64, whatever it is for.
template <typename Op> struct WidenKnown : OpRewritePattern<arith::IndexCastOp> {
  using OpRewritePattern<arith::IndexCastOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::IndexCastOp op, PatternRewriter &rewriter) const override {
    auto arithmetic = op.getIn().getDefiningOp<Op>();
    if (!op.getType().isIndex() || !arithmetic || !arithmetic.getType().isInteger(32))
      return failure();
    std::optional<IntegerRange> lhs = IntegerRange::of32Bits(arithmetic.getLhs()),
                                rhs = IntegerRange::of32Bits(arithmetic.getRhs());
    if (!lhs || !rhs)
      return failure();
    for (int64_t a : {lhs->least, lhs->greatest})
      for (int64_t b : {rhs->least, rhs->greatest}) // these have 32 bits: nothing here wraps
        if (int64_t end = of(a, b); end < INT32_MIN || end > INT32_MAX)
          return failure();
    auto widen = [&](Value value) {
      return arith::IndexCastOp::create(rewriter, op.getLoc(), rewriter.getIndexType(), value);
    };
    rewriter.replaceOpWithNewOp<Op>(op, widen(arithmetic.getLhs()), widen(arithmetic.getRhs()));
    return success();
  }

private:
  static int64_t of(int64_t a, int64_t b) {
    if constexpr (std::is_same_v<Op, arith::MulIOp>)
      return a * b;
    return std::is_same_v<Op, arith::SubIOp> ? a - b : a + b;
  }
};

/// index_cast(%a + %b : i64) -> index_cast(%a) + index_cast(%b), of a sum that is nothing but an index: both have 64 bits. Kernels for
/// long extents have such.
template <typename Op> struct SameWidth : OpRewritePattern<arith::IndexCastOp> {
  using OpRewritePattern<arith::IndexCastOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::IndexCastOp op, PatternRewriter &rewriter) const override {
    auto arithmetic = op.getIn().getDefiningOp<Op>();
    if (!op.getType().isIndex() || !arithmetic || !arithmetic.getType().isInteger(64) ||
        !arithmetic->hasOneUse())
      return failure();
    auto widen = [&](Value value) {
      return arith::IndexCastOp::create(rewriter, op.getLoc(), rewriter.getIndexType(), value);
    };
    rewriter.replaceOpWithNewOp<Op>(op, widen(arithmetic.getLhs()), widen(arithmetic.getRhs()));
    return success();
  }
};

/// `%a << 3` is `%a * 8`: sums and products are what coordinates are recognised by.
struct ShiftIsProduct : OpRewritePattern<arith::ShLIOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ShLIOp op, PatternRewriter &rewriter) const override {
    APInt bits;
    Type type = op.getType();
    if (!(type.isIndex() || type.isInteger(32)) ||
        !matchPattern(op.getRhs(), m_ConstantInt(&bits)) || bits.ugt(24))
      return failure();
    Value factor = arith::ConstantOp::create(
        rewriter, op.getLoc(), rewriter.getIntegerAttr(type, int64_t(1) << bits.getZExtValue()));
    rewriter.replaceOpWithNewOp<arith::MulIOp>(op, op.getLhs(), factor);
    return success();
  }
};

/// `8 * %a | %b` is a sum where %b has three bits.
struct DisjointOrIsSum : OpRewritePattern<arith::OrIOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::OrIOp op, PatternRewriter &rewriter) const override {
    for (auto [high, low] :
         {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto product = high.getDefiningOp<arith::MulIOp>();
      APInt factor;
      if (!product || !(op.getType().isIndex() || op.getType().isInteger(32)) ||
          !matchPattern(product.getRhs(), m_ConstantInt(&factor)) || factor.isZero())
        continue;
      std::optional<IntegerRange> range = IntegerRange::of(low);
      if (!range || range->least < 0 || range->greatest >= int64_t(1) << factor.countr_zero())
        continue;
      rewriter.replaceOpWithNewOp<arith::AddIOp>(op, high, low);
      return success();
    }
    return failure();
  }
};

struct FoldIndexCasts : metate::impl::FoldIndexCastsBase<FoldIndexCasts> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<KnownInside, FoldRoundTrip, ShiftIsProduct, DisjointOrIsSum,
                 WidenArithmetic<arith::AddIOp>, WidenArithmetic<arith::SubIOp>,
                 WidenKnown<arith::AddIOp>, WidenKnown<arith::SubIOp>, WidenKnown<arith::MulIOp>,
                 SameWidth<arith::AddIOp>, SameWidth<arith::SubIOp>, SameWidth<arith::MulIOp>>(
        &getContext());
    arith::IndexCastOp::getCanonicalizationPatterns(patterns, &getContext());
    arith::AddIOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
