//===- Emit.cpp - stage 7: LLVM dialect to object code ----------*- C++ -*-===//
//
// MLIR's translation to LLVM IR, LLVM's middle end with the target's machine, and its code
// generator into memory. What the module keeps is the object file, so that a dump after this stage
// is text again and pack can start from it.
//
//===----------------------------------------------------------------------===//
#include "metate/Emit/Emit.h"

#include "metate/Dialect/Metate.h"
#include "metate/Dialect/Place.h"
#include "metate/Emit/Externals.h"
#include "metate/Emit/HalfConversions.h"
#include "metate/Emit/Sanitize.h"
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
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/Scalarizer.h"

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

/// The symbols that a host calls, in the interfaces' order.
static SmallVector<StringRef> entryNames(ModuleOp module) {
  SmallVector<StringRef> names;
  for (InterfaceOp op : module.getOps<InterfaceOp>())
    names.push_back(op.getEntry());
  return names;
}

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

/// A copy of the module with nothing but the LLVM dialect, each function with a debug-info scope.
static Expected<OwningOpRef<ModuleOp>> copyCode(ModuleOp module) {
  Diagnostics diagnostics(module.getContext());
  OwningOpRef<ModuleOp> copy = ModuleOp::create(module.getLoc(), module.getSymName());
  (*copy)->setDiscardableAttrs(module->getDiscardableAttrDictionary());
  for (Operation &op : *module.getBody())
    if (isLLVMOp(op)) {
      copy->push_back(op.clone());
      // A task made of a loop of an inlined function: a scope must not lie in a call of another one.
      if (isa<CallSiteLoc>(op.getLoc()))
        copy->getBody()->back().setLoc(placeOf(op.getLoc()));
    }
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  manager.enableVerifier(false); // the map stage's verifier has run
  manager.addPass(LLVM::createDIScopeForLLVMFuncOpPass());
  if (failed(manager.run(*copy)))
    return llvm::createStringError("no debug information could be made: " + diagnostics.text);
  return copy;
}

static Expected<std::unique_ptr<llvm::Module>> translate(ModuleOp code, llvm::LLVMContext &context,
                                                         const llvm::TargetMachine &machine) {
  Diagnostics diagnostics(code.getContext());
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(code, context, code.getSymName().value_or("module"));
  if (!result)
    return llvm::createStringError("translation to LLVM IR failed: " + diagnostics.text);
  result->setDataLayout(machine.createDataLayout());
  result->setTargetTriple(machine.getTargetTriple());
  return result;
}

/// Entries stay visible to the linker but not outside the payload; everything else is internal. The
/// CPU is the machine's default, so functions need no target attributes of their own.
static void setLinkage(llvm::Module &module, ArrayRef<StringRef> entries) {
  llvm::StringSet<> exported;
  for (StringRef name : entries)
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
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.setUWTableKind(
          llvm::UWTableKind::Async); // debuggers and profilers walk through kernels
}

/// Products and sums stay apart, in the optimiser and in the code generator.
static void forbidContraction(llvm::Module &module, llvm::TargetMachine &machine) {
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
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  // ThreadSanitizer passes over vectors wider than 16 bytes and over masked accesses.
  tuning.LoopVectorization = optLevel >= 2 && sanitizer != Sanitizer::Thread;
  // LLVM 22's SLP vectoriser converts sign-extended integers to floats as if they were narrow and
  // unsigned (uitofp of sext), and takes a tenth of the time; loops are where the work is.
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  builder.registerPipelineStartEPCallback(
      [](llvm::ModulePassManager &manager, llvm::OptimizationLevel level) {
        if (level != llvm::OptimizationLevel::O0)
          manager.addPass(llvm::createModuleToFunctionPassAdaptor(ScalarizeLanguageVectors()));
      });
  llvm::ModulePassManager manager = optLevel == 0
                                        ? builder.buildO0DefaultPipeline(levels[0])
                                        : builder.buildPerModuleDefaultPipeline(levels[optLevel]);
  manager.run(module, modules);
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

/// Nothing undefined outside the allow-list, and every entry defined.
static Error checkObject(llvm::MemoryBufferRef buffer, ArrayRef<StringRef> entries,
                         Sanitizer sanitizer) {
  if (Expected<std::vector<std::string>> names = undefinedSymbols(buffer, sanitizer); !names)
    return names.takeError();
  Expected<std::unique_ptr<llvm::object::ObjectFile>> file =
      llvm::object::ObjectFile::createObjectFile(buffer);
  if (!file)
    return file.takeError();
  llvm::StringSet<> defined;
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    Expected<uint32_t> flags = symbol.getFlags();
    Expected<StringRef> name = symbol.getName();
    if (!flags || !name)
      return llvm::joinErrors(flags.takeError(), name.takeError());
    if (!(*flags & llvm::object::SymbolRef::SF_Undefined))
      defined.insert(*name);
  }
  for (StringRef entry : entries)
    if (!defined.contains(entry))
      return llvm::createStringError("entry '" + entry + "' is not defined in the object code");
  return Error::success();
}

namespace {
/// Keeps LLVM's errors. Its warnings and remarks are about its own heuristics (a row that it would
/// not vectorise), nothing that the kernel's author could act on.
struct CodegenErrors : llvm::DiagnosticHandler {
  explicit CodegenErrors(std::string &text) : text(text) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error)
      return true;
    llvm::raw_string_ostream stream(text);
    stream << (text.empty() ? "" : "; ");
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }
  std::string &text;
};
} // namespace

static Expected<SmallVector<char, 0>> compile(ModuleOp code, ArrayRef<StringRef> entries,
                                              const metate::TargetOptions &target,
                                              const EmitOptions &options) {
  Expected<std::unique_ptr<llvm::TargetMachine>> machine = createTargetMachine(target);
  if (!machine)
    return machine.takeError();
  std::string errors;
  llvm::LLVMContext context;
  context.setDiscardValueNames(true);
  context.setDiagnosticHandler(std::make_unique<CodegenErrors>(errors));
  Expected<std::unique_ptr<llvm::Module>> module = translate(code, context, **machine);
  if (!module)
    return module.takeError();
  setLinkage(**module, entries);
  if (isMutant(Mutant::FastFloats))
    makeFast(**module);
  if (!options.contract)
    forbidContraction(**module, **machine);
  markForSanitizer(**module, options.sanitizer);
  optimise(**module, **machine, target.optLevel, options.sanitizer);
  instrument(**module, options.sanitizer, **machine);
  if (Error error = addHalfConversions(**module))
    return error;
  Expected<SmallVector<char, 0>> object = generate(**module, **machine);
  if (!object)
    return object;
  if (!errors.empty())
    return llvm::createStringError("code generation failed: " + errors);
  if (Error error =
          checkObject(llvm::MemoryBufferRef(StringRef(object->data(), object->size()), "payload"),
                      entries, options.sanitizer))
    return error;
  return object;
}

Error metate::emit(ModuleOp module, ArrayRef<TargetOptions> targets, const EmitOptions &options) {
  if (targets.empty())
    return llvm::createStringError("expected at least one target");
  if (!module.getOps<PayloadOp>().empty())
    return llvm::createStringError(
        "the module holds payloads already: it has been through stage emit");
  ensureRegistered(module.getContext());
  Expected<OwningOpRef<ModuleOp>> code = copyCode(module);
  if (!code)
    return code.takeError();
  SmallVector<StringRef> entries = entryNames(module);
  OpBuilder builder(module.getContext());
  SmallVector<OwningOpRef<PayloadOp>> payloads;
  StringAttr sanitizer;
  if (options.sanitizer != Sanitizer::None)
    sanitizer = builder.getStringAttr(sanitizerName(options.sanitizer));
  for (const TargetOptions &named : targets) {
    Expected<TargetOptions> target = resolveTarget(named);
    if (!target)
      return target.takeError();
    Expected<SmallVector<char, 0>> object = compile(**code, entries, *target, options);
    if (!object)
      return object.takeError();
    ArrayRef<int8_t> bytes(reinterpret_cast<const int8_t *>(object->data()), object->size());
    payloads.push_back(PayloadOp::create(builder, module.getLoc(),
                                         ("payload" + Twine(payloads.size())).str(), target->triple,
                                         target->cpu, target->features, bytes, sanitizer));
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*module.getBody())))
    if (isLLVMOp(op))
      op.erase();
  for (OwningOpRef<PayloadOp> &payload : payloads)
    module.push_back(payload.release());
  return Error::success();
}

Error metate::verifyEmitted(ModuleOp module) {
  if (module.getOps<PayloadOp>().empty())
    return llvm::createStringError("after emit: expected at least one metate.payload");
  for (Operation &op : *module.getBody())
    if (isLLVMOp(op))
      return llvm::createStringError("after emit: operation '" + op.getName().getStringRef() +
                                     "' is left");
  SmallVector<StringRef> entries = entryNames(module);
  for (PayloadOp payload : module.getOps<PayloadOp>()) {
    ArrayRef<int8_t> object = payload.getObject();
    StringRef bytes(reinterpret_cast<const char *>(object.data()), object.size());
    if (Error error = checkObject(llvm::MemoryBufferRef(bytes, payload.getSymName()), entries,
                                  *parseSanitizer(payload.getSanitizer().value_or(""))))
      return llvm::joinErrors(
          llvm::createStringError("after emit: payload '" + payload.getSymName() + "'"),
          std::move(error));
  }
  return Error::success();
}
