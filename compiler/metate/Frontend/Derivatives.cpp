//===- Derivatives.cpp - what is differentiated -----------------*- C++ -*-===//
//
// Says where derivatives are. What a kernel's derivative does is metate-differentiate's business.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Derivative.h"
#include "metate/Frontend/KernelBuilder.h"

using namespace mlir;
using namespace metate;
using namespace metate::frontend;

void KernelBuilder::differentiate(StringRef mode) {
  kernel->setAttr(mark::differentiate, builder.getStringAttr(mode));
}

void KernelBuilder::derivative(Value primal, StringRef path, Value derivative,
                               StringRef derivativePath) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  DerivativeOp::create(builder, kernel.getLoc(), primal, path, derivative, derivativePath);
}

void KernelBuilder::memberDerivative(const KernelTree &primal, StringRef member,
                                     const KernelTree &tree, StringRef derivativeMember) {
  derivative(primal.ir, member, tree.ir, derivativeMember);
}

void KernelBuilder::arrayDerivative(const KernelArray &primal, const KernelArray &array) {
  derivative(primal.ir, "", array.ir, "");
}

void KernelBuilder::treeWritten(const KernelTree &tree, const KernelTree &numbers,
                                const KernelValue &call) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  WrittenOp::create(builder, kernel.getLoc(), tree.ir, numbers.ir, call.ir);
}

void KernelBuilder::arrayWritten(const KernelArray &array, const KernelArray &numbers,
                                 const KernelValue &call) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  WrittenOp::create(builder, kernel.getLoc(), array.ir, numbers.ir, call.ir);
}

KernelValue KernelBuilder::stopGradient(const KernelValue &value) {
  if (!value || !value.type.isFloat())
    return value;
  return {StopGradientOp::create(builder, loc(), value.ir), value.type};
}
