//===- SlotTasks.cpp - what all invocations do with a tree's slots -*- C++ -*-===//
//
// A CPU's entry gives the slots of a pool to the host's workers, before a task (snapshot) and behind it (collect). Here that is a
// launch of its own, in which each invocation has its share; what is one worker's stands in the segments between.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/Grid/MapGrid.h"

#include "metate/Layout/TypeBlob.h"
#include "metate/Mutants/Mutants.h"
#include "metate/abi/tree.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace metate;
using namespace metate::grid;

std::vector<SlotStep> grid::slotSteps(TreeCallOp call) {
  if (call.getCallee() == "snapshot")
    return {{"snapshot_share", int64_t(call.getLevel()), std::nullopt, true}};
  if (call.getCallee() != "collect")
    return {};
  const bool sweeps = call.getLevel() != 0;
  const std::string blob = cantFail(layout::treeTypeBlob(cast<TreeType>(call.getTree())));
  auto *type = reinterpret_cast<const metate_tree_type *>(blob.data());
  auto *levels = reinterpret_cast<const metate_level *>(type + 1);
  std::vector<SlotStep> steps;
  // What lies in the root cell, from outside in: what is inactive there has been cleared.
  for (uint32_t level = 1; sweeps && level < type->level_count; ++level) {
    uint32_t above = levels[level].parent;
    while (above && levels[above].pool == METATE_NONE)
      above = levels[above].parent;
    const bool isList = levels[level].kind == METATE_LEVEL_DYNAMIC;
    if (above || (!isList && levels[level].kind != METATE_LEVEL_BITMASKED))
      continue;
    for (int64_t step = 0; step <= isList; ++step)
      steps.push_back({"sweep_root", level, step, true});
  }
  // Pools have their numbers in preorder, as levels do.
  for (uint32_t level = 0; level < type->level_count; ++level) {
    if (levels[level].pool == METATE_NONE)
      continue;
    if (levels[level].kind != METATE_LEVEL_HASH) {
      steps.push_back({"collect_share", level, sweeps, true});
      continue;
    }
    steps.push_back({"collect_hash", level, std::nullopt, false});
    if (sweeps)
      steps.push_back({"sweep_share", level, std::nullopt, true});
  }
  steps.push_back({"collect_end", 0, std::nullopt, false});
  return steps;
}

/// The call of one step, at the builder's place.
static void makeCall(OpBuilder &builder, TreeCallOp call, const SlotStep &step,
                     ValueRange numbers) {
  IntegerAttr flag = step.flag ? builder.getI64IntegerAttr(*step.flag) : IntegerAttr();
  TreeCallOp::create(builder, call.getLoc(), Type(), step.callee, call.getBlock(), step.level,
                     numbers, ValueRange(), flag, call.getTree());
}

Operation *grid::makeSerialStep(TreeCallOp call, const SlotStep &step) {
  OpBuilder builder(call);
  makeCall(builder, call, step, {});
  return call->getPrevNode();
}

void KernelMapping::makeSlotTask(TreeCallOp call, const SlotStep &step) {
  auto module = kernel->getParentOfType<ModuleOp>();
  Task told;
  told.group = uint32_t(group);
  makeFunction(call.getLoc(), std::move(told), /*always=*/false, [&](Code &code, Part) {
    OpBuilder &builder = code.builder;
    Type i64 = builder.getI64Type();
    auto number = [&](StringRef name) {
      return target::fromLLVM(code, grid::call(code, module, name, i64, {}),
                              builder.getIndexType());
    };
    Value own = number("metate_grid_invocation"), all = number("metate_grid_invocations");
    if (isMutant(Mutant::GridShareLost))
      own = arith::ConstantIndexOp::create(builder, call.getLoc(), 0);
    makeCall(builder, call, step, {own, all});
  });
}
