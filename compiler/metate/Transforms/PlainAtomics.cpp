//===- PlainAtomics.cpp - atomics that need not be any ----------*- C++ -*-===//
#include "metate/Transforms/PlainAtomics.h"

#include "metate/Dialect/Metate.h"
#include "metate/Mutants/Mutants.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace metate;

Value metate::bitsOf(OpBuilder &builder, Location loc, Value number) {
  if (isa<IntegerType>(number.getType()))
    return number;
  Type type = builder.getIntegerType(number.getType().getIntOrFloatBitWidth());
  return arith::BitcastOp::create(builder, loc, type, number);
}

Value metate::combinePlain(OpBuilder &builder, Location loc, arith::AtomicRMWKind kind, Value old,
                           Value value, arith::FastMathFlags flags) {
  if (isMutant(Mutant::DemotedMaxIsMin) && kind == arith::AtomicRMWKind::maxs)
    kind = arith::AtomicRMWKind::mins;
  if (kind == arith::AtomicRMWKind::assign) {
    auto exchange = value.getDefiningOp<ExchangeIfOp>();
    if (!exchange)
      return value;
    Value isExpected =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, bitsOf(builder, loc, old),
                              bitsOf(builder, loc, exchange.getExpected()));
    return arith::SelectOp::create(builder, loc, isExpected, exchange.getDesired(), old);
  }
  Value next = arith::getReductionOp(kind, builder, loc, old, value);
  if (auto floats = dyn_cast<arith::ArithFastMathInterface>(next.getDefiningOp()))
    next.getDefiningOp()->setAttr(floats.getFastMathAttrName(),
                                  arith::FastMathFlagsAttr::get(builder.getContext(), flags));
  return next;
}

arith::AtomicRMWKind metate::kindOfNumbers(arith::AtomicRMWKind kind, Type number) {
  using Kind = arith::AtomicRMWKind;
  if (!isa<FloatType>(number))
    return kind;
  switch (kind) {
  case Kind::addi:
    return Kind::addf;
  case Kind::mins:
  case Kind::minu:
    return Kind::minnumf;
  case Kind::maxs:
  case Kind::maxu:
    return Kind::maxnumf;
  default:
    return kind;
  }
}

TypedAttr metate::neutralOf(OpBuilder &builder, Location loc, arith::AtomicRMWKind kind,
                            Type scalar) {
  using Kind = arith::AtomicRMWKind;
  if (kind == Kind::addf)
    return builder.getFloatAttr(scalar, -0.0);
  if (kind == Kind::minnumf || kind == Kind::maxnumf)
    return builder.getFloatAttr(scalar,
                                APFloat::getNaN(cast<FloatType>(scalar).getFloatSemantics()));
  return arith::getIdentityValueAttr(kind, scalar, builder, loc);
}

void metate::makePlain(Operation *atomic) {
  OpBuilder builder(atomic);
  Location loc = atomic->getLoc();
  Value old, next;
  if (auto rmw = dyn_cast<memref::AtomicRMWOp>(atomic)) {
    old = memref::LoadOp::create(builder, loc, rmw.getMemref(), rmw.getIndices());
    next = combinePlain(builder, loc, rmw.getKind(), old, rmw.getValue());
    memref::StoreOp::create(builder, loc, next, rmw.getMemref(), rmw.getIndices());
  } else {
    auto cell = cast<AtomicOp>(atomic);
    old = LoadOp::create(builder, loc, cell.getValue().getType(), cell.getTree(),
                         cell.getPathAttr(), cell.getCoordinates(), cell.getComponents());
    next = combinePlain(builder, loc, cell.getKind(), old, cell.getValue());
    StoreOp::create(builder, loc, next, cell.getTree(), cell.getPathAttr(), cell.getCoordinates(),
                    cell.getComponents(), cell.getActiveAttr());
  }
  atomic->replaceAllUsesWith(ValueRange(isMutant(Mutant::DemotedReturnsNew) ? next : old));
  atomic->erase();
}
