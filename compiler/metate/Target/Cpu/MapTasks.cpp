//===- MapTasks.cpp - kernels become entries --------------------*- C++ -*-===//
//
// The CPU's half of stage map: functions of tasks, which metate-outline-tasks has made, become bodies that an executor calls
// for a chunk of iterations; what is left of the kernel becomes the entry.
//
#include "metate/Target/Cpu/MapTasks.h"

#include "metate/Dialect/Graph.h"
#include "metate/Dialect/Place.h"
#include "metate/Layout/TreeLayout.h"
#include "metate/Target/Cpu/AcrossIterations.h"
#include "metate/Target/Cpu/LoopAnnotation.h"
#include "metate/Target/Cpu/Passes.h"
#include "metate/Transforms/IntegerRange.h"
#include "metate/abi/kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace metate {
#define GEN_PASS_DEF_MAPTASKSCPU
#include "metate/Target/Cpu/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// At most as many workers as each tree that may be activated has slack slots.
Value KernelMapping::maxWorkers(Code &code, ArrayRef<Value> arguments) {
  auto trees = kernel->getAttrOfType<DenseI64ArrayAttr>(mark::activates);
  Value least;
  for (int64_t number : trees ? trees.asArrayRef() : ArrayRef<int64_t>()) {
    Value block = toLLVM(code, arguments[number]);
    Value bound = code.load(code.builder.getI32Type(), block, layout::header::workers());
    if (!least) {
      least = bound;
      continue;
    }
    Value less =
        LLVM::ICmpOp::create(code.builder, code.loc, LLVM::ICmpPredicate::ult, bound, least);
    least = LLVM::SelectOp::create(code.builder, code.loc, less, bound, least);
  }
  return least ? least : code.constant(0, 32);
}

/// Rows of a leaf go to the vectoriser as loops: unrolled early, their stores would be hard to find
/// together.
static void annotateRows(ModuleOp module) {
  module.walk([&](scf::ForOp loop) {
    if (!loop->removeAttr(mark::row))
      return;
    LoopAnnotation row{.unroll = false};
    // The cost model compares with unrolled scalar code and is wary of loops this short; straight
    // rows gain.
    if (loop->removeAttr(mark::straight))
      row.vectorize = true;
    loop->setAttr("loop_annotation", row.in(module.getContext()));
  });
}

/// What carries rows from turn to turn carries vectors of the machine, not of the language.
static void keepCarriedRows(ModuleOp module) {
  module.walk([](scf::ForOp loop) {
    if (loop->removeAttr(mark::carriesRows))
      cpu::markLanes(loop->getParentOfType<LLVM::LLVMFuncOp>());
  });
}

/// Loops of turns whose number is not known, but small: LLVM would make vectors of them that there are hardly ever enough turns for.
static void annotateShortLoops(ModuleOp module) {
  constexpr int64_t mostTurns = 8;
  module.walk([&](scf::ForOp loop) {
    if (loop->hasAttr("loop_annotation") ||
        (getConstantIntValue(loop.getLowerBound()) && getConstantIntValue(loop.getUpperBound())))
      return;
    auto lower = IntegerRange::of(loop.getLowerBound()),
         upper = IntegerRange::of(loop.getUpperBound());
    if (lower && upper && upper->greatest - lower->least <= mostTurns)
      loop->setAttr("loop_annotation", LoopAnnotation{.vectorize = false}.in(module.getContext()));
  });
}

using TreeSlots = SmallVector<std::pair<unsigned, TreeType>>;

/// The trees that the kernel calls `callee` on, with the first of the entry's slots of each.
static TreeSlots treesOf(KernelOp kernel, StringRef callee, ArrayRef<unsigned> slots) {
  llvm::SetVector<std::pair<unsigned, TreeType>> trees;
  kernel.walk([&](TreeCallOp call) {
    if (call.getCallee() == callee)
      trees.insert({slots[cast<BlockArgument>(call.getBlock()).getArgNumber()],
                    cast<TreeType>(call.getTree())});
  });
  return trees.takeVector();
}

void KernelMapping::callOnTrees(Code &code, StringRef callee, uint64_t number,
                                ArrayRef<std::pair<unsigned, TreeType>> trees) {
  for (auto [first, tree] : trees) {
    unsigned slot = first;
    Value block = loadArgument(code, BlockType::get(code.builder.getContext()), slot);
    TreeCallOp::create(code.builder, code.loc, Type(), callee, block, number, ValueRange(),
                       ValueRange(), IntegerAttr(), tree);
  }
}

/// Wherever the entry ends, it settles the trees that it may have changed.
void KernelMapping::settleWhereItEnds(ArrayRef<std::pair<unsigned, TreeType>> trees) {
  SmallVector<LLVM::ReturnOp> ends;
  entry.walk([&](LLVM::ReturnOp end) { ends.push_back(end); });
  for (LLVM::ReturnOp end : ends) {
    OpBuilder builder(end);
    Code code(builder, end.getLoc());
    callOnTrees(code, "settle", 0, trees);
  }
}

/// However a task ends, what it gave up is freed: later launches see whole trees. A function around the
/// entry collects where it fails, wherever that is; a tree that was collected already is left as it is.
void KernelMapping::collectWhereItFails(Code &code, ArrayRef<std::pair<unsigned, TreeType>> trees) {
  OpBuilder &builder = code.builder;
  std::string name = entry.getSymName().str();
  LLVM::LLVMFuncOp inner = entry;
  inner.setSymName(name + "_run");
  inner.setLinkage(LLVM::Linkage::Internal);
  builder.setInsertionPointAfter(inner);
  entry = LLVM::LLVMFuncOp::create(builder, code.loc, name, entryType(builder.getContext()));
  current = entry.addEntryBlock(builder);
  builder.setInsertionPointToStart(current);
  Value status = LLVM::CallOp::create(builder, code.loc, inner, entry.getArguments()).getResult();
  Value failed = LLVM::ICmpOp::create(builder, code.loc, LLVM::ICmpPredicate::ne, status,
                                      code.constant(METATE_OK, 32));
  auto branch = scf::IfOp::create(builder, code.loc, failed);
  builder.setInsertionPointToStart(branch.thenBlock());
  callOnTrees(code, "collect", /*sweep=*/1, trees);
  builder.setInsertionPointAfter(branch);
  LLVM::ReturnOp::create(builder, code.loc, status);
}

void KernelMapping::run() {
  MLIRContext *context = kernel.getContext();
  OpBuilder builder(kernel);
  entry =
      LLVM::LLVMFuncOp::create(builder, kernel.getLoc(), kernel.getSymName(), entryType(context));
  current = entry.addEntryBlock(builder);
  builder.setInsertionPointToStart(current);
  unsigned slot = 0;
  Code code(builder, kernel.getLoc());
  SmallVector<Value> values;
  SmallVector<unsigned> slots;
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    slots.push_back(slot);
    values.push_back(loadArgument(code, argument.getType(), slot));
  }
  TreeSlots collected = treesOf(kernel, "collect", slots);
  TreeSlots changed = treesOf(kernel, "settle", slots);
  requirePools(code);
  bool hasWorkersPools = mapPools(code, slots);
  workers = maxWorkers(code, values);
  if (hasWorkersPools)
    workers = workersOfPools(code, workers);
  for (auto [argument, value] : llvm::zip(kernel.getBody().getArguments(), values))
    argument.replaceAllUsesWith(value);
  mapRuns();
  for (Operation &op : llvm::make_early_inc_range(kernel.getBody().front()))
    mapOperation(op);
  lowerPrints(entry, entry.getArgument(2));
  hoistAllocas(entry);
  if (!collected.empty())
    collectWhereItFails(code, collected);
  settleWhereItEnds(changed);
  kernel.erase();
}

void KernelMapping::returnIfNonzero(Value status, Location loc) {
  OpBuilder builder = OpBuilder::atBlockEnd(current);
  Code code(builder, loc);
  Block *leave = builder.createBlock(&entry.getBody(), entry.getBody().end());
  Block *go = builder.createBlock(&entry.getBody(), entry.getBody().end());
  builder.setInsertionPointToEnd(current);
  Value failed = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, status,
                                      code.constant(METATE_OK, 32));
  LLVM::CondBrOp::create(builder, loc, failed, leave, go);
  builder.setInsertionPointToEnd(leave);
  LLVM::ReturnOp::create(builder, loc, status);
  current = go;
}

void KernelMapping::tellBegin(Location loc, Value iterations) {
  if (!profile)
    return;
  OpBuilder builder = OpBuilder::atBlockEnd(current);
  Code code(builder, loc);
  FileLineColLoc place = placeOf(loc);
  LLVM::CallOp::create(builder, loc, beginTask(kernel->getParentOfType<ModuleOp>()),
                       ValueRange{entry.getArgument(2), code.constant(tasks, 32),
                                  code.constant(place ? place.getLine() : 0, 32), iterations});
}

void KernelMapping::tellEnd(Location loc) {
  if (!profile)
    return;
  OpBuilder builder = OpBuilder::atBlockEnd(current);
  Code code(builder, loc);
  LLVM::CallOp::create(builder, loc, endTask(kernel->getParentOfType<ModuleOp>()),
                       ValueRange{entry.getArgument(2), code.constant(tasks++, 32)});
}

void KernelMapping::mapSerial(SerialOp serial) {
  Block &body = serial.getBody().front();
  Location loc = body.front().getLoc();
  OpBuilder builder = OpBuilder::atBlockEnd(current);
  tellBegin(loc, Code(builder, loc).constant(1, 64));
  serial.replaceAllUsesWith(body.getTerminator()->getOperands());
  body.getTerminator()->erase();
  current->getOperations().splice(current->end(), body.getOperations());
  tellEnd(loc);
}

void KernelMapping::mapOperation(Operation &op) {
  OpBuilder builder = OpBuilder::atBlockEnd(current);
  Code code(builder, op.getLoc());
  if (auto launch = dyn_cast<LaunchOp>(op)) {
    mapLaunch(launch);
  } else if (auto serial = dyn_cast<SerialOp>(op)) {
    mapSerial(serial);
  } else if (auto status = dyn_cast<ReturnStatusOp>(op)) {
    returnIfNonzero(status.getStatus(), op.getLoc());
  } else if (auto call = dyn_cast<TreeCallOp>(op); call && call.getCallee() == "settle") {
    return; // at every end: settleWhereItEnds
  } else if (isa<ReturnOp>(op)) {
    LLVM::ReturnOp::create(builder, op.getLoc(), code.constant(METATE_OK, 32));
  } else {
    op.moveBefore(current, current->end());
  }
}

namespace {
struct MapTasksCpu : metate::impl::MapTasksCpuBase<MapTasksCpu> {
  using MapTasksCpuBase::MapTasksCpuBase;

  void runOnOperation() override {
    KernelTypeConverter converter(&getContext());
    annotateRows(getOperation());
    annotateShortLoops(getOperation());
    unsigned ofGraph = 0;
    for (KernelOp kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>())) {
      bool belongsToGraph = isNode(kernel);
      KernelMapping mapping(kernel, converter, chunkNs, acrossIterations, splitBorders,
                            nontemporalBytes, profile, sharesChunks);
      mapping.numberTasksFrom(belongsToGraph ? ofGraph : 0);
      mapping.run();
      ofGraph = belongsToGraph ? mapping.nextTask() : 0;
    }
    keepCarriedRows(getOperation());
    mapFunctions(getOperation(), cpu::lowerPrints);
  }
};
} // namespace
