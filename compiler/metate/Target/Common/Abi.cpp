//===- Abi.cpp - metate/abi/kernel.h as LLVM types and accesses -*- C++ -*-===//
#include "metate/Target/Common/Abi.h"

#include "metate/Dialect/Metate.h"
#include "metate/Mutants/Mutants.h"
#include "metate/abi/kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace metate;
using namespace metate::target;

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

LLVM::LLVMFunctionType target::entryType(MLIRContext *context) {
  Type pointer = LLVM::LLVMPointerType::get(context);
  return LLVM::LLVMFunctionType::get(IntegerType::get(context, 32), {pointer, pointer, pointer});
}

LLVM::LLVMFunctionType target::bodyType(MLIRContext *context) {
  Type pointer = LLVM::LLVMPointerType::get(context), i64 = IntegerType::get(context, 64),
       i32 = IntegerType::get(context, 32);
  return LLVM::LLVMFunctionType::get(i32, {pointer, i64, i64, i32});
}

LLVM::LLVMFuncOp target::helper(ModuleOp module, StringRef name, LLVM::LLVMFunctionType type,
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

/// Fills a failure that this caller has claimed.
static void fillFailure(Code &code, Value failure, ValueRange arguments) {
  OpBuilder &builder = code.builder;
  Value rank = arguments[3], values = arguments[4];
  code.store(arguments[2], failure, offsetof(metate_failure, text));
  code.store(rank, failure, offsetof(metate_failure, rank));
  Value bytes = LLVM::ZExtOp::create(builder, code.loc, builder.getI64Type(), rank);
  bytes = LLVM::MulOp::create(builder, code.loc, bytes, code.constant(sizeof(int64_t), 64));
  // Words of 8 bytes on both sides.
  DictionaryAttr words = builder.getDictionaryAttr(
      builder.getNamedAttr(LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(8)));
  auto copy = [&](int64_t to, int64_t from) {
    auto copied = LLVM::MemcpyOp::create(builder, code.loc, code.at(failure, to),
                                         code.at(values, from), bytes, /*isVolatile=*/false);
    copied.setArgAttrsAttr(builder.getArrayAttr({words, words, builder.getDictionaryAttr({})}));
  };
  copy(offsetof(metate_failure, index), 0);
  copy(offsetof(metate_failure, shape), sizeof(metate_failure::index));
}

LLVM::LLVMFuncOp target::recordFailure(ModuleOp module) {
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

Value target::noHost(ModuleOp module, Code &code) {
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

Value target::textAddress(ModuleOp module, Code &code, StringRef text) {
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

static LowerToLLVMOptions loweringOptions(MLIRContext *context) {
  LowerToLLVMOptions options(context);
  options.overrideIndexBitwidth(64);
  return options;
}

target::KernelTypeConverter::KernelTypeConverter(MLIRContext *context)
    : LLVMTypeConverter(context, loweringOptions(context)) {
  addConversion(
      [](BlockType type) -> Type { return LLVM::LLVMPointerType::get(type.getContext()); });
}

Value target::toLLVM(Code &code, const TypeConverter &converter, Value value) {
  Type type = converter.convertType(value.getType());
  if (type == value.getType())
    return value;
  return UnrealizedConversionCastOp::create(code.builder, code.loc, type, value).getResult(0);
}

Value target::fromLLVM(Code &code, Value value, Type type) {
  if (type == value.getType())
    return value;
  return UnrealizedConversionCastOp::create(code.builder, code.loc, type, value).getResult(0);
}

Value target::loadArgument(Code &code, const TypeConverter &converter, Value slots, Type type,
                           unsigned &slot) {
  auto offset = [&] { return int64_t(sizeof(metate_slot)) * slot++; };
  OpBuilder &builder = code.builder;
  if (isa<BlockType>(type))
    return fromLLVM(code, code.load(code.pointer(), slots, offset()), type);
  if (type.isIndex())
    return fromLLVM(code, code.load(builder.getI64Type(), slots, offset()), type);
  if (type.isInteger(1)) {
    Value byte = code.load(builder.getI8Type(), slots, offset());
    return LLVM::ICmpOp::create(builder, code.loc, LLVM::ICmpPredicate::ne, byte,
                                code.constant(0, 8));
  }
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return code.load(type, slots, offset());
  SmallVector<Value> components;
  for (int64_t k = 0; k < vector.getNumElements(); ++k)
    components.push_back(loadArgument(code, converter, slots, vector.getElementType(), slot));
  return vector::FromElementsOp::create(builder, code.loc, vector, components);
}

std::pair<uint32_t, Value> target::shownValue(Code &code, Value value, bool isUnsigned) {
  OpBuilder &builder = code.builder;
  Type i64 = builder.getI64Type(), f64 = builder.getF64Type();
  if (isa<IndexType>(value.getType()))
    return {METATE_PRINT_I64, arith::IndexCastOp::create(builder, code.loc, i64, value)};
  if (auto number = dyn_cast<FloatType>(value.getType())) {
    if (number.isF64())
      return {METATE_PRINT_F64, value};
    return {METATE_PRINT_F32, arith::ExtFOp::create(builder, code.loc, f64, value)};
  }
  if (value.getType().isInteger(1))
    return {METATE_PRINT_BOOL, arith::ExtUIOp::create(builder, code.loc, i64, value)};
  isUnsigned |= isMutant(Mutant::PrintedUnsigned);
  uint32_t kind = isUnsigned ? METATE_PRINT_U64 : METATE_PRINT_I64;
  if (value.getType().isInteger(64))
    return {kind, value};
  if (isUnsigned)
    return {kind, arith::ExtUIOp::create(builder, code.loc, i64, value)};
  return {kind, arith::ExtSIOp::create(builder, code.loc, i64, value)};
}

Value target::hostOf(Operation *op, Code &code) {
  auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
  if (!function) // one that these call: its first argument
    return op->getRegion(0).getArgument(0);
  // An entry takes the host as its third argument; a body finds it first in its context.
  if (function.getFunctionType() == entryType(function.getContext()))
    return function.getArgument(2);
  return code.load(code.pointer(), function.getArgument(0), 0);
}
