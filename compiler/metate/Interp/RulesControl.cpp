//===- RulesControl.cpp - conditionals and serial loops ---------*- C++ -*-===//
#include "metate/Interp/Rules.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace metate;
using namespace metate::interp;

/// Runs the body of a loop once; its local arrays end with it.
static Operation *runOnce(Machine &machine, mlir::Block &body, ArrayRef<Components> arguments) {
  size_t outer = machine.localCount();
  Operation *end = machine.run(body, arguments);
  machine.dropLocals(outer);
  return end;
}

static void conditional(Machine &machine, scf::IfOp op) {
  Region &taken = machine.bits(op.getCondition()) ? op.getThenRegion() : op.getElseRegion();
  if (taken.empty())
    return;
  Operation *end = machine.run(taken.front());
  if (!machine.stopped())
    machine.yield(op.getResults(), end->getOperands());
}

static void counted(Machine &machine, scf::ForOp op) {
  Type type = op.getInductionVar().getType();
  unsigned width = widthOf(type);
  int64_t upper = machine.integer(op.getUpperBound()), step = machine.integer(op.getStep());
  SmallVector<Components> carried = machine.components(op.getInitArgs());
  for (int64_t at = machine.integer(op.getLowerBound()); at < upper;) {
    SmallVector<Components> arguments{Components{wrap(uint64_t(at), width)}};
    llvm::append_range(arguments, carried);
    Operation *end = runOnce(machine, *op.getBody(), arguments);
    if (machine.stopped() || machine.interrupted())
      return;
    carried = machine.components(end->getOperands());
    if (__builtin_add_overflow(at, step, &at))
      break;
  }
  for (auto [result, value] : llvm::zip(op.getResults(), carried))
    machine.set(result, value);
}

static void conditioned(Machine &machine, scf::WhileOp op) {
  SmallVector<Components> carried = machine.components(op.getInits());
  while (true) {
    Operation *end = runOnce(machine, op.getBefore().front(), carried);
    if (machine.stopped())
      return;
    auto condition = cast<scf::ConditionOp>(end);
    SmallVector<Components> passed = machine.components(condition.getArgs());
    if (!machine.bits(condition.getCondition())) {
      for (auto [result, value] : llvm::zip(op.getResults(), passed))
        machine.set(result, value);
      return;
    }
    end = runOnce(machine, op.getAfter().front(), passed);
    if (machine.stopped() || machine.interrupted())
      return;
    carried = machine.components(end->getOperands());
  }
}

void interp::addControlRules(RuleTable &table) {
  addRule<scf::IfOp, conditional>(table);
  addRule<scf::ForOp, counted>(table);
  addRule<scf::WhileOp, conditioned>(table);
}
