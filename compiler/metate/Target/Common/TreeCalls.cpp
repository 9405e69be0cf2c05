//===- TreeCalls.cpp - calls of the tree protocol ---------------*- C++ -*-===//
//
// Each (function, type, level) gets one function of its own, in which type and level are constants
// and the coordinates' array lies: bodies of loops stay small, and LLVM specialises the protocol once.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Common/TreeCalls.h"

#include "metate/Layout/TypeBlob.h"
#include "metate/abi/tree.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"

using namespace mlir;
using namespace metate;
using namespace metate::target;

namespace {
/// The symbols that one kind of call needs.
struct Callee {
  std::string hash;     ///< of the type
  std::string function; ///< made here
  std::string blob;     ///< the type's bytes
  std::string protocol; ///< Emit/Support/Tree.c's
};
} // namespace

static Callee calleeOf(TreeCallOp call, StringRef blob) {
  auto *head = reinterpret_cast<const metate_tree_type *>(blob.data());
  Callee callee;
  callee.hash = llvm::utohexstr(head->hash[0], /*LowerCase=*/true, 16);
  callee.blob = "metate_type_" + callee.hash;
  callee.protocol = ("metate_rt_" + call.getCallee()).str();
  callee.function = ("metate_" + call.getCallee() + "_" + callee.hash + "_" +
                     Twine(call.getLevel()) + (call.getFlag().value_or(0) ? "_flag" : ""))
                        .str();
  return callee;
}

/// The blob of a call's type: lower-layout has computed its layout, so it is not too large.
static std::string blobOf(TreeCallOp call) {
  return cantFail(layout::treeTypeBlob(cast<TreeType>(call.getTree())));
}

static void addBlob(ModuleOp module, Location loc, const Callee &callee, StringRef blob) {
  if (module.lookupSymbol(callee.blob))
    return;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), blob.size());
  LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal,
                         callee.blob, builder.getStringAttr(blob), /*alignment=*/8);
}

static Type resultOf(TreeCallOp call) {
  return call.getResult() ? call.getResult().getType()
                          : Type(LLVM::LLVMVoidType::get(call.getContext()));
}

/// What a call wants to know of who makes it, as its last argument: a worker's number (i32) where it takes
/// slots, from the worker's magazine; the host (a pointer) where it walks over many slots; else null.
static Type callerType(TreeCallOp call) {
  StringRef callee = call.getCallee();
  if (callee.ends_with("claim") || callee == "dynamic_activate" || callee.starts_with("append"))
    return IntegerType::get(call.getContext(), 32);
  if (callee == "collect" || callee == "snapshot")
    return LLVM::LLVMPointerType::get(call.getContext());
  return {};
}

/// The caller of this call: of an entry, which is one worker, 0. Within a task the host's other workers are busy.
static Value callerOf(TreeCallOp call, OpBuilder &builder) {
  auto function = call->getParentOfType<LLVM::LLVMFuncOp>();
  Type type = function ? Type(function.getFunctionType()) : Type();
  Code code(builder, call.getLoc());
  if (callerType(call).isInteger())
    return type == bodyType(call.getContext()) ? function.getArgument(3) : code.constant(0, 32);
  return type == entryType(call.getContext()) ? function.getArgument(2) : code.null();
}

static LLVM::LLVMFuncOp protocolFunction(TreeCallOp call, ModuleOp module, const Callee &callee) {
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(callee.protocol))
    return known;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(call.getContext());
  SmallVector<Type> inputs{pointer, pointer, builder.getI32Type()};
  inputs.append(call.getNumbers().size(), builder.getI64Type());
  if (!call.getCoordinates().empty())
    inputs.push_back(pointer);
  if (call.getFlag())
    inputs.push_back(builder.getI32Type());
  if (Type caller = callerType(call))
    inputs.push_back(caller);
  return LLVM::LLVMFuncOp::create(builder, call.getLoc(), callee.protocol,
                                  LLVM::LLVMFunctionType::get(resultOf(call), inputs));
}

static void addFunction(TreeCallOp call, ModuleOp module, const Callee &callee) {
  LLVM::LLVMFuncOp protocol = protocolFunction(call, module, callee);
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Location loc = call.getLoc();
  unsigned numbers = call.getNumbers().size(), coordinates = call.getCoordinates().size();
  SmallVector<Type> inputs{LLVM::LLVMPointerType::get(call.getContext())};
  inputs.append(numbers + coordinates, builder.getI64Type());
  if (Type caller = callerType(call))
    inputs.push_back(caller);
  auto function = LLVM::LLVMFuncOp::create(builder, loc, callee.function,
                                           LLVM::LLVMFunctionType::get(resultOf(call), inputs),
                                           LLVM::Linkage::Internal);
  // Rare beside what is done with the cell; a look-up is part of each access.
  if (!call.getCallee().ends_with("find"))
    function.setNoInline(true);
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  Code code(builder, loc);
  Value blob = LLVM::AddressOfOp::create(builder, loc, code.pointer(), callee.blob);
  SmallVector<Value> operands{function.getArgument(0), blob, code.constant(call.getLevel(), 32)};
  for (unsigned k = 0; k < numbers; ++k)
    operands.push_back(function.getArgument(1 + k));
  if (coordinates) {
    Value array = LLVM::AllocaOp::create(builder, loc, code.pointer(), builder.getI64Type(),
                                         code.constant(coordinates, 64), /*alignment=*/8);
    for (unsigned k = 0; k < coordinates; ++k)
      code.store(function.getArgument(1 + numbers + k), array, 8 * int64_t(k));
    operands.push_back(array);
  }
  if (call.getFlag())
    operands.push_back(code.constant(*call.getFlag(), 32));
  if (callerType(call))
    operands.push_back(function.getArguments().back());
  auto inner = LLVM::CallOp::create(builder, loc, protocol, operands);
  LLVM::ReturnOp::create(builder, loc, inner.getResults());
}

void target::makeAlone(TreeCallOp call) {
  if (call.getCallee() == "append")
    call.setCallee("append_alone");
}

void target::addTreeCallees(ModuleOp module) {
  SmallVector<TreeCallOp> calls;
  module.walk([&](TreeCallOp call) {
    // An entry is one worker, and no task of it runs meanwhile.
    auto function = call->getParentOfType<LLVM::LLVMFuncOp>();
    if (function && function.getFunctionType() == entryType(call.getContext()))
      makeAlone(call);
    calls.push_back(call);
  });
  for (TreeCallOp call : calls) {
    std::string blob = blobOf(call);
    Callee callee = calleeOf(call, blob);
    if (module.lookupSymbol(callee.function))
      continue;
    addBlob(module, call.getLoc(), callee, blob);
    addFunction(call, module, callee);
  }
}

namespace {
struct ConvertTreeCall : ConvertOpToLLVMPattern<TreeCallOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  LogicalResult matchAndRewrite(TreeCallOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> operands{adaptor.getBlock()};
    llvm::append_range(operands, adaptor.getNumbers());
    llvm::append_range(operands, adaptor.getCoordinates());
    if (callerType(op))
      operands.push_back(callerOf(op, rewriter));
    auto function = op->getParentOfType<ModuleOp>().lookupSymbol<LLVM::LLVMFuncOp>(
        calleeOf(op, blobOf(op)).function);
    rewriter.replaceOpWithNewOp<LLVM::CallOp>(op, function, operands);
    return success();
  }
};
} // namespace

void target::populateTreeCallPatterns(KernelTypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<ConvertTreeCall>(converter);
}
