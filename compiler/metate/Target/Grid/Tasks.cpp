//===- Tasks.cpp - a launched task becomes functions ------------*- C++ -*-===//
#include "metate/Target/Grid/MapGrid.h"

#include "metate/Target/Common/Functions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace metate;
using namespace metate::grid;

/// In a task's context.
static constexpr int64_t strideOffset = 8;

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

/// (context, begin, end, invocation): iterations from `begin` on, each `stride` behind the last one. The context is as on a CPU, the
/// host first, then what the task captured; between them the stride.
LLVM::LLVMFuncOp KernelMapping::makeBody(const LaunchedTask &task, LLVM::LLVMStructType context) {
  func::FuncOp function = task.function;
  RangeOp range = task.range;
  Location loc = range.getLoc();
  Part body = createPart(loc, target::bodyType(kernel.getContext()));
  OpBuilder builder = OpBuilder::atBlockBegin(&body.getBody().front());
  Code code(builder, loc);
  for (BlockArgument argument : function.getArguments()) {
    Type type = context.getBody()[argument.getArgNumber() + 2];
    Value field =
        LLVM::GEPOp::create(builder, loc, code.pointer(), context, body.getArgument(0),
                            ArrayRef<LLVM::GEPArg>{0, int32_t(argument.getArgNumber() + 2)});
    Value loaded = LLVM::LoadOp::create(builder, loc, type, field);
    argument.replaceAllUsesWith(target::fromLLVM(code, loaded, argument.getType()));
  }
  Block &outer = function.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(outer))
    if (&op != range && !op.hasTrait<OpTrait::IsTerminator>())
      op.moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
  Value stride = code.load(builder.getI64Type(), body.getArgument(0), strideOffset);
  auto index = [&](Value value) { return target::fromLLVM(code, value, builder.getIndexType()); };
  auto loop = scf::ForOp::create(builder, loc, index(body.getArgument(1)),
                                 index(body.getArgument(2)), index(stride));
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
  gatherReductions(loop);
  target::hoistAllocas(body);
  return body;
}

void KernelMapping::makeTask(LaunchOp launch) {
  LaunchedTask task(launch);
  Location loc = launch.getLoc();
  auto module = kernel->getParentOfType<ModuleOp>();
  Task told;
  bool isInOrder = kernel->hasAttr(mark::deterministic);
  told.group = isInOrder ? 1 : uint32_t(group);
  if (!isInOrder)
    told.iterations = iterationsOf(task);
  MLIRContext *context = kernel.getContext();
  SmallVector<Type> fields{LLVM::LLVMPointerType::get(context), IntegerType::get(context, 64)};
  for (Value value : launch.getCaptured())
    fields.push_back(converter.convertType(value.getType()));
  auto record = LLVM::LLVMStructType::getLiteral(context, fields);
  makeFunction(loc, std::move(told), /*always=*/false, [&](Code &code, Part function) {
    OpBuilder &builder = code.builder;
    Value frame = function.getArgument(1);
    Type i64 = builder.getI64Type();
    Value room;
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&function.getBody().front());
      room = LLVM::AllocaOp::create(builder, loc, code.pointer(), record, code.constant(1, 64));
    }
    auto fieldAt = [&](size_t k) {
      return LLVM::GEPOp::create(builder, loc, code.pointer(), record, room,
                                 ArrayRef<LLVM::GEPArg>{0, int32_t(k)});
    };
    LLVM::StoreOp::create(builder, loc, hostOf(code, frame), fieldAt(0));
    for (auto [k, value] : llvm::enumerate(launch.getCaptured()))
      LLVM::StoreOp::create(builder, loc, target::toLLVM(code, converter, value), fieldAt(k + 2));
    Value count = target::toLLVM(code, converter, countOf(task, builder));
    Value own = call(code, module, "metate_grid_invocation", i64, {});
    Value all = call(code, module, "metate_grid_invocations", i64, {});
    if (Value most = mostInvocations(code, task)) {
      all = LLVM::UMinOp::create(builder, loc, all, most);
      Value isOne = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ult, own, all);
      count = LLVM::SelectOp::create(builder, loc, isOne, count, code.constant(0, 64));
    }
    Value worker = LLVM::TruncOp::create(builder, loc, builder.getI32Type(), own);
    LLVM::StoreOp::create(builder, loc, all, fieldAt(1));
    callPart(code, makeBody(task, record), {room, own, count, worker}, frame);
  });
}
