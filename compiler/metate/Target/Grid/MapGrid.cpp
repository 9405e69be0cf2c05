//===- MapGrid.cpp - kernels become functions of grids ----------*- C++ -*-===//
//
// The half of stage map of targets that run grids of invocations. A kernel's tasks stand in a straight list: what lies between two
// launches is a segment, a function of one invocation; a launch is a function whose invocations share out the iterations. All take the
// kernel's slots and the launch's frame.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Grid/MapGrid.h"

#include "metate/Dialect/Call.h"
#include "metate/Dialect/Graph.h"
#include "metate/Dialect/Place.h"
#include "metate/Layout/TreeLayout.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Common/Functions.h"
#include "metate/Target/Grid/Graphs.h"
#include "metate/Target/Grid/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringSet.h"

#include <functional>

namespace metate {
#define GEN_PASS_DEF_MAPGRID
#include "metate/Target/Grid/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;
using namespace metate::grid;

static LLVM::LLVMFunctionType functionType(MLIRContext *context) {
  Type pointer = LLVM::LLVMPointerType::get(context);
  return LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer, pointer});
}

/// A function that Support/Grid.c or the family brings.
static LLVM::LLVMFuncOp declare(ModuleOp module, StringRef name, LLVM::LLVMFunctionType type) {
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return known;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  return LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, type);
}

Value grid::call(Code &code, ModuleOp module, StringRef name, Type result, ValueRange operands) {
  auto type = LLVM::LLVMFunctionType::get(result, llvm::to_vector(operands.getTypes()));
  auto made = LLVM::CallOp::create(code.builder, code.loc, declare(module, name, type), operands);
  return made.getNumResults() ? made.getResult() : Value();
}

/// What a function is called in PTX and SPIR-V: letters, digits and underscores.
static std::string plainName(StringRef name, unsigned number) {
  std::string plain = name.str();
  for (char &c : plain)
    if (!llvm::isAlnum(c))
      c = '_';
  return plain + "_" + std::to_string(number);
}

static bool mayStop(Operation *scope) {
  return scope
      ->walk([](Operation *op) {
        bool stops = (op->hasTrait<MayStop>() && !isa<LaunchOp>(op)) || isa<ReturnStatusOp>(op);
        return stops ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

//===-- what a kernel is ------------------------------------------------------===//

LogicalResult KernelMapping::refuseWhatHasNoMeaning() {
  auto result = kernel.walk([&](Operation *op) {
    auto pool = dyn_cast<PoolOp>(op);
    if (pool && pool.getKind() == PoolKind::Worker)
      return op->emitError(
                 "a kernel that plans memory for each worker does not run on this target"),
             WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// They are code of the segment that they stand in.
void KernelMapping::dissolveSerialTasks() {
  for (SerialOp serial : llvm::make_early_inc_range(kernel.getBody().getOps<SerialOp>())) {
    Block &inner = serial.getBody().front();
    serial.replaceAllUsesWith(inner.getTerminator()->getOperands());
    inner.getTerminator()->erase();
    serial->getBlock()->getOperations().splice(serial->getIterator(), inner.getOperations());
    serial.erase();
  }
}

void KernelMapping::findSlots() {
  unsigned slot = 0;
  for (Type type : kernel.getBody().getArgumentTypes()) {
    slots.push_back(slot);
    auto vector = dyn_cast<VectorType>(type);
    slot += vector ? unsigned(vector.getNumElements()) : 1;
  }
  made.slots = slot;
}

bool KernelMapping::mayFailIn(KernelOp kernel) {
  auto mayStopIn = [](Operation *scope) {
    return mayStop(scope) ||
           scope
               ->walk([](func::CallOp call) {
                 bool givesStatus =
                     call.getNumResults() && call.getResult(0).getType().isInteger(32);
                 return givesStatus ? WalkResult::interrupt() : WalkResult::advance();
               })
               .wasInterrupted();
  };
  return mayStopIn(kernel) ||
         llvm::any_of(kernel.getBody().getOps<LaunchOp>(),
                      [&](LaunchOp launch) { return mayStopIn(LaunchedTask(launch).function); });
}

static bool prints(Operation *scope) {
  return scope->walk([](PrintOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

void KernelMapping::findFlags() {
  bool hasPrints = prints(kernel);
  for (auto function : kernel->getParentOfType<ModuleOp>().getOps<func::FuncOp>())
    if (!function->hasAttr(mark::task))
      hasPrints |= prints(function);
  for (LaunchOp launch : kernel.getBody().getOps<LaunchOp>())
    hasPrints |= prints(LaunchedTask(launch).function);
  made.flags = (mayFail ? uint32_t(METATE_GRID_MAY_FAIL) : 0) |
               (hasPrints ? uint32_t(METATE_GRID_PRINTS) : 0);
}

bool KernelMapping::isAnywhere(Value value) {
  Operation *op = value.getDefiningOp();
  return !op || isAnywhere(op);
}

bool KernelMapping::isAnywhere(Operation *op) {
  auto [known, isNew] = anywhere.try_emplace(op, false);
  if (!isNew)
    return known->second;
  auto read = dyn_cast<ReadOp>(op);
  bool isOne = isa<PoolOp, PoolBytesOp>(op) || (read && read.getInvariant()) ||
               (op->getNumRegions() == 0 && isMemoryEffectFree(op) && op->getNumResults());
  isOne = isOne && llvm::all_of(op->getOperands(), [&](Value value) { return isAnywhere(value); });
  return anywhere[op] = isOne;
}

/// Does the segment only read how many slots of a pool were handed out, as the bound of a task over them that takes none? Then each
/// invocation reads it. Whatever else is read may be written meanwhile.
static bool canBeReadIn(LaunchOp launch, ArrayRef<Operation *> ops) {
  LaunchedTask task(launch);
  if (!task.range->hasAttr(mark::cells))
    return false;
  bool takesSlots = task.function
                        .walk([](Operation *op) {
                          return isa<TreeCallOp, func::CallOp>(op) ? WalkResult::interrupt()
                                                                   : WalkResult::advance();
                        })
                        .wasInterrupted();
  auto isBound = [&](OpOperand &use) {
    BlockArgument argument = task.function.getArgument(use.getOperandNumber());
    return argument.hasOneUse() && argument == task.range.getUpper()[0];
  };
  llvm::SmallPtrSet<Operation *, 8> those(ops.begin(), ops.end());
  takesSlots &= !isMutant(Mutant::GridReadInTask);
  return !takesSlots && llvm::all_of(ops, [&](Operation *op) {
    auto read = dyn_cast<ReadOp>(op);
    bool isRead = (read && read.getAcquire()) ||
                  (op->getNumRegions() == 0 && isMemoryEffectFree(op) && op->getNumResults());
    return isRead && llvm::all_of(op->getUses(), [&](OpOperand &use) {
             return use.getOwner() == launch ? isBound(use) : those.contains(use.getOwner());
           });
  });
}

LogicalResult KernelMapping::run(bool failsSomewhere, Table &table) {
  if (failed(refuseWhatHasNoMeaning()))
    return failure();
  made.entry = kernel.getSymName().str();
  mayFail = failsSomewhere;
  findSlots();
  if (failed(isGraph(kernel) ? makeNodes(table) : makeTasks()))
    return failure();
  kernel.erase();
  table.kernels.push_back(std::move(made));
  return success();
}

LogicalResult KernelMapping::makeNodes(Table &table) {
  std::vector<Kernel> segments;
  auto makeSegmentOf = [&](ArrayRef<Operation *> ops) {
    Kernel graph = std::exchange(made, Kernel());
    made.entry = graph.entry + "." + std::to_string(segments.size());
    made.slots = graph.slots;
    made.flags = mayFail ? uint32_t(METATE_GRID_MAY_FAIL) : 0;
    makeSegment(ops);
    return std::exchange(made, std::move(graph));
  };
  if (failed(mapGraph(kernel, {slots, table, makeSegmentOf}, made, segments)))
    return failure();
  if (!places.empty())
    return kernel.emitError(
        "a graph on this target leaves no values to what stands behind its kernels");
  llvm::move(segments, std::back_inserter(table.kernels));
  return success();
}

LogicalResult KernelMapping::makeTasks() {
  dissolveSerialTasks();
  findFlags();
  SmallVector<SmallVector<Operation *>> segments(1);
  SmallVector<LaunchOp> launches;
  SmallVector<std::function<void()>> between; // what follows each segment but the last
  auto launchBehind = [&](std::function<void()> make) {
    between.push_back(std::move(make));
    segments.emplace_back();
  };
  for (Operation &op : llvm::make_early_inc_range(kernel.getBody().front())) {
    auto call = dyn_cast<TreeCallOp>(op);
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      if (canBeReadIn(launch, segments.back())) {
        for (Operation *one : segments.back())
          anywhere[one] = true;
        segments.back().clear();
      }
      launches.push_back(launch);
      launchBehind([this, launch] { makeTask(launch); });
      continue;
    }
    if (call && call.getCallee() == "settle") {
      settled.push_back(call);
      continue;
    }
    if (call && call.getCallee() == "collect")
      collected.push_back(call);
    if (std::vector<SlotStep> steps = call ? slotSteps(call) : std::vector<SlotStep>();
        !steps.empty()) {
      for (const SlotStep &step : steps) {
        if (step.isShared)
          launchBehind([this, call, step] { makeSlotTask(call, step); });
        else
          segments.back().push_back(makeSerialStep(call, step));
      }
      continue;
    }
    if (!isa<ReturnOp>(op) && !isAnywhere(&op))
      segments.back().push_back(&op);
  }
  for (auto [ops, make] : llvm::zip(segments, between)) {
    if (!ops.empty())
      makeSegment(ops);
    make();
  }
  // What is behind the last launch stands in the function that cleans up, if there is one: a launch takes longer than either.
  ArrayRef<Operation *> last = segments.back();
  if (!settled.empty() || (mayFail && !collected.empty()))
    makeCleanUp(last);
  else if (!last.empty())
    makeSegment(last);
  storeFrameValues();
  if (!places.empty())
    made.flags |= METATE_GRID_FRAME;
  made.frameBytes = uint32_t(llvm::alignTo(made.frameBytes, 64));
  for (LaunchOp launch : launches) {
    func::FuncOp function = LaunchedTask(launch).function;
    launch.erase();
    function.erase();
  }
  return success();
}

//===-- functions and parts ---------------------------------------------------===//

LLVM::LLVMFuncOp KernelMapping::createPart(Location loc, LLVM::LLVMFunctionType type) {
  OpBuilder builder(kernel);
  auto part =
      LLVM::LLVMFuncOp::create(builder, loc, plainName(kernel.getSymName(), number++) + "_part",
                               type, LLVM::Linkage::Internal);
  part.addEntryBlock(builder);
  return part;
}

LLVM::LLVMFuncOp KernelMapping::makeFunction(Location loc, Task task, bool always,
                                             llvm::function_ref<void(Code &, Part)> fill) {
  OpBuilder builder(kernel);
  task.name = plainName(kernel.getSymName(), number++);
  if (FileLineColLoc place = metate::placeOf(loc))
    task.line = place.getLine();
  auto function =
      LLVM::LLVMFuncOp::create(builder, loc, task.name, functionType(builder.getContext()));
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  Code code(builder, loc);
  {
    OpBuilder::InsertionGuard guard(builder);
    if (!always)
      enterIfGood(code, function.getArgument(1));
    fill(code, function);
  }
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  localise(function, function.getArgument(0), function.getArgument(1));
  made.tasks.push_back(std::move(task));
  return function;
}

void KernelMapping::enterIfGood(Code &code, Value frame) {
  if (!mayFail || isMutant(Mutant::GridStatusIgnored))
    return;
  OpBuilder &builder = code.builder;
  Value status = code.load(builder.getI32Type(), frame, offsetof(metate_grid_frame, status));
  Value isGood = LLVM::ICmpOp::create(builder, code.loc, LLVM::ICmpPredicate::eq, status,
                                      code.constant(METATE_OK, 32));
  auto branch = scf::IfOp::create(builder, code.loc, isGood);
  builder.setInsertionPointToStart(branch.thenBlock());
}

void KernelMapping::callPart(Code &code, Part part, ValueRange operands, Value frame) {
  auto module = kernel->getParentOfType<ModuleOp>();
  Value status = LLVM::CallOp::create(code.builder, code.loc, part, operands).getResult();
  if (mayFail)
    call(code, module, "metate_grid_status", LLVM::LLVMVoidType::get(code.builder.getContext()),
         {frame, status});
}

Value grid::hostOf(Code &code, Value frame) {
  return code.at(frame, offsetof(metate_grid_frame, own));
}

void grid::byOne(Code &code, ModuleOp module, llvm::function_ref<void()> fill) {
  OpBuilder &builder = code.builder;
  Value own = call(code, module, "metate_grid_invocation", builder.getI64Type(), {});
  Value isFirst =
      LLVM::ICmpOp::create(builder, code.loc, LLVM::ICmpPredicate::eq, own, code.constant(0, 64));
  auto branch = scf::IfOp::create(builder, code.loc, isFirst);
  builder.setInsertionPointToStart(branch.thenBlock());
  fill();
}

LLVM::LLVMFuncOp KernelMapping::makeSegmentPart(ArrayRef<Operation *> ops) {
  Location loc = ops.front()->getLoc();
  Part part = createPart(loc, target::entryType(kernel.getContext()));
  Block *block = &part.getBody().front();
  for (Operation *op : ops)
    op->moveBefore(block, block->end());
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  LLVM::ReturnOp::create(builder, loc, Code(builder, loc).constant(METATE_OK, 32));
  localise(part, part.getArgument(0), part.getArgument(1));
  target::hoistAllocas(part);
  return part;
}

void KernelMapping::makeSegment(ArrayRef<Operation *> ops) {
  Location loc = ops.front()->getLoc();
  Part part = makeSegmentPart(ops);
  makeFunction(loc, {}, /*always=*/false, [&](Code &code, Part function) {
    Value frame = function.getArgument(1);
    byOne(code, kernel->getParentOfType<ModuleOp>(), [&] {
      callPart(code, part, {function.getArgument(0), frame, hostOf(code, frame)}, frame);
    });
  });
}

void KernelMapping::makeCleanUp(ArrayRef<Operation *> last) {
  Location loc = kernel.getLoc();
  bool needsStatus = mayFail && !collected.empty();
  Part before = last.empty() ? Part() : makeSegmentPart(last);
  Part part = createPart(loc, target::entryType(kernel.getContext()));
  OpBuilder builder = OpBuilder::atBlockBegin(&part.getBody().front());
  Code code(builder, loc);
  auto repeat = [&](ArrayRef<TreeCallOp> calls, StringRef callee, int64_t level) {
    llvm::DenseSet<Value> done;
    for (TreeCallOp call : calls)
      if (done.insert(call.getBlock()).second)
        TreeCallOp::create(builder, loc, Type(), callee, call.getBlock(), level, ValueRange(),
                           ValueRange(), IntegerAttr(), call.getTree());
  };
  if (needsStatus) {
    Value status =
        code.load(builder.getI32Type(), part.getArgument(1), offsetof(metate_grid_frame, status));
    // A loop that was ended (METATE_GRID_LOOP_ENDED, negative) may have left half of a list.
    Value isFailed = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::sgt, status,
                                          code.constant(METATE_OK, 32));
    auto branch = scf::IfOp::create(builder, loc, isFailed);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    repeat(collected, "collect", /*sweep=*/1);
  }
  repeat(settled, "settle", 0);
  LLVM::ReturnOp::create(builder, loc, code.constant(METATE_OK, 32));
  localise(part, part.getArgument(0), part.getArgument(1));
  makeFunction(
      loc, {}, /*always=*/!isMutant(Mutant::GridCleanUpStops), [&](Code &inner, Part function) {
        Value frame = function.getArgument(1);
        auto run = [&](Part one) {
          callPart(inner, one, {function.getArgument(0), frame, hostOf(inner, frame)}, frame);
        };
        byOne(inner, kernel->getParentOfType<ModuleOp>(), [&] {
          if (before) {
            OpBuilder::InsertionGuard guard(inner.builder);
            enterIfGood(inner, frame);
            run(before);
          }
          run(part);
        });
      });
}

//===-- values of other parts -------------------------------------------------===//

int64_t KernelMapping::placeOf(Value value) {
  auto [known, isNew] = places.try_emplace(value, 0);
  if (isNew) {
    int64_t bytes = 8, align = 8;
    if (auto vector = dyn_cast<VectorType>(value.getType())) {
      bytes = 8 * vector.getNumElements();
      align = std::min<int64_t>(64, llvm::PowerOf2Ceil(uint64_t(bytes)));
    }
    known->second = int64_t(llvm::alignTo(made.frameBytes, align));
    made.frameBytes = uint32_t(known->second + bytes);
  }
  return known->second;
}

Value KernelMapping::inPart(Value value, Code &code, Value slotsAt, Value frame,
                            llvm::DenseMap<Value, Value> &known) {
  if (Value found = known.lookup(value))
    return found;
  OpBuilder &builder = code.builder;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned slot = slots[argument.getArgNumber()];
    return known[value] = target::loadArgument(code, converter, slotsAt, value.getType(), slot);
  }
  Operation *op = value.getDefiningOp();
  if (auto pool = dyn_cast<PoolOp>(op)) {
    Value all = code.load(code.pointer(), frame, offsetof(metate_grid_frame, pools));
    Value address = code.load(code.pointer(), all, int64_t(sizeof(void *)) * *pool.getIndex());
    return known[value] = target::fromLLVM(code, address, value.getType());
  }
  if (!isAnywhere(op)) {
    Type type = converter.convertType(value.getType());
    Value loaded = code.load(type, frame, placeOf(value));
    return known[value] = target::fromLLVM(code, loaded, value.getType());
  }
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, inPart(operand, code, slotsAt, frame, known));
  Operation *copy = builder.clone(*op, mapping);
  for (auto [old, own] : llvm::zip(op->getResults(), copy->getResults()))
    known[old] = own;
  return known[value];
}

void KernelMapping::localise(Part function, Value slotsAt, Value frame) {
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
  Code code(builder, function.getLoc());
  SmallVector<OpOperand *> uses;
  function.walk([&](Operation *op) {
    for (OpOperand &use : op->getOpOperands())
      if (!function.getBody().isAncestor(use.get().getParentRegion()))
        uses.push_back(&use);
  });
  llvm::DenseMap<Value, Value> known;
  for (OpOperand *use : uses)
    use->set(inPart(use->get(), code, slotsAt, frame, known));
}

/// Where a value is made, which is a segment, it is left for the others.
void KernelMapping::storeFrameValues() {
  for (auto [value, place] : places) {
    if (isMutant(Mutant::GridFrameLost))
      return;
    Operation *op = value.getDefiningOp();
    auto part = op->getParentOfType<LLVM::LLVMFuncOp>();
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Code code(builder, op->getLoc());
    code.store(target::toLLVM(code, converter, value), part.getArgument(1), place);
  }
}

//===-- the pass --------------------------------------------------------------===//

/// Marks of loops are for CPUs.
static void removeMarks(ModuleOp module) {
  module.walk([](scf::ForOp loop) {
    loop->removeAttr(mark::row);
    loop->removeAttr(mark::straight);
  });
}

/// A device has no stack that says how much of it is left.
static LogicalResult refuseRecursion(ModuleOp module) {
  llvm::DenseMap<func::FuncOp, bool> open; // false: looked at
  std::function<LogicalResult(func::FuncOp)> visit = [&](func::FuncOp function) -> LogicalResult {
    auto [known, isNew] = open.try_emplace(function, true);
    if (!isNew) {
      if (!known->second)
        return success();
      return function.emitError("a function that calls itself does not run on this target");
    }
    auto result = function.walk([&](func::CallOp call) {
      auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
      return callee && failed(visit(callee)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    open[function] = false;
    return failure(result.wasInterrupted());
  };
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(visit(function)))
      return failure();
  return success();
}

/// Names of kernels whose tasks ask the launch's status: they may fail, or another kernel of their graph may.
static llvm::StringSet<> kernelsThatFail(ModuleOp module, bool always) {
  llvm::StringSet<> failing;
  for (auto kernel : module.getOps<KernelOp>())
    if (always || grid::KernelMapping::mayFailIn(kernel))
      failing.insert(kernel.getSymName());
  for (auto graph : module.getOps<KernelOp>()) {
    SmallVector<StringRef> all = {graph.getSymName()};
    graph.walk([&](RunOp run) { all.push_back(run.getKernel()); });
    bool fails = llvm::any_of(all, [&](StringRef one) { return failing.contains(one); });
    if (fails && !isMutant(Mutant::GridRunsOnInGraph))
      failing.insert_range(all);
  }
  return failing;
}

namespace {
struct MapGrid : metate::impl::MapGridBase<MapGrid> {
  using MapGridBase::MapGridBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    KernelTypeConverter converter(&getContext());
    removeMarks(module);
    if (failed(refuseRecursion(module)))
      return signalPassFailure();
    Table table;
    unsigned number = 0;
    llvm::StringSet<> failing = kernelsThatFail(module, endsLoops);
    for (KernelOp kernel : llvm::make_early_inc_range(module.getOps<KernelOp>())) {
      grid::KernelMapping mapping(kernel, converter, group, number);
      if (failed(mapping.run(failing.contains(kernel.getSymName()), table)))
        return signalPassFailure();
      number = mapping.nextNumber();
    }
    auto print = [&](Operation *function, Value host) {
      grid::lowerPrints(function, host, table.prints);
    };
    for (auto function : llvm::to_vector(module.getOps<LLVM::LLVMFuncOp>()))
      if (!function.isExternal() && function.getNumArguments() >= 3) // parts
        lowerPrintsOfPart(function, table.prints);
    target::mapFunctions(module, print);
    table.setOn(module);
  }

private:
  static void lowerPrintsOfPart(LLVM::LLVMFuncOp part, std::vector<Print> &prints) {
    bool hasPrints = part.walk([](PrintOp) { return WalkResult::interrupt(); }).wasInterrupted();
    if (!hasPrints)
      return;
    OpBuilder builder = OpBuilder::atBlockBegin(&part.getBody().front());
    Code code(builder, part.getLoc());
    grid::lowerPrints(part, target::hostOf(part, code), prints);
  }
};
} // namespace
