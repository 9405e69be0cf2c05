//===- PerfDump.cpp - names and lines of JIT code for Linux's perf -*- C++ -*-===//
#include "metate/Jit/PerfDump.h"

#include "metate/Jit/PerfMap.h"

#include "llvm/ExecutionEngine/Orc/Debugging/DebugInfoSupport.h"
#include "llvm/ExecutionEngine/Orc/Debugging/PerfSupportPlugin.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderPerf.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"

#include <mutex>

using namespace metate;
namespace orc = llvm::orc;

namespace {
/// LLVM's plugin, with what it wants in the graph, and what it calls its writer through, which outlives any one session.
class Dump : public orc::LinkGraphLinkingLayer::Plugin {
public:
  explicit Dump(std::unique_ptr<orc::ExecutorProcessControl> made)
      : control(std::move(made)),
        plugin(*control, orc::ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderPerfStart),
               orc::ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderPerfEnd),
               orc::ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderPerfImpl),
               /*EmitDebugInfo=*/true, /*EmitUnwindInfo=*/true) {}

  void modifyPassConfig(orc::MaterializationResponsibility &responsibility,
                        llvm::jitlink::LinkGraph &graph,
                        llvm::jitlink::PassConfiguration &config) override {
    config.PrePrunePasses.push_back(keepFunctions);
    config.PrePrunePasses.push_back(orc::preserveDebugSections);
    plugin.modifyPassConfig(responsibility, graph, config);
  }
  llvm::Error notifyFailed(orc::MaterializationResponsibility &) override {
    return llvm::Error::success();
  }
  llvm::Error notifyRemovingResources(orc::JITDylib &, orc::ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(orc::JITDylib &, orc::ResourceKey, orc::ResourceKey) override {}

private:
  std::unique_ptr<orc::ExecutorProcessControl> control;
  orc::PerfSupportPlugin plugin;
};
} // namespace

/// LLVM's writer tells nobody that it could make no file; where it has one, it maps its first page, as perf wants it.
static bool isFileMapped() {
  auto maps = llvm::MemoryBuffer::getFileAsStream("/proc/self/maps");
  std::string name = "/jit-" + std::to_string(llvm::sys::Process::getProcessId()) + ".dump";
  return maps && (*maps)->getBuffer().contains(name);
}

llvm::Expected<std::shared_ptr<orc::LinkGraphLinkingLayer::Plugin>> metate::perfDump() {
  // The writer's file is the process's, whoever asks for it.
  static std::mutex mutex;
  static std::weak_ptr<Dump> living;
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<Dump> dump = living.lock();
  if (!dump) {
    auto control = orc::SelfExecutorProcessControl::Create(
        nullptr, std::make_unique<orc::InPlaceTaskDispatcher>());
    if (!control)
      return control.takeError();
    dump = std::make_shared<Dump>(std::move(*control));
    if (!isFileMapped())
      return llvm::createStringError("perf_map='jitdump': no file can be made in .debug/jit of "
                                     "$JITDUMPDIR or the home folder");
    living = dump;
  }
  return dump;
}
