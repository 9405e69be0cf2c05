//===- Jit.cpp - emitted modules in this process ----------------*- C++ -*-===//
//
// LLJIT with JITLink and nothing else: no platform, no compile threads, no IR compiler; each module
// has a JITDylib of its own, so that entries of different modules may have the same name and one
// module can be removed. Symbols from outside resolve to the C library's functions of the
// allow-list and of a sanitizer's runtime only.
//
//===----------------------------------------------------------------------===//
#include "metate/Jit/Jit.h"

#include "metate/Dialect/Metate.h"
#include "metate/Emit/Externals.h"
#include "metate/Emit/Machine.h"
#include "metate/Emit/Sanitize.h"
#include "metate/Jit/PerfDump.h"
#include "metate/Jit/PerfMap.h"
#include "metate/Module/Module.h"

#include "llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h"
#include "llvm/ExecutionEngine/Orc/Debugging/ELFDebugObjectPlugin.h"
#include "llvm/ExecutionEngine/Orc/EHFrameRegistrationPlugin.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/Process.h"
#include "llvm/TargetParser/Host.h"

#include <atomic>
#include <cstring>

using namespace metate;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
namespace orc = llvm::orc;

/// What all modules of a Jit share; lives until the last of them is gone.
struct Jit::Session {
  std::unique_ptr<orc::LLJIT> lljit;
  orc::JITDylib *library = nullptr; // the C library's functions of the allow-list
  llvm::Triple triple;
  std::vector<std::string> features; // this machine's, sorted
  std::atomic<uint64_t> count{0};

  Error checkTarget(PayloadOp payload) const;
};

struct JitModule::Code {
  std::shared_ptr<Jit::Session> session;
  orc::JITDylib *dylib = nullptr;

  ~Code() {
    if (dylib)
      llvm::consumeError(session->lljit->getExecutionSession().removeJITDylib(*dylib));
  }
};

namespace {
/// LLJIT wants a compiler for IR; a Jit gets objects.
struct NoCompiler : orc::IRCompileLayer::IRCompiler {
  NoCompiler() : IRCompiler({}) {}
  Expected<std::unique_ptr<llvm::MemoryBuffer>> operator()(llvm::Module &) override {
    return llvm::createStringError("this JIT links objects only");
  }
};
} // namespace

static Expected<std::unique_ptr<orc::ObjectLayer>> makeLinkingLayer(orc::ExecutionSession &session,
                                                                    PerfOutput perf) {
  auto layer = std::make_unique<orc::ObjectLinkingLayer>(session);
  Expected<std::unique_ptr<orc::EHFrameRegistrationPlugin>> frames =
      orc::EHFrameRegistrationPlugin::Create(session);
  if (!frames)
    return frames.takeError();
  layer->addPlugin(std::move(*frames));
  // Debuggers see the line tables through their JIT interface.
  Error error = Error::success();
  auto debugger =
      std::make_shared<orc::ELFDebugObjectPlugin>(session, /*RequireDebugSections=*/true,
                                                  /*AutoRegisterCode=*/true, error);
  if (error)
    return error;
  layer->addPlugin(std::move(debugger));
  if (perf == PerfOutput::Map)
    layer->addPlugin(std::make_shared<PerfMap>());
  if (perf == PerfOutput::Dump) {
    Expected<std::shared_ptr<orc::LinkGraphLinkingLayer::Plugin>> dump = perfDump();
    if (!dump)
      return dump.takeError();
    layer->addPlugin(std::move(*dump));
  }
  return layer;
}

static Expected<std::unique_ptr<orc::LLJIT>> makeLLJIT(const llvm::Triple &triple,
                                                       PerfOutput perf) {
  auto control = orc::SelfExecutorProcessControl::Create(
      nullptr, std::make_unique<orc::InPlaceTaskDispatcher>());
  if (!control)
    return control.takeError();
  return orc::LLJITBuilder()
      .setExecutorProcessControl(std::move(*control))
      .setJITTargetMachineBuilder(orc::JITTargetMachineBuilder(triple))
      .setDataLayout(llvm::DataLayout(triple.computeDataLayout()))
      .setCompileFunctionCreator(
          [](orc::JITTargetMachineBuilder) { return std::make_unique<NoCompiler>(); })
      .setObjectLinkingLayerCreator(
          [&](orc::ExecutionSession &made) { return makeLinkingLayer(made, perf); })
      .setLinkProcessSymbolsByDefault(false)
      .setPlatformSetUp(orc::setUpInactivePlatform)
      .create();
}

Expected<std::unique_ptr<Jit>> Jit::create(PerfOutput perf) {
  auto session = std::make_shared<Session>();
  Expected<Machine> host = resolveMachine({});
  if (!host)
    return host.takeError();
  session->triple = llvm::Triple(host->triple);
  Expected<std::vector<std::string>> features = machineFeatures(*host);
  if (!features)
    return features.takeError();
  session->features = std::move(*features);
  Expected<std::unique_ptr<orc::LLJIT>> lljit = makeLLJIT(session->triple, perf);
  if (!lljit)
    return lljit.takeError();
  session->lljit = std::move(*lljit);
  Expected<std::unique_ptr<orc::DynamicLibrarySearchGenerator>> generator =
      orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          session->lljit->getDataLayout().getGlobalPrefix(), [](const orc::SymbolStringPtr &name) {
            return findExternal(*name) || isSanitizerSymbol(*name, Sanitizer::Thread) ||
                   isSanitizerSymbol(*name, Sanitizer::Address);
          });
  if (!generator)
    return generator.takeError();
  session->library = &session->lljit->getExecutionSession().createBareJITDylib("C library");
  session->library->addGenerator(std::move(*generator));
  return std::unique_ptr<Jit>(new Jit(std::move(session)));
}

Jit::Jit(std::shared_ptr<Session> session) : session(std::move(session)) {}
Jit::~Jit() = default;
JitModule::JitModule() = default;
JitModule::~JitModule() = default;

StringRef JitModule::descriptor() const {
  return StringRef(reinterpret_cast<const char *>(bytes.data()), size);
}

/// Instrumented code needs its sanitizer's runtime in this process.
static Error checkSanitizer(PayloadOp payload) {
  std::optional<StringRef> name = payload.getSanitizer();
  if (!name)
    return Error::success();
  std::string symbol = sanitizerHostSymbol(*parseSanitizer(*name)).str();
  if (llvm::sys::DynamicLibrary::getPermanentLibrary(nullptr).getAddressOfSymbol(symbol.c_str()))
    return Error::success();
  return llvm::createStringError(
      "the code is instrumented for the " + *name +
      " sanitizer, which is not in this process: build its host with -fsanitize=" + *name +
      ", or compile without");
}

Error Jit::Session::checkTarget(PayloadOp payload) const {
  if (Error error = checkSanitizer(payload))
    return error;
  llvm::Triple wanted(payload.getTriple());
  if (wanted.getArch() != triple.getArch() || wanted.getOS() != triple.getOS())
    return llvm::createStringError("the payload is for '" + payload.getTriple() +
                                   "', this machine is '" + triple.str() + "'");
  Machine target;
  target.triple = payload.getTriple().str();
  target.cpu = payload.getCpu().str();
  target.features = payload.getFeatures().str();
  Expected<std::vector<std::string>> needed = machineFeatures(target);
  if (!needed)
    return needed.takeError();
  for (const std::string &name : *needed)
    if (!std::binary_search(features.begin(), features.end(), name))
      return llvm::createStringError("the payload is compiled for '" + payload.getCpu() +
                                     "' and needs the feature '" + name +
                                     "', which this machine lacks");
  return Error::success();
}

/// Adds the objects to a JITDylib of their own and looks the entries up: that links them.
static Error link(orc::LLJIT &lljit, orc::JITDylib &dylib, PayloadOp payload,
                  llvm::ArrayRef<StringRef> names, std::vector<metate_entry> &table) {
  for (StringRef bytes : payload.getObjectFiles())
    if (Error error = lljit.addObjectFile(
            dylib, llvm::MemoryBuffer::getMemBufferCopy(bytes, dylib.getName())))
      return error;
  orc::SymbolLookupSet symbols;
  for (StringRef name : names)
    symbols.add(lljit.mangleAndIntern(name));
  symbols.sortByAddress();
  symbols.removeDuplicates();
  Expected<orc::SymbolMap> found = lljit.getExecutionSession().lookup(
      orc::makeJITDylibSearchOrder(&dylib, orc::JITDylibLookupFlags::MatchAllSymbols),
      std::move(symbols));
  if (!found)
    return found.takeError();
  for (StringRef name : names)
    table.push_back((*found)[lljit.mangleAndIntern(name)].getAddress().toPtr<metate_entry>());
  return Error::success();
}

Expected<std::unique_ptr<JitModule>> Jit::add(mlir::ModuleOp module, const Target &target) {
  llvm::SmallVector<PayloadOp> payloads(module.getOps<PayloadOp>());
  if (payloads.size() != 1)
    return llvm::createStringError("expected a module with one payload (stage emit), got " +
                                   llvm::Twine(payloads.size()));
  if (payloads[0].getFamily() != target.family())
    return llvm::createStringError("expected a payload for '" + target.family() +
                                   "', got one for '" + payloads[0].getFamily() + "'");
  if (!target.hasObjects())
    return llvm::createStringError("code for '" + target.name() + "' is not for this process");
  if (Error error = session->checkTarget(payloads[0]))
    return error;
  Expected<Variant> variant = target.variantOf(payloads[0]);
  if (!variant)
    return variant.takeError();
  variant->format = METATE_FORMAT_IN_MEMORY;
  Expected<std::string> descriptor = buildDescriptor(module, *variant);
  if (!descriptor)
    return descriptor.takeError();
  auto result = std::unique_ptr<JitModule>(new JitModule());
  result->size = descriptor->size();
  result->bytes.resize((descriptor->size() + 7) / 8);
  std::memcpy(result->bytes.data(), descriptor->data(), descriptor->size());

  auto name = (module.getSymName().value_or("module") + "." + llvm::Twine(session->count++)).str();
  result->code = std::make_unique<JitModule::Code>();
  result->code->session = session;
  orc::JITDylib &dylib = session->lljit->getExecutionSession().createBareJITDylib(name);
  result->code->dylib = &dylib;
  dylib.addToLinkOrder(*session->library);
  llvm::SmallVector<StringRef> names = entryNames(module);
  if (Error error = link(*session->lljit, dylib, payloads[0], names, result->table))
    return error;
  return result;
}
