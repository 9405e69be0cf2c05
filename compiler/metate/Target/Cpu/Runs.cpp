//===- Runs.cpp - a graph calls the kernels that it runs --------*- C++ -*-===//
//
// A kernel of a graph is an entry like any other, internal to the payload. The graph fills its slots from its own, as a host
// would, and hands on its host; what a launch checks was checked when the graph was launched, whose arguments are all there are.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Graph.h"
#include "metate/Target/Cpu/MapTasks.h"
#include "metate/abi/kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// The counterpart of loadArgument.
void KernelMapping::storeArgument(Code &code, Value value, Value slots, unsigned &slot) {
  if (auto vector = dyn_cast<VectorType>(value.getType())) {
    auto components = vector::ToElementsOp::create(code.builder, code.loc, value);
    for (Value component : components.getResults())
      storeArgument(code, component, slots, slot);
    return;
  }
  Value stored = toLLVM(code, value);
  if (value.getType().isInteger(1))
    stored = LLVM::ZExtOp::create(code.builder, code.loc, code.builder.getI8Type(), stored);
  code.store(stored, slots, int64_t(sizeof(metate_slot)) * slot++);
}

static unsigned slotsOf(RunOp run) {
  unsigned slots = 0;
  for (Type type : run.getOperandTypes()) {
    auto vector = dyn_cast<VectorType>(type);
    slots += vector ? vector.getNumElements() : 1;
  }
  return slots;
}

void KernelMapping::mapRuns() {
  SmallVector<RunOp> runs;
  unsigned most = 0;
  kernel.walk([&](RunOp run) {
    runs.push_back(run);
    most = std::max(most, slotsOf(run));
  });
  if (runs.empty())
    return;
  profile = false; // what takes time are its kernels' tasks, which they tell of
  // One kernel after the other: they share the room for slots.
  OpBuilder atStart = OpBuilder::atBlockBegin(current);
  Code start(atStart, kernel.getLoc());
  auto room = LLVM::LLVMArrayType::get(atStart.getI64Type(), std::max(most, 1u));
  Value slots = LLVM::AllocaOp::create(atStart, kernel.getLoc(), start.pointer(), room,
                                       start.constant(1, 64));
  auto module = kernel->getParentOfType<ModuleOp>();
  for (RunOp run : runs) {
    OpBuilder builder(run);
    Code code(builder, run.getLoc());
    unsigned slot = 0;
    for (Value operand : run.getOperands())
      storeArgument(code, operand, slots, slot);
    auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(run.getKernel());
    auto call = LLVM::CallOp::create(builder, run.getLoc(), callee,
                                     ValueRange{slots, entry.getArgument(1), entry.getArgument(2)});
    ReturnStatusOp::create(builder, run.getLoc(), call.getResult());
    run.erase();
  }
}
