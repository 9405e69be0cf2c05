//===- LowerAsserts.cpp - asserts leave their function ----------*- C++ -*-===//
#include "metate/Target/Cpu/MapTasks.h"
#include "metate/Target/Cpu/Passes.h"

namespace metate {
#define GEN_PASS_DEF_LOWERASSERTSCPU
#include "metate/Target/Cpu/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

/// The user's place of an operation: the innermost file location (of an inlined call, the
/// callee's).
static FileLineColLoc placeOf(Location loc) {
  if (auto file = dyn_cast<FileLineColLoc>(loc))
    return file;
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return placeOf(call.getCallee());
  if (auto name = dyn_cast<NameLoc>(loc))
    return placeOf(name.getChildLoc());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (FileLineColLoc place = placeOf(part))
        return place;
  return {};
}

namespace {
struct LowerAssertsCpu : metate::impl::LowerAssertsCpuBase<LowerAssertsCpu> {
  void runOnOperation() override {
    int64_t texts = llvm::range_size(getOperation().getOps<TextOp>());
    SmallVector<AssertOp> asserts;
    getOperation().walk([&](AssertOp op) { asserts.push_back(op); });
    for (AssertOp op : asserts)
      lower(op, texts++);
  }

private:
  void lower(AssertOp op, int64_t text) {
    Location loc = op.getLoc();
    auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    FileLineColLoc place = placeOf(loc);
    TextOp::create(builder, loc, text, place ? place.getFilename().getValue() : "",
                   place ? place.getLine() : 0, place ? place.getColumn() : 0, op.getMessage());
    Block *before = op->getBlock();
    Block *after = before->splitBlock(op->getNextNode());
    Block *failed = builder.createBlock(after);
    Code code(builder, loc);
    Value host = hostOf(function, code);
    auto call = LLVM::CallOp::create(builder, loc, recordFailure(getOperation()),
                                     ValueRange{host, code.constant(text, 32)});
    LLVM::ReturnOp::create(builder, loc, call.getResult());
    builder.setInsertionPointToEnd(before);
    LLVM::CondBrOp::create(builder, loc, op.getCondition(), after, failed);
    op.erase();
  }
};
} // namespace
