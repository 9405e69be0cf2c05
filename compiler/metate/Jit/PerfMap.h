//===- PerfMap.h - names of JIT code for Linux's perf -----------*- C++ -*-===//
#ifndef METATE_JIT_PERFMAP_H
#define METATE_JIT_PERFMAP_H

#include "llvm/ExecutionEngine/Orc/LinkGraphLinkingLayer.h"

namespace metate {

/// Keeps bodies of tasks in the graph, with their names. They are local, and relocations name sections: they would be pruned.
llvm::Error keepFunctions(llvm::jitlink::LinkGraph &graph);

/// Adds every function that is linked to /tmp/perf-PID.map, where perf looks for the names of code that no file holds. A
/// file that cannot be written is left alone: the kernels run all the same.
class PerfMap : public llvm::orc::LinkGraphLinkingLayer::Plugin {
public:
  void modifyPassConfig(llvm::orc::MaterializationResponsibility &responsibility,
                        llvm::jitlink::LinkGraph &graph,
                        llvm::jitlink::PassConfiguration &config) override;
  llvm::Error notifyFailed(llvm::orc::MaterializationResponsibility &) override {
    return llvm::Error::success();
  }
  llvm::Error notifyRemovingResources(llvm::orc::JITDylib &, llvm::orc::ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(llvm::orc::JITDylib &, llvm::orc::ResourceKey,
                                   llvm::orc::ResourceKey) override {}
};

} // namespace metate

#endif
