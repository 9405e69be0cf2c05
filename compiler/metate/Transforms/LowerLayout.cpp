//===- LowerLayout.cpp - trees and arrays become bytes ----------*- C++ -*-===//
#include "metate/Transforms/LowerKernel.h"
#include "metate/Transforms/Passes.h"

namespace metate {
#define GEN_PASS_DEF_LOWERLAYOUT
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
struct LowerLayout : metate::impl::LowerLayoutBase<LowerLayout> {
  void runOnOperation() override {
    for (KernelOp kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>()))
      if (failed(KernelLowering(kernel).run()))
        return signalPassFailure();
  }
};
} // namespace
