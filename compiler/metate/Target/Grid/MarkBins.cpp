//===- MarkBins.cpp - which targets a workgroup has bins for ----*- C++ -*-===//
//
// A histogram, particles that add to a few cells: all invocations of a device wait for the same lines of memory. Where a target is small, a
// workgroup adds to bins of its own first (Bins.cpp). Here, where members of trees are seen, atomics are told where their target lies.
//
//===----------------------------------------------------------------------===//
#include "metate/Layout/TreeLayout.h"
#include "metate/Target/Grid/BinSpan.h"
#include "metate/Target/Grid/Passes.h"
#include "metate/Transforms/ScatterTargets.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace metate {
#define GEN_PASS_DEF_MARKBINS
#include "metate/Target/Grid/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;
using grid::BinSpan;

namespace {
/// Iterations for each number that bins have: with fewer, clearing and adding them up is what a loop would do.
constexpr int64_t leastIterations = 4;

struct MarkBins : metate::impl::MarkBinsBase<MarkBins> {
  using MarkBinsBase::MarkBinsBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (kernel.getDebug() || kernel.getMayAlias())
      return;
    for (RangeOp range : kernel.getBody().front().getOps<RangeOp>())
      visit(range);
  }

private:
  void visit(RangeOp range) {
    int64_t left = most;
    for (const ScatterTarget &target : scatterTargets(range, /*tell=*/false)) {
      std::optional<BinSpan> span = isSuitable(range, target) ? spanOf(target) : std::nullopt;
      if (!span || span->bytes > left || isFew(range, *span, target))
        continue;
      left -= int64_t(llvm::alignTo(span->bytes, 8));
      for (Operation *atomic : target.atomics)
        span->setOn(atomic);
    }
  }

  bool isSuitable(RangeOp range, const ScatterTarget &target) {
    using Kind = arith::AtomicRMWKind;
    const bool isWord = target.scalar.isInteger(32) || target.scalar.isInteger(64);
    const bool isFloat = target.scalar.isF32() || target.scalar.isF64();
    if (target.stored || (!isWord && !isFloat) ||
        (!wide && target.scalar.getIntOrFloatBitWidth() > 32))
      return false;
    // In what order invocations add shows in rounded sums.
    if (isFloat && (target.kind != Kind::addf || getOperation()->hasAttr(mark::deterministic)))
      return false;
    if (isWord && !llvm::is_contained({Kind::addi, Kind::mins, Kind::maxs, Kind::minu, Kind::maxu},
                                      target.kind))
      return false;
    return llvm::any_of(target.atomics, [&](Operation *atomic) {
      return llvm::any_of(writeOf(atomic)->second,
                          [&](Value at) { return !followsFromIteration(range, at); });
    });
  }

  /// Is it a sum of multiples of the range's variables? Other invocations then have other places mostly.
  static bool followsFromIteration(RangeOp range, Value place) {
    llvm::SetVector<Value> values;
    values.insert(place);
    for (size_t k = 0; k < values.size(); ++k) {
      Value value = values[k];
      if (!range->isAncestor(value.getParentRegion()->getParentOp()))
        continue;
      Operation *op = value.getDefiningOp();
      if (!op && value.getParentRegion() == &range.getBody())
        continue;
      if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::IndexCastOp,
                           arith::ExtSIOp, arith::TruncIOp, arith::ConstantOp>(op))
        return false;
      values.insert(op->operand_begin(), op->operand_end());
    }
    return true;
  }

  static bool isFew(RangeOp range, const BinSpan &span, const ScatterTarget &target) {
    int64_t iterations = 1;
    for (auto [lower, upper] : llvm::zip(range.getLower(), range.getUpper())) {
      std::optional<int64_t> low = getConstantIntValue(lower), high = getConstantIntValue(upper);
      if (!low || !high)
        return false;
      iterations *= std::clamp<int64_t>(*high - *low, 0, INT32_MAX);
      if (iterations > INT32_MAX)
        return false;
    }
    int64_t numbers = span.bytes * 8 / target.scalar.getIntOrFloatBitWidth();
    return iterations < leastIterations * numbers;
  }

  static std::optional<BinSpan> spanOf(const ScatterTarget &target) {
    auto [value, path] = target.place;
    if (auto array = dyn_cast<MemRefType>(value.getType())) {
      if (!array.hasStaticShape() || !array.getLayout().isIdentity())
        return std::nullopt;
      return BinSpan{0,
                     array.getNumElements() * int64_t(layout::scalarBytes(array.getElementType()))};
    }
    auto tree = cast<TreeType>(value.getType());
    llvm::Expected<layout::TreeLayout> known = layout::TreeLayout::get(tree);
    if (!known) {
      llvm::consumeError(known.takeError());
      return std::nullopt;
    }
    BinSpan span{int64_t(layout::header::rootOffset(known->poolCount)), 0};
    for (unsigned number : known->nodesOf(*findPath(tree, path))) {
      const layout::Node &node = known->nodes[number];
      if (!node.place && node.kind != METATE_LEVEL_DENSE)
        return std::nullopt;
      span.begin += int64_t(node.offset);
      span.bytes += node.place ? target.components() * target.scalar.getIntOrFloatBitWidth() / 8
                               : int64_t((node.cells - 1) * node.cellBytes);
    }
    return span;
  }
};
} // namespace
