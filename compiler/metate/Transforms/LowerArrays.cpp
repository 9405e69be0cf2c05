//===- LowerArrays.cpp - array arguments to bytes ---------------*- C++ -*-===//
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/LayoutPatterns.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace metate;

/// Byte offset of an element. `last`: the last extents, where they are known.
static Value offsetOf(ByteBuilder &bytes, const LoweredArgument &argument, MemRefType type,
                      ValueRange indices, ArrayRef<int64_t> last) {
  size_t known = indices.size() - last.size();
  bool contiguous = type.getLayout().isIdentity();
  Value linear = bytes.index(0);
  for (auto [d, index] : llvm::enumerate(indices)) {
    if (!contiguous) {
      Value stride = argument.strides[d];
      if (isMutant(Mutant::LastStrideForgotten) && d + 1 == indices.size())
        stride = bytes.index(0);
      Value part = arith::MulIOp::create(bytes.builder, bytes.loc, index, stride,
                                         arith::IntegerOverflowFlags::nsw);
      linear = bytes.add(linear, part);
      continue;
    }
    if (d > 0) {
      int64_t extent = d >= known ? last[d - known] : type.getDimSize(d);
      linear = ShapedType::isDynamic(extent)
                   ? arith::MulIOp::create(bytes.builder, bytes.loc, linear, argument.extents[d],
                                           arith::IntegerOverflowFlags::nsw)
                         .getResult()
                   : bytes.multiply(linear, extent);
    }
    linear = bytes.add(linear, index);
  }
  return bytes.multiply(linear, layout::scalarBytes(type.getElementType()));
}

namespace {
/// Accesses of local arrays are the target's business: they are legal.
template <typename Op> struct LowerAccess : LayoutPattern<Op> {
  using LayoutPattern<Op>::LayoutPattern;
  void lower(Op op, ConversionPatternRewriter &rewriter) const override {
    Value array = arrayOf(op);
    LoweredArgument &argument = this->kernel.arguments[array];
    ByteBuilder bytes = this->bytesFor(argument, rewriter, op);
    bytes.reduction = op->hasAttr(mark::reduction);
    bytes.bins = op->getAttr(mark::bins);
    auto last = op->template getAttrOfType<DenseI64ArrayAttr>(mark::extents);
    Value offset = offsetOf(bytes, argument, cast<MemRefType>(array.getType()), op.getIndices(),
                            last ? last.asArrayRef() : ArrayRef<int64_t>());
    if constexpr (std::is_same_v<Op, memref::LoadOp>) {
      rewriter.replaceOp(op, bytes.readValue(op.getType(), offset));
    } else if constexpr (std::is_same_v<Op, memref::StoreOp>) {
      bytes.writeValue(op.getValue(), offset);
      rewriter.eraseOp(op);
    } else {
      rewriter.replaceOp(op, atomicAt(bytes, op.getKind(), offset, op.getValue()));
    }
  }

private:
  static Value arrayOf(memref::AtomicRMWOp op) { return op.getMemref(); }
  template <typename Other> static Value arrayOf(Other op) { return op.getMemRef(); }
};

struct LowerDim : LayoutPattern<memref::DimOp> {
  using LayoutPattern::LayoutPattern;
  void lower(memref::DimOp op, ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, kernel.arguments[op.getSource()].extents[*op.getConstantIndex()]);
  }
};
} // namespace

void metate::addArrayPatterns(RewritePatternSet &patterns, KernelLayout &kernel) {
  patterns.add<LowerAccess<memref::LoadOp>, LowerAccess<memref::StoreOp>,
               LowerAccess<memref::AtomicRMWOp>, LowerDim>(kernel);
}
