//===- RulesCall.cpp - functions that kernels call --------------*- C++ -*-===//
//
// A function's operations have one set of values each. A call inside of a function that has not ended keeps those that there
// are, and gives them back.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Interp/Rules.h"

using namespace mlir;
using namespace metate;
using namespace metate::interp;

Machine::Kept Machine::keep(Operation *function) {
  SmallVector<Value> &values = valuesIn[function];
  if (values.empty())
    function->walk([&](Operation *op) {
      llvm::append_range(values, op->getResults());
      for (Region &region : op->getRegions())
        for (mlir::Block &block : region)
          llvm::append_range(values, block.getArguments());
    });
  Kept kept;
  for (Value value : values) {
    if (auto found = scalars.find(value); found != scalars.end())
      kept.scalars.push_back(*found);
    else if (auto local = arrays.find(value); local != arrays.end())
      kept.arrays.push_back(*local);
  }
  return kept;
}

void Machine::restore(Kept &&kept) {
  for (auto &[value, components] : kept.scalars)
    scalars[value] = std::move(components);
  for (auto &[value, array] : kept.arrays)
    arrays[value] = array;
}

bool Machine::hasRoom() const {
  return stack - static_cast<const char *>(__builtin_frame_address(0)) < interpretedCallBytes;
}

static void call(Machine &machine, CallOp op) {
  FunctionOp function = functionOf(op);
  if (!machine.hasRoom()) {
    machine.report("depth", function, callDepthMessage(function.getName(), interpretedCallBytes),
                   METATE_E_OUT_OF_MEMORY);
    return; // and that ends the launch
  }
  SmallVector<Components> arguments = machine.components(op.getOperands()), results;
  unsigned &count = machine.running[function];
  Machine::Kept kept;
  if (count++)
    kept = machine.keep(function);
  size_t outer = machine.localCount();
  Operation *end = machine.run(function.getBody().front(), arguments);
  if (!machine.stopped())
    results = machine.components(end->getOperands());
  machine.dropLocals(outer);
  --machine.running[function];
  machine.restore(std::move(kept));
  for (auto [result, value] : llvm::zip(op.getResults(), results))
    machine.set(result, value);
}

/// A function does nothing where it stands. A call looks for room itself: the interpreter takes more stack than code does.
static void nothing(Machine &, Operation *) {}

void interp::addCallRules(RuleTable &table) {
  addRule<CallOp, call>(table);
  table[TypeID::get<FunctionOp>()] = nothing;
  table[TypeID::get<EnterOp>()] = nothing;
}
