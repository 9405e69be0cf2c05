//===- SliceActivations.cpp - what a kernel will activate, counted before it runs -*- C++ -*-===//
//
// Stage 3, where modules are to have slices. A slice is a clone of the kernel, cut down to what its
// activations depend on. ActivationSlice.h says when it would count something else than the kernel.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Graph.h"
#include "metate/Transforms/ActivationSlice.h"
#include "metate/Transforms/Passes.h"
#include "metate/abi/module.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace metate {
#define GEN_PASS_DEF_SLICEACTIVATIONS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
struct SliceActivations : metate::impl::SliceActivationsBase<SliceActivations> {
  using SliceActivationsBase::SliceActivationsBase;

  void runOnOperation() override {
    for (KernelOp kernel : llvm::to_vector(getOperation().getOps<KernelOp>())) {
      if (isNode(kernel))
        continue;
      if (activates(kernel) && failed(addSlice(kernel)))
        return signalPassFailure();
      if (only)
        empty(kernel);
    }
  }

private:
  static bool activates(KernelOp kernel) {
    return kernel
        .walk([](Operation *op) {
          return isa<ActivateOp, AppendOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// Behind all kernels, so that these keep their numbers.
  LogicalResult addSlice(KernelOp kernel) {
    KernelOp slice = kernel.clone();
    slice.setSymName((kernel.getSymName() + METATE_SLICE_SUFFIX).str());
    OpBuilder::atBlockEnd(getOperation().getBody()).insert(slice);
    Builder builder(&getContext());
    unsigned number = slice.getNumArguments();
    auto name = builder.getNamedAttr(mark::name, builder.getStringAttr("counts"));
    if (failed(slice.insertArgument(number, builder.getI64Type(), builder.getDictionaryAttr(name),
                                    kernel.getLoc())))
      return failure();
    ActivationSlice cut(slice, slice.getBody().getArgument(number));
    if (std::optional<ActivationSlice::Problem> problem = cut.run()) {
      refuse(slice, *problem);
      ++refused;
    }
    ++sliced;
    OpPassManager passes(KernelOp::getOperationName());
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
    if (failed(runPipeline(passes, slice)))
      return failure();
    readsOnly(slice);
    return success();
  }

  static void empty(KernelOp kernel) {
    Block &body = kernel.getBody().front();
    while (&body.front() != body.getTerminator())
      body.getTerminator()->getPrevNode()->erase();
  }

  static void refuse(KernelOp slice, const ActivationSlice::Problem &problem) {
    empty(slice);
    OpBuilder builder(slice.getBody().front().getTerminator());
    Value never = arith::ConstantIntOp::create(builder, problem.place, /*value=*/0, /*width=*/1);
    AssertOp::create(builder, problem.place, never, problem.text);
  }

  static void readsOnly(KernelOp slice) {
    Builder builder(slice.getContext());
    for (BlockArgument argument : slice.getBody().getArguments())
      if (isa<TreeType, MemRefType>(argument.getType()))
        slice.setArgAttr(argument.getArgNumber(), mark::access,
                         builder.getI64IntegerAttr(argument.use_empty() ? 0 : METATE_ACCESS_READ));
  }
};
} // namespace
