//===- PrepareIntrinsics.cpp - LLVM's intrinsics of integers ----*- C++ -*-===//
#include "metate/Target/Vulkan/Spirv/Prepare.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;
using namespace metate;

bool spirv::isKept(const CallInst &call) {
  const Function *callee = call.getCalledFunction();
  if (!callee)
    return false;
  StringRef name = callee->getName();
  if (name == "metate_grid_invocation" || name == "metate_grid_invocations")
    return callee->getReturnType()->isIntegerTy(64) && callee->arg_empty();
  if (name == sharedName)
    return callee->getReturnType()->isPointerTy() && callee->arg_empty();
  if (name == barrierName)
    return callee->getReturnType()->isVoidTy() && callee->arg_empty();
  if (name == laneName)
    return callee->getReturnType()->isIntegerTy(32) && callee->arg_empty();
  switch (callee->getIntrinsicID()) {
  case Intrinsic::ctlz:
  case Intrinsic::cttz:
  case Intrinsic::ctpop:
  case Intrinsic::bitreverse:
    return call.getType()->isIntegerTy(32);
  case Intrinsic::fabs:
  case Intrinsic::floor:
  case Intrinsic::ceil:
  case Intrinsic::trunc:
  case Intrinsic::roundeven:
  case Intrinsic::sqrt:
  case Intrinsic::fma:
    return call.getType()->isHalfTy() || call.getType()->isFloatTy() ||
           call.getType()->isDoubleTy();
  default:
    return false;
  }
}

/// Says something about the code and does nothing.
static bool isNote(const IntrinsicInst &call) {
  switch (call.getIntrinsicID()) {
  case Intrinsic::assume:
  case Intrinsic::donothing:
  case Intrinsic::experimental_noalias_scope_decl:
  case Intrinsic::lifetime_end:
  case Intrinsic::lifetime_start:
  case Intrinsic::prefetch:
  case Intrinsic::sideeffect:
  case Intrinsic::stackrestore:
  case Intrinsic::trap: // nothing is promised behind it
  case Intrinsic::debugtrap:
  case Intrinsic::ubsantrap:
    return true;
  default:
    return false;
  }
}

namespace {
/// Integers of any width by plain arithmetic, selections and the counts of 32 bits.
class IntegerExpansion {
public:
  IntegerExpansion(IRBuilder<> &builder, CallInst &call)
      : builder(builder), call(call), type(call.getType()),
        x(call.arg_empty() ? nullptr : call.getArgOperand(0)),
        y(call.arg_size() > 1 ? call.getArgOperand(1) : nullptr) {}
  /// Null: not an intrinsic that this knows.
  Value *run();

private:
  unsigned width() const { return x->getType()->getIntegerBitWidth(); }
  Value *number(const APInt &value) { return ConstantInt::get(x->getType(), value); }
  Value *zero() { return number(APInt::getZero(width())); }
  Value *count(Value *value); ///< of ones
  Value *leading();
  Value *trailing();
  Value *reversed();
  Value *swapped();
  Value *shifted(bool left);
  Value *pick(CmpInst::Predicate predicate) {
    return builder.CreateSelect(builder.CreateICmp(predicate, x, y), x, y);
  }
  Value *compared(bool isSigned);
  Value *added(bool isSigned, Value *&overflow);
  Value *subtracted(bool isSigned, Value *&overflow);
  Value *multiplied(bool isSigned, Value *&overflow);
  Value *upperHalf();
  Value *saturated(Value *value, Value *overflow, bool isSigned, bool isLow);
  Value *withOverflow();
  Value *withSaturation();

  IRBuilder<> &builder;
  CallInst &call;
  Type *type;
  Value *x, *y;
};
} // namespace

/// One of these of i32.
static Value *wordIntrinsic(IRBuilder<> &builder, Intrinsic::ID id, Value *value) {
  SmallVector<Value *> arguments = {builder.CreateZExtOrTrunc(value, builder.getInt32Ty())};
  if (id == Intrinsic::ctlz || id == Intrinsic::cttz)
    arguments.push_back(builder.getFalse());
  return builder.CreateIntrinsic(id, {builder.getInt32Ty()}, arguments);
}

Value *IntegerExpansion::count(Value *value) {
  Value *low = wordIntrinsic(builder, Intrinsic::ctpop, value);
  if (width() > 32)
    low = builder.CreateAdd(
        low, wordIntrinsic(builder, Intrinsic::ctpop, builder.CreateLShr(value, 32)));
  return builder.CreateZExtOrTrunc(low, type);
}

Value *IntegerExpansion::leading() {
  Type *i32 = builder.getInt32Ty();
  unsigned above = width() > 32 ? 64 - width() : 32 - width();
  Value *zeros;
  if (width() > 32) {
    Value *high = builder.CreateTrunc(builder.CreateLShr(x, 32), i32);
    Value *low =
        builder.CreateAdd(wordIntrinsic(builder, Intrinsic::ctlz, x), builder.getInt32(32));
    zeros = builder.CreateSelect(builder.CreateICmpEQ(high, builder.getInt32(0)), low,
                                 wordIntrinsic(builder, Intrinsic::ctlz, high));
  } else {
    zeros = wordIntrinsic(builder, Intrinsic::ctlz, x);
  }
  return builder.CreateZExtOrTrunc(builder.CreateSub(zeros, builder.getInt32(above)), type);
}

Value *IntegerExpansion::trailing() {
  Type *i32 = builder.getInt32Ty();
  Value *zeros = wordIntrinsic(builder, Intrinsic::cttz, x);
  if (width() > 32) {
    Value *high = wordIntrinsic(builder, Intrinsic::cttz, builder.CreateLShr(x, 32));
    Value *low = builder.CreateTrunc(x, i32);
    zeros = builder.CreateSelect(builder.CreateICmpEQ(low, builder.getInt32(0)),
                                 builder.CreateAdd(high, builder.getInt32(32)), zeros);
  }
  if (width() != 32 && width() != 64) { // of zero
    Value *all = builder.getInt32(width());
    zeros = builder.CreateSelect(builder.CreateICmpULT(zeros, all), zeros, all);
  }
  return builder.CreateZExtOrTrunc(zeros, type);
}

Value *IntegerExpansion::reversed() {
  if (width() > 32) {
    Value *low =
        builder.CreateZExt(wordIntrinsic(builder, Intrinsic::bitreverse, x), builder.getInt64Ty());
    Value *high = wordIntrinsic(builder, Intrinsic::bitreverse, builder.CreateLShr(x, 32));
    Value *all = builder.CreateOr(builder.CreateShl(low, 32),
                                  builder.CreateZExt(high, builder.getInt64Ty()));
    return builder.CreateTrunc(builder.CreateLShr(all, 64 - width()), type);
  }
  Value *all = wordIntrinsic(builder, Intrinsic::bitreverse, x);
  return builder.CreateTrunc(builder.CreateLShr(all, 32 - width()), type);
}

Value *IntegerExpansion::swapped() {
  Value *all = zero();
  for (unsigned at = 0, to = width() - 8; at < width(); at += 8, to -= 8) {
    Value *byte = builder.CreateAnd(builder.CreateLShr(x, at), number(APInt(width(), 255)));
    all = builder.CreateOr(all, builder.CreateShl(byte, to));
  }
  return all;
}

/// A funnel shift: of x above y.
Value *IntegerExpansion::shifted(bool left) {
  Value *bits = number(APInt(width(), width()));
  Value *by = call.getArgOperand(2);
  by = isPowerOf2_32(width()) ? builder.CreateAnd(by, width() - 1) : builder.CreateURem(by, bits);
  Value *isNone = builder.CreateICmpEQ(by, zero());
  Value *rest = builder.CreateSelect(isNone, zero(), builder.CreateSub(bits, by));
  Value *both = left ? builder.CreateOr(builder.CreateShl(x, by), builder.CreateLShr(y, rest))
                     : builder.CreateOr(builder.CreateShl(x, rest), builder.CreateLShr(y, by));
  return builder.CreateSelect(isNone, left ? x : y, both);
}

Value *IntegerExpansion::compared(bool isSigned) {
  Value *isLess = isSigned ? builder.CreateICmpSLT(x, y) : builder.CreateICmpULT(x, y);
  Value *isMore = isSigned ? builder.CreateICmpSGT(x, y) : builder.CreateICmpUGT(x, y);
  return builder.CreateSelect(isLess, ConstantInt::getAllOnesValue(type),
                              builder.CreateZExt(isMore, type));
}

Value *IntegerExpansion::added(bool isSigned, Value *&overflow) {
  Value *sum = builder.CreateAdd(x, y);
  overflow = isSigned ? builder.CreateICmpSLT(
                            builder.CreateAnd(builder.CreateXor(x, sum), builder.CreateXor(y, sum)),
                            zero())
                      : builder.CreateICmpULT(sum, x);
  return sum;
}

Value *IntegerExpansion::subtracted(bool isSigned, Value *&overflow) {
  Value *difference = builder.CreateSub(x, y);
  overflow = isSigned ? builder.CreateICmpSLT(builder.CreateAnd(builder.CreateXor(x, y),
                                                                builder.CreateXor(x, difference)),
                                              zero())
                      : builder.CreateICmpULT(x, y);
  return difference;
}

/// Of an unsigned product of 64 bits, by products of 32.
Value *IntegerExpansion::upperHalf() {
  auto low = [&](Value *value) { return builder.CreateAnd(value, 0xffffffffu); };
  auto high = [&](Value *value) { return builder.CreateLShr(value, 32); };
  Value *first = builder.CreateMul(low(x), low(y));
  Value *second = builder.CreateAdd(builder.CreateMul(high(x), low(y)), high(first));
  Value *third = builder.CreateAdd(builder.CreateMul(low(x), high(y)), low(second));
  return builder.CreateAdd(builder.CreateMul(high(x), high(y)),
                           builder.CreateAdd(high(second), high(third)));
}

Value *IntegerExpansion::multiplied(bool isSigned, Value *&overflow) {
  unsigned bits = width();
  Value *product = builder.CreateMul(x, y);
  if (bits <= 32) {
    Type *i64 = builder.getInt64Ty();
    auto wide = [&](Value *value) {
      return isSigned ? builder.CreateSExt(value, i64) : builder.CreateZExt(value, i64);
    };
    Value *whole = builder.CreateMul(wide(x), wide(y));
    overflow = builder.CreateICmpNE(whole, wide(product));
    return product;
  }
  // Narrower numbers of 64 bits are as far up as they go, then what overflows is above.
  Value *upper = upperHalf();
  if (isSigned) {
    upper =
        builder.CreateSub(upper, builder.CreateSelect(builder.CreateICmpSLT(x, zero()), y, zero()));
    upper =
        builder.CreateSub(upper, builder.CreateSelect(builder.CreateICmpSLT(y, zero()), x, zero()));
    overflow = builder.CreateICmpNE(upper, builder.CreateAShr(product, bits - 1));
  } else {
    overflow = builder.CreateICmpNE(upper, zero());
  }
  return product;
}

Value *IntegerExpansion::withOverflow() {
  Value *overflow = nullptr, *value = nullptr;
  switch (call.getIntrinsicID()) {
  case Intrinsic::uadd_with_overflow:
  case Intrinsic::sadd_with_overflow:
    value = added(call.getIntrinsicID() == Intrinsic::sadd_with_overflow, overflow);
    break;
  case Intrinsic::usub_with_overflow:
  case Intrinsic::ssub_with_overflow:
    value = subtracted(call.getIntrinsicID() == Intrinsic::ssub_with_overflow, overflow);
    break;
  case Intrinsic::umul_with_overflow:
  case Intrinsic::smul_with_overflow:
    if (width() > 32 && width() != 64)
      return nullptr;
    value = multiplied(call.getIntrinsicID() == Intrinsic::smul_with_overflow, overflow);
    break;
  default:
    return nullptr;
  }
  value = builder.CreateInsertValue(PoisonValue::get(type), value, 0);
  return builder.CreateInsertValue(value, overflow, 1);
}

/// `isLow`: an unsigned one leaves its range downwards.
Value *IntegerExpansion::saturated(Value *value, Value *overflow, bool isSigned, bool isLow) {
  Value *limit = isLow ? zero() : number(APInt::getMaxValue(width()));
  if (isSigned)
    limit = builder.CreateSelect(builder.CreateICmpSLT(x, zero()),
                                 number(APInt::getSignedMinValue(width())),
                                 number(APInt::getSignedMaxValue(width())));
  return builder.CreateSelect(overflow, limit, value);
}

Value *IntegerExpansion::withSaturation() {
  Value *overflow = nullptr, *value = nullptr;
  switch (call.getIntrinsicID()) {
  case Intrinsic::uadd_sat:
  case Intrinsic::sadd_sat: {
    bool isSigned = call.getIntrinsicID() == Intrinsic::sadd_sat;
    value = added(isSigned, overflow);
    return saturated(value, overflow, isSigned, /*isLow=*/false);
  }
  case Intrinsic::usub_sat:
  case Intrinsic::ssub_sat: {
    bool isSigned = call.getIntrinsicID() == Intrinsic::ssub_sat;
    value = subtracted(isSigned, overflow);
    return saturated(value, overflow, isSigned, /*isLow=*/true);
  }
  case Intrinsic::ushl_sat:
  case Intrinsic::sshl_sat: {
    bool isSigned = call.getIntrinsicID() == Intrinsic::sshl_sat;
    value = builder.CreateShl(x, y);
    Value *back = isSigned ? builder.CreateAShr(value, y) : builder.CreateLShr(value, y);
    return saturated(value, builder.CreateICmpNE(back, x), isSigned, /*isLow=*/false);
  }
  default:
    return nullptr;
  }
}

Value *IntegerExpansion::run() {
  switch (call.getIntrinsicID()) {
  case Intrinsic::ctpop:
    return count(x);
  case Intrinsic::ctlz:
    return leading();
  case Intrinsic::cttz:
    return trailing();
  case Intrinsic::bitreverse:
    return reversed();
  case Intrinsic::bswap:
    return swapped();
  case Intrinsic::fshl:
    return shifted(/*left=*/true);
  case Intrinsic::fshr:
    return shifted(/*left=*/false);
  case Intrinsic::abs:
    return builder.CreateSelect(builder.CreateICmpSLT(x, zero()), builder.CreateNeg(x), x);
  case Intrinsic::smax:
    return pick(CmpInst::ICMP_SGT);
  case Intrinsic::smin:
    return pick(CmpInst::ICMP_SLT);
  case Intrinsic::umax:
    return pick(CmpInst::ICMP_UGT);
  case Intrinsic::umin:
    return pick(CmpInst::ICMP_ULT);
  case Intrinsic::scmp:
    return compared(/*isSigned=*/true);
  case Intrinsic::ucmp:
    return compared(/*isSigned=*/false);
  case Intrinsic::expect:
    return x;
  case Intrinsic::ptrmask: {
    Value *address = builder.CreatePtrToInt(x, builder.getInt64Ty());
    Value *mask = builder.CreateZExt(y, builder.getInt64Ty());
    return builder.CreateIntToPtr(builder.CreateAnd(address, mask), type);
  }
  default:
    Value *value = withOverflow();
    return value ? value : withSaturation();
  }
}

Error spirv::expandIntrinsics(Function &function) {
  SmallVector<IntrinsicInst *> calls;
  for (Instruction &instruction : instructions(function))
    if (auto *call = dyn_cast<IntrinsicInst>(&instruction); call && !isKept(*call))
      calls.push_back(call);
  for (IntrinsicInst *call : calls) {
    if (isNote(*call)) {
      call->eraseFromParent();
      continue;
    }
    auto isWide = [](Type *type) {
      return type->isVectorTy() || (type->isIntegerTy() && type->getIntegerBitWidth() > 64);
    };
    if (any_of(call->args(), [&](const Use &use) { return isWide(use->getType()); }) ||
        isWide(call->getType()))
      return problemAt(*call, "vectors and numbers of more than 64 bits are not known");
    IRBuilder<> builder(call);
    if (isa<FPMathOperator>(call))
      builder.setFastMathFlags(call->getFastMathFlags());
    Value *value = expandFloat(builder, *call);
    if (!value)
      value = IntegerExpansion(builder, *call).run();
    if (!value)
      return problemAt(*call, "nothing in SPIR-V for Vulkan does this");
    call->replaceAllUsesWith(value);
    call->eraseFromParent();
  }
  return Error::success();
}
