//===- Stages.cpp - the order of the passes ---------------------*- C++ -*-===//
#include "metate/Pipelines/Stages.h"

#include "metate/Emit/Emit.h"
#include "metate/Target/Cpu/Passes.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace metate;

llvm::ArrayRef<llvm::StringRef> metate::stageNames() {
  static constexpr StringRef names[] = {"import", "simplify", "activate", "offload",
                                        "layout", "map",      "emit",     "pack"};
  return names;
}

StringRef metate::stageName(Stage stage) { return stageNames()[size_t(stage)]; }

std::optional<Stage> metate::parseStage(StringRef name) {
  for (auto [k, known] : llvm::enumerate(stageNames()))
    if (known == name)
      return Stage(k);
  return std::nullopt;
}

static void simplify(OpPassManager &passes, bool debug) {
  // Before anything is dropped or moved.
  if (debug)
    passes.addNestedPass<KernelOp>(createInsertChecks());
  // Variables first: nothing below sees through memory.
  passes.addNestedPass<KernelOp>(createPromoteLocals());
  passes.addPass(createCanonicalizerPass());
  // After canonicalisation has put constants on the right-hand side.
  passes.addNestedPass<KernelOp>(createFoldIndexCasts());
  passes.addPass(createCSEPass());
  passes.addPass(createLoopInvariantCodeMotionPass());
}

static void map(OpPassManager &passes, const CompileOptions &options) {
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  // Once what guards a leaf is known to be one value; before loops become branches.
  passes.addPass(createUnswitchNests());
  // What guards whole rows has left them: what is left varies from cell to cell.
  // What is read or written for nothing is a race to the thread sanitizer.
  passes.addPass(createFlattenRows({/*blend=*/options.sanitizer != Sanitizer::Thread}));
  passes.addPass(createCanonicalizerPass());
  MapTasksCpuOptions tasks;
  // Instrumented code is to run in as many pieces as it can.
  tasks.leastNanoseconds = options.sanitizer == Sanitizer::None ? options.chunkNanoseconds : 0;
  tasks.acrossIterations = options.acrossIterations;
  // AddressSanitizer and ThreadSanitizer follow accesses of at most 16 bytes.
  tasks.nontemporalBytes =
      options.sanitizer == Sanitizer::None ? int64_t(options.nontemporalBytes) : -1;
  passes.addPass(createMapTasksCpu(tasks));
  passes.addPass(createSCFToControlFlowPass());
  // What may stop a kernel ends its block, so it waits for blocks.
  passes.addPass(createLowerChecksCpu());
  passes.addPass(createConvertToLLVMCpu());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

void metate::buildStage(OpPassManager &passes, Stage stage, const CompileOptions &options) {
  switch (stage) {
  case Stage::Simplify:
    return simplify(passes, options.debug);
  case Stage::Activate:
    passes.addNestedPass<KernelOp>(createExplicitActivation());
    if (options.slices != Slices::None)
      passes.addPass(createSliceActivations({/*only=*/options.slices == Slices::Only}));
    return;
  case Stage::Offload:
    // Before loops change shape: ownership is read off the loop's variables.
    if (options.demoteAtomics)
      passes.addNestedPass<KernelOp>(createDemoteAtomics());
    if (options.privateReductions)
      passes.addNestedPass<KernelOp>(createPrivateReductions());
    passes.addNestedPass<KernelOp>(createOffload({options.deterministic}));
    return;
  case Stage::Layout:
    passes.addNestedPass<KernelOp>(createExpandPhilox());
    if (options.proveActivity)
      passes.addNestedPass<KernelOp>(createProveActivity());
    if (options.hoistLeaves) {
      // Activations leave the nest first: staging then sees which trees the nest still changes.
      passes.addNestedPass<KernelOp>(createHoistActivations());
      passes.addNestedPass<KernelOp>(createHoistSlots());
      passes.addNestedPass<KernelOp>(createActivateLeaves());
      passes.addNestedPass<KernelOp>(createDeactivateLeaves());
      // AddressSanitizer and ThreadSanitizer follow accesses of at most 16 bytes.
      passes.addNestedPass<KernelOp>(
          createStageLeaves({/*rows=*/options.sanitizer == Sanitizer::None,
                             /*ownWrites=*/options.sanitizer != Sanitizer::Thread}));
    }
    if (options.scanMasks)
      passes.addNestedPass<KernelOp>(createScanMasks());
    passes.addPass(createLowerLayout());
    return;
  case Stage::Map:
    return map(passes, options);
  default:
    llvm_unreachable("a stage without passes");
  }
}

namespace {
/// Collects diagnostics as text while it lives.
class DiagnosticText {
public:
  explicit DiagnosticText(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) { add(diagnostic); }) {}
  std::string text;

private:
  void add(Diagnostic &diagnostic) {
    llvm::raw_string_ostream stream(text);
    stream << diagnostic.getLocation() << ": " << diagnostic << "\n";
    for (Diagnostic &note : diagnostic.getNotes())
      stream << note.getLocation() << ": note: " << note << "\n";
  }
  ScopedDiagnosticHandler handler;
};
} // namespace

llvm::Error metate::runStages(ModuleOp module, Stage from, Stage to,
                              const CompileOptions &options) {
  DiagnosticText diagnostics(module.getContext());
  if (options.verify)
    if (llvm::Error error = verifyStage(module, from))
      return error;
  for (int next = int(from) + 1; next <= int(to); ++next) {
    Stage stage = Stage(next);
    if (stage == Stage::Emit) {
      if (llvm::Error error = emit(module, options.targets, {options.contract, options.sanitizer}))
        return error;
    } else {
      PassManager passes(module.getContext());
      passes.enableVerifier(false); // after each pass it would be a tenth of all work
      buildStage(passes, stage, options);
      bool leaves = next == int(to) || stage == Stage::Map; // to somebody, or to LLVM
      if (failed(passes.run(module)) || (options.verify && leaves && failed(verify(module))))
        return llvm::createStringError("stage " + stageName(stage) + " failed\n" +
                                       diagnostics.text);
    }
    if (options.verify)
      if (llvm::Error error = verifyStage(module, stage))
        return error;
  }
  return llvm::Error::success();
}

std::string metate::dumpModule(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags;
  flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  module->print(stream, flags);
  stream << "\n";
  return text;
}

void metate::registerAllPasses() {
  registerMetatePasses();
  registerMetateCpuPasses();
  registerTransformsPasses();
  registerSCFToControlFlowPass();
  registerReconcileUnrealizedCastsPass();
}
