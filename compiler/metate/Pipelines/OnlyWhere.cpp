//===- OnlyWhere.cpp - passes over some of a module's kernels ---*- C++ -*-===//
#include "metate/Pipelines/OnlyWhere.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace metate;

namespace {
class OnlyWhere : public PassWrapper<OnlyWhere, OperationPass<KernelOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OnlyWhere)

  OnlyWhere(std::function<bool(KernelOp)> condition, std::unique_ptr<Pass> pass)
      : condition(std::move(condition)), passes(KernelOp::getOperationName()) {
    passes.addPass(std::move(pass));
  }
  OnlyWhere(const OnlyWhere &other)
      : PassWrapper(other), condition(other.condition), passes(other.passes) {}

  StringRef getName() const override { return "OnlyWhere"; }

  void getDependentDialects(DialectRegistry &registry) const override {
    passes.getDependentDialects(registry);
  }

  void runOnOperation() override {
    if (condition(getOperation()) && failed(runPipeline(passes, getOperation())))
      signalPassFailure();
  }

private:
  std::function<bool(KernelOp)> condition;
  OpPassManager passes;
};
} // namespace

std::unique_ptr<Pass> metate::onlyWhere(std::function<bool(KernelOp)> condition,
                                        std::unique_ptr<Pass> pass) {
  return std::make_unique<OnlyWhere>(std::move(condition), std::move(pass));
}
