//===- Functions.cpp - functions that entries and bodies call ---*- C++ -*-===//
#include "metate/Target/Common/Functions.h"
#include "metate/Dialect/Call.h"
#include "metate/Target/Common/Abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace metate;
using namespace metate::target;

/// What carries values of a type into functions and out of them: floats of 16 bits go as their bits, since machines without such
/// registers would convert them by calls.
static Type carried(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (!isa<FloatType>(element) || element.getIntOrFloatBitWidth() != 16)
    return type;
  Type bits = IntegerType::get(type.getContext(), 16);
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(VectorType::get(vector.getShape(), bits)) : bits;
}

namespace {
class FunctionMapping {
public:
  FunctionMapping(ModuleOp module, PrintLowering lowerPrints)
      : module(module), lowerPrints(lowerPrints) {
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        functions.push_back(function);
  }

  void run() {
    for (func::FuncOp function : functions)
      carryHalves(function);
    module.walk([&](func::CallOp call) {
      if (llvm::is_contained(functions, calleeOf(call)))
        carryHalves(call);
    });
    findHosted();
    Builder builder(module.getContext());
    for (func::FuncOp function : functions) {
      auto internal = LLVM::LinkageAttr::get(module.getContext(), LLVM::Linkage::Internal);
      function->setAttr("llvm.linkage", internal);
      // A loop made of calls would take no stack, and never be too deep.
      if (function.walk([](EnterOp) { return WalkResult::interrupt(); }).wasInterrupted())
        function->setAttr("passthrough", builder.getArrayAttr(builder.getArrayAttr(
                                             {builder.getStringAttr("disable-tail-calls"),
                                              builder.getStringAttr("true")})));
      hoistAllocas(function);
    }
    SmallVector<func::CallOp> calls;
    module.walk([&](func::CallOp call) {
      if (hosted.contains(calleeOf(call)))
        calls.push_back(call);
    });
    for (func::FuncOp function : hosted)
      addArguments(function);
    for (func::CallOp call : calls)
      addOperands(call);
    for (func::FuncOp function : hosted)
      lowerPrints(function, function.getArgument(0));
  }

private:
  func::FuncOp calleeOf(func::CallOp call) {
    return module.lookupSymbol<func::FuncOp>(call.getCallee());
  }

  static void carryHalves(func::FuncOp function) {
    OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
    for (BlockArgument argument : function.getArguments())
      retype(builder, argument, argument.getLoc());
    function.walk([&](func::ReturnOp end) { castOperands(end); });
    auto carry = [](TypeRange types) { return llvm::map_to_vector(types, carried); };
    function.setType(builder.getFunctionType(carry(function.getArgumentTypes()),
                                             carry(function.getResultTypes())));
  }

  static void carryHalves(func::CallOp call) {
    castOperands(call);
    OpBuilder builder(call);
    builder.setInsertionPointAfter(call);
    for (Value result : call.getResults())
      retype(builder, result, call.getLoc());
  }

  static void castOperands(Operation *op) {
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands())
      if (Type type = carried(operand.get().getType()); type != operand.get().getType())
        operand.set(arith::BitcastOp::create(builder, op->getLoc(), type, operand.get()));
  }

  /// The value becomes what carries it; whoever used it gets it back.
  static void retype(OpBuilder &builder, Value value, Location loc) {
    Type type = value.getType();
    if (carried(type) == type)
      return;
    value.setType(carried(type));
    auto back = arith::BitcastOp::create(builder, loc, type, value);
    value.replaceAllUsesExcept(back, back);
  }

  /// Functions that need the host, or call one that does.
  void findHosted() {
    for (size_t before = 0; before == 0 || before != hosted.size() + 1;) {
      before = hosted.size() + 1;
      for (func::FuncOp function : functions) {
        auto needs = [&](Operation *op) {
          auto call = dyn_cast<func::CallOp>(op);
          bool isOne = op->hasTrait<MayStop>() || isa<PrintOp, ReturnStatusOp>(op) ||
                       (call && hosted.contains(calleeOf(call)));
          return isOne ? WalkResult::interrupt() : WalkResult::advance();
        };
        if (function.walk(needs).wasInterrupted())
          hosted.insert(function);
      }
    }
  }

  void addArguments(func::FuncOp function) {
    Builder builder(module.getContext());
    Type pointer = LLVM::LLVMPointerType::get(module.getContext());
    (void)function.insertArgument(0, pointer, {}, function.getLoc());
    (void)function.insertArgument(1, builder.getI64Type(), {}, function.getLoc());
  }

  void addOperands(func::CallOp call) {
    Operation *caller = call->getParentOfType<FunctionOpInterface>();
    OpBuilder builder(call);
    Code code(builder, call.getLoc());
    SmallVector<Value> operands;
    if (auto function = dyn_cast<func::FuncOp>(caller))
      operands = {function.getArgument(0), function.getArgument(1)};
    else
      operands = {hostOf(caller, code), endOfStack(caller)};
    call->insertOperands(0, operands);
  }

  /// Of an entry or a body: what calls may take is counted from there.
  Value endOfStack(Operation *caller) {
    Value &end = ends[caller];
    if (end)
      return end;
    OpBuilder builder = OpBuilder::atBlockBegin(&caller->getRegion(0).front());
    Code code(builder, caller->getLoc());
    bool isAsked = module.walk([](EnterOp) { return WalkResult::interrupt(); }).wasInterrupted();
    if (!isAsked)
      return end = code.constant(0, 64);
    Value top = LLVM::StackSaveOp::create(builder, code.loc, code.pointer());
    top = LLVM::PtrToIntOp::create(builder, code.loc, builder.getI64Type(), top);
    return end = LLVM::SubOp::create(builder, code.loc, top, code.constant(callBytes, 64));
  }

  ModuleOp module;
  PrintLowering lowerPrints;
  SmallVector<func::FuncOp> functions;
  llvm::SetVector<func::FuncOp> hosted;
  llvm::DenseMap<Operation *, Value> ends;
};
} // namespace

void target::mapFunctions(ModuleOp module, PrintLowering lowerPrints) {
  FunctionMapping(module, lowerPrints).run();
}

void target::hoistAllocas(Operation *function) {
  SmallVector<memref::AllocaOp> allocas;
  function->walk([&](memref::AllocaOp alloca) { allocas.push_back(alloca); });
  Block &entry = function->getRegion(0).front();
  for (memref::AllocaOp alloca : llvm::reverse(allocas))
    alloca->moveBefore(&entry, entry.begin());
}
