//===- JoinQuotients.cpp - a number that was taken apart and put together -*- C++ -*-===//
//
// `x[c // 3, c % 3]` of a field of three columns is the cell c: its address is (c // 3) * 3 + c % 3, which is c, whatever c is. Longer rows are
// nests by then (metate-delinearize-ranges); of rows this short vectors are made across their ends.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Cpu/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace metate {
#define GEN_PASS_DEF_JOINQUOTIENTS
#include "metate/Target/Cpu/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// One of the two parts of a number, of 32 bits, divided by a constant.
struct Part {
  Value number;
  int64_t divisor;
  Value corrected; ///< where the division towards zero is corrected to the floor; null: nowhere

  bool operator==(const Part &) const = default;

  /// select(corrected, part + shift, part), or the part alone, where a part is a division of kind `Op`.
  template <typename Op, typename Shift>
  static std::optional<Part> of(Value value, llvm::function_ref<bool(Shift, int64_t)> isShift) {
    Value corrected;
    if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
      value = cast.getIn();
    if (auto select = value.getDefiningOp<arith::SelectOp>()) {
      corrected = select.getCondition();
      value = select.getFalseValue();
      auto shift = select.getTrueValue().template getDefiningOp<Shift>();
      if (!shift || shift.getLhs() != value)
        return std::nullopt;
      auto division = value.getDefiningOp<Op>();
      auto divisor = division ? getConstantIntValue(division.getRhs()) : std::nullopt;
      if (!divisor || !isShift(shift, *divisor))
        return std::nullopt;
    }
    auto division = value.getDefiningOp<Op>();
    auto divisor = division ? getConstantIntValue(division.getRhs()) : std::nullopt;
    if (!divisor || *divisor < 2)
      return std::nullopt;
    return Part{division.getLhs(), *divisor, corrected};
  }

  static std::optional<Part> quotient(Value value) {
    return of<arith::DivSIOp, arith::SubIOp>(value, [](arith::SubIOp shift, int64_t) {
      return getConstantIntValue(shift.getRhs()) == 1;
    });
  }
  static std::optional<Part> remainder(Value value) {
    return of<arith::RemSIOp, arith::AddIOp>(value, [](arith::AddIOp shift, int64_t divisor) {
      return getConstantIntValue(shift.getRhs()) == divisor;
    });
  }
};

/// quotient * divisor + remainder is the number: no product overflows.
struct Join : OpRewritePattern<arith::AddIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::AddIOp sum, PatternRewriter &rewriter) const override {
    for (auto [left, right] :
         {std::pair(sum.getLhs(), sum.getRhs()), std::pair(sum.getRhs(), sum.getLhs())}) {
      auto product = left.getDefiningOp<arith::MulIOp>();
      auto remainder = product ? Part::remainder(right) : std::nullopt;
      if (!remainder || getConstantIntValue(product.getRhs()) != remainder->divisor ||
          !isOfOne(Part::quotient(product.getLhs()), *remainder))
        continue;
      Value number = remainder->number;
      if (number.getType() == sum.getType())
        rewriter.replaceOp(sum, number);
      else if (auto cast = number.getDefiningOp<arith::IndexCastOp>(); cast && isVariable(cast))
        rewriter.replaceOp(sum, cast.getIn());
      else
        rewriter.replaceOpWithNewOp<arith::IndexCastOp>(sum, sum.getType(), number);
      return success();
    }
    return failure();
  }

  static bool isOfOne(std::optional<Part> quotient, Part remainder) {
    return quotient == remainder || (quotient && isMutant(Mutant::QuotientOfAnother));
  }

  /// The variable of a range fits the 32 bits that the program has of it.
  static bool isVariable(arith::IndexCastOp cast) {
    auto argument = dyn_cast<BlockArgument>(cast.getIn());
    return argument && cast.getIn().getType().isIndex() && cast.getType().isInteger(32) &&
           isa<RangeOp>(argument.getOwner()->getParentOp());
  }
};

struct JoinQuotients : metate::impl::JoinQuotientsBase<JoinQuotients> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Join>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace
