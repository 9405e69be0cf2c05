//===- OptMain.cpp - the developers' driver ---------------------*- C++ -*-===//
//
// mlir-opt with the metate dialect, its passes and its stages, and the families of targets that it is given. Two ways to use it: single passes
// and pipelines as in mlir-opt (`--metate-stage-activate` runs one stage's passes,
// `--metate-emit=target=x86-64-v3` generates code), or whole stages with their invariants checked:
// `--start-from=STAGE --stop-after=STAGE` on a stage's dump;
// `--stop-after=pack` writes the module file. It orders no passes itself: that is Pipelines'.
//
//===----------------------------------------------------------------------===//
#include "OptMain.h"

#include "metate/Dialect/Metate.h"
#include "metate/Module/Module.h"
#include "metate/Pipelines/Stages.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

static constexpr const char *toolName = "metate-opt";

namespace {
/// Stage emit as a pass, for tests of single stages.
struct EmitPass : PassWrapper<EmitPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EmitPass)
  explicit EmitPass(const metate::TargetRegistry &registry) : registry(registry) {}
  EmitPass(const EmitPass &other) : PassWrapper(other), registry(other.registry) {}

  StringRef getArgument() const override { return "metate-emit"; }
  StringRef getDescription() const override {
    return "stage emit: functions of the LLVM dialect to object code";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    this->registry.registerDialects(registry);
  }

  void runOnOperation() override {
    if (llvm::Error error = run()) {
      getOperation().emitError() << llvm::toString(std::move(error));
      signalPassFailure();
    }
  }

  llvm::Error run() {
    SmallVector<metate::TargetPtr> parsed;
    for (const std::string &name : targets) {
      llvm::Expected<metate::TargetPtr> target = registry.parse(name);
      if (!target)
        return target.takeError();
      parsed.push_back(*target);
    }
    metate::Options options;
    options.optLevel = optLevel;
    options.contract = contract;
    if (llvm::Error error = metate::setOption(options, "sanitizer", sanitizer))
      return error;
    return metate::emitFor(getOperation(), parsed, options);
  }

  const metate::TargetRegistry &registry;
  ListOption<std::string> targets{*this, "target",
                                  llvm::cl::desc("targets: native, x86-64-v3, aarch64, ...")};
  Option<unsigned> optLevel{*this, "opt-level", llvm::cl::desc("0 to 3"), llvm::cl::init(2)};
  Option<std::string> sanitizer{*this, "sanitizer", llvm::cl::desc("address or thread")};
  Option<bool> contract{*this, "contract", llvm::cl::desc("fused multiply-adds"),
                        llvm::cl::init(true)};
};
} // namespace

namespace {
/// Of the passes of one stage.
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("whose stage, from layout on"),
                             llvm::cl::init("native")};
};
} // namespace

static void registerStagePipelines(const metate::TargetRegistry &registry) {
  static const std::pair<metate::Stage, const char *> stages[] = {
      {metate::Stage::Simplify, "metate-stage-simplify"},
      {metate::Stage::Activate, "metate-stage-activate"},
      {metate::Stage::Offload, "metate-stage-offload"},
      {metate::Stage::Layout, "metate-stage-layout"},
      {metate::Stage::Map, "metate-stage-map"}};
  for (auto [stage, name] : stages)
    PassPipelineRegistration<PipelineOptions>(
        name, ("the passes of stage " + metate::stageName(stage)).str(),
        [stage = stage, &registry](OpPassManager &passes, const PipelineOptions &options) {
          llvm::Expected<metate::TargetPtr> target = registry.parse(options.target);
          if (!target)
            llvm::report_fatal_error(target.takeError(), /*gen_crash_diag=*/false);
          metate::buildStage(passes, stage, {},
                             stage < metate::Stage::Layout ? nullptr : target->get());
        });
}

/// Options of the stage driver.
struct StageOptions {
  llvm::cl::OptionCategory category{"stages"};
  llvm::cl::opt<std::string> startFrom{
      "start-from", llvm::cl::desc("the stage that the input has left"), llvm::cl::cat(category)};
  llvm::cl::opt<std::string> stopAfter{"stop-after", llvm::cl::desc("the last stage to run"),
                                       llvm::cl::cat(category)};
  llvm::cl::list<std::string> targets{
      "target", llvm::cl::desc("a target to emit for; may be repeated"), llvm::cl::cat(category)};
  llvm::cl::list<std::string> options{
      "option", llvm::cl::desc("NAME=VALUE, an option of Options.def; may be repeated"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> emit{
      "emit",
      llvm::cl::desc(
          "after pack: metate (the default), so (a shared object), o (an object), c (source "
          "of a target c), h (the C header of the last three)"),
      llvm::cl::init("metate"), llvm::cl::cat(category)};
};

static llvm::Expected<metate::Stage> stageOf(StringRef name, metate::Stage otherwise) {
  if (name.empty())
    return otherwise;
  if (std::optional<metate::Stage> stage = metate::parseStage(name))
    return *stage;
  return llvm::createStringError("no stage '" + name + "'; the stages are " +
                                 llvm::join(metate::stageNames(), ", "));
}

/// `carrier` by value: LLD resets all command-line options of the process.
static llvm::Expected<std::string> packAs(ModuleOp module, const metate::TargetRegistry &targets,
                                          std::string carrier) {
  if (carrier == "metate")
    return metate::pack(module, targets);
  if (carrier != "o" && carrier != "so" && carrier != "c" && carrier != "h")
    return llvm::createStringError("emit: expected metate, so, o, c or h, got '" + carrier + "'");
  llvm::Expected<metate::StaticCarrier> packed =
      carrier == "so" ? metate::packLibrary(module, targets) : metate::packStatic(module, targets);
  if (!packed)
    return packed.takeError();
  if (carrier == "h")
    return packed->header;
  if (packed->isSource != (carrier == "c"))
    return llvm::createStringError("emit: '" + carrier +
                                   "' is not what the target's code becomes: expected " +
                                   (packed->isSource ? "c" : "o or so"));
  if (packed->files.size() != 1)
    return llvm::createStringError("such a file is for one target, got " +
                                   llvm::Twine(packed->files.size()));
  return packed->files[0];
}

/// The bytes that the last stage leaves: a dump, or a module file after pack.
static llvm::Expected<std::string>
runDriver(ModuleOp module, const metate::TargetRegistry &registry, const StageOptions &options) {
  llvm::Expected<metate::Stage> from = stageOf(options.startFrom, metate::Stage::Import);
  if (!from)
    return from.takeError();
  llvm::Expected<metate::Stage> to = stageOf(options.stopAfter, metate::Stage::Pack);
  if (!to)
    return to.takeError();
  metate::CompileOptions compile;
  for (StringRef option : options.options) {
    auto [name, value] = option.split('=');
    if (llvm::Error error = metate::setOption(compile, name, value))
      return error;
  }
  SmallVector<std::string> names(options.targets.begin(), options.targets.end());
  if (names.empty())
    names.push_back("native");
  for (const std::string &name : names) {
    llvm::Expected<metate::TargetPtr> target = registry.parse(name);
    if (!target)
      return target.takeError();
    compile.targets.push_back(*target);
  }
  metate::Stage last = std::min(*to, metate::Stage::Emit);
  // A module that has been through emit knows its targets itself.
  if (*from < last)
    if (llvm::Error error = metate::runStages(module, *from, last, compile))
      return error;
  return *to == metate::Stage::Pack ? packAs(module, registry, options.emit)
                                    : metate::dumpModule(module, *to, compile);
}

static LogicalResult runStagesOn(StringRef inputName, StringRef outputName,
                                 const DialectRegistry &registry,
                                 const metate::TargetRegistry &targets,
                                 const StageOptions &options) {
  std::string text;
  std::unique_ptr<llvm::MemoryBuffer> input = openInputFile(inputName, &text);
  std::unique_ptr<llvm::ToolOutputFile> output =
      input ? openOutputFile(outputName, &text) : nullptr;
  if (!output) {
    llvm::errs() << toolName << ": " << text << "\n";
    return failure();
  }
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(input), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return failure();
  llvm::Expected<std::string> bytes = runDriver(*module, targets, options);
  if (!bytes) {
    llvm::errs() << toolName << ": " << llvm::toString(bytes.takeError()) << "\n";
    return failure();
  }
  output->os() << *bytes;
  output->keep();
  return success();
}

int metate::optMain(int argc, char **argv, const TargetRegistry &targets) {
  llvm::InitLLVM init(argc, argv);
  DialectRegistry registry;
  metate::registerDialects(registry);
  targets.registerDialects(registry);
  targets.registerPasses();
  metate::registerStagePasses();
  registerPass([&targets] { return std::make_unique<EmitPass>(targets); });
  registerStagePipelines(targets);
  // LLVM's code generator, which is linked in, has an option of this name for its own passes.
  if (llvm::cl::Option *taken = llvm::cl::getRegisteredOptions().lookup("stop-after"))
    taken->removeArgument();
  StageOptions options;
  auto [input, output] =
      registerAndParseCLIOptions(argc, argv, "Metate's passes and stages\n", registry);
  if (!options.startFrom.empty() || !options.stopAfter.empty())
    return asMainReturnCode(runStagesOn(input, output, registry, targets, options));
  return asMainReturnCode(MlirOptMain(argc, argv, input, output, registry));
}
