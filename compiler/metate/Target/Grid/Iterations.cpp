//===- Iterations.cpp - how many iterations a task has ----------*- C++ -*-===//
//
// As the driver computes it before a launch, as each invocation does, and how many invocations may work at once.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Grid/MapGrid.h"

#include "metate/Layout/TreeLayout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace metate;
using namespace metate::grid;

static bool activates(StringRef callee) {
  return callee.ends_with("claim") || callee == "dynamic_activate" || callee.starts_with("append");
}

bool KernelMapping::addSteps(Value value, std::vector<Step> &steps) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Type type = value.getType();
    if (!type.isIndex() && !type.isInteger(64) && !type.isInteger(32))
      return false;
    auto operation = type.isInteger(32) ? METATE_GRID_SLOT_I32 : METATE_GRID_SLOT;
    steps.push_back({operation, slots[argument.getArgNumber()]});
    return true;
  }
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto number = dyn_cast<IntegerAttr>(constant.getValue());
    if (number)
      steps.push_back({METATE_GRID_CONSTANT, number.getValue().getSExtValue()});
    return bool(number);
  }
  if (isa<arith::IndexCastOp, arith::ExtSIOp>(op))
    return value.getType().isIndex() || value.getType().isInteger(64)
               ? addSteps(op->getOperand(0), steps)
               : false;
  auto operation = llvm::TypeSwitch<Operation *, metate_grid_operation>(op)
                       .Case<arith::AddIOp>([](auto) { return METATE_GRID_ADD; })
                       .Case<arith::SubIOp>([](auto) { return METATE_GRID_SUB; })
                       .Case<arith::MulIOp>([](auto) { return METATE_GRID_MUL; })
                       .Case<arith::MinSIOp>([](auto) { return METATE_GRID_MIN; })
                       .Case<arith::MaxSIOp>([](auto) { return METATE_GRID_MAX; })
                       .Case<arith::DivSIOp>([](auto) { return METATE_GRID_DIV; })
                       .Case<arith::CeilDivSIOp>([](auto) { return METATE_GRID_CEIL_DIV; })
                       .Default([](auto) { return METATE_GRID_CONSTANT; });
  bool isWide = value.getType().isIndex() || value.getType().isInteger(64);
  if (operation == METATE_GRID_CONSTANT || !isWide)
    return false;
  if (!addSteps(op->getOperand(0), steps) || !addSteps(op->getOperand(1), steps))
    return false;
  steps.push_back({operation});
  return true;
}

/// The stack that the steps need.
static unsigned depthOf(ArrayRef<Step> steps) {
  unsigned depth = 0, most = 0;
  for (const Step &step : steps) {
    bool pushes = step.operation <= METATE_GRID_SLOT_I32;
    depth += pushes ? 1 : -1;
    most = std::max(most, depth);
  }
  return most;
}

Value KernelMapping::countOf(const LaunchedTask &task, OpBuilder &builder) {
  RangeOp range = task.range;
  Location loc = range.getLoc();
  auto lower = task.inHost(range.getLower(), builder),
       upper = task.inHost(range.getUpper(), builder);
  Value count, zero = arith::ConstantIndexOp::create(builder, loc, 0);
  for (auto [low, high] : llvm::zip(lower, upper)) {
    Value size = builder.createOrFold<arith::SubIOp>(loc, high, low);
    size = builder.createOrFold<arith::MaxSIOp>(loc, size, zero);
    count = count ? builder.createOrFold<arith::MulIOp>(loc, count, size) : size;
  }
  return count;
}

std::vector<Step> KernelMapping::iterationsOf(const LaunchedTask &task) {
  // Of values that stand in the kernel, which are gone again.
  OpBuilder builder(task.launch);
  Operation *before = task.launch->getPrevNode();
  Value count = countOf(task, builder);
  std::vector<Step> steps;
  if (!addSteps(count, steps) || depthOf(steps) > METATE_GRID_MAX_DEPTH)
    steps.clear();
  for (Operation *op = task.launch->getPrevNode(); op && op != before;) {
    Operation *previous = op->getPrevNode();
    op->erase();
    op = previous;
  }
  return steps;
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
