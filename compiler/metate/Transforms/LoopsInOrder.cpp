//===- LoopsInOrder.cpp - parallel loops whose duals depend on an order ---*- C++ -*-===//
//
// The dual of a minimum, maximum or product is that of a pair, the number and its dual, and no pair changes indivisibly: in forward
// mode a parallel loop that has one runs in order.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Tree.h"
#include "metate/Transforms/ForwardMode.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace metate;

bool ForwardMode::isOfPairs(const MemoryAccess &access) const {
  if (!access.combined || access.isSum() || !places.has(access))
    return false;
  return !access.isProduct() || activity.isActive(access.written) ||
         activity.isActive(access.result);
}

/// Lower and upper bounds of the loop's variables; fails for cells of which some may be inactive.
LogicalResult ForwardMode::boundsOf(Operation *loop, Values &lower, Values &upper) {
  if (auto range = dyn_cast<RangeOp>(loop)) {
    lower.append(range.getLower().begin(), range.getLower().end());
    upper.append(range.getUpper().begin(), range.getUpper().end());
    return success();
  }
  auto cells = cast<ForEachOp>(loop);
  TreePath path = *findPath(cast<TreeType>(cells.getTree().getType()), cells.getPath());
  if (path.lastActivity() >= 0)
    return fail(loop, "a minimum, maximum or product of variables has a derivative in forward mode "
                      "in loops over ranges and dense fields; this one is over a sparse field");
  for (int64_t extent : path.extents) {
    lower.push_back(arith::ConstantIndexOp::create(builder, loop->getLoc(), 0));
    upper.push_back(arith::ConstantIndexOp::create(builder, loop->getLoc(), extent));
  }
  return success();
}

LogicalResult ForwardMode::putInOrder(Operation *loop) {
  WalkResult found = loop->walk([&](Operation *op) {
    std::optional<MemoryAccess> access = MemoryAccess::of(op);
    return access && isOfPairs(*access) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!found.wasInterrupted())
    return success();
  Values lower, upper;
  builder.setInsertionPoint(loop);
  if (failed(boundsOf(loop, lower, upper)))
    return failure();
  Location loc = loop->getLoc();
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Block &body = loop->getRegion(0).front();
  for (auto [argument, first, end] : llvm::zip(body.getArguments(), lower, upper)) {
    auto made = scf::ForOp::create(builder, loc, first, end, one);
    argument.replaceAllUsesWith(made.getInductionVar());
    builder.setInsertionPointToStart(made.getBody());
  }
  Block *inner = builder.getInsertionBlock();
  inner->getOperations().splice(builder.getInsertionPoint(), body.getOperations(), body.begin(),
                                body.getTerminator()->getIterator());
  loop->erase();
  return success();
}
