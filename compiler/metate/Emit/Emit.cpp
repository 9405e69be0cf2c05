//===- Emit.cpp - LLVM dialect to object code -------------------*- C++ -*-===//
//
// MLIR's translation to LLVM IR, LLVM's middle end with the target's machine, and its code
// generator into memory. What the module keeps is the object file, so that a dump after this stage
// is text again and pack can start from it.
//
//===----------------------------------------------------------------------===//
#include "metate/Emit/Emit.h"

#include "metate/Dialect/Metate.h"
#include "metate/Emit/Analyses.h"
#include "metate/Emit/Architecture.h"
#include "metate/Emit/BareMachine.h"
#include "metate/Emit/Blends.h"
#include "metate/Emit/CodegenRemarks.h"
#include "metate/Emit/Externals.h"
#include "metate/Emit/Extremes.h"
#include "metate/Emit/HalfConversions.h"
#include "metate/Emit/Parts.h"
#include "metate/Emit/Sanitize.h"
#include "metate/Emit/Strides.h"
#include "metate/Emit/TreeProtocol.h"
#include "metate/Emit/Windows.h"
#include "metate/Mutants/Mutants.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Target/LLVMIR/LLVMTranslationInterface.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/Threading.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/LoopDeletion.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/Scalarizer.h"

#include <atomic>
#include <system_error>
#include <thread>

using namespace mlir;
using namespace metate;
using llvm::Error;
using llvm::Expected;

void metate::registerEmit(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

static void ensureRegistered(MLIRContext *context) {
  auto *dialect = context->getOrLoadDialect<LLVM::LLVMDialect>();
  if (dialect->getRegisteredInterface<LLVMTranslationDialectInterface>())
    return;
  DialectRegistry registry;
  registerEmit(registry);
  context->appendDialectRegistry(registry);
}

static bool isLLVMOp(Operation &op) { return isa<LLVM::LLVMDialect>(op.getDialect()); }

namespace {
/// Keeps the text of MLIR's diagnostics for an Error.
struct Diagnostics {
  explicit Diagnostics(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error) {
            llvm::raw_string_ostream stream(text);
            stream << (text.empty() ? "" : "; ") << diagnostic.getLocation() << ": " << diagnostic;
          }
          return success();
        }) {}
  std::string text;
  ScopedDiagnosticHandler handler;
};
} // namespace

/// Gives each function a scope, without which its lines would be lost.
static Error addScopes(ModuleOp code) {
  Diagnostics diagnostics(code.getContext());
  PassManager manager(code.getContext(), ModuleOp::getOperationName());
  manager.enableVerifier(false); // the map stage's verifier has run
  manager.addPass(LLVM::createDIScopeForLLVMFuncOpPass());
  if (failed(manager.run(code)))
    return llvm::createStringError("no debug information could be made: " + diagnostics.text);
  return Error::success();
}

Expected<std::unique_ptr<llvm::Module>> metate::translate(ModuleOp code, llvm::LLVMContext &context,
                                                          const llvm::TargetMachine &machine) {
  return translate(code, context, machine.getTargetTriple(), machine.createDataLayout());
}

Expected<std::unique_ptr<llvm::Module>> metate::translate(ModuleOp code, llvm::LLVMContext &context,
                                                          const llvm::Triple &triple,
                                                          const llvm::DataLayout &layout) {
  ensureRegistered(code.getContext());
  Diagnostics diagnostics(code.getContext());
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(code, context, code.getSymName().value_or("module"));
  if (!result)
    return llvm::createStringError("translation to LLVM IR failed: " + diagnostics.text);
  result->setDataLayout(layout);
  result->setTargetTriple(triple);
  return result;
}

/// Entries and what other parts call stay visible to the linker but not outside the payload;
/// everything else is internal. The CPU is the machine's default, so functions need no target
/// attributes of their own.
static void setLinkage(llvm::Module &module, ArrayRef<StringRef> names, bool hasUnwinder) {
  llvm::StringSet<> exported;
  for (StringRef name : names)
    exported.insert(name);
  for (llvm::GlobalValue &value : module.global_values()) {
    if (value.isDeclaration())
      continue;
    if (!exported.contains(value.getName())) {
      value.setLinkage(llvm::GlobalValue::InternalLinkage);
      value.setVisibility(llvm::GlobalValue::DefaultVisibility);
      continue;
    }
    value.setLinkage(llvm::GlobalValue::ExternalLinkage);
    value.setVisibility(llvm::GlobalValue::HiddenVisibility);
    value.setDSOLocal(true);
  }
  // Debuggers and profilers walk through kernels; a bare machine has no room for their tables.
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.setUWTableKind(hasUnwinder ? llvm::UWTableKind::Async : llvm::UWTableKind::None);
    if (!hasUnwinder)
      function.setDoesNotThrow();
  }
}

/// Products and sums stay apart, in the optimiser and in the code generator.
void metate::forbidContraction(llvm::Module &module, llvm::TargetMachine &machine) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (isa<llvm::FPMathOperator>(instruction))
        instruction.setHasAllowContract(false);
  machine.Options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
}

/// The fault FastFloats.
static void makeFast(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (isa<llvm::FPMathOperator>(instruction))
        instruction.setFast(true);
}

/// Zeros side by side (a matrix that is cleared) would become a call, and a loop that computes beside it no vectors. Where nothing is computed
/// the call is as good. All functions or none: those that may call alike are inlined.
static void keepZeros(llvm::Module &module) {
  auto computes = [](const llvm::Function &function) {
    return llvm::any_of(llvm::instructions(function), [](const llvm::Instruction &instruction) {
      return isa<llvm::BinaryOperator>(instruction) && instruction.getType()->isFPOrFPVectorTy();
    });
  };
  if (llvm::none_of(module, computes))
    return;
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.addFnAttr("no-builtin-memset");
}

namespace {
/// The language's vectors are a handful of numbers, and loops over them are vectorised across
/// iterations; LLVM vectorises no loop that holds vectors itself. Where iterations are lanes of
/// vectors already (map marks such functions), those are what the machine is to compute.
struct ScalarizeLanguageVectors : llvm::PassInfoMixin<ScalarizeLanguageVectors> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses) {
    if (function.hasFnAttribute(lanesAttribute))
      return llvm::PreservedAnalyses::all();
    return llvm::ScalarizerPass().run(function, analyses);
  }
};
} // namespace

static void optimise(llvm::Module &module, llvm::TargetMachine &machine, unsigned optLevel,
                     Sanitizer sanitizer) {
  static const llvm::OptimizationLevel levels[] = {
      llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1, llvm::OptimizationLevel::O2,
      llvm::OptimizationLevel::O3};
  metate::Analyses analyses;
  llvm::PipelineTuningOptions tuning;
  // ThreadSanitizer passes over vectors wider than 16 bytes and over masked accesses.
  tuning.LoopVectorization = optLevel >= 2 && sanitizer != Sanitizer::Thread;
  // LLVM 22's SLP vectoriser converts sign-extended integers to floats as if they were narrow and
  // unsigned (uitofp of sext), and takes a tenth of the time; loops are where the work is.
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  analyses.add(builder);
  builder.registerPipelineStartEPCallback(
      [&machine](llvm::ModulePassManager &manager, llvm::OptimizationLevel level) {
        if (level == llvm::OptimizationLevel::O2 || level == llvm::OptimizationLevel::O3)
          manager.addPass(TuneStrides(machine));
        if (level != llvm::OptimizationLevel::O0)
          manager.addPass(llvm::createModuleToFunctionPassAdaptor(ScalarizeLanguageVectors()));
      });
  // LLVM 22's loop vectoriser follows the operands of dead code without noting where it has been: over a power or a sine, some
  // dozen operations that share operands, that takes all memory there is. Just before it LLVM deletes loops, whose code is left.
  builder.registerVectorizerStartEPCallback(
      [](llvm::FunctionPassManager &manager, llvm::OptimizationLevel level) {
        if (level == llvm::OptimizationLevel::O0)
          return;
        manager.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LoopDeletionPass()));
        manager.addPass(llvm::ADCEPass());
      });
  builder.registerOptimizerLastEPCallback([&machine, sanitizer](llvm::ModulePassManager &manager,
                                                                llvm::OptimizationLevel level,
                                                                llvm::ThinOrFullLTOPhase) {
    if (level == llvm::OptimizationLevel::O0)
      return;
    if (sanitizer == Sanitizer::None)
      manager.addPass(llvm::createModuleToFunctionPassAdaptor(ReadWindows()));
    manager.addPass(llvm::createModuleToFunctionPassAdaptor(KeepBlends(machine)));
    manager.addPass(llvm::createModuleToFunctionPassAdaptor(KeepConditionalMoves(machine)));
  });
  keepZeros(module);
  llvm::ModulePassManager manager = optLevel == 0
                                        ? builder.buildO0DefaultPipeline(levels[0])
                                        : builder.buildPerModuleDefaultPipeline(levels[optLevel]);
  manager.run(module, analyses.modules);
}

static Expected<SmallVector<char, 0>> generate(llvm::Module &module, llvm::TargetMachine &machine) {
  SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager manager;
  if (machine.addPassesToEmitFile(manager, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return llvm::createStringError("target '" + module.getTargetTriple().str() +
                                   "' cannot write object files");
  manager.run(module);
  return object;
}

Error metate::verifyObjects(PayloadOp payload, ArrayRef<StringRef> entries,
                            llvm::function_ref<bool(StringRef, Sanitizer)> isExternal) {
  Sanitizer sanitizer = *parseSanitizer(payload.getSanitizer().value_or(""));
  Expected<Symbols> symbols = symbolsOf(payload.getObjectFiles());
  if (!symbols)
    return symbols.takeError();
  for (const std::string &name : symbols->undefined)
    if (!isLinkersOwn(name) && !isExternal(name, sanitizer))
      return undefinedSymbolError(name);
  for (StringRef entry : entries)
    if (!symbols->defined.contains(entry))
      return llvm::createStringError("entry '" + entry + "' is not defined in the object code");
  return Error::success();
}

namespace {
/// A part on its way through LLVM, in a context of its own: any thread may take it there.
struct Compilation {
  static Expected<std::unique_ptr<Compilation>> create(const CodePart &part,
                                                       const metate::Machine &named) {
    Expected<std::unique_ptr<llvm::TargetMachine>> machine = createTargetMachine(named);
    if (!machine)
      return machine.takeError();
    auto result = std::make_unique<Compilation>();
    result->machine = std::move(*machine);
    result->exported = part.exported;
    result->context.setDiscardValueNames(true);
    bool isRemarked = wantsRemarks((*part.code).getContext());
    result->context.setDiagnosticHandler(
        codegenMessages(result->errors, isRemarked ? &result->remarks : nullptr));
    Expected<std::unique_ptr<llvm::Module>> module =
        translate(*part.code, result->context, *result->machine);
    if (!module)
      return module.takeError();
    result->module = std::move(*module);
    return result;
  }

  /// `given`: functions of the tree protocol that are another object's.
  Expected<SmallVector<char, 0>> run(unsigned optLevel, const EmitOptions &options,
                                     const llvm::StringSet<> &given) {
    if (Error error = linkTreeProtocol(*module, options.treeProtocol, given))
      return error;
    bool isBare = architectureOf(machine->getTargetTriple())->isBare();
    setLinkage(*module, exported, /*hasUnwinder=*/!isBare || isMutant(Mutant::BareUnwindTables));
    if (isBare)
      makePlain(*module);
    if (isMutant(Mutant::FastFloats))
      makeFast(*module);
    if (!options.contract)
      forbidContraction(*module, *machine);
    markForSanitizer(*module, options.sanitizer);
    optimise(*module, *machine, optLevel, options.sanitizer);
    instrument(*module, options.sanitizer, *machine);
    if (isBare)
      expandExtremes(*module);
    if (Error error = addHalfConversions(*module))
      return error;
    Expected<SmallVector<char, 0>> object = generate(*module, *machine);
    if (object && !errors.empty())
      return llvm::createStringError("code generation failed: " + errors);
    return object;
  }

  std::string errors;
  std::vector<CodegenRemark> remarks;
  std::unique_ptr<llvm::TargetMachine> machine;
  ArrayRef<StringRef> exported;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
};
} // namespace

/// Calls work(0) to work(count - 1), each once, on this thread and up to `threads` - 1 others, which are
/// gone afterwards. Where the system gives no more threads, fewer do the work: llvm::DefaultThreadPool ends the process then.
static void inParallel(size_t count, unsigned threads, llvm::function_ref<void(size_t)> work) {
  std::atomic<size_t> next{0};
  auto take = [&] {
    for (size_t k; (k = next++) < count;)
      work(k);
  };
  std::vector<std::jthread> others;
  try {
    for (size_t k = 1; k < std::min<size_t>(threads, count); ++k)
      others.emplace_back(take);
  } catch (const std::system_error &) {
  }
  take();
}

static Expected<std::vector<SmallVector<char, 0>>> compile(ArrayRef<CodePart> parts,
                                                           const metate::Machine &named,
                                                           const EmitOptions &options,
                                                           const llvm::StringSet<> &given) {
  // MLIR's context is one thread's, so translation is this one's.
  SmallVector<std::unique_ptr<Compilation>> compilations;
  for (const CodePart &part : parts) {
    Expected<std::unique_ptr<Compilation>> compilation = Compilation::create(part, named);
    if (!compilation)
      return compilation.takeError();
    compilations.push_back(std::move(*compilation));
  }
  unsigned threads = options.threads;
  if (threads == 0 && parts.size() > 1)
    threads = llvm::hardware_concurrency().compute_thread_count();
  std::vector<SmallVector<char, 0>> objects(parts.size());
  std::vector<std::vector<CodegenRemark>> remarks(parts.size());
  std::vector<std::string> failures(parts.size());
  inParallel(parts.size(), threads, [&](size_t k) {
    Expected<SmallVector<char, 0>> object = compilations[k]->run(named.optLevel, options, given);
    if (object)
      objects[k] = std::move(*object);
    else
      failures[k] = llvm::toString(object.takeError());
    remarks[k] = std::move(compilations[k]->remarks);
    compilations[k].reset();
  });
  for (auto [part, ofPart] : llvm::zip(parts, remarks))
    emitRemarks((*part.code).getContext(), ofPart);
  for (const std::string &failure : failures)
    if (!failure.empty())
      return llvm::createStringError(failure);
  return objects;
}

/// All code as objects: that of `parts`, and options.treeObject where any of them takes something from there.
static Expected<std::vector<SmallVector<char, 0>>>
objectsOf(ArrayRef<CodePart> parts, const metate::Machine &named, const EmitOptions &options) {
  Symbols given;
  if (!options.treeObject.empty()) {
    Expected<Symbols> symbols = symbolsOf(options.treeObject);
    if (!symbols)
      return symbols.takeError();
    given = std::move(*symbols);
  }
  auto objects = compile(parts, named, options, given.defined);
  if (!objects || given.defined.empty())
    return objects;
  SmallVector<StringRef> bytes;
  for (const SmallVector<char, 0> &object : *objects)
    bytes.push_back({object.data(), object.size()});
  Expected<Symbols> symbols = symbolsOf(bytes);
  if (!symbols)
    return symbols.takeError();
  if (llvm::any_of(symbols->undefined,
                   [&](const std::string &name) { return given.defined.contains(name); }))
    objects->emplace_back(options.treeObject.begin(), options.treeObject.end());
  return objects;
}

/// The payload's attribute.
static ArrayAttr objectsAttr(Builder &builder, ArrayRef<SmallVector<char, 0>> objects) {
  SmallVector<Attribute> attributes;
  for (const SmallVector<char, 0> &object : objects)
    attributes.push_back(builder.getDenseI8ArrayAttr(
        ArrayRef(reinterpret_cast<const int8_t *>(object.data()), object.size())));
  return builder.getArrayAttr(attributes);
}

Error metate::emit(ModuleOp module, const Machine &named, const EmitOptions &options) {
  if (!module.getOps<PayloadOp>().empty())
    return llvm::createStringError(
        "the module holds payloads already: it has been through stage emit");
  Expected<Machine> machine = resolveMachine(named);
  if (!machine)
    return machine.takeError();
  ensureRegistered(module.getContext());
  SmallVector<StringRef> entries = entryNames(module);
  std::vector<CodePart> parts = splitCode(module, entries);
  for (const CodePart &part : parts)
    if (Error error = addScopes(*part.code))
      return error;
  OpBuilder builder(module.getContext());
  StringAttr sanitizer;
  if (options.sanitizer != Sanitizer::None)
    sanitizer = builder.getStringAttr(sanitizerName(options.sanitizer));
  Expected<std::vector<SmallVector<char, 0>>> objects = objectsOf(parts, *machine, options);
  if (!objects)
    return objects.takeError();
  OwningOpRef<PayloadOp> payload =
      PayloadOp::create(builder, module.getLoc(), "payload0", options.family, machine->triple,
                        machine->cpu, machine->features, objectsAttr(builder, *objects), sanitizer);
  const Architecture &architecture = *architectureOf(llvm::Triple(machine->triple));
  auto isExternal = [&](StringRef name, Sanitizer kind) {
    return findExternal(name) || isCompilersOwn(name, architecture) ||
           isSanitizerSymbol(name, kind);
  };
  if (Error error = verifyObjects(*payload, entries, isExternal))
    return error;
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*module.getBody())))
    if (isLLVMOp(op))
      op.erase();
  module.push_back(payload.release());
  return Error::success();
}
