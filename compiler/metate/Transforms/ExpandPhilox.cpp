//===- ExpandPhilox.cpp - random words as arithmetic ------------*- C++ -*-===//
//
// Philox4x32-10 written out, round by round, in arith: what it needs is a product of 32 by 32 bits
// and exclusive or. The interpreter has its own rule for the operation and must keep it.
//
//===----------------------------------------------------------------------===//
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace metate {
#define GEN_PASS_DEF_EXPANDPHILOX
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
// Multipliers and the key's steps (the golden ratio, the square root of 3 less one).
constexpr uint32_t multipliers[] = {0xD2511F53, 0xCD9E8D57}, steps[] = {0x9E3779B9, 0xBB67AE85};
constexpr int rounds = 10;

struct ExpandPhilox : metate::impl::ExpandPhiloxBase<ExpandPhilox> {
  void runOnOperation() override {
    SmallVector<PhiloxOp> work;
    getOperation().walk([&](PhiloxOp op) { work.push_back(op); });
    for (PhiloxOp op : work)
      expand(op);
  }

private:
  void expand(PhiloxOp op) {
    ImplicitLocOpBuilder builder(op.getLoc(), op);
    auto constant = [&](uint32_t value) -> Value {
      return arith::ConstantOp::create(builder, builder.getI32IntegerAttr(int32_t(value)));
    };
    auto exclusive = [&](Value a, Value b) { return builder.createOrFold<arith::XOrIOp>(a, b); };
    Value counter[] = {op.getC0(), op.getC1(), op.getC2(), op.getC3()};
    Value key[] = {op.getK0(), op.getK1()};
    for (int round = 0; round < rounds; ++round) {
      for (int k = 0; round && k < 2; ++k)
        key[k] = builder.createOrFold<arith::AddIOp>(key[k], constant(steps[k]));
      auto left = arith::MulUIExtendedOp::create(builder, counter[0], constant(multipliers[0]));
      auto right = arith::MulUIExtendedOp::create(builder, counter[2], constant(multipliers[1]));
      Value next[] = {exclusive(exclusive(right.getHigh(), counter[1]), key[0]), right.getLow(),
                      exclusive(exclusive(left.getHigh(), counter[3]), key[1]), left.getLow()};
      llvm::copy(next, counter);
    }
    Value words = vector::FromElementsOp::create(builder, op.getType(), counter);
    op.replaceAllUsesWith(words);
    op.erase();
  }
};
} // namespace
