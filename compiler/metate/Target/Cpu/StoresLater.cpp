//===- StoresLater.cpp - stores wait for the next turn's loads --*- C++ -*-===//
#include "metate/Target/Cpu/StoresLater.h"

#include "metate/Target/Cpu/AcrossIterations.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace metate;
using namespace metate::cpu;

static void give(WriteOp write, Value value, Value offset) {
  write.getValueMutable().assign(value);
  write.getOffsetMutable().assign(offset);
}

scf::ForOp cpu::storeLater(scf::ForOp loop, ArrayRef<WriteOp> stores) {
  Location loc = loop.getLoc();
  IRRewriter rewriter(loop);
  Value runs = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt, loop.getLowerBound(),
                                     loop.getUpperBound());
  auto branch = scf::IfOp::create(rewriter, loc, runs, /*withElseRegion=*/false);
  loop->moveBefore(branch.thenYield());
  rewriter.setInsertionPoint(loop);
  SmallVector<Value> first;
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), loop.getLowerBound());
  for (WriteOp store : stores) {
    Value offset = repeated(store.getOffset(), loop, mapping, rewriter);
    Value old = ReadOp::create(rewriter, loc, store.getValue().getType(), store.getBlock(), offset,
                               store.getScope(), false, false);
    first.append({old, offset});
  }
  auto given = [&](OpBuilder &, Location, ArrayRef<BlockArgument>) {
    SmallVector<Value> values;
    for (WriteOp store : stores)
      values.append({store.getValue(), store.getOffset()});
    return values;
  };
  auto later = cast<scf::ForOp>(
      **cast<LoopLikeOpInterface>(loop.getOperation())
            .replaceWithAdditionalYields(rewriter, first,
                                         /*replaceInitOperandUsesInLoop=*/false, given));
  for (auto [k, store] : llvm::enumerate(stores)) {
    rewriter.setInsertionPointAfter(later);
    auto last = cast<WriteOp>(rewriter.clone(*store));
    give(last, later.getResult(2 * k), later.getResult(2 * k + 1));
    store->moveBefore(later.getBody()->getTerminator());
    give(store, later.getRegionIterArg(2 * k), later.getRegionIterArg(2 * k + 1));
  }
  return later;
}
