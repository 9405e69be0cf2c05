//===- LoopBox.cpp - the box that a parallel loop walks ---------*- C++ -*-===//
#include "metate/Transforms/LoopBox.h"

#include "metate/Dialect/Tree.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace metate;

static TreePath pathOf(ForEachOp each) {
  return *findPath(cast<TreeType>(each.getTree().getType()), each.getPath());
}

bool LoopBox::is(Operation *loop) {
  auto each = dyn_cast<ForEachOp>(loop);
  if (!each)
    return isa<RangeOp>(loop);
  TreePath path = pathOf(each);
  return path.levels.size() == 1 && path.lastActivity() < 0 && path.lastPool() < 0 &&
         !llvm::is_contained(path.extents, unboundedExtent);
}

LoopBox LoopBox::of(Operation *loop, OpBuilder &builder) {
  if (auto range = dyn_cast<RangeOp>(loop))
    return {llvm::to_vector(range.getLower()), llvm::to_vector(range.getUpper())};
  LoopBox box;
  for (int64_t extent : pathOf(cast<ForEachOp>(loop)).extents) {
    box.lower.push_back(arith::ConstantIndexOp::create(builder, loop->getLoc(), 0));
    box.upper.push_back(arith::ConstantIndexOp::create(builder, loop->getLoc(), extent));
  }
  return box;
}
