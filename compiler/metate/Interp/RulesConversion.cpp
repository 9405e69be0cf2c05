//===- RulesConversion.cpp - casts ------------------------------*- C++ -*-===//
#include "metate/Interp/Rules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;
using namespace metate;
using namespace metate::interp;

static void reportLoss(Machine &machine, Operation *op, uint64_t from, uint64_t to) {
  Type source = scalarOf(op->getOperand(0).getType()),
       target = scalarOf(op->getResult(0).getType());
  machine.report("lossy-cast", op,
                 "the value " + show(source, from) + " does not fit and becomes " +
                     show(target, to));
}

/// Wider, the sign kept; and narrower, the high bits dropped. An index is a 64-bit integer.
template <typename Op, bool isSigned> static void resize(Machine &machine, Op op) {
  unsigned from = widthOf(scalarOf(op->getOperand(0).getType())),
           to = widthOf(scalarOf(op.getType()));
  elementwise(machine, op, [&](ArrayRef<uint64_t> in) {
    uint64_t result = wrap(isSigned ? uint64_t(signedOf(in[0], from)) : in[0], to);
    // Nothing is lost if either reading of the bits stays what it was.
    if (machine.checks.lossyCast && to < from && result != in[0] &&
        wrap(uint64_t(signedOf(result, to)), from) != in[0])
      reportLoss(machine, op, in[0], result);
    return result;
  });
}

template <typename Op, bool isSigned> static void toFloating(Machine &machine, Op op) {
  Type type = scalarOf(op.getType());
  unsigned width = widthOf(scalarOf(op->getOperand(0).getType()));
  elementwise(machine, op, [&](ArrayRef<uint64_t> in) {
    llvm::APFloat value(cast<FloatType>(type).getFloatSemantics());
    auto lost = value.convertFromAPInt(llvm::APInt(width, in[0]), isSigned,
                                       llvm::APFloat::rmNearestTiesToEven);
    uint64_t result = wrap(value.bitcastToAPInt());
    if (machine.checks.lossyCast && lost != llvm::APFloat::opOK)
      reportLoss(machine, op, in[0], result);
    return result;
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
    bool fits = !(lost & llvm::APFloat::opInvalidOp);
    uint64_t result = fits ? wrap(llvm::APInt(value)) : uint64_t(1) << (width - 1);
    if (machine.checks.lossyCast && !fits)
      reportLoss(machine, op, in[0], result);
    return result;
  });
}

template <typename Op> static void resizeFloat(Machine &machine, Op op) {
  Type from = scalarOf(op->getOperand(0).getType()), to = scalarOf(op.getType());
  elementwise(machine, op, [&](ArrayRef<uint64_t> in) {
    uint64_t result = fromFloat(to, toFloat(from, in[0]));
    if (machine.checks.lossyCast && std::isfinite(toDouble(from, in[0])) &&
        !std::isfinite(toDouble(to, result)))
      reportLoss(machine, op, in[0], result);
    return result;
  });
}

static void bitcast(Machine &machine, arith::BitcastOp op) {
  elementwise(machine, op, [](ArrayRef<uint64_t> in) { return in[0]; });
}

void interp::addConversionRules(RuleTable &table) {
  addRule<arith::ExtSIOp, resize<arith::ExtSIOp, true>>(table);
  addRule<arith::ExtUIOp, resize<arith::ExtUIOp, false>>(table);
  addRule<arith::TruncIOp, resize<arith::TruncIOp, true>>(table);
  addRule<arith::IndexCastOp, resize<arith::IndexCastOp, true>>(table);
  addRule<arith::IndexCastUIOp, resize<arith::IndexCastUIOp, false>>(table);
  addRule<arith::SIToFPOp, toFloating<arith::SIToFPOp, true>>(table);
  addRule<arith::UIToFPOp, toFloating<arith::UIToFPOp, false>>(table);
  addRule<arith::FPToSIOp, toInteger<arith::FPToSIOp, true>>(table);
  addRule<arith::FPToUIOp, toInteger<arith::FPToUIOp, false>>(table);
  addRule<arith::ExtFOp, resizeFloat<arith::ExtFOp>>(table);
  addRule<arith::TruncFOp, resizeFloat<arith::TruncFOp>>(table);
  addRule<arith::BitcastOp, bitcast>(table);
}
