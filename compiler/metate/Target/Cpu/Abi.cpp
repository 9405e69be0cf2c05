//===- Abi.cpp - abi/kernel.h as LLVM types and accesses --------*- C++ -*-===//
#include "metate/Target/Cpu/Abi.h"

#include "metate/abi/kernel.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

Value Code::constant(int64_t value, unsigned width) {
  Type type = builder.getIntegerType(width);
  return LLVM::ConstantOp::create(builder, loc, type, builder.getIntegerAttr(type, value));
}

Value Code::null() { return LLVM::ZeroOp::create(builder, loc, pointer()); }

Value Code::at(Value base, int64_t offset) {
  if (offset == 0)
    return base;
  return LLVM::GEPOp::create(builder, loc, pointer(), builder.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{int32_t(offset)},
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value Code::load(Type type, Value base, int64_t offset) {
  return LLVM::LoadOp::create(builder, loc, type, at(base, offset));
}

void Code::store(Value value, Value base, int64_t offset) {
  LLVM::StoreOp::create(builder, loc, value, at(base, offset));
}

Value Code::isNull(Value pointer) {
  return LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, pointer, null());
}

LLVM::LLVMFunctionType cpu::entryType(MLIRContext *context) {
  Type pointer = LLVM::LLVMPointerType::get(context);
  return LLVM::LLVMFunctionType::get(IntegerType::get(context, 32), {pointer, pointer, pointer});
}

LLVM::LLVMFunctionType cpu::bodyType(MLIRContext *context) {
  Type pointer = LLVM::LLVMPointerType::get(context), i64 = IntegerType::get(context, 64),
       i32 = IntegerType::get(context, 32);
  return LLVM::LLVMFunctionType::get(i32, {pointer, i64, i64, i32});
}

/// Finds or makes a private helper; `fill` writes its body, starting in the entry block.
static LLVM::LLVMFuncOp helper(ModuleOp module, StringRef name, LLVM::LLVMFunctionType type,
                               llvm::function_ref<void(LLVM::LLVMFuncOp, Code &)> fill) {
  if (auto existing = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return existing;
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  // Helpers are no one's source line: they take the module's place.
  Location loc = module.getLoc();
  auto function = LLVM::LLVMFuncOp::create(builder, loc, name, type, LLVM::Linkage::Internal);
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  Code code(builder, loc);
  fill(function, code);
  return function;
}

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
  auto type = LLVM::LLVMFunctionType::get(i32, {pointer, i64, i64, i32, i64, pointer, pointer});
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
    // A single chunk asks nobody, nor does a task in order. Where several workers would only be in each
    // other's way, the executor is asked for one: it may have to look for interrupts between chunks.
    Value isSerial = LLVM::OrOp::create(
        builder, code.loc, compare(LLVM::ICmpPredicate::sle, count, arguments[2]),
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

/// Fills a failure that this caller has claimed.
static void fillFailure(Code &code, Value failure, ValueRange arguments) {
  OpBuilder &builder = code.builder;
  Value rank = arguments[3], values = arguments[4];
  code.store(arguments[2], failure, offsetof(metate_failure, text));
  code.store(rank, failure, offsetof(metate_failure, rank));
  Value bytes = LLVM::ZExtOp::create(builder, code.loc, builder.getI64Type(), rank);
  bytes = LLVM::MulOp::create(builder, code.loc, bytes, code.constant(sizeof(int64_t), 64));
  auto copy = [&](int64_t to, int64_t from) {
    LLVM::MemcpyOp::create(builder, code.loc, code.at(failure, to), code.at(values, from), bytes,
                           /*isVolatile=*/false);
  };
  copy(offsetof(metate_failure, index), 0);
  copy(offsetof(metate_failure, shape), sizeof(metate_failure::index));
}

LLVM::LLVMFuncOp cpu::recordFailure(ModuleOp module) {
  MLIRContext *context = module.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context), i32 = IntegerType::get(context, 32);
  auto type = LLVM::LLVMFunctionType::get(i32, {pointer, i32, i32, i32, pointer});
  return helper(module, "metate_record_failure", type, [&](LLVM::LLVMFuncOp function, Code &code) {
    OpBuilder &builder = code.builder;
    auto arguments = function.getArguments();
    auto block = [&] { return builder.createBlock(&function.getBody(), function.getBody().end()); };
    Block *entry = &function.getBody().front(), *withHost = block(), *record = block(),
          *first = block(), *done = block();
    builder.setInsertionPointToEnd(entry);
    LLVM::CondBrOp::create(builder, code.loc, code.isNull(arguments[0]), done, withHost);
    builder.setInsertionPointToEnd(withHost);
    Value failure = code.load(pointer, arguments[0], offsetof(metate_host, failure));
    LLVM::CondBrOp::create(builder, code.loc, code.isNull(failure), done, record);
    builder.setInsertionPointToEnd(record);
    // The first failure wins: relaxed is enough, the launch's end orders it before the host reads.
    auto claim = LLVM::AtomicCmpXchgOp::create(
        builder, code.loc, code.at(failure, offsetof(metate_failure, code)),
        code.constant(METATE_OK, 32), arguments[1], LLVM::AtomicOrdering::monotonic,
        LLVM::AtomicOrdering::monotonic);
    Value won = LLVM::ExtractValueOp::create(builder, code.loc, claim, 1);
    LLVM::CondBrOp::create(builder, code.loc, won, first, done);
    builder.setInsertionPointToEnd(first);
    fillFailure(code, failure, arguments);
    LLVM::BrOp::create(builder, code.loc, done);
    builder.setInsertionPointToEnd(done);
    LLVM::ReturnOp::create(builder, code.loc, arguments[1]);
  });
}

Value cpu::noHost(ModuleOp module, Code &code) {
  StringRef name = "metate_no_host";
  if (!module.lookupSymbol(name)) {
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), sizeof(metate_host));
    LLVM::GlobalOp::create(builder, code.loc, type, /*isConstant=*/true, LLVM::Linkage::Internal,
                           name, builder.getStringAttr(std::string(sizeof(metate_host), '\0')),
                           alignof(metate_host));
  }
  return LLVM::AddressOfOp::create(code.builder, code.loc, code.pointer(), name);
}

Value cpu::textAddress(ModuleOp module, Code &code, StringRef text) {
  std::string bytes = text.str() + '\0';
  std::string name = "metate_text_" + llvm::utohexstr(llvm::xxh3_64bits(bytes), /*LowerCase=*/true);
  if (!module.lookupSymbol(name)) {
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size());
    LLVM::GlobalOp::create(builder, code.loc, type, /*isConstant=*/true, LLVM::Linkage::Internal,
                           name, builder.getStringAttr(bytes));
  }
  return LLVM::AddressOfOp::create(code.builder, code.loc, code.pointer(), name);
}
