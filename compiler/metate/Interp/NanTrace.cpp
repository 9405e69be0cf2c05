//===- NanTrace.cpp - where a NaN came from ---------------------*- C++ -*-===//
#include "metate/Interp/NanTrace.h"

#include "metate/Dialect/Quant.h"
#include "metate/Interp/Machine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace metate;
using namespace metate::interp;

std::string interp::inBrackets(std::string number) {
  return StringRef(number).starts_with("-") ? "(" + number + ")" : number;
}

std::string interp::expressionText(Operation *op, ArrayRef<uint64_t> operands) {
  SmallVector<std::string> texts;
  for (auto [value, bits] : llvm::zip(op->getOperands(), operands))
    texts.push_back(show(scalarOf(value.getType()), bits));
  StringRef name = op->getName().stripDialect();
  StringRef symbol = llvm::StringSwitch<StringRef>(name)
                         .Case("addf", "+")
                         .Case("subf", "-")
                         .Case("mulf", "*")
                         .Case("divf", "/")
                         .Case("remf", "%")
                         .Case("powf", "**")
                         .Default("");
  if (symbol.empty() || texts.size() != 2)
    return (name + "(" + llvm::join(texts, ", ") + ")").str();
  return texts[0] + " " + symbol.str() + " " + inBrackets(texts[1]);
}

void NanTrace::made(Machine &machine, Operation *op, ArrayRef<uint64_t> operands) {
  Value result = op->getResult(0);
  if (births.contains(result))
    return; // of an earlier component
  bool isNew = true;
  for (auto [k, pair] : llvm::enumerate(llvm::zip(op->getOperands(), operands))) {
    auto [value, bits] = pair;
    if (isa<arith::SelectOp>(op) && k != (operands[0] ? 1 : 2))
      continue;
    if (!isNaN(scalarOf(value.getType()), bits))
      continue;
    isNew = false;
    auto birth = births.find(value);
    if (birth == births.end())
      continue;
    Birth copy = birth->second;
    births[result] = std::move(copy);
    return;
  }
  if (isNew && !machine.isKnown("nan", op))
    births[result] = {op, expressionText(op, operands)};
}

/// The local variable that the operation reads or writes, if it is one.
template <typename Op> static Value variableOf(Operation *op) {
  auto access = dyn_cast<Op>(op);
  return access && access.getIndices().empty() &&
                 access.getMemRef().template getDefiningOp<memref::AllocaOp>()
             ? Value(access.getMemRef())
             : Value();
}

static bool isVector(Operation *op) { return isa<vector::VectorDialect>(op->getDialect()); }

void NanTrace::used(Machine &machine, Operation *op) {
  bool endsThere = isa<arith::FPToSIOp, arith::FPToUIOp, EncodeOp>(op);
  if ((op->hasTrait<OpTrait::Elementwise>() && !endsThere) || isVector(op) ||
      variableOf<memref::LoadOp>(op) || variableOf<memref::StoreOp>(op))
    return;
  for (Value operand : op->getOperands()) {
    auto birth = births.find(operand);
    if (birth == births.end())
      continue;
    Birth found = birth->second;
    births.erase(birth);
    machine.report("nan", found.op, found.text + " is not a number");
  }
}

void NanTrace::passed(Machine &machine, Operation *op) {
  auto pass = [&](Value from, Value to) {
    auto birth = births.find(from);
    if (birth == births.end())
      return false;
    Birth copy = birth->second;
    births[to] = std::move(copy);
    return true;
  };
  if (Value variable = variableOf<memref::StoreOp>(op)) {
    if (!pass(op->getOperand(0), variable))
      births.erase(variable);
    return;
  }
  if (!isVector(op) && !variableOf<memref::LoadOp>(op))
    return;
  for (Value result : op->getResults()) {
    births.erase(result);
    Type scalar = scalarOf(result.getType());
    if (llvm::any_of(machine.components(result),
                     [&](uint64_t bits) { return isNaN(scalar, bits); }))
      (void)llvm::any_of(op->getOperands(), [&](Value operand) { return pass(operand, result); });
  }
}
