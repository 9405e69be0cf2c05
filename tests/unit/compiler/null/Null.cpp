#include "Null.h"

#include "metate/Target/Common/Passes.h"

using namespace metate;

namespace {
llvm::Error refuse(llvm::StringRef what) {
  return llvm::createStringError("target 'null' " + what);
}

struct NullTarget : Target {
  using Target::Target;
  llvm::StringRef family() const override { return "null"; }
  LayoutTuning layoutTuning(const Options &) const override { return {}; }
  /// The half of stage map that families share; one that emits code goes on from there.
  void buildMap(mlir::OpPassManager &passes, const Options &) const override {
    passes.addPass(createOutlineTasks({/*serial=*/true}));
  }
  std::string problemAfterMap(mlir::Operation *op) const override {
    return llvm::isa<SerialOp>(op) ? "expected tasks to be functions" : "";
  }
  llvm::Error emit(mlir::ModuleOp, const Options &) const override {
    return refuse("emits no code");
  }
  bool isExternal(llvm::StringRef, Sanitizer) const override { return false; }
  llvm::Error verifyPayload(PayloadOp, llvm::ArrayRef<llvm::StringRef>) const override {
    return refuse("has no payloads");
  }
  llvm::Expected<Variant> variantOf(PayloadOp) const override { return refuse("has no payloads"); }
  llvm::Expected<std::string> makeSection(PayloadOp, const SectionRequest &) const override {
    return refuse("has no payloads");
  }
};

struct NullFamily : TargetFamily {
  llvm::StringRef name() const override { return "null"; }
  llvm::StringRef expectedNames() const override { return "null"; }
  llvm::Expected<TargetPtr> parse(llvm::StringRef name) const override {
    return name == "null" ? std::make_shared<NullTarget>(name) : TargetPtr();
  }
  llvm::Expected<TargetPtr> targetOf(PayloadOp) const override { return parse("null"); }
  void registerDialects(mlir::DialectRegistry &) const override {}
  void registerPasses() const override { registerMetateCommonPasses(); }
};
} // namespace

std::unique_ptr<TargetFamily> test::createNullFamily() { return std::make_unique<NullFamily>(); }
