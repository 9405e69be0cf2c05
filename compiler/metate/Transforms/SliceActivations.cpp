//===- SliceActivations.cpp - what a kernel will activate, counted before it runs -*- C++ -*-===//
//
// Stage 3, where modules are to have slices. A slice is a clone of the kernel, cut down to what its
// activations depend on. ActivationSlice.h says when it would count something else than the kernel.
// A graph's slice runs the slices of its kernels; whether one of these decides by what another kernel
// wrote is seen on a copy of the graph with its runs inlined.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Dialect/Graph.h"
#include "metate/Transforms/ActivationSlice.h"
#include "metate/Transforms/Passes.h"
#include "metate/abi/module.h"

#include "mlir/IR/IRMapping.h"
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
    auto kernels = llvm::to_vector(getOperation().getOps<KernelOp>());
    for (KernelOp kernel : kernels)
      if (activates(kernel) && failed(addSlice(kernel)))
        return signalPassFailure();
    for (KernelOp kernel : kernels)
      if (only && !isGraph(kernel)) // what a graph's hosts see is what its kernels do
        empty(kernel);
  }

private:
  llvm::DenseMap<Operation *, KernelOp> slices; ///< of a graph's kernels

  static bool activates(KernelOp kernel) {
    return kernel
        .walk([](Operation *op) {
          auto run = dyn_cast<RunOp>(op);
          return isa<ActivateOp, AppendOp>(op) || (run && activates(kernelOf(run)))
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// A clone behind all kernels, so that these keep their numbers, with an argument for the counts.
  FailureOr<KernelOp> cloneToCount(KernelOp kernel) {
    KernelOp slice = kernel.clone();
    slice.setSymName((kernel.getSymName() + METATE_SLICE_SUFFIX).str());
    OpBuilder::atBlockEnd(getOperation().getBody()).insert(slice);
    Builder builder(&getContext());
    unsigned number = slice.getNumArguments();
    auto name = builder.getNamedAttr(mark::name, builder.getStringAttr("counts"));
    if (failed(slice.insertArgument(number, builder.getI64Type(), builder.getDictionaryAttr(name),
                                    kernel.getLoc())))
      return failure();
    return slice;
  }

  static Value countsOf(KernelOp slice) { return slice.getBody().getArguments().back(); }

  LogicalResult addSlice(KernelOp kernel) {
    FailureOr<KernelOp> made = cloneToCount(kernel);
    if (failed(made))
      return failure();
    KernelOp slice = *made;
    std::optional<ActivationSlice::Problem> problem =
        isGraph(kernel) ? problemOfGraph(kernel) : ActivationSlice(slice, countsOf(slice)).run();
    if (problem) {
      refuse(slice, *problem);
      ++refused;
    } else if (isGraph(kernel)) {
      runSlices(slice);
    }
    slices[kernel] = slice;
    ++sliced;
    OpPassManager passes(KernelOp::getOperationName());
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
    if (failed(runPipeline(passes, slice)))
      return failure();
    readsOnly(slice);
    return success();
  }

  /// Of a graph whose kernels stand in place of their runs. What a kernel alone refuses, its own slice says.
  std::optional<ActivationSlice::Problem> problemOfGraph(KernelOp graph) {
    FailureOr<KernelOp> made = cloneToCount(graph);
    if (failed(made))
      return ActivationSlice::Problem{graph.getLoc(), "the graph cannot be copied"};
    KernelOp whole = *made;
    std::optional<ActivationSlice::Problem> problem;
    SmallVector<RunOp> runs;
    whole.walk([&](RunOp run) { runs.push_back(run); });
    for (RunOp run : runs) {
      KernelOp node = kernelOf(run);
      node.walk([&](CallOp call) {
        // Functions of one name are another one's in each kernel.
        if (!problem && callsIntoMemory(call))
          problem = {call.getLoc(),
                     ("which cells are activated may depend on what '" + call.getCallee() +
                      "' does, which is called and not inlined: count for the "
                      "graph's kernels one by one")
                         .str()};
      });
      OpBuilder builder(run);
      IRMapping values;
      values.map(node.getBody().getArguments(), run.getOperands());
      for (Operation &op : node.getBody().front().without_terminator())
        builder.clone(op, values);
      run.erase();
    }
    if (!problem)
      problem = ActivationSlice(whole, countsOf(whole), /*isGraph=*/true).run();
    whole.erase();
    return problem;
  }

  /// The graph's slice runs what its kernels' slices count, and nothing else.
  void runSlices(KernelOp graph) {
    SmallVector<RunOp> runs;
    graph.walk([&](RunOp run) { runs.push_back(run); });
    for (RunOp run : runs) {
      if (KernelOp slice = slices.lookup(kernelOf(run))) {
        OpBuilder builder(run);
        auto operands = llvm::to_vector(run.getOperands());
        operands.push_back(countsOf(graph));
        RunOp::create(builder, run.getLoc(), slice.getSymName(), operands);
      }
      run.erase();
    }
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
