//===- Host.cpp - the host's hooks, called --------------------------*- C++ -*-===//
#include "metate/Target/Cpu/Host.h"

#include "metate/abi/kernel.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// Without an executor: chunk after chunk on the calling thread, so that an interrupt is seen
/// before the end. 256 of them, or fewer that are at least the grain.
static void runChunks(LLVM::LLVMFuncOp function, Code &code) {
  OpBuilder &builder = code.builder;
  MLIRContext *context = builder.getContext();
  Type i64 = builder.getI64Type();
  auto arguments = function.getArguments();
  Value count = arguments[1], grain = arguments[2];
  auto block = [&] { return builder.createBlock(&function.getBody(), function.getBody().end()); };
  Value step = LLVM::LShrOp::create(builder, code.loc, count, code.constant(8, 64));
  step = LLVM::UMaxOp::create(builder, code.loc, step, grain);
  Block *before = builder.getInsertionBlock(), *turn = block(), *next = block(), *done = block();
  Value begin = turn->addArgument(i64, code.loc),
        status = done->addArgument(builder.getI32Type(), code.loc);
  builder.setInsertionPointToEnd(before);
  LLVM::BrOp::create(builder, code.loc, code.constant(0, 64), turn);
  builder.setInsertionPointToEnd(turn);
  Value rest = LLVM::SubOp::create(builder, code.loc, count, begin);
  Value size = LLVM::UMinOp::create(builder, code.loc, rest, step);
  Value end = LLVM::AddOp::create(builder, code.loc, begin, size);
  auto call = LLVM::CallOp::create(
      builder, code.loc, bodyType(context),
      ValueRange{arguments[5], arguments[6], begin, end, code.constant(0, 32)});
  auto compare = [&](LLVM::ICmpPredicate predicate, Value a, Value b) {
    return LLVM::ICmpOp::create(builder, code.loc, predicate, a, b);
  };
  Value ok = compare(LLVM::ICmpPredicate::eq, call.getResult(), code.constant(METATE_OK, 32));
  LLVM::CondBrOp::create(builder, code.loc, ok, next, ValueRange(), done, call.getResult());
  builder.setInsertionPointToEnd(next);
  Value more = compare(LLVM::ICmpPredicate::ult, end, count);
  LLVM::CondBrOp::create(builder, code.loc, more, turn, end, done,
                         ValueRange{code.constant(METATE_OK, 32)});
  builder.setInsertionPointToEnd(done);
  LLVM::ReturnOp::create(builder, code.loc, status);
}

LLVM::LLVMFuncOp cpu::parallelFor(ModuleOp module) {
  MLIRContext *context = module.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context), i64 = IntegerType::get(context, 64),
       i32 = IntegerType::get(context, 32);
  auto type =
      LLVM::LLVMFunctionType::get(i32, {pointer, i64, i64, i32, i64, pointer, pointer, i32});
  return helper(module, "metate_run_task", type, [&](LLVM::LLVMFuncOp function, Code &code) {
    OpBuilder &builder = code.builder;
    auto arguments = function.getArguments();
    Value host = arguments[0], count = arguments[1];
    auto block = [&] { return builder.createBlock(&function.getBody(), function.getBody().end()); };
    Block *entry = &function.getBody().front();
    Block *work = block(), *withHost = block(), *withHook = block(), *parallel = block(),
          *serial = block(), *nothing = block();
    builder.setInsertionPointToEnd(entry);
    Value some = LLVM::ICmpOp::create(builder, code.loc, LLVM::ICmpPredicate::sgt, count,
                                      code.constant(0, 64));
    LLVM::CondBrOp::create(builder, code.loc, some, work, nothing);
    builder.setInsertionPointToEnd(nothing);
    LLVM::ReturnOp::create(builder, code.loc, code.constant(METATE_OK, 32));
    builder.setInsertionPointToEnd(work);
    LLVM::CondBrOp::create(builder, code.loc, code.isNull(host), serial, withHost);
    builder.setInsertionPointToEnd(withHost);
    Value hook = code.load(pointer, host, offsetof(metate_host, parallel_for));
    LLVM::CondBrOp::create(builder, code.loc, code.isNull(hook), serial, withHook);
    builder.setInsertionPointToEnd(withHook);
    // The smaller of the two bounds that are set (0 = none): minus one, unsigned, makes 'none' the
    // largest.
    Value one = code.constant(1, 32);
    Value own = LLVM::SubOp::create(builder, code.loc, arguments[3], one);
    Value hosts = LLVM::SubOp::create(
        builder, code.loc, code.load(i32, host, offsetof(metate_host, max_workers)), one);
    Value less = LLVM::ICmpOp::create(builder, code.loc, LLVM::ICmpPredicate::ult, own, hosts);
    Value bound = LLVM::SelectOp::create(builder, code.loc, less, own, hosts);
    auto compare = [&](LLVM::ICmpPredicate predicate, Value a, Value b) {
      return LLVM::ICmpOp::create(builder, code.loc, predicate, a, b).getResult();
    };
    // What is too little to share asks nobody, nor does a task in order. Where several workers would only be in
    // each other's way, the executor is asked for one: it may have to look for interrupts between chunks.
    Value grain = arguments[2], part = arguments[7];
    Value least =
        LLVM::LShrOp::create(builder, code.loc, grain,
                             LLVM::ZExtOp::create(builder, code.loc, builder.getI64Type(), part));
    least = LLVM::UMaxOp::create(builder, code.loc, least, code.constant(2, 64));
    Value twoChunks = LLVM::ShlOp::create(builder, code.loc, grain, code.constant(1, 64));
    least = LLVM::SelectOp::create(builder, code.loc,
                                   compare(LLVM::ICmpPredicate::eq, part, code.constant(0, 32)),
                                   twoChunks, least);
    Value isSerial =
        LLVM::OrOp::create(builder, code.loc, compare(LLVM::ICmpPredicate::slt, count, least),
                           compare(LLVM::ICmpPredicate::slt, arguments[4], code.constant(0, 64)));
    LLVM::CondBrOp::create(builder, code.loc, isSerial, serial, parallel);
    builder.setInsertionPointToEnd(parallel);
    Value loners = LLVM::TruncOp::create(builder, code.loc, i32, arguments[4]);
    Value alone = compare(LLVM::ICmpPredicate::ult, bound, loners);
    code.store(LLVM::ZExtOp::create(builder, code.loc, builder.getI64Type(), alone), arguments[6],
               aloneOffset);
    Value self = code.load(pointer, host, offsetof(metate_host, executor_self));
    bound = LLVM::AddOp::create(builder, code.loc, bound, one);
    bound = LLVM::SelectOp::create(builder, code.loc, alone, one, bound);
    auto hookType = LLVM::LLVMFunctionType::get(i32, {pointer, i64, i64, i32, pointer, pointer});
    auto call = LLVM::CallOp::create(
        builder, code.loc, hookType,
        ValueRange{hook, self, count, arguments[2], bound, arguments[5], arguments[6]});
    LLVM::ReturnOp::create(builder, code.loc, call.getResult());
    builder.setInsertionPointToEnd(serial);
    code.store(code.constant(1, 64), arguments[6], aloneOffset);
    runChunks(function, code);
  });
}

LLVM::LLVMFuncOp cpu::printItems(ModuleOp module) {
  MLIRContext *context = module.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context), i32 = IntegerType::get(context, 32);
  Type nothing = LLVM::LLVMVoidType::get(context);
  auto type = LLVM::LLVMFunctionType::get(nothing, {pointer, pointer, i32});
  return helper(module, "metate_print_items", type, [&](LLVM::LLVMFuncOp function, Code &code) {
    OpBuilder &builder = code.builder;
    auto arguments = function.getArguments();
    auto block = [&] { return builder.createBlock(&function.getBody(), function.getBody().end()); };
    Block *entry = &function.getBody().front(), *withHost = block(), *print = block(),
          *done = block();
    builder.setInsertionPointToEnd(entry);
    LLVM::CondBrOp::create(builder, code.loc, code.isNull(arguments[0]), done, withHost);
    builder.setInsertionPointToEnd(withHost);
    Value hook = code.load(pointer, arguments[0], offsetof(metate_host, print));
    LLVM::CondBrOp::create(builder, code.loc, code.isNull(hook), done, print);
    builder.setInsertionPointToEnd(print);
    Value self = code.load(pointer, arguments[0], offsetof(metate_host, print_self));
    LLVM::CallOp::create(builder, code.loc,
                         LLVM::LLVMFunctionType::get(nothing, {pointer, pointer, i32}),
                         ValueRange{hook, self, arguments[1], arguments[2]});
    LLVM::BrOp::create(builder, code.loc, done);
    builder.setInsertionPointToEnd(done);
    LLVM::ReturnOp::create(builder, code.loc, ValueRange());
  });
}

/// A call of one of the host's task hooks with what comes after the host.
static LLVM::LLVMFuncOp callTaskHook(ModuleOp module, StringRef name, int64_t offset,
                                     ArrayRef<Type> told) {
  MLIRContext *context = module.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context), nothing = LLVM::LLVMVoidType::get(context);
  SmallVector<Type> types{pointer};
  llvm::append_range(types, told);
  auto type = LLVM::LLVMFunctionType::get(nothing, types);
  return helper(module, name, type, [&](LLVM::LLVMFuncOp function, Code &code) {
    OpBuilder &builder = code.builder;
    Value host = function.getArgument(0);
    auto block = [&] { return builder.createBlock(&function.getBody(), function.getBody().end()); };
    Block *entry = &function.getBody().front(), *withHost = block(), *tell = block(),
          *done = block();
    builder.setInsertionPointToEnd(entry);
    LLVM::CondBrOp::create(builder, code.loc, code.isNull(host), done, withHost);
    builder.setInsertionPointToEnd(withHost);
    Value hooks = code.load(pointer, host, offsetof(metate_host, tasks));
    LLVM::CondBrOp::create(builder, code.loc, code.isNull(hooks), done, tell);
    builder.setInsertionPointToEnd(tell);
    SmallVector<Value> operands{code.load(pointer, hooks, offset),
                                code.load(pointer, hooks, offsetof(metate_task_hooks, self))};
    llvm::append_range(operands, function.getArguments().drop_front());
    LLVM::CallOp::create(builder, code.loc, type, operands);
    LLVM::BrOp::create(builder, code.loc, done);
    builder.setInsertionPointToEnd(done);
    LLVM::ReturnOp::create(builder, code.loc, ValueRange());
  });
}

LLVM::LLVMFuncOp cpu::beginTask(ModuleOp module) {
  Type i32 = IntegerType::get(module.getContext(), 32),
       i64 = IntegerType::get(module.getContext(), 64);
  return callTaskHook(module, "metate_begin_task", offsetof(metate_task_hooks, begin),
                      {i32, i32, i64});
}

LLVM::LLVMFuncOp cpu::endTask(ModuleOp module) {
  Type i32 = IntegerType::get(module.getContext(), 32);
  return callTaskHook(module, "metate_end_task", offsetof(metate_task_hooks, end), {i32});
}
