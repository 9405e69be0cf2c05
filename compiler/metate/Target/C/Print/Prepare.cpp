//===- Prepare.cpp - LLVM IR that C can say ---------------------*- C++ -*-===//
//
// What a C compiler does better is left to it: loops are neither unrolled nor made of vectors. Passes that compute in
// wider integers than the code (of induction variables) are not run: C has none above 64 bits.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/C/Print/Print.h"

#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;
using namespace metate;

static constexpr StringLiteral passes =
    "always-inline,globaldce,"
    "function(scalarize-masked-mem-intrin,expand-reductions,sroa,early-cse<memssa>,"
    "instcombine<no-verify-fixpoint>,simplifycfg),globaldce,"
    "function(scalarizer<load-store>,sroa,early-cse<memssa>,gvn,instcombine<no-verify-fixpoint>,"
    "scalarizer<load-store>,simplifycfg,adce),globaldce";

Error c::prepare(Module &module) {
  StripDebugInfo(module);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager graphs;
  ModuleAnalysisManager modules;
  PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  ModulePassManager manager;
  if (Error error = builder.parsePassPipeline(manager, passes))
    return error;
  manager.run(module, modules);
  std::string text;
  raw_string_ostream stream(text);
  if (verifyModule(module, &stream))
    return createStringError("the code for C is wrong: " + text);
  return Error::success();
}
