//===- ConvertToLLVM.cpp - the rest becomes the LLVM dialect ----*- C++ -*-===//
//
// Byte accesses of blocks become loads, stores and atomics of raw pointers with alias scopes;
// everything else is upstream's conversion.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Derivative.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Common/Abi.h"
#include "metate/Target/Common/Passes.h"
#include "metate/Target/Common/Pools.h"
#include "metate/Target/Common/TreeCalls.h"

#include "mlir/Conversion/ArithCommon/AttrToLLVMConverter.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/VectorPattern.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace metate {
#define GEN_PASS_DEF_CONVERTTOLLVM
#include "metate/Target/Common/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;
using namespace metate::target;

namespace {
/// Pointer to a byte of a block.
template <typename Op, typename Adaptor>
Value addressOf(Op op, Adaptor adaptor, OpBuilder &builder) {
  Type pointer = LLVM::LLVMPointerType::get(op.getContext());
  return LLVM::GEPOp::create(builder, op.getLoc(), pointer, builder.getI8Type(), adaptor.getBlock(),
                             ArrayRef<LLVM::GEPArg>{adaptor.getOffset()});
}

void copyScopes(Operation *from, Operation *to) {
  for (StringRef name : {"alias_scopes", "noalias_scopes", "access_groups"})
    if (Attribute scopes = from->getAttr(name))
      to->setAttr(name, scopes);
}

LLVM::AtomicOrdering ordered(LLVM::AtomicOrdering order) {
  return isMutant(Mutant::RelaxedPublish) ? LLVM::AtomicOrdering::monotonic : order;
}

/// Of a vector, that of its elements: lanes begin anywhere.
unsigned naturalAlignment(Type type) {
  return std::max(1u, getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8);
}

struct ConvertRead : ConvertOpToLLVMPattern<ReadOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(ReadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto order =
        op.getAcquire() ? ordered(LLVM::AtomicOrdering::acquire) : LLVM::AtomicOrdering::not_atomic;
    auto load = LLVM::LoadOp::create(
        rewriter, op.getLoc(), op.getValue().getType(), addressOf(op, adaptor, rewriter),
        naturalAlignment(op.getValue().getType()), false, false,
        op.getInvariant() || isMutant(Mutant::EveryReadInvariant), false, order);
    copyScopes(op, load);
    rewriter.replaceOp(op, load);
    return success();
  }
};

struct ConvertWrite : ConvertOpToLLVMPattern<WriteOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(WriteOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto order =
        op.getRelease() ? ordered(LLVM::AtomicOrdering::release) : LLVM::AtomicOrdering::not_atomic;
    bool isNontemporal = op->hasAttr(mark::nontemporal); // and then of whole lines
    auto store = LLVM::StoreOp::create(
        rewriter, op.getLoc(), adaptor.getValue(), addressOf(op, adaptor, rewriter),
        isNontemporal ? 64 : naturalAlignment(op.getValue().getType()), false, isNontemporal, false,
        order);
    copyScopes(op, store);
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConvertCas : ConvertOpToLLVMPattern<CasOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(CasOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto exchange = LLVM::AtomicCmpXchgOp::create(
        rewriter, op.getLoc(), addressOf(op, adaptor, rewriter), adaptor.getExpected(),
        adaptor.getDesired(), ordered(LLVM::AtomicOrdering::acq_rel),
        ordered(LLVM::AtomicOrdering::acquire), StringRef(),
        naturalAlignment(op.getOld().getType()));
    copyScopes(op, exchange);
    rewriter.replaceOpWithNewOp<LLVM::ExtractValueOp>(op, exchange, 0);
    return success();
  }
};

/// The LLVM operation of a kind; nullopt for products, which need a compare-exchange loop.
std::optional<LLVM::AtomicBinOp> binaryOperation(arith::AtomicRMWKind kind) {
  using Kind = arith::AtomicRMWKind;
  using Op = LLVM::AtomicBinOp;
  switch (kind) {
  case Kind::addf:
    return Op::fadd;
  case Kind::addi:
    return Op::add;
  case Kind::assign:
    return Op::xchg;
  case Kind::maximumf:
    return Op::fmaximum;
  case Kind::minimumf:
    return Op::fminimum;
  case Kind::maxnumf:
    return Op::fmax;
  case Kind::minnumf:
    return Op::fmin;
  case Kind::maxs:
    return isMutant(Mutant::AtomicMaxUnsigned) ? Op::umax : Op::max;
  case Kind::maxu:
    return Op::umax;
  case Kind::mins:
    return Op::min;
  case Kind::minu:
    return Op::umin;
  case Kind::andi:
    return Op::_and;
  case Kind::ori:
    return Op::_or;
  case Kind::xori:
    return Op::_xor;
  default:
    return std::nullopt;
  }
}

struct ConvertRmw : ConvertOpToLLVMPattern<RmwOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(RmwOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value address = addressOf(op, adaptor, rewriter);
    auto operation = binaryOperation(op.getKind());
    if (!operation)
      return multiply(op, adaptor, address, rewriter);
    auto rmw = LLVM::AtomicRMWOp::create(rewriter, op.getLoc(), *operation, address,
                                         adaptor.getValue(), LLVM::AtomicOrdering::monotonic,
                                         StringRef(), naturalAlignment(op.getValue().getType()));
    copyScopes(op, rmw);
    rewriter.replaceOp(op, rmw);
    return success();
  }

  /// old = load; until exchanged: (done, old) = compare-exchange(old -> old * value), on the bits.
  LogicalResult multiply(RmwOp op, OpAdaptor adaptor, Value address,
                         ConversionPatternRewriter &rewriter) const {
    Location loc = op.getLoc();
    Type type = op.getValue().getType();
    Type bits = rewriter.getIntegerType(type.getIntOrFloatBitWidth());
    unsigned alignment = naturalAlignment(type);
    Value first = LLVM::LoadOp::create(rewriter, loc, bits, address, alignment, false, false, false,
                                       false, LLVM::AtomicOrdering::monotonic);
    Block *before = rewriter.getInsertionBlock();
    Block *after = rewriter.splitBlock(before, rewriter.getInsertionPoint());
    Block *loop = rewriter.createBlock(after, {bits}, {loc});
    rewriter.setInsertionPointToEnd(before);
    LLVM::BrOp::create(rewriter, loc, first, loop);
    rewriter.setInsertionPointToEnd(loop);
    Value old = loop->getArgument(0), number = LLVM::BitcastOp::create(rewriter, loc, type, old),
          product;
    if (isa<FloatType>(type))
      product = LLVM::FMulOp::create(rewriter, loc, number, adaptor.getValue());
    else if (isMutant(Mutant::AtomicProductAdds))
      product = LLVM::AddOp::create(rewriter, loc, number, adaptor.getValue());
    else
      product = LLVM::MulOp::create(rewriter, loc, number, adaptor.getValue());
    Value desired = LLVM::BitcastOp::create(rewriter, loc, bits, product);
    auto exchange = LLVM::AtomicCmpXchgOp::create(
        rewriter, loc, address, old, desired, LLVM::AtomicOrdering::monotonic,
        LLVM::AtomicOrdering::monotonic, StringRef(), alignment);
    copyScopes(op, exchange);
    Value seen = LLVM::ExtractValueOp::create(rewriter, loc, exchange, 0),
          done = LLVM::ExtractValueOp::create(rewriter, loc, exchange, 1);
    LLVM::CondBrOp::create(rewriter, loc, done, after, ValueRange(), loop, seen);
    rewriter.setInsertionPointToStart(after);
    rewriter.replaceOp(op, number);
    return success();
  }
};

/// Of a matrix, row by row: upstream converts these operations of vectors only.
template <typename Op> struct RowByRow : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type || type.getRank() != 2)
      return failure();
    Value result = op.getOperand(); // each of its rows is replaced
    for (int64_t k = 0; k < type.getDimSize(0); ++k) {
      Value row = vector::ExtractOp::create(rewriter, op.getLoc(), op.getOperand(), k);
      result = vector::InsertOp::create(rewriter, op.getLoc(),
                                        Op::create(rewriter, op.getLoc(), row), result, k);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// Of an extreme that may be taken in any order, the intrinsic that is associative: LLVM makes vectors of it alone.
template <typename Op> struct ConvertExtreme : ConvertOpToLLVMPattern<Op> {
  using ConvertOpToLLVMPattern<Op>::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!arith::bitEnumContainsAny(op.getFastmath(), arith::FastMathFlags::reassoc) ||
        !(type.isF32() || type.isF64()))
      return failure();
    StringRef name = std::is_same_v<Op, arith::MinNumFOp> ? "llvm.minimumnum" : "llvm.maximumnum";
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
        op, type, rewriter.getStringAttr(name), adaptor.getOperands(),
        LLVM::FastmathFlagsAttr::get(op.getContext(), LLVM::FastmathFlags::nsz));
    return success();
  }
};

struct ConvertToLLVM : metate::impl::ConvertToLLVMBase<ConvertToLLVM> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet unroll(context);
    unroll.add<RowByRow<math::AbsIOp>, RowByRow<math::CountLeadingZerosOp>>(context);
    vector::populateVectorFromElementsUnrollPatterns(unroll);
    vector::populateVectorToElementsUnrollPatterns(unroll);
    vector::populateVectorShapeCastLoweringPatterns(unroll);
    vector::populateVectorInsertExtractStridedSliceTransforms(unroll); // of the casts
    vector::populateVectorBroadcastLoweringPatterns(unroll);
    // Blocks stay apart: merging the ends of two failed checks would make their indices, which are
    // not LLVM values yet, operands of an LLVM branch.
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Normal);
    if (failed(applyPatternsGreedily(getOperation(), std::move(unroll), config)))
      return signalPassFailure();

    addTreeCallees(getOperation());
    KernelTypeConverter converter(context);
    RewritePatternSet patterns(context);
    patterns.add<ConvertRead, ConvertWrite, ConvertCas, ConvertRmw>(converter);
    populateTreeCallPatterns(converter, patterns);
    populatePoolPatterns(converter, patterns);
    arith::populateArithExpandOpsPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns, /*approximateLog1p=*/false);
    // An instruction of every CPU, exactly rounded; over a library's call no loop is vectorised.
    patterns.add<
        VectorConvertToLLVMPattern<math::SqrtOp, LLVM::SqrtOp, arith::AttrConvertFastMathToLLVM>>(
        converter, /*benefit=*/2);
    patterns.add<ConvertExtreme<arith::MinNumFOp>, ConvertExtreme<arith::MaxNumFOp>>(converter,
                                                                                     /*benefit=*/2);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
    mlir::ub::populateUBToLLVMConversionPatterns(
        converter, patterns); // what folding leaves of unused vector parts
    populateVectorToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateFuncToLLVMConversionPatterns(converter, patterns);
    LLVMConversionTarget target(*context);
    target.addLegalOp<ModuleOp, InterfaceOp, NamedTypeOp, TextOp, DerivedOp>();
    if (failed(applyFullConversion(getOperation(), target, std::move(patterns))))
      return signalPassFailure();
  }
};
} // namespace
