//===- NanTrace.cpp - where a NaN came from ---------------------*- C++ -*-===//
#include "metate/Interp/NanTrace.h"

#include "metate/Interp/Machine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace metate;
using namespace metate::interp;

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
  if (StringRef(texts[1]).starts_with("-"))
    texts[1] = "(" + texts[1] + ")";
  return texts[0] + " " + symbol.str() + " " + texts[1];
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

void NanTrace::used(Machine &machine, Operation *op) {
  if (op->hasTrait<OpTrait::Elementwise>() && !isa<arith::FPToSIOp, arith::FPToUIOp>(op))
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
