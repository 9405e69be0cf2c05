//===- OutlineTasks.cpp - tasks become functions ----------------*- C++ -*-===//
//
// The half of stage map that targets share: from a kernel with its tasks inside to functions of upstream's dialects and
// ours, and a host's part that launches them. What a function uses of its kernel are its arguments, so that a target can
// put the two on different machines. Must not know how iterations are run.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Target/Common/Passes.h"
#include "metate/abi/base.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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
  // What is the same from the same byte on is found once; with the bytes of a worker's part.
  SmallVector<std::pair<PoolOp, Value>> known;
  for (PoolOp pool : llvm::reverse(pools)) { // each goes before those that are there
    OpBuilder there(pool);
    auto *same = llvm::find_if(known, [&](const std::pair<PoolOp, Value> &one) {
      return OperationEquivalence::isEquivalentTo(one.first, pool,
                                                  OperationEquivalence::IgnoreLocations);
    });
    if (same == known.end()) {
      builder.setInsertionPointToStart(&kernel.getBody().front());
      auto made = cast<PoolOp>(builder.clone(*pool));
      Value bytes;
      if (pool.getKind() == PoolKind::Worker)
        bytes = PoolBytesOp::create(builder, pool.getLoc(), builder.getIndexType(), made);
      same = &known.emplace_back(made, bytes);
    }
    auto [address, bytes] = *same;
    Value own = address;
    if (pool.getKind() == PoolKind::Worker)
      own = WorkerPartOp::create(there, pool.getLoc(), pool.getType(), address, bytes);
    pool.replaceAllUsesWith(own);
    pool.erase();
  }
}

namespace {
/// Makes functions of one kernel's tasks, before the kernel.
class Outlining {
public:
  Outlining(KernelOp kernel, bool withSerial) : kernel(kernel), withSerial(withSerial) {}

  /// Ranges that another one's function runs.
  unsigned run() {
    hoistPools(kernel);
    joinRanges();
    for (Operation &op : llvm::make_early_inc_range(kernel.getBody().front())) {
      if (auto range = dyn_cast<RangeOp>(op))
        outline(range);
      else if (auto serial = dyn_cast<SerialOp>(op); serial && withSerial)
        outline(serial);
    }
    return joined;
  }

private:
  /// Finds those with the body of one before them, which differ from it in constant bounds.
  void joinRanges() {
    SmallVector<RangeOp> ranges(kernel.getBody().front().getOps<RangeOp>());
    llvm::erase_if(ranges, [](RangeOp range) {
      return !range->hasAttr(mark::oneBody) || !llvm::all_of(range->getOperands(), isConstant);
    });
    for (RangeOp range : ranges)
      sinkConstants(range.getBody());
    for (auto [k, range] : llvm::enumerate(ranges)) {
      auto *same = llvm::find_if(llvm::MutableArrayRef(ranges).take_front(k), [&](RangeOp other) {
        return other->getNumOperands() == range->getNumOperands() &&
               other->getDiscardableAttrDictionary() == range->getDiscardableAttrDictionary() &&
               OperationEquivalence::isRegionEquivalentTo(&other.getBody(), &range.getBody(),
                                                          OperationEquivalence::IgnoreLocations);
      });
      if (same != ranges.begin() + k)
        leaders[range] = *same;
    }
    for (auto [range, leader] : leaders)
      leads.insert(leader);
  }

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

  /// An extent that is a multiple of 8, say, is 8 * (%n / 8) in the task: whoever compiles it sees that no turns of a loop are left over.
  Value asMultiple(OpBuilder &builder, Value value, Value argument) {
    auto own = dyn_cast<BlockArgument>(value);
    auto multiple = own ? kernel.getArgAttrOfType<IntegerAttr>(own.getArgNumber(), mark::multiple)
                        : IntegerAttr();
    if (!multiple)
      return argument;
    Location loc = argument.getLoc();
    Value factor = arith::ConstantIndexOp::create(builder, loc, multiple.getInt());
    Value quotient = arith::DivUIOp::create(builder, loc, argument, factor);
    return arith::MulIOp::create(builder, loc, quotient, factor,
                                 arith::IntegerOverflowFlags::nsw |
                                     arith::IntegerOverflowFlags::nuw);
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
    if (leads.contains(range))
      return outlineLeader(range, captured.getArrayRef());
    if (RangeOp leader = leaders.lookup(range)) {
      auto &[function, captured, bounds] = made[leader];
      SmallVector<Value> operands(captured);
      llvm::append_range(operands, isMutant(Mutant::FirstBoundsAgain) ? ValueRange(bounds)
                                                                      : range->getOperands());
      launch(range, function, operands);
      range.erase();
      ++joined;
      return;
    }
    for (Value bound : range->getOperands())
      if (!isConstant(bound))
        captured.insert(bound);
    func::FuncOp function = createFunction(range, captured.getArrayRef(), {});
    launch(range, function, captured.getArrayRef());
    OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
    for (auto [value, argument] : llvm::zip(captured, function.getArguments()))
      replaceAllUsesInRegionWith(value, asMultiple(builder, value, argument), range.getBody());
    for (OpOperand &bound : range->getOpOperands()) {
      auto known = llvm::find(captured, bound.get());
      bound.set(known == captured.end() ? builder.clone(*bound.get().getDefiningOp())->getResult(0)
                                        : Value(function.getArgument(known - captured.begin())));
    }
    auto end = func::ReturnOp::create(builder, range.getLoc());
    range->moveBefore(end);
  }

  /// Its bounds are operands of each launch, behind what the body uses.
  void outlineLeader(RangeOp range, ArrayRef<Value> captured) {
    SmallVector<Value> operands(captured), bounds(range->getOperands());
    llvm::append_range(operands, bounds);
    func::FuncOp function = createFunction(range, operands, {});
    launch(range, function, operands);
    OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
    for (auto [value, argument] : llvm::zip(captured, function.getArguments()))
      replaceAllUsesInRegionWith(value, asMultiple(builder, value, argument), range.getBody());
    range->setOperands(function.getArguments().drop_front(captured.size()));
    auto end = func::ReturnOp::create(builder, range.getLoc());
    range->moveBefore(end);
    made[range] = {function, SmallVector<Value>(captured), bounds};
  }

  void outline(SerialOp serial) {
    sinkConstants(serial.getBody());
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(serial.getBody(), captured);
    func::FuncOp function = createFunction(serial, captured.getArrayRef(), serial.getResultTypes());
    serial.replaceAllUsesWith(launch(serial, function, captured.getArrayRef()));
    OpBuilder atStart = OpBuilder::atBlockBegin(&function.getBody().front());
    for (auto [value, argument] : llvm::zip(captured, function.getArguments()))
      replaceAllUsesInRegionWith(value, asMultiple(atStart, value, argument), serial.getBody());
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
  unsigned number = 0, joined = 0;
  llvm::MapVector<RangeOp, RangeOp> leaders; ///< of ranges that another one's function runs
  llvm::SmallDenseSet<RangeOp> leads;
  struct Leader {
    func::FuncOp function;
    SmallVector<Value> captured, bounds; ///< what the body uses; its own
  };
  llvm::DenseMap<RangeOp, Leader> made;
};

/// The functions of a kernel. What they use of it become operands of their calls, which tasks then capture like anything else.
/// A function that may stop the kernel gives a status first, and who called it leaves with that.
class Functions {
public:
  explicit Functions(KernelOp kernel)
      : kernel(kernel), all(kernel.getBody().front().getOps<FunctionOp>()) {}

  void run() {
    llvm::DenseMap<FunctionOp, llvm::SetVector<Value>> own;
    for (FunctionOp function : all) {
      sinkConstants(function.getBody());
      getUsedValuesDefinedAbove(function.getBody(), own[function]);
    }
    for (FunctionOp function : all) {
      captured[function] = own[function];
      bool stops = mayStopItself(function);
      for (FunctionOp called : functionsCalledIn(function)) {
        captured[function].insert_range(own[called]);
        stops |= mayStopItself(called);
      }
      made[function] = create(function, stops);
    }
    SmallVector<CallOp> calls;
    kernel.walk([&](CallOp call) { calls.push_back(call); });
    for (CallOp call : calls)
      replace(call);
    for (FunctionOp function : all)
      move(function);
  }

private:
  static bool mayStopItself(FunctionOp function) {
    return function
        .walk([](Operation *op) {
          return op->hasTrait<MayStop>() ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  func::FuncOp create(FunctionOp function, bool stops) {
    OpBuilder builder(kernel);
    SmallVector<Type> arguments(function.getBody().getArgumentTypes()), results;
    llvm::append_range(arguments, ValueRange(captured[function].getArrayRef()).getTypes());
    if (stops)
      results.push_back(builder.getI32Type());
    llvm::append_range(results, function.getResultTypes());
    auto name = (kernel.getSymName() + "." + function.getName()).str();
    auto result = func::FuncOp::create(builder, function.getLoc(), name,
                                       builder.getFunctionType(arguments, results));
    result.setPrivate();
    result.addEntryBlock();
    return result;
  }

  void replace(CallOp call) {
    FunctionOp function = functionOf(call);
    OpBuilder builder(call);
    SmallVector<Value> operands(call.getOperands());
    if (isMutant(Mutant::RecursionRepeats) && call->getParentOfType<FunctionOp>() == function)
      for (unsigned k = 1; k < operands.size(); ++k)
        operands[k] = function.getBody().getArgument(k);
    llvm::append_range(operands, captured[function]);
    auto made = func::CallOp::create(builder, call.getLoc(), this->made[function], operands);
    ValueRange results = made.getResults();
    if (results.size() > call.getNumResults()) {
      ReturnStatusOp::create(builder, call.getLoc(), results.front());
      results = results.drop_front();
    }
    call.replaceAllUsesWith(results);
    call.erase();
  }

  void move(FunctionOp function) {
    func::FuncOp to = made[function];
    Block &from = function.getBody().front(), &body = to.getBody().front();
    auto arguments = to.getArguments();
    for (auto [old, argument] : llvm::zip(from.getArguments(), arguments))
      old.replaceAllUsesWith(argument);
    for (auto [value, argument] :
         llvm::zip(captured[function], arguments.drop_front(from.getNumArguments())))
      replaceAllUsesInRegionWith(value, argument, function.getBody());
    body.getOperations().splice(body.end(), from.getOperations());
    Operation *give = &body.back();
    OpBuilder builder(give);
    SmallVector<Value> values;
    if (to.getNumResults() > give->getNumOperands())
      values.push_back(arith::ConstantIntOp::create(builder, give->getLoc(), METATE_OK, 32));
    llvm::append_range(values, give->getOperands());
    func::ReturnOp::create(builder, give->getLoc(), values);
    give->erase();
    function.erase();
  }

  KernelOp kernel;
  SmallVector<FunctionOp> all;
  llvm::DenseMap<FunctionOp, llvm::SetVector<Value>> captured;
  llvm::DenseMap<FunctionOp, func::FuncOp> made;
};

struct OutlineTasks : metate::impl::OutlineTasksBase<OutlineTasks> {
  using OutlineTasksBase::OutlineTasksBase;

  void runOnOperation() override {
    for (KernelOp kernel : llvm::to_vector(getOperation().getOps<KernelOp>())) {
      Functions(kernel).run();
      joined += Outlining(kernel, serial).run();
    }
  }
};
} // namespace
