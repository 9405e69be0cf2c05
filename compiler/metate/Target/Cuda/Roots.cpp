//===- Roots.cpp - square roots without branches ----------------*- C++ -*-===//
//
// `sqrt.rn.f32` and `rcp.rn.f32` test for numbers that take a longer way, by a branch: what stands before it is not mixed with what stands
// behind, so that turns of a loop that is written out wait for each other all the same. Here numbers outside of the short way's range are
// brought into it by powers of two, and results are the same, correctly rounded. The short ways are those of ptxas: a root is r + (x - r r) h
// with r = x y and h = y / 2, where y is the machine's approximation of 1 / sqrt(x); an inverse is y + (1 - x y) y, where y approximates it.
// tests/e2e/test_devices_roots.py asks a GPU for all numbers there are.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Cuda/Roots.h"

#include "llvm/Analysis/SimplifyQuery.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;

static Value *fma(IRBuilder<> &builder, Value *a, Value *b, Value *c) {
  return builder.CreateIntrinsic(Intrinsic::fma, {builder.getFloatTy()}, {a, b, c});
}

static const DataLayout &layoutOf(const IRBuilder<> &builder) {
  return builder.GetInsertBlock()->getModule()->getDataLayout();
}

/// Numbers below are scaled.
static constexpr double least = 0x1p-100;

/// Is it `bound`, which is positive, or more, or a NaN? So are sums of squares to which something is added: distances that are softened.
static bool isNoLess(Value *x, double bound, const DataLayout &layout, unsigned depth = 0) {
  using namespace PatternMatch;
  constexpr unsigned mostSteps = 8;
  Value *a, *b, *c;
  const APFloat *constant;
  auto isLarge = [&](Value *one) { return isNoLess(one, bound, layout, depth + 1); };
  auto isNatural = [&](Value *one) {
    return cannotBeOrderedLessThanZero(one, SimplifyQuery(layout));
  };
  if (depth > mostSteps)
    return false;
  if (match(x, m_APFloat(constant)))
    return !constant->isNaN() && constant->convertToDouble() >= bound;
  if (match(x, m_FAdd(m_Value(a), m_Value(b))))
    return (isNatural(a) && isLarge(b)) || (isNatural(b) && isLarge(a));
  if (match(x, m_Select(m_Value(), m_Value(a), m_Value(b))))
    return isLarge(a) && isLarge(b);
  return match(x, m_Intrinsic<Intrinsic::fma>(m_Value(a), m_Deferred(a), m_Value(c))) && isLarge(c);
}

/// Numbers that are never zero are not compared with it.
static Value *isZeroOrInfinite(IRBuilder<> &builder, Value *x, bool isPositive) {
  Type *type = x->getType();
  Value *isInfinite = builder.CreateFCmpOEQ(x, ConstantFP::getInfinity(type));
  return isPositive
             ? isInfinite
             : builder.CreateOr(builder.CreateFCmpOEQ(x, ConstantFP::getZero(type)), isInfinite);
}

/// sqrt(x). Numbers below 2^-100 are taken 2^100 times as large; 0 and infinity are their own roots.
static Value *rootOf(IRBuilder<> &builder, Value *x) {
  Type *type = x->getType();
  auto number = [&](double value) { return ConstantFP::get(type, value); };
  bool isLarge = isNoLess(x, least, layoutOf(builder));
  Value *isSmall = isLarge ? builder.getFalse() : builder.CreateFCmpOLT(x, number(least));
  Value *scaled = builder.CreateFMul(x, builder.CreateSelect(isSmall, number(0x1p100), number(1)));
  Value *inverse = builder.CreateIntrinsic(Intrinsic::nvvm_rsqrt_approx_ftz_f, {}, {scaled});
  Value *root = builder.CreateFMul(scaled, inverse);
  Value *half = builder.CreateFMul(inverse, number(0.5));
  Value *rest = fma(builder, builder.CreateFNeg(root), root, scaled);
  Value *rounded = fma(builder, rest, half, root);
  Value *back =
      builder.CreateFMul(rounded, builder.CreateSelect(isSmall, number(0x1p-50), number(1)));
  return builder.CreateSelect(isZeroOrInfinite(builder, x, isLarge), x, back);
}

/// 1 / x of a root x (a call), which no number takes out of the short way's range. The approximation is exact for 0 and infinity.
static Value *inverseOf(IRBuilder<> &builder, Value *x) {
  Value *inverse = builder.CreateIntrinsic(Intrinsic::nvvm_rcp_approx_ftz_f, {}, {x});
  Value *rest = fma(builder, builder.CreateFNeg(x), inverse, ConstantFP::get(x->getType(), 1));
  bool isPositive = isNoLess(cast<IntrinsicInst>(x)->getArgOperand(0), least, layoutOf(builder));
  return builder.CreateSelect(isZeroOrInfinite(builder, x, isPositive), inverse,
                              fma(builder, inverse, rest, inverse));
}

void metate::cuda::writeOutRoots(Module &module) {
  SmallVector<Instruction *> roots, inverses;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      auto *call = dyn_cast<IntrinsicInst>(&instruction);
      if (call && call->getIntrinsicID() == Intrinsic::sqrt && call->getType()->isFloatTy() &&
          !instruction.hasApproxFunc())
        roots.push_back(&instruction);
    }
  for (Instruction *root : roots)
    for (User *user : root->users()) {
      auto *quotient = cast<Instruction>(user);
      if (PatternMatch::match(quotient, PatternMatch::m_FDiv(PatternMatch::m_FPOne(),
                                                             PatternMatch::m_Specific(root))) &&
          !quotient->hasApproxFunc() && !quotient->hasAllowReciprocal())
        inverses.push_back(quotient);
    }
  auto replace = [](Instruction *old, Value *(*write)(IRBuilder<> &, Value *), unsigned operand) {
    IRBuilder<> builder(old);
    old->replaceAllUsesWith(write(builder, old->getOperand(operand)));
    old->eraseFromParent();
  };
  for (Instruction *quotient : inverses)
    replace(quotient, inverseOf, 1);
  for (Instruction *root : roots)
    replace(root, rootOf, 0);
}
