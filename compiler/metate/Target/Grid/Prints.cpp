//===- Prints.cpp - print statements leave records --------------*- C++ -*-===//
//
// A device has no texts to hand out: it writes the number of the statement and the values, the driver puts the texts around them.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Grid/MapGrid.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace metate;
using namespace metate::grid;

static LLVM::LLVMFuncOp printFunction(ModuleOp module, Code &code) {
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>("metate_grid_put"))
    return known;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  Type i32 = builder.getI32Type();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                          {code.pointer(), i32, i32, code.pointer()});
  return LLVM::LLVMFuncOp::create(builder, module.getLoc(), "metate_grid_put", type);
}

static void lowerPrint(PrintOp op, Operation *function, Value host, std::vector<Print> &prints) {
  OpBuilder builder(op);
  Code code(builder, op.getLoc());
  Value room;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function->getRegion(0).front());
    auto type = LLVM::LLVMArrayType::get(builder.getI64Type(), op.getValues().size() + 1);
    room = LLVM::AllocaOp::create(builder, code.loc, code.pointer(), type, code.constant(1, 64), 8);
  }
  Print print;
  unsigned next = 0;
  for (Attribute part : op.getParts()) {
    if (auto text = dyn_cast<StringAttr>(part)) {
      print.push_back({METATE_PRINT_TEXT, text.str()});
      continue;
    }
    if (auto format = dyn_cast<ArrayAttr>(part))
      print.push_back({METATE_PRINT_FORMAT, cast<StringAttr>(format.getValue()[0]).str()});
    auto [kind, value] = target::shownValue(code, op.getValues()[next], op.getUnsigned_()[next]);
    print.push_back({kind, ""});
    code.store(value, room, int64_t(8 * next++));
  }
  auto module = function->getParentOfType<ModuleOp>();
  LLVM::CallOp::create(
      builder, code.loc, printFunction(module, code),
      ValueRange{host, code.constant(int64_t(prints.size()), 32), code.constant(next, 32), room});
  prints.push_back(std::move(print));
  op.erase();
}

void grid::lowerPrints(Operation *function, Value host, std::vector<Print> &prints) {
  SmallVector<PrintOp> ops;
  function->walk([&](PrintOp op) { ops.push_back(op); });
  for (PrintOp op : ops)
    lowerPrint(op, function, host, prints);
}
