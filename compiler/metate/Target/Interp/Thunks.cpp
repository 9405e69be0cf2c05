//===- Thunks.cpp - entries that ask the interpreter ------------*- C++ -*-===//
#include "metate/Target/Interp/Thunks.h"

#include "metate/Dialect/Derivative.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace metate;

static int32_t launch(interp::InterpretedModule *module, uint32_t kernel, const metate_slot *slots,
                      const metate_host *host) {
  return module->launch(kernel, slots, host);
}

static void buildThunk(OpBuilder &builder, InterfaceOp interface, uint32_t number,
                       interp::InterpretedModule &interpreted) {
  Location loc = interface.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  auto address = [&](const void *object) -> Value {
    auto bits = builder.getIntegerAttr(i64, int64_t(reinterpret_cast<uintptr_t>(object)));
    Value constant = LLVM::ConstantOp::create(builder, loc, i64, bits);
    return LLVM::IntToPtrOp::create(builder, loc, pointer, constant);
  };
  auto function =
      LLVM::LLVMFuncOp::create(builder, loc, interface.getEntry(),
                               LLVM::LLVMFunctionType::get(i32, {pointer, pointer, pointer}));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(function.addEntryBlock(builder));
  Value callee = address(reinterpret_cast<const void *>(&launch));
  Value kernel = LLVM::ConstantOp::create(builder, loc, i32, builder.getI32IntegerAttr(number));
  auto type = LLVM::LLVMFunctionType::get(i32, {pointer, i32, pointer, pointer});
  auto call = LLVM::CallOp::create(builder, loc, type,
                                   ValueRange{callee, address(&interpreted), kernel,
                                              function.getArgument(0), function.getArgument(2)});
  LLVM::ReturnOp::create(builder, loc, call.getResult());
}

void metate::mapToInterpreter(ModuleOp module, interp::InterpretedModule &interpreted) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*module.getBody())))
    if (!isa<InterfaceOp, NamedTypeOp, TextOp, DerivedOp>(
            op)) // kernels, and constants that they share
      op.erase();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  for (auto [number, interface] : llvm::enumerate(module.getOps<InterfaceOp>()))
    buildThunk(builder, interface, number, interpreted);
}
