//===- RulesConversion.cpp - casts ------------------------------*- C++ -*-===//
#include "metate/Interp/ArithChecks.h"
#include "metate/Interp/Rules.h"

using namespace mlir;
using namespace metate;
using namespace metate::interp;

/// Wider, the sign kept; and narrower, the high bits dropped. An index is a 64-bit integer.
template <typename Op, bool isSigned> static void resize(Machine &machine, Op op) {
  unsigned from = widthOf(scalarOf(op->getOperand(0).getType())),
           to = widthOf(scalarOf(op.getType()));
  elementwise(machine, op, [&](ArrayRef<uint64_t> in) {
    return wrap(isSigned ? uint64_t(signedOf(in[0], from)) : in[0], to);
  });
}

template <typename Op, bool isSigned> static void toFloating(Machine &machine, Op op) {
  Type type = scalarOf(op.getType());
  unsigned width = widthOf(scalarOf(op->getOperand(0).getType()));
  elementwise(machine, op, [&](ArrayRef<uint64_t> in) {
    llvm::APFloat value(cast<FloatType>(type).getFloatSemantics());
    value.convertFromAPInt(llvm::APInt(width, in[0]), isSigned, llvm::APFloat::rmNearestTiesToEven);
    return wrap(value.bitcastToAPInt());
  });
}

/// Towards zero. A value that does not fit has no meaning; it becomes the least integer.
template <typename Op, bool isSigned> static void toInteger(Machine &machine, Op op) {
  Type type = scalarOf(op->getOperand(0).getType());
  unsigned width = widthOf(scalarOf(op.getType()));
  elementwise(machine, op, [&](ArrayRef<uint64_t> in) {
    llvm::APSInt value(width, !isSigned);
    bool isExact;
    auto lost = toFloat(type, in[0]).convertToInteger(value, llvm::APFloat::rmTowardZero, &isExact);
    return lost & llvm::APFloat::opInvalidOp ? uint64_t(1) << (width - 1)
                                             : wrap(llvm::APInt(value));
  });
}

template <typename Op> static void resizeFloat(Machine &machine, Op op) {
  Type from = scalarOf(op->getOperand(0).getType()), to = scalarOf(op.getType());
  elementwise(machine, op,
              [&](ArrayRef<uint64_t> in) { return fromFloat(to, toFloat(from, in[0])); });
}

static void bitcast(Machine &machine, arith::BitcastOp op) {
  elementwise(machine, op, [](ArrayRef<uint64_t> in) { return in[0]; });
}

template <typename Op, auto convert> static void checked(Machine &machine, Op op) {
  convert(machine, op);
  if (machine.checks.lossyCast)
    checkCast(machine, op);
}

template <typename Op, auto convert> static void addCast(RuleTable &table) {
  addRule<Op, checked<Op, convert>>(table);
}

void interp::addConversionRules(RuleTable &table) {
  addCast<arith::ExtSIOp, resize<arith::ExtSIOp, true>>(table);
  addCast<arith::ExtUIOp, resize<arith::ExtUIOp, false>>(table);
  addCast<arith::TruncIOp, resize<arith::TruncIOp, true>>(table);
  addCast<arith::IndexCastOp, resize<arith::IndexCastOp, true>>(table);
  addCast<arith::IndexCastUIOp, resize<arith::IndexCastUIOp, false>>(table);
  addCast<arith::SIToFPOp, toFloating<arith::SIToFPOp, true>>(table);
  addCast<arith::UIToFPOp, toFloating<arith::UIToFPOp, false>>(table);
  addCast<arith::FPToSIOp, toInteger<arith::FPToSIOp, true>>(table);
  addCast<arith::FPToUIOp, toInteger<arith::FPToUIOp, false>>(table);
  addCast<arith::ExtFOp, resizeFloat<arith::ExtFOp>>(table);
  addCast<arith::TruncFOp, resizeFloat<arith::TruncFOp>>(table);
  addRule<arith::BitcastOp, bitcast>(table);
}
