//===- IndexBuilder.cpp - arithmetic of offsets and coordinates -*- C++ -*-===//
#include "metate/Level/IndexBuilder.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace metate;

Value IndexBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value IndexBuilder::integer(int64_t value, unsigned width) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getIntegerAttr(builder.getIntegerType(width), value));
}

Value IndexBuilder::add(Value a, Value b) {
  if (getConstantIntValue(a) == 0)
    return b;
  return builder.createOrFold<arith::AddIOp>(loc, a, b, arith::IntegerOverflowFlags::nsw);
}

Value IndexBuilder::add(Value a, int64_t b) { return b == 0 ? a : add(a, index(b)); }

Value IndexBuilder::multiply(Value a, int64_t b) {
  if (b == 1)
    return a;
  if (auto constant = getConstantIntValue(a))
    return index(*constant * b);
  return arith::MulIOp::create(builder, loc, a, index(b), arith::IntegerOverflowFlags::nsw);
}

Value IndexBuilder::multiply(Value a, Value b) {
  return builder.createOrFold<arith::MulIOp>(loc, a, b, arith::IntegerOverflowFlags::nsw);
}

Value IndexBuilder::divide(Value a, int64_t b) { return b == 1 ? a : divide(a, index(b)); }

Value IndexBuilder::divide(Value a, Value b) {
  return builder.createOrFold<arith::DivUIOp>(loc, a, b);
}

Value IndexBuilder::least(Value a, Value b) {
  return builder.createOrFold<arith::MinSIOp>(loc, a, b);
}

Value IndexBuilder::greatest(Value a, Value b) {
  return builder.createOrFold<arith::MaxSIOp>(loc, a, b);
}

Value IndexBuilder::subtract(Value a, Value b) {
  return builder.createOrFold<arith::SubIOp>(loc, a, b, arith::IntegerOverflowFlags::nsw);
}

Value IndexBuilder::divideFloor(Value a, int64_t b) {
  if (b == 1)
    return a;
  if (llvm::isPowerOf2_64(b))
    return arith::ShRSIOp::create(builder, loc, a, index(llvm::Log2_64(b)));
  return arith::FloorDivSIOp::create(builder, loc, a, index(b));
}

Value IndexBuilder::remainder(Value a, int64_t b) {
  return b == 1 ? index(0) : arith::RemUIOp::create(builder, loc, a, index(b)).getResult();
}

Value IndexBuilder::compare(arith::CmpIPredicate predicate, Value a, Value b) {
  return builder.createOrFold<arith::CmpIOp>(loc, predicate, a, b);
}

Value IndexBuilder::isNonzero(Value value) {
  unsigned width = value.getType().getIntOrFloatBitWidth();
  return compare(arith::CmpIPredicate::ne, value, integer(0, width));
}

Value IndexBuilder::select(Value condition, Value a, Value b) {
  return builder.createOrFold<arith::SelectOp>(loc, condition, a, b);
}

Value IndexBuilder::toIndex(Value value) {
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), value);
}

Value IndexBuilder::toSignedIndex(Value value) {
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), value);
}

Value IndexBuilder::toInteger(Value value, unsigned width) {
  return arith::IndexCastUIOp::create(builder, loc, builder.getIntegerType(width), value);
}
