//===- PrepareFloats.cpp - LLVM's intrinsics of floats ----------*- C++ -*-===//
#include "metate/Target/Vulkan/Spirv/Prepare.h"

#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;
using namespace metate;

namespace {
class FloatExpansion {
public:
  FloatExpansion(IRBuilder<> &builder, CallInst &call)
      : builder(builder), call(call), type(call.getType()),
        x(call.arg_empty() ? nullptr : call.getArgOperand(0)),
        y(call.arg_size() > 1 ? call.getArgOperand(1) : nullptr) {}
  Value *run();

private:
  Type *bitsType() { return builder.getIntNTy(x->getType()->getPrimitiveSizeInBits()); }
  Value *bitsOf(Value *value) { return builder.CreateBitCast(value, bitsType()); }
  Value *fromBits(Value *bits) { return builder.CreateBitCast(bits, x->getType()); }
  Value *isNaN(Value *value) { return builder.CreateFCmpUNO(value, value); }
  Value *copySign(Value *magnitude, Value *sign);
  Value *extreme(bool isMost, bool ordersZeros, bool keepsNaN);
  Value *rounded();
  Value *isOfClass(unsigned classes);
  Value *saturated(bool isSigned);

  IRBuilder<> &builder;
  CallInst &call;
  Type *type;
  Value *x, *y;
};
} // namespace

Value *FloatExpansion::copySign(Value *magnitude, Value *sign) {
  APInt top = APInt::getSignMask(bitsType()->getIntegerBitWidth());
  Value *own = builder.CreateAnd(bitsOf(magnitude), ConstantInt::get(bitsType(), ~top));
  Value *other = builder.CreateAnd(bitsOf(sign), ConstantInt::get(bitsType(), top));
  return fromBits(builder.CreateOr(own, other));
}

/// The greater or lesser one. `ordersZeros`: -0 is less than 0; `keepsNaN`: with a NaN it is one, else the other number.
Value *FloatExpansion::extreme(bool isMost, bool ordersZeros, bool keepsNaN) {
  bool hasNaNs = !call.hasNoNaNs();
  FastMathFlags none;
  builder.setFastMathFlags(none);
  Value *isFirst = isMost ? builder.CreateFCmpOGT(x, y) : builder.CreateFCmpOLT(x, y);
  Value *best = builder.CreateSelect(isFirst, x, y); // y, where there is a NaN
  if (ordersZeros && !call.hasNoSignedZeros()) {
    Value *both =
        isMost ? builder.CreateAnd(bitsOf(x), bitsOf(y)) : builder.CreateOr(bitsOf(x), bitsOf(y));
    best = builder.CreateSelect(builder.CreateFCmpOEQ(x, y), fromBits(both), best);
  }
  if (!hasNaNs)
    return best;
  return keepsNaN ? builder.CreateSelect(isNaN(x), x, best)
                  : builder.CreateSelect(isNaN(y), x, best);
}

/// Half-way cases away from zero.
Value *FloatExpansion::rounded() {
  auto unary = [&](Intrinsic::ID id, Value *value) {
    return builder.CreateUnaryIntrinsic(id, value);
  };
  Value *whole = unary(Intrinsic::trunc, x);
  Value *rest = unary(Intrinsic::fabs, builder.CreateFSub(x, whole));
  Value *isFar = builder.CreateFCmpOGE(rest, ConstantFP::get(type, 0.5));
  Value *one = copySign(ConstantFP::get(type, 1.0), x);
  return copySign(builder.CreateSelect(isFar, builder.CreateFAdd(whole, one), whole), x);
}

/// Tests of magnitudes, each for one sign or both.
Value *FloatExpansion::isOfClass(unsigned classes) {
  Type *bits = bitsType();
  const fltSemantics &semantics = x->getType()->getFltSemantics();
  auto constant = [&](const APInt &value) { return ConstantInt::get(bits, value); };
  APInt infinite = APFloat::getInf(semantics).bitcastToAPInt();
  APInt normal = APFloat::getSmallestNormalized(semantics).bitcastToAPInt();
  APInt quiet = APFloat::getQNaN(semantics).bitcastToAPInt();
  APInt top = APInt::getSignMask(infinite.getBitWidth()), one(infinite.getBitWidth(), 1);
  Value *all = bitsOf(x), *magnitude = builder.CreateAnd(all, constant(~top));
  Value *isNegative = builder.CreateICmpSLT(all, ConstantInt::get(bits, 0));
  Value *result = builder.getFalse();
  auto add = [&](unsigned negative, unsigned positive, const APInt &begin, const APInt &end) {
    bool below = (classes & negative) == negative, above = (classes & positive) == positive;
    if (!below && !above)
      return;
    Value *isIn =
        builder.CreateICmpULT(builder.CreateSub(magnitude, constant(begin)), constant(end - begin));
    if (below != above)
      isIn = builder.CreateAnd(isIn, below ? isNegative : builder.CreateNot(isNegative));
    result = builder.CreateOr(result, isIn);
  };
  add(fcNegZero, fcPosZero, APInt::getZero(top.getBitWidth()), one);
  add(fcNegSubnormal, fcPosSubnormal, one, normal);
  add(fcNegNormal, fcPosNormal, normal, infinite);
  add(fcNegInf, fcPosInf, infinite, infinite + 1);
  add(fcSNan, fcSNan, infinite + 1, quiet);
  add(fcQNan, fcQNan, quiet, top);
  return result;
}

/// A conversion to an integer that ends at its limits; a NaN is 0.
Value *FloatExpansion::saturated(bool isSigned) {
  unsigned width = type->getIntegerBitWidth();
  Value *from = x;
  if (!from->getType()->isDoubleTy()) // of which the limits are numbers
    from = builder.CreateFPExt(from, builder.getFloatTy());
  auto limit = [&](unsigned power, bool isNegative) {
    APFloat value = scalbn(APFloat(isNegative ? -1.0 : 1.0), int(power), APFloat::rmTowardZero);
    bool isInexact;
    value.convert(from->getType()->getFltSemantics(), APFloat::rmTowardZero, &isInexact);
    return ConstantFP::get(from->getType(), value);
  };
  Value *least = isSigned ? limit(width - 1, true) : ConstantFP::get(from->getType(), 0.0);
  Value *above = limit(isSigned ? width - 1 : width, false);
  Value *low =
      ConstantInt::get(type, isSigned ? APInt::getSignedMinValue(width) : APInt::getZero(width));
  Value *high = ConstantInt::get(type, isSigned ? APInt::getSignedMaxValue(width)
                                                : APInt::getMaxValue(width));
  Value *isLow = builder.CreateFCmpOLT(from, least), *isHigh = builder.CreateFCmpOGE(from, above);
  Value *isOutside = builder.CreateOr(builder.CreateOr(isLow, isHigh), isNaN(from));
  Value *inside = builder.CreateSelect(isOutside, ConstantFP::get(from->getType(), 0.0), from);
  Value *made = isSigned ? builder.CreateFPToSI(inside, type) : builder.CreateFPToUI(inside, type);
  return builder.CreateSelect(isLow, low, builder.CreateSelect(isHigh, high, made));
}

Value *FloatExpansion::run() {
  switch (call.getIntrinsicID()) {
  case Intrinsic::fmuladd: // may be one operation: the device's to choose
    builder.setFastMathFlags([&] {
      FastMathFlags flags = call.getFastMathFlags();
      flags.setAllowContract();
      return flags;
    }());
    return builder.CreateFAdd(builder.CreateFMul(x, y), call.getArgOperand(2));
  case Intrinsic::copysign:
    return copySign(x, y);
  case Intrinsic::rint:
  case Intrinsic::nearbyint:
    return builder.CreateUnaryIntrinsic(Intrinsic::roundeven, x);
  case Intrinsic::round:
    return rounded();
  case Intrinsic::canonicalize:
    return x;
  case Intrinsic::minnum:
    return extreme(/*isMost=*/false, /*ordersZeros=*/false, /*keepsNaN=*/false);
  case Intrinsic::maxnum:
    return extreme(/*isMost=*/true, /*ordersZeros=*/false, /*keepsNaN=*/false);
  case Intrinsic::minimumnum:
    return extreme(/*isMost=*/false, /*ordersZeros=*/true, /*keepsNaN=*/false);
  case Intrinsic::maximumnum:
    return extreme(/*isMost=*/true, /*ordersZeros=*/true, /*keepsNaN=*/false);
  case Intrinsic::minimum:
    return extreme(/*isMost=*/false, /*ordersZeros=*/true, /*keepsNaN=*/true);
  case Intrinsic::maximum:
    return extreme(/*isMost=*/true, /*ordersZeros=*/true, /*keepsNaN=*/true);
  case Intrinsic::is_fpclass:
    return isOfClass(unsigned(cast<ConstantInt>(y)->getZExtValue()));
  case Intrinsic::fptosi_sat:
    return saturated(/*isSigned=*/true);
  case Intrinsic::fptoui_sat:
    return saturated(/*isSigned=*/false);
  default:
    return nullptr;
  }
}

Value *spirv::expandFloat(IRBuilder<> &builder, CallInst &call) {
  return FloatExpansion(builder, call).run();
}
