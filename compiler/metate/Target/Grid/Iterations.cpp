//===- Iterations.cpp - how many iterations a task has ----------*- C++ -*-===//
//
// As the driver computes it before a launch, as each invocation does, and how many invocations may work at once.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Grid/MapGrid.h"

#include "metate/Layout/TreeLayout.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Grid/Expressions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace metate;
using namespace metate::grid;

static bool activates(StringRef callee) {
  return callee.ends_with("claim") || callee == "dynamic_activate" || callee.starts_with("append");
}

Bounds KernelMapping::boundsOf(const LaunchedTask &task) {
  OpBuilder builder(task.launch);
  RangeOp range = task.range;
  return {task.inHost(range.getLower(), builder), task.inHost(range.getUpper(), builder)};
}

Value grid::countOf(const Bounds &bounds, OpBuilder &builder, Location loc) {
  Value count, zero = arith::ConstantIndexOp::create(builder, loc, 0);
  for (auto [low, high] : llvm::zip(bounds.lower, bounds.upper)) {
    Value size = builder.createOrFold<arith::SubIOp>(loc, high, low);
    if (!isMutant(Mutant::GridEmptyCounts))
      size = builder.createOrFold<arith::MaxSIOp>(loc, size, zero);
    count = count ? builder.createOrFold<arith::MulIOp>(loc, count, size) : size;
  }
  return count;
}

std::vector<Step> KernelMapping::iterationsOf(const LaunchedTask &task, const Bounds &bounds) {
  auto steps = Expressions(slots).ofBuilt(
      task.launch, [&](OpBuilder &builder) { return countOf(bounds, builder, kernel.getLoc()); });
  return steps.value_or(std::vector<Step>());
}

Value KernelMapping::mostInvocations(Code &code, const LaunchedTask &task) {
  auto trees = kernel->getAttrOfType<DenseI64ArrayAttr>(mark::activates);
  bool takesSlots = false;
  task.function->walk([&](Operation *op) {
    auto call = dyn_cast<TreeCallOp>(op);
    takesSlots |= isa<func::CallOp>(op) || (call && activates(call.getCallee()));
  });
  if (!trees || !takesSlots)
    return {};
  Value least;
  for (int64_t argument : trees.asArrayRef()) {
    Value block = target::toLLVM(code, converter, kernel.getBody().getArgument(argument));
    Value bound = code.load(code.builder.getI32Type(), block, layout::header::workers());
    least = least ? LLVM::UMinOp::create(code.builder, code.loc, bound, least).getResult() : bound;
  }
  if (!least)
    return {};
  return LLVM::ZExtOp::create(code.builder, code.loc, code.builder.getI64Type(), least);
}
