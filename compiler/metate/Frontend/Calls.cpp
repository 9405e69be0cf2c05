//===- Calls.cpp - functions that are called, not inlined -------*- C++ -*-===//
#include "metate/Dialect/Derivative.h"
#include "metate/Frontend/KernelBuilder.h"

using namespace mlir;
using namespace metate;
using namespace metate::frontend;

std::string KernelBuilder::beginFunction(StringRef name, StringRef file, unsigned line,
                                         unsigned column) {
  Block &body = kernel.getBody().front();
  std::string own = name.str();
  auto isTaken = [&](FunctionOp other) { return other.getName() == own; };
  for (unsigned number = 1; llvm::any_of(body.getOps<FunctionOp>(), isTaken); ++number)
    own = (name + "." + Twine(number)).str();
  outer.push_back({builder.saveInsertionPoint(), location, std::move(callSites), std::move(frames),
                   std::move(scopes), parallelOp, std::move(noActivations)});
  callSites.clear();
  frames.clear();
  scopes.clear();
  noActivations.clear();
  parallelOp = nullptr;
  setLocation(file, line, column);
  // First in the kernel: what stands around it there are its arguments.
  builder.setInsertionPointToStart(&body);
  auto function = FunctionOp::create(builder, loc(), own);
  Block &block = function.getBody().front();
  scopes.push_back(&block);
  builder.setInsertionPointToEnd(&block);
  return own;
}

static Block *entryOf(ArrayRef<Block *> scopes) { return scopes.front(); }

KernelValue KernelBuilder::parameter(const DataType &type) {
  return {entryOf(scopes)->addArgument(ir(type), loc()), type};
}

Reference KernelBuilder::referenceParameter(const Reference &reference) {
  Reference own = reference;
  for (Value &index : own.indices)
    index = entryOf(scopes)->addArgument(index.getType(), loc());
  for (KernelValue &component : own.components)
    component.ir = entryOf(scopes)->addArgument(component.ir.getType(), loc());
  own.isActive = false;
  return own;
}

SmallVector<Value> KernelBuilder::referenceOperands(const Reference &reference) {
  SmallVector<Value> operands(reference.indices);
  for (const KernelValue &component : reference.components)
    operands.push_back(component.ir);
  return operands;
}

void KernelBuilder::leaveFunction() {
  Outer last = std::move(outer.back());
  outer.pop_back();
  builder.restoreInsertionPoint(last.at);
  location = last.location;
  callSites = std::move(last.callSites);
  frames = std::move(last.frames);
  scopes = std::move(last.scopes);
  parallelOp = last.parallelOp;
  noActivations = std::move(last.noActivations);
}

void KernelBuilder::endFunction(ArrayRef<KernelValue> values) {
  assert(frames.empty() && "a loop or branch is still open");
  builder.setInsertionPointToEnd(entryOf(scopes));
  GiveOp::create(builder, loc(),
                 llvm::map_to_vector(values, [](const KernelValue &value) { return value.ir; }));
  leaveFunction();
}

void KernelBuilder::abandonFunction() { leaveFunction(); }

void KernelBuilder::giveDerivative(StringRef name, StringRef derivative, StringRef again) {
  for (auto function : kernel.getBody().front().getOps<FunctionOp>()) {
    if (function.getName() != name)
      continue;
    function->setAttr(givenDerivative, builder.getStringAttr(derivative));
    if (!again.empty())
      function->setAttr(givenAgain, builder.getStringAttr(again));
  }
}

void KernelBuilder::dropFunctions(ArrayRef<std::string> names) {
  for (auto function : llvm::make_early_inc_range(kernel.getBody().front().getOps<FunctionOp>()))
    if (llvm::is_contained(names, function.getName()))
      function.erase();
}

std::vector<KernelValue> KernelBuilder::call(StringRef name, ArrayRef<Value> operands,
                                             ArrayRef<DataType> results) {
  auto types = llvm::map_to_vector(results, [&](const DataType &type) { return ir(type); });
  auto call = CallOp::create(builder, loc(), types, name, operands);
  std::vector<KernelValue> values;
  for (auto [value, type] : llvm::zip(call.getResults(), results))
    values.push_back({value, type});
  return values;
}
