//===- HostCalls.cpp - prints through the host's sink -----------*- C++ -*-===//
#include "metate/Target/Cpu/MapTasks.h"

#include "metate/abi/kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

static void lowerPrint(PrintOp op, Operation *function, Value host) {
  auto module = function->getParentOfType<ModuleOp>();
  OpBuilder builder(op);
  Code code(builder, op.getLoc());
  size_t count = 0; // a format is an item of its own, before its value
  for (Attribute part : op.getParts())
    count += isa<ArrayAttr>(part) ? 2 : 1;
  auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), count * sizeof(metate_print_item));
  Value items;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function->getRegion(0).front());
    items = LLVM::AllocaOp::create(builder, code.loc, code.pointer(), bytes, code.constant(1, 64),
                                   alignof(metate_print_item));
  }
  int64_t at = 0;
  auto add = [&](uint32_t kind, Value value) {
    code.store(code.constant(kind, 32), items, at + offsetof(metate_print_item, kind));
    code.store(value, items, at + offsetof(metate_print_item, value));
    at += sizeof(metate_print_item);
  };
  unsigned next = 0;
  for (Attribute part : op.getParts()) {
    if (auto text = dyn_cast<StringAttr>(part)) {
      add(METATE_PRINT_TEXT, textAddress(module, code, text));
      continue;
    }
    if (auto format = dyn_cast<ArrayAttr>(part))
      add(METATE_PRINT_FORMAT,
          textAddress(module, code, cast<StringAttr>(format.getValue()[0]).getValue()));
    auto [kind, value] = shownValue(code, op.getValues()[next], op.getUnsigned_()[next]);
    add(kind, value);
    ++next;
  }
  LLVM::CallOp::create(builder, code.loc, printItems(module),
                       ValueRange{host, items, code.constant(count, 32)});
  op.erase();
}

void cpu::lowerPrints(Operation *function, Value host) {
  SmallVector<PrintOp> prints;
  function->walk([&](PrintOp op) { prints.push_back(op); });
  for (PrintOp op : prints)
    lowerPrint(op, function, host);
}
