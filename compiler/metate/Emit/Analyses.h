//===- Analyses.h - what LLVM's passes ask ----------------------*- C++ -*-===//
//
// The managers of analyses that a pipeline of LLVM's new pass manager needs, and the shortest way to run one. LLVM alone.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_EMIT_ANALYSES_H
#define METATE_EMIT_ANALYSES_H

#include "llvm/Passes/PassBuilder.h"

namespace metate {

/// They live longer than the pipeline's run.
struct Analyses {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;

  /// The builder's analyses; one that was registered before stays.
  void add(llvm::PassBuilder &builder) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(graphs);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, graphs, modules);
  }
};

/// A pipeline as `opt -passes=` takes it.
inline llvm::Error runPasses(llvm::Module &module, llvm::StringRef pipeline) {
  Analyses analyses;
  llvm::PassBuilder builder;
  analyses.add(builder);
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, pipeline))
    return error;
  passes.run(module, analyses.modules);
  return llvm::Error::success();
}

} // namespace metate

#endif
