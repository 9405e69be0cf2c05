//===- Stages.cpp - the order of the passes ---------------------*- C++ -*-===//
#include "metate/Pipelines/Stages.h"

#include "metate/Pipelines/OnlyWhere.h"
#include "metate/Pipelines/PerTarget.h"
#include "metate/Transforms/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/Passes.h"

#include <chrono>

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

bool metate::isPerTarget(Stage stage) { return stage == Stage::Layout || stage == Stage::Map; }

static void addUnlessDebug(OpPassManager &passes, std::unique_ptr<Pass> pass) {
  passes.addNestedPass<KernelOp>(
      onlyWhere([](KernelOp kernel) { return !kernel.getDebug(); }, std::move(pass)));
}

static void simplify(OpPassManager &passes, const Options &options) {
  // What comes behind it knows no derivatives.
  passes.addPass(createDifferentiate({options.unrollLoops}));
  passes.addNestedPass<KernelOp>(createRecordWrites());
  // Before anything is dropped or moved.
  passes.addNestedPass<KernelOp>(
      onlyWhere([always = options.debug](
                    KernelOp kernel) { return always || kernel->hasAttr(mark::checked); },
                createInsertChecks()));
  passes.addNestedPass<KernelOp>(createExpandQuant());
  // Local vectors that would be selected from, component by component.
  passes.addPass(createIndexLocals({options.unrollLoops}));
  // Variables first: nothing below sees through memory.
  passes.addNestedPass<KernelOp>(createPromoteLocals());
  passes.addNestedPass<KernelOp>(createUnifyExtents());
  addUnlessDebug(passes, createUpliftWhile()); // its checks stand in the condition
  // Before the loops over leaves are written out.
  passes.addNestedPass<KernelOp>(createWidenRanges());
  // Before anything is folded: what it writes is folded already. Checks would be written out too.
  if (options.unrollLoops)
    addUnlessDebug(passes, createUnrollLoops());
  // Before canonicalisation, which folds what the components are.
  passes.addNestedPass<KernelOp>(createScalarizeIndices());
  passes.addPass(createCanonicalizerPass());
  passes.addNestedPass<KernelOp>(createSplitCarried());
  // After canonicalisation has put constants on the right-hand side.
  passes.addNestedPass<KernelOp>(createDelinearizeRanges());
  passes.addNestedPass<KernelOp>(createSplitRows()); // the others
  passes.addNestedPass<KernelOp>(createFoldIndexCasts());
  // Once coordinates are the loops' variables.
  addUnlessDebug(passes, createOrderDimensions({options.deterministic}));
  passes.addNestedPass<KernelOp>(createCutRanges());
  passes.addPass(createCSEPass());
  passes.addPass(createLoopInvariantCodeMotionPass());
}

static void layoutPasses(OpPassManager &passes, const Options &options, const Target &target) {
  const LayoutTuning tuning = target.layoutTuning(options);
  passes.addNestedPass<KernelOp>(createExpandPhilox());
  if (options.proveActivity)
    passes.addNestedPass<KernelOp>(createProveActivity());
  addUnlessDebug(passes, createOwnRows({tuning.ownRowBytes, tuning.usesOfOwnRow}));
  if (options.hoistLeaves) {
    // Activations leave the nest first: staging then sees which trees the nest still changes.
    passes.addNestedPass<KernelOp>(createHoistActivations());
    passes.addNestedPass<KernelOp>(createHoistSlots());
    passes.addNestedPass<KernelOp>(createActivateLeaves());
    passes.addNestedPass<KernelOp>(createDeactivateLeaves({tuning.notedCells}));
    passes.addNestedPass<KernelOp>(createStageLeaves(
        {tuning.rows, tuning.ownWrites, tuning.tileBytes, tuning.rowBytes, tuning.unrolledParts}));
  }
  if (options.scanMasks && tuning.fullLeaves)
    passes.addNestedPass<KernelOp>(createScanMasks());
  if (options.privateReductions) {
    passes.addNestedPass<KernelOp>(
        createPrivateCopies({tuning.copiesBytes, tuning.addsPerCell, tuning.leastAdds}));
    passes.addNestedPass<KernelOp>(createBinScatters(
        {tuning.orderBytes, tuning.leastAdds, tuning.addsToOrder, tuning.streamedOrder}));
    passes.addNestedPass<KernelOp>(createCountPlaces({tuning.orderBytes, tuning.leastPlaces}));
  }
  // Once lengths and cells of lists have the same coordinates; lower-layout wants the loops as this pass leaves them.
  passes.addNestedPass<KernelOp>(createCutLists());
  target.buildLayout(passes, options);
  // While kernels of graphs say what they do with arguments.
  passes.addPass(createPlanIntermediates());
  passes.addPass(createRecordInterfaces());
  passes.addPass(createLowerLayout());
  passes.addNestedPass<KernelOp>(createJoinMerges());
  // Once every pool is there.
  passes.addPass(createPlanPools());
}

void metate::buildStage(OpPassManager &passes, Stage stage, const Options &options,
                        const Target *target) {
  switch (stage) {
  case Stage::Simplify:
    return simplify(passes, options);
  case Stage::Activate:
    passes.addNestedPass<KernelOp>(createExplicitActivation());
    if (options.reserve != Reserve::None)
      passes.addPass(createSliceActivations({/*only=*/options.reserve == Reserve::Only}));
    return;
  case Stage::Offload:
    // While loops are as they were written, and before anything changes one of them; a check between two turns sees memory.
    if (options.promoteCells)
      addUnlessDebug(passes, createFuseLoops());
    // Places that are shared along a loop's last variables are owned then.
    if (options.privateReductions)
      passes.addNestedPass<KernelOp>(createSerializeReductions({!options.deterministic}));
    // Before loops change shape: ownership is read off the loop's variables.
    if (options.demoteAtomics)
      passes.addNestedPass<KernelOp>(createDemoteAtomics());
    // What was an atomic operation may be accumulated in a variable; a check between two turns sees memory.
    if (options.promoteCells) {
      addUnlessDebug(passes, createPromoteCells());
      addUnlessDebug(passes, createPromoteLocals());
      addUnlessDebug(passes, createCarryChosen());
      addUnlessDebug(passes, createEndAtRest());
    }
    if (options.reassociateSums && !options.deterministic)
      passes.addNestedPass<KernelOp>(createReassociateSums());
    if (options.privateReductions)
      passes.addNestedPass<KernelOp>(createPrivateReductions());
    passes.addNestedPass<KernelOp>(createOffload({options.deterministic}));
    if (options.demoteAtomics)
      passes.addNestedPass<KernelOp>(createGatherSums());
    // Once all loops are there.
    if (options.splitBorders)
      passes.addNestedPass<KernelOp>(createNarrowLoops());
    if (options.optLevel > 0) {
      addUnlessDebug(passes, createJoinBoundedCounts());
      addUnlessDebug(passes, createWalkWords());
    }
    // Once borders are bounds. A number that is stored for nothing is a race to the thread sanitizer.
    if (options.optLevel > 0 && options.sanitizer != Sanitizer::Thread)
      addUnlessDebug(passes, createBlendStores());
    passes.addNestedPass<KernelOp>(createCountWork()); // nothing where nobody asks for remarks
    // Once tasks are counted: of two copies one runs.
    if (options.unrollLoops)
      passes.addNestedPass<KernelOp>(createGuessExtents());
    return;
  case Stage::Layout:
    return layoutPasses(passes, options, *target);
  case Stage::Map:
    return target->buildMap(passes, options);
  default:
    llvm_unreachable("a stage without passes");
  }
}

namespace {
/// Collects diagnostics as text while it lives; remarks go on to who asked for them.
class DiagnosticText {
public:
  explicit DiagnosticText(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Remark)
            return failure();
          add(diagnostic);
          return success();
        }) {}
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

/// `target`: null up to stage offload.
static llvm::Error runStage(ModuleOp module, Stage stage, bool isLast, const Options &options,
                            const Target *target) {
  DiagnosticText diagnostics(module.getContext());
  if (stage == Stage::Emit) {
    if (llvm::Error error = target->emit(module, options))
      return error;
  } else {
    PassManager passes(module.getContext());
    passes.enableVerifier(false); // after each pass it would be a tenth of all work
    buildStage(passes, stage, options, target);
    bool leaves = isLast || stage == Stage::Map; // to somebody, or to the target's code generator
    if (failed(passes.run(module)) || (options.verify && leaves && failed(verify(module))))
      return llvm::createStringError("stage " + stageName(stage) + " failed\n" + diagnostics.text);
  }
  return options.verify ? verifyStage(module, stage, target) : llvm::Error::success();
}

/// What a report says of a stage that took so long.
static CompileReport::StageReport reportOf(ModuleOp module, Stage stage, double milliseconds,
                                           const CompileOptions &options, const Target *target) {
  std::string name = stageName(stage).str();
  if (target && isPerTarget(stage))
    name += "." + target->name().str();
  return {name, milliseconds, stage < Stage::Emit ? dumpModule(module, stage, options) : ""};
}

static llvm::Error runStages(ModuleOp module, Stage from, Stage to, const CompileOptions &options,
                             const Target *target) {
  for (int next = int(from) + 1; next <= int(to); ++next) {
    auto begin = std::chrono::steady_clock::now();
    if (llvm::Error error =
            runStage(module, Stage(next), /*isLast=*/next == int(to), options, target))
      return error;
    std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    if (options.report)
      options.report->stages.push_back(
          reportOf(module, Stage(next), took.count(), options, target));
  }
  return llvm::Error::success();
}

/// One target, where a module is one target's.
static llvm::Error checkTargets(Stage from, Stage to, const CompileOptions &options) {
  if (to >= Stage::Layout && options.targets.empty())
    return llvm::createStringError("expected at least one target");
  for (Stage stage : {from, to})
    if (isPerTarget(stage) && options.targets.size() > 1)
      return llvm::createStringError("a module after stage " + stageName(stage) +
                                     " is one target's: expected one target, got " +
                                     llvm::Twine(options.targets.size()));
  return llvm::Error::success();
}

llvm::Error metate::runStages(ModuleOp module, Stage from, Stage to,
                              const CompileOptions &options) {
  if (llvm::Error error = checkTargets(from, to, options))
    return error;
  const Target *only = options.targets.size() == 1 ? options.targets.front().get() : nullptr;
  if (options.verify)
    if (llvm::Error error = verifyStage(module, from, only))
      return error;
  std::optional<CollectedRemarks> collected;
  if (options.report) {
    collected.emplace(module.getContext(), options.report->remarks);
    options.report->stages.push_back(reportOf(module, from, 0, options, only));
  }
  Stage shared = std::min(to, Stage::Offload);
  if (llvm::Error error = ::runStages(module, from, shared, options, nullptr))
    return error;
  if (to == shared)
    return llvm::Error::success();
  return forEachTarget(module, options.targets, [&](ModuleOp copy, const Target &target) {
    return ::runStages(copy, std::max(from, shared), to, options, &target);
  });
}

llvm::Error metate::recordInterfaces(ModuleOp module) {
  DiagnosticText diagnostics(module.getContext());
  PassManager passes(module.getContext());
  passes.addPass(createRecordInterfaces());
  if (failed(passes.run(module)))
    return llvm::createStringError("metate-record-interfaces failed\n" + diagnostics.text);
  return llvm::Error::success();
}

llvm::Error metate::makeDerivatives(ModuleOp module, const Options &options) {
  DiagnosticText diagnostics(module.getContext());
  PassManager passes(module.getContext());
  passes.addPass(createDifferentiate({options.unrollLoops}));
  if (failed(passes.run(module)))
    return llvm::createStringError("metate-differentiate failed\n" + diagnostics.text);
  return llvm::Error::success();
}

static llvm::Error runOnKernels(ModuleOp module, std::unique_ptr<Pass> last = nullptr) {
  DiagnosticText diagnostics(module.getContext());
  PassManager passes(module.getContext());
  passes.addNestedPass<KernelOp>(createPromoteLocals());
  if (last)
    passes.addNestedPass<KernelOp>(std::move(last));
  if (failed(passes.run(module)))
    return llvm::createStringError("a kernel's parts: failed\n" + diagnostics.text);
  return llvm::Error::success();
}

llvm::Error metate::takePartOfKernel(ModuleOp module, unsigned number) {
  return runOnKernels(module, createTakePart({number}));
}

llvm::Expected<std::vector<PartAccesses>> metate::partsOfKernel(ModuleOp module) {
  if (llvm::Error error = runOnKernels(module))
    return error;
  KernelOp kernel = *module.getOps<KernelOp>().begin();
  return KernelParts::of(kernel).accesses(kernel);
}

llvm::Error metate::emitFor(ModuleOp module, llvm::ArrayRef<TargetPtr> targets,
                            const Options &options) {
  if (targets.empty())
    return llvm::createStringError("expected at least one target");
  return forEachTarget(module, targets, [&](ModuleOp copy, const Target &target) {
    return runStage(copy, Stage::Emit, /*isLast=*/true, options, &target);
  });
}

std::string metate::dumpModule(ModuleOp module, Stage stage, const CompileOptions &options) {
  std::string text = "// after " + stageName(stage).str();
  if (isPerTarget(stage) && options.targets.size() == 1)
    text += " for " + options.targets.front()->name().str();
  if (std::string changed = changedOptions(options); !changed.empty())
    text += ": " + changed;
  text += "\n";
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags;
  flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  module->print(stream, flags);
  stream << "\n";
  return text;
}

void metate::registerStagePasses() {
  registerMetatePasses();
  registerTransformsPasses();
}
