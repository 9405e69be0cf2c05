//===- Pools.cpp - a worker's part of a pool --------------------*- C++ -*-===//
#include "metate/Target/Common/Pools.h"

#include "metate/Dialect/Metate.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"

using namespace mlir;
using namespace metate;
using namespace metate::target;

namespace {
struct ConvertWorkerPart : ConvertOpToLLVMPattern<WorkerPartOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(WorkerPartOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
    bool isBody = function && function.getFunctionType() == bodyType(op.getContext());
    Code code(rewriter, op.getLoc());
    Value worker = isBody ? Value(function.getArgument(3)) : code.constant(0, 32);
    worker = LLVM::ZExtOp::create(rewriter, op.getLoc(), rewriter.getI64Type(), worker);
    Value offset = LLVM::MulOp::create(rewriter, op.getLoc(), worker, adaptor.getBytes());
    rewriter.replaceOpWithNewOp<LLVM::GEPOp>(op, code.pointer(), rewriter.getI8Type(),
                                             adaptor.getPool(), ArrayRef<LLVM::GEPArg>{offset});
    return success();
  }
};
} // namespace

void target::populatePoolPatterns(KernelTypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<ConvertWorkerPart>(converter);
}
