//===- Tasks.cpp - a launched task becomes functions ------------*- C++ -*-===//
#include "metate/Target/Grid/Bins.h"
#include "metate/Target/Grid/MapGrid.h"

#include "metate/Mutants/Mutants.h"
#include "metate/Target/Common/Functions.h"
#include "metate/Target/Common/Order.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace metate;
using namespace metate::grid;

/// The variables of an iteration, by its number.
static SmallVector<Value> variablesOf(RangeOp range, OpBuilder &builder, Value iteration) {
  Location loc = range.getLoc();
  SmallVector<Value> variables(range.getLower().size());
  Value rest = iteration;
  for (size_t k = variables.size(); k-- > 0;) {
    Value low = range.getLower()[k], at = rest;
    if (k > 0) {
      Value size = arith::SubIOp::create(builder, loc, range.getUpper()[k], low);
      at = arith::RemUIOp::create(builder, loc, rest, size);
      rest = arith::DivUIOp::create(builder, loc, rest, size);
    }
    variables[k] = builder.createOrFold<arith::AddIOp>(loc, low, at);
  }
  return variables;
}

/// Each warp's partial result is an atomic operation at one place: more invocations than a large GPU runs at once only add to these.
static constexpr uint32_t mostReducing = 1 << 18;

/// Of the task's context: what stands before what it captured.
enum : int32_t { hostField, strideField, firstCaptured };

static Value fieldAt(Code &code, LLVM::LLVMStructType context, Value at, size_t k) {
  return LLVM::GEPOp::create(code.builder, code.loc, code.pointer(), context, at,
                             ArrayRef<LLVM::GEPArg>{0, int32_t(k)});
}

static Value loadField(Code &code, LLVM::LLVMStructType context, Value at, size_t k) {
  return LLVM::LoadOp::create(code.builder, code.loc, context.getBody()[k],
                              fieldAt(code, context, at, k));
}

/// (context, begin, end, invocation): iterations from `begin` on, each `stride` behind the last one. The context is as on a CPU, the
/// host first, then what the task captured; between them the stride. Of a deterministic kernel the frame's address is behind them.
LLVM::LLVMFuncOp KernelMapping::makeBody(const LaunchedTask &task, LLVM::LLVMStructType context,
                                         Pieces *pieces, BodyForm &form, Bins &bins) {
  func::FuncOp function = task.function;
  RangeOp range = task.range;
  Location loc = range.getLoc();
  Part body = createPart(loc, target::bodyType(kernel.getContext()));
  OpBuilder builder = OpBuilder::atBlockBegin(&body.getBody().front());
  Code code(builder, loc);
  for (BlockArgument argument : function.getArguments()) {
    Value loaded =
        loadField(code, context, body.getArgument(0), argument.getArgNumber() + firstCaptured);
    argument.replaceAllUsesWith(target::fromLLVM(code, loaded, argument.getType()));
  }
  Block &outer = function.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(outer))
    if (&op != range && !op.hasTrait<OpTrait::IsTerminator>())
      op.moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
  Value stride = loadField(code, context, body.getArgument(0), strideField);
  auto index = [&](Value value) { return target::fromLLVM(code, value, builder.getIndexType()); };
  Value begin = index(body.getArgument(1)), end = index(body.getArgument(2));
  auto loop = scf::ForOp::create(builder, loc, begin, end, index(stride));
  LLVM::ReturnOp::create(builder, loc, code.constant(METATE_OK, 32));
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> variables = variablesOf(range, builder, loop.getInductionVar());
  Block &from = range.getBody().front();
  from.getTerminator()->erase();
  for (auto [argument, variable] : llvm::zip(from.getArguments(), variables))
    argument.replaceAllUsesWith(variable);
  Block *to = loop.getBody();
  to->getOperations().splice(to->getTerminator()->getIterator(), from.getOperations());
  OpBuilder restore(range.getContext());
  from.push_back(YieldOp::create(restore, loc));
  if (!bins.empty()) {
    OpBuilder before(loop);
    Code at(before, loc);
    bins.takeAtomics(loadField(at, context, body.getArgument(0), context.getBody().size() - 1));
  }
  SmallVector<RmwOp> partials =
      gatherReductions(loop, /*keepsRounded=*/pieces != nullptr, form.reduces);
  if (pieces) {
    form.showsOrder = target::showsOrder(loop);
    if (!form.showsOrder && !partials.empty()) {
      pieces->partials = unsigned(partials.size());
      pieces->place = int64_t(llvm::alignTo(made.frameBytes, 64));
      made.frameBytes = uint32_t(pieces->place + pieces->bytes());
      builder.setInsertionPointAfter(loop);
      const size_t frameField = firstCaptured + function.getNumArguments();
      Value frame = loadField(code, context, body.getArgument(0), frameField);
      storePartials(builder, partials, frame, *pieces, begin, end, index(stride));
    }
  }
  target::hoistAllocas(body);
  return body;
}

void KernelMapping::makeTask(LaunchOp launch) {
  LaunchedTask task(launch);
  Location loc = launch.getLoc();
  auto module = kernel->getParentOfType<ModuleOp>();
  const Bounds bounds = boundsOf(task);
  const bool isDeterministic = kernel->hasAttr(mark::deterministic);
  Bins bins;
  if (!isDeterministic || !target::showsOrder(task.function))
    bins = Bins(task, kernel, group);
  MLIRContext *context = kernel.getContext();
  Type i64 = IntegerType::get(context, 64), pointer = LLVM::LLVMPointerType::get(context);
  SmallVector<Type> fields{pointer, i64};
  for (Value value : launch.getCaptured())
    fields.push_back(converter.convertType(value.getType()));
  if (isDeterministic)
    fields.push_back(pointer);
  if (!bins.empty())
    fields.push_back(Bins::pointer(context));
  const size_t frameField = firstCaptured + launch.getCaptured().size();
  auto record = LLVM::LLVMStructType::getLiteral(context, fields);
  // The context, but for its stride, and how many iterations there are.
  auto prepare = [&](Code &code, Part function) {
    OpBuilder &builder = code.builder;
    Value frame = function.getArgument(1), room;
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&function.getBody().front());
      room = LLVM::AllocaOp::create(builder, loc, code.pointer(), record, code.constant(1, 64));
    }
    LLVM::StoreOp::create(builder, loc, hostOf(code, frame),
                          fieldAt(code, record, room, hostField));
    for (auto [k, value] : llvm::enumerate(launch.getCaptured()))
      LLVM::StoreOp::create(builder, loc, target::toLLVM(code, converter, value),
                            fieldAt(code, record, room, k + firstCaptured));
    if (isDeterministic)
      LLVM::StoreOp::create(builder, loc, frame, fieldAt(code, record, room, frameField));
    return std::pair(room, target::toLLVM(code, converter, countOf(bounds, builder, loc)));
  };
  auto setStride = [&](Code &code, Value room, Value stride) {
    LLVM::StoreOp::create(code.builder, loc, stride, fieldAt(code, record, room, strideField));
  };
  // As many as there are iterations, at most.
  auto piecesOf = [&](Code &code, Value count) {
    return LLVM::UMinOp::create(code.builder, loc, count, code.constant(Pieces::most, 64));
  };
  Task told;
  told.group = uint32_t(group);
  told.iterations = iterationsOf(task, bounds);
  told.sharedBytes = uint32_t(bins.bytes());
  Pieces pieces;
  BodyForm form;
  Part body;
  // `memory`: of the workgroup's bins; null: it has none.
  auto work = [&](Code &code, Part function, Value memory) {
    OpBuilder &builder = code.builder;
    Value frame = function.getArgument(1);
    auto [room, count] = prepare(code, function);
    if (memory)
      LLVM::StoreOp::create(builder, loc, memory, fieldAt(code, record, room, fields.size() - 1));
    Value own = call(code, module, "metate_grid_invocation", i64, {});
    Value all = call(code, module, "metate_grid_invocations", i64, {});
    if (Value most = mostInvocations(code, task); most && !isMutant(Mutant::GridBoundIgnored)) {
      all = LLVM::UMinOp::create(builder, loc, all, most);
      Value isOne = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ult, own, all);
      count = LLVM::SelectOp::create(builder, loc, isOne, count, code.constant(0, 64));
    }
    Value worker = LLVM::TruncOp::create(builder, loc, builder.getI32Type(), own);
    if (isMutant(Mutant::GridStrideOne))
      all = code.constant(1, 64);
    if (isMutant(Mutant::GridLastLost))
      count = LLVM::SubOp::create(builder, loc, count, code.constant(1, 64));
    body = makeBody(task, record, isDeterministic ? &pieces : nullptr, form, bins);
    if (!pieces.partials) {
      setStride(code, room, all);
      callPart(code, body, {room, own, count, worker}, frame);
      return;
    }
    Value number = piecesOf(code, count);
    setStride(code, room, isMutant(Mutant::GridPiecesOverlap) ? all : number);
    auto index = [&](Value value) { return target::fromLLVM(code, value, builder.getIndexType()); };
    auto each = scf::ForOp::create(builder, loc, index(own), index(number), index(all));
    builder.setInsertionPointToStart(each.getBody());
    Value piece = target::toLLVM(code, converter, each.getInductionVar());
    callPart(code, body, {room, piece, count, worker}, frame);
  };
  // Every invocation of a workgroup comes to its phases, whatever tasks before it have done.
  makeFunction(loc, std::move(told), /*always=*/!bins.empty(), [&](Code &code, Part function) {
    if (bins.empty())
      return work(code, function, {});
    bins.build(code, module, [&](Value memory) {
      enterIfGood(code, function.getArgument(1));
      work(code, function, memory);
    });
  });
  if (form.showsOrder) {
    made.tasks.back().group = 1;
    made.tasks.back().iterations.clear();
  } else if (form.reduces) {
    made.tasks.back().mostInvocations = mostReducing;
  }
  if (!pieces.partials)
    return;
  made.tasks.back().mostInvocations = Pieces::most;
  made.flags |= METATE_GRID_FRAME;
  // Called with no iterations, the body combines what the pieces left.
  makeFunction(loc, {}, /*always=*/false, [&](Code &code, Part function) {
    auto [room, count] = prepare(code, function);
    setStride(code, room, piecesOf(code, count));
    byOne(code, module, [&, room = room, count = count] {
      callPart(code, body, {room, count, count, code.constant(0, 32)}, function.getArgument(1));
    });
  });
}
