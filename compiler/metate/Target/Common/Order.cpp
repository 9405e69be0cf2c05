//===- Order.cpp - what of a task shows the order of iterations -*- C++ -*-===//
#include "metate/Target/Common/Order.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace metate;

bool target::isRounded(RmwOp rmw) {
  return isa<FloatType>(getElementTypeOrSelf(rmw.getValue().getType()));
}

static bool mayShowOrder(Operation *root, llvm::SmallPtrSetImpl<Operation *> &seen) {
  auto visit = [&](Operation *op) {
    bool shows = isa<CasOp>(op);
    if (auto rmw = dyn_cast<RmwOp>(op))
      shows = target::isRounded(rmw) || !rmw.getOld().use_empty() ||
              rmw.getKind() == arith::AtomicRMWKind::assign;
    if (auto call = dyn_cast<TreeCallOp>(op))
      shows = call.getCallee().starts_with("append");
    if (auto call = dyn_cast<func::CallOp>(op)) {
      Operation *callee = SymbolTable::lookupNearestSymbolFrom(op, call.getCalleeAttr());
      shows = !callee || (seen.insert(callee).second && mayShowOrder(callee, seen));
    }
    return shows ? WalkResult::interrupt() : WalkResult::advance();
  };
  return root->walk(visit).wasInterrupted();
}

bool target::showsOrder(Operation *code) {
  llvm::SmallPtrSet<Operation *, 4> seen;
  return mayShowOrder(code, seen);
}
