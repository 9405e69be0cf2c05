//===- Prepare.cpp - LLVM IR that C can say ---------------------*- C++ -*-===//
//
// What a C compiler does better is left to it: loops are neither unrolled nor made of vectors. Passes that compute in
// wider integers than the code (of induction variables) are not run: C has none above 64 bits.
//
//===----------------------------------------------------------------------===//
#include "metate/Target/C/Print/Prepare.h"

#include "metate/Emit/Analyses.h"
#include "metate/Emit/LanesAttribute.h"
#include "metate/Target/C/Print/Print.h"

#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"

using namespace llvm;
using namespace metate;

static constexpr StringLiteral passesForAll = "always-inline,globaldce";
/// Of functions whose vectors are the language's, a handful of numbers.
static constexpr StringLiteral apart =
    "scalarize-masked-mem-intrin,expand-reductions,sroa,early-cse<memssa>,"
    "instcombine<no-verify-fixpoint>,simplifycfg,"
    "scalarizer<load-store>,sroa,early-cse<memssa>,gvn,instcombine<no-verify-fixpoint>,"
    "scalarizer<load-store>,simplifycfg,adce";
/// Of functions whose vectors are iterations side by side.
static constexpr StringLiteral sideBySide =
    "sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,gvn,instcombine<no-verify-"
    "fixpoint>,simplifycfg,adce";

/// What only says something to LLVM; what it is said of would be computed for nobody.
static void dropHints(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function)))
      if (auto *call = dyn_cast<IntrinsicInst>(&instruction))
        if (call->isAssumeLikeIntrinsic() && call->getType()->isVoidTy())
          call->eraseFromParent();
}

CallInst *c::callPointerAt(Instruction &before, Value &array, uint64_t place) {
  IRBuilder<> builder(&before);
  FunctionCallee function = before.getModule()->getOrInsertFunction(
      pointerAt, builder.getPtrTy(), builder.getPtrTy(), builder.getInt64Ty());
  auto *own = cast<Function>(function.getCallee());
  own->setOnlyAccessesArgMemory();
  own->setOnlyReadsMemory();
  own->setDoesNotThrow();
  own->setWillReturn();
  return builder.CreateCall(function, {&array, builder.getInt64(place)});
}

static Error runOn(Module &module, StringRef pipeline,
                   function_ref<bool(const Function &)> isMeant) {
  Analyses analyses;
  PassBuilder builder;
  analyses.add(builder);
  FunctionPassManager passes;
  if (Error error = builder.parsePassPipeline(passes, pipeline))
    return error;
  for (Function &function : module)
    if (!function.isDeclaration() && isMeant(function))
      passes.run(function, analyses.functions);
  return Error::success();
}

Error c::prepare(Module &module, bool widens) {
  StripDebugInfo(module);
  dropHints(module);
  hoistAllocas(module);
  if (Error error = metate::runPasses(module, passesForAll))
    return error;
  auto isPlain = [](const Function &function) { return !function.hasFnAttribute(lanesAttribute); };
  auto hasLanes = [](const Function &function) { return function.hasFnAttribute(lanesAttribute); };
  if (Error error = runOn(module, apart, isPlain))
    return error;
  if (Error error = runOn(module, sideBySide, hasLanes))
    return error;
  expandVectors(module);
  if (Error error = runOn(module, "scalarizer<load-store>,early-cse,simplifycfg", isPlain))
    return error;
  for (Function &function : module)
    if (widens && !function.isDeclaration() && isPlain(function))
      if (Error error = widenLoops(function))
        return error;
  expandVectors(module); // of the loops
  dropHints(module);     // simplifycfg makes some of branches that are never taken
  if (Error error = metate::runPasses(module, "globaldce,function(adce)"))
    return error;
  std::string text;
  raw_string_ostream stream(text);
  if (verifyModule(module, &stream))
    return createStringError("the code for C is wrong: " + text);
  return Error::success();
}
