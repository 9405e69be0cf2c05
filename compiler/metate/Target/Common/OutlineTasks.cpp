//===- OutlineTasks.cpp - tasks become functions ----------------*- C++ -*-===//
//
// The half of stage map that targets share: from a kernel with its tasks inside to functions of upstream's dialects and
// ours, and a host's part that launches them. What a function uses of its kernel are its arguments, so that a target can
// put the two on different machines. Must not know how iterations are run.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Common/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

namespace metate {
#define GEN_PASS_DEF_OUTLINETASKS
#include "metate/Target/Common/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

static bool isConstant(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->hasTrait<OpTrait::ConstantLike>();
}

/// Copies the constants that a task uses into it: they stay known to whoever compiles it.
static void sinkConstants(Region &body) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(body, used);
  OpBuilder builder = OpBuilder::atBlockBegin(&body.front());
  for (Value value : used)
    if (isConstant(value))
      replaceAllUsesInRegionWith(value, builder.clone(*value.getDefiningOp())->getResult(0), body);
}

/// Pools are the host's to find: their addresses are captured like blocks, and a worker's part is counted from there by
/// the size of a part.
static void hoistPools(KernelOp kernel) {
  SmallVector<PoolOp> pools;
  kernel.walk([&](PoolOp pool) { pools.push_back(pool); });
  OpBuilder builder(kernel.getContext());
  for (PoolOp pool : llvm::reverse(pools)) { // each goes before those that are there
    OpBuilder there(pool);
    builder.setInsertionPointToStart(&kernel.getBody().front());
    auto address = cast<PoolOp>(builder.clone(*pool));
    Value own = address;
    if (pool.getKind() == PoolKind::Worker) {
      Value bytes = PoolBytesOp::create(builder, pool.getLoc(), builder.getIndexType(), address);
      own = WorkerPartOp::create(there, pool.getLoc(), pool.getType(), address, bytes);
    }
    pool.replaceAllUsesWith(own);
    pool.erase();
  }
}

namespace {
/// Makes functions of one kernel's tasks, before the kernel.
class Outlining {
public:
  Outlining(KernelOp kernel, bool withSerial) : kernel(kernel), withSerial(withSerial) {}

  void run() {
    hoistPools(kernel);
    for (Operation &op : llvm::make_early_inc_range(kernel.getBody().front())) {
      if (auto range = dyn_cast<RangeOp>(op))
        outline(range);
      else if (auto serial = dyn_cast<SerialOp>(op); serial && withSerial)
        outline(serial);
    }
  }

private:
  /// The task's function, with an argument for each captured value and a block that ends in a return of `results`.
  func::FuncOp createFunction(Operation *task, ValueRange captured, TypeRange results) {
    OpBuilder builder(kernel);
    std::string name = (kernel.getSymName() + "_task" + Twine(number++)).str();
    auto type = builder.getFunctionType(captured.getTypes(), results);
    auto function = func::FuncOp::create(builder, task->getLoc(), name, type);
    function.setPrivate();
    setMark(function, mark::task);
    function.addEntryBlock();
    return function;
  }

  LaunchOp launch(Operation *task, func::FuncOp function, ValueRange captured) {
    OpBuilder builder(task);
    return LaunchOp::create(builder, task->getLoc(), function.getResultTypes(),
                            function.getSymName(), captured);
  }

  void outline(RangeOp range) {
    sinkConstants(range.getBody());
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(range.getBody(), captured);
    for (Value bound : range->getOperands())
      if (!isConstant(bound))
        captured.insert(bound);
    func::FuncOp function = createFunction(range, captured.getArrayRef(), {});
    launch(range, function, captured.getArrayRef());
    OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
    for (auto [value, argument] : llvm::zip(captured, function.getArguments()))
      replaceAllUsesInRegionWith(value, argument, range.getBody());
    for (OpOperand &bound : range->getOpOperands()) {
      auto known = llvm::find(captured, bound.get());
      bound.set(known == captured.end() ? builder.clone(*bound.get().getDefiningOp())->getResult(0)
                                        : Value(function.getArgument(known - captured.begin())));
    }
    auto end = func::ReturnOp::create(builder, range.getLoc());
    range->moveBefore(end);
  }

  void outline(SerialOp serial) {
    sinkConstants(serial.getBody());
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(serial.getBody(), captured);
    func::FuncOp function = createFunction(serial, captured.getArrayRef(), serial.getResultTypes());
    serial.replaceAllUsesWith(launch(serial, function, captured.getArrayRef()));
    for (auto [value, argument] : llvm::zip(captured, function.getArguments()))
      replaceAllUsesInRegionWith(value, argument, serial.getBody());
    Block &from = serial.getBody().front(), &to = function.getBody().front();
    to.getOperations().splice(to.end(), from.getOperations());
    Operation *yield = &to.back();
    OpBuilder builder(yield);
    func::ReturnOp::create(builder, yield->getLoc(), yield->getOperands());
    yield->erase();
    serial.erase();
  }

  KernelOp kernel;
  bool withSerial;
  unsigned number = 0;
};

struct OutlineTasks : metate::impl::OutlineTasksBase<OutlineTasks> {
  using OutlineTasksBase::OutlineTasksBase;

  void runOnOperation() override {
    for (KernelOp kernel : llvm::to_vector(getOperation().getOps<KernelOp>()))
      Outlining(kernel, serial).run();
  }
};
} // namespace
