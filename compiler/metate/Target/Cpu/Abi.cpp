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

LLVM::LLVMFuncOp cpu::parallelFor(ModuleOp module) {
  MLIRContext *context = module.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context), i64 = IntegerType::get(context, 64),
       i32 = IntegerType::get(context, 32);
  auto type = LLVM::LLVMFunctionType::get(i32, {pointer, i64, i64, i32, pointer, pointer});
  return helper(module, "metate_run_task", type, [&](LLVM::LLVMFuncOp function, Code &code) {
    OpBuilder &builder = code.builder;
    auto arguments = function.getArguments();
    Value host = arguments[0], count = arguments[1];
    auto block = [&] { return builder.createBlock(&function.getBody(), function.getBody().end()); };
    Block *entry = &function.getBody().front();
    Block *work = block(), *withHost = block(), *parallel = block(), *serial = block(),
          *nothing = block();
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
    LLVM::CondBrOp::create(builder, code.loc, code.isNull(hook), serial, parallel);
    builder.setInsertionPointToEnd(parallel);
    Value self = code.load(pointer, host, offsetof(metate_host, executor_self));
    // The smaller of the two bounds that are set (0 = none): minus one, unsigned, makes 'none' the
    // largest.
    Value one = code.constant(1, 32);
    Value own = LLVM::SubOp::create(builder, code.loc, arguments[3], one);
    Value hosts = LLVM::SubOp::create(
        builder, code.loc, code.load(i32, host, offsetof(metate_host, max_workers)), one);
    Value less = LLVM::ICmpOp::create(builder, code.loc, LLVM::ICmpPredicate::ult, own, hosts);
    Value bound = LLVM::SelectOp::create(builder, code.loc, less, own, hosts);
    bound = LLVM::AddOp::create(builder, code.loc, bound, one);
    auto hookType = LLVM::LLVMFunctionType::get(i32, {pointer, i64, i64, i32, pointer, pointer});
    auto call = LLVM::CallOp::create(
        builder, code.loc, hookType,
        ValueRange{hook, self, count, arguments[2], bound, arguments[4], arguments[5]});
    LLVM::ReturnOp::create(builder, code.loc, call.getResult());
    builder.setInsertionPointToEnd(serial);
    auto direct = LLVM::CallOp::create(
        builder, code.loc, bodyType(context),
        ValueRange{arguments[4], arguments[5], code.constant(0, 64), count, code.constant(0, 32)});
    LLVM::ReturnOp::create(builder, code.loc, direct.getResult());
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

LLVM::LLVMFuncOp cpu::recordFailure(ModuleOp module) {
  MLIRContext *context = module.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context), i32 = IntegerType::get(context, 32);
  auto type = LLVM::LLVMFunctionType::get(i32, {pointer, i32});
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
        code.constant(METATE_OK, 32), code.constant(METATE_E_ASSERT, 32),
        LLVM::AtomicOrdering::monotonic, LLVM::AtomicOrdering::monotonic);
    Value won = LLVM::ExtractValueOp::create(builder, code.loc, claim, 1);
    LLVM::CondBrOp::create(builder, code.loc, won, first, done);
    builder.setInsertionPointToEnd(first);
    code.store(arguments[1], failure, offsetof(metate_failure, text));
    LLVM::BrOp::create(builder, code.loc, done);
    builder.setInsertionPointToEnd(done);
    LLVM::ReturnOp::create(builder, code.loc, code.constant(METATE_E_ASSERT, 32));
  });
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
