//===- Prepare.cpp - the steps in their order -------------------*- C++ -*-===//
#include "metate/Target/Vulkan/Spirv/Prepare.h"

#include "metate/Emit/Analyses.h"

#include "llvm/IR/Verifier.h"

using namespace llvm;
using namespace metate;

Error spirv::problemAt(const Instruction &instruction, const Twine &what) {
  std::string text;
  raw_string_ostream stream(text);
  stream << what << ":" << instruction;
  StringRef name = instruction.getFunction() ? instruction.getFunction()->getName() : "?";
  return createStringError(name + ": " + text);
}

Error spirv::verified(Module &module, StringRef when) {
  std::string text;
  raw_string_ostream stream(text);
  if (!verifyModule(module, &stream))
    return Error::success();
  return createStringError("invalid LLVM IR " + when + ": " + text);
}

/// For each task, as they are now.
static Error eachTask(Module &module, ArrayRef<SpirvTask> tasks,
                      function_ref<Error(Function &)> step) {
  for (const SpirvTask &task : tasks)
    if (Error error = step(*module.getFunction(task.name)))
      return error;
  return Error::success();
}

// Once all is inlined: what fell apart becomes short again.
static constexpr StringLiteral shorten =
    "always-inline,globaldce,function("
    "instsimplify,scalarizer<load-store>,sroa,instcombine<no-verify-fixpoint>,"
    "simplifycfg<no-switch-to-lookup>,early-cse<memssa>,gvn,adce,"
    "simplifycfg<no-switch-to-lookup>,instcombine<no-verify-fixpoint>)";

/// What LLVM's own passes can still make shorter: with pointers, vectors that fell apart, numbers of any width.
static Error expandTasks(Module &module, ArrayRef<SpirvTask> tasks, const SpirvOptions &options) {
  auto expand = [&](Function &function) -> Error {
    spirv::splitValues(function);
    spirv::expandMemory(function);
    if (Error error = spirv::expandAtomics(function, options))
      return error;
    spirv::callNumbers(function, options);
    return Error::success();
  };
  if (Error error = metate::runPasses(module, "function(expand-reductions)"))
    return error;
  if (Error error = eachTask(module, tasks, expand))
    return error;
  if (Error error = spirv::linkNumbers(module))
    return error;
  return metate::runPasses(module, shorten);
}

/// What follows makes nothing that SPIR-V lacks: no pass may that comes after.
static Error legaliseTasks(Module &module, ArrayRef<SpirvTask> tasks, const SpirvOptions &options,
                           spirv::Constants &constants) {
  auto expand = [&](Function &function) -> Error {
    spirv::splitValues(function);
    spirv::expandMemory(function);         // instcombine may have joined accesses
    spirv::callNumbers(function, options); // and seen numbers in what was of bits
    return Error::success();
  };
  if (Error error = metate::runPasses(module, "function(lower-switch)"))
    return error;
  if (Error error = eachTask(module, tasks, expand))
    return error;
  if (Error error = spirv::linkNumbers(module))
    return error;
  if (Error error = metate::runPasses(module, "always-inline,globaldce"))
    return error;
  if (Error error = eachTask(module, tasks, spirv::expandIntrinsics))
    return error;
  if (Error error = metate::runPasses(module, "function(early-cse,adce),globaldce"))
    return error;
  if (Error error = spirv::collectConstants(module, constants))
    return error;
  for (const SpirvTask &task : tasks) {
    Expected<Function *> numbered =
        spirv::numberPointers(*module.getFunction(task.name), constants, task.sharedBytes);
    if (!numbered)
      return numbered.takeError();
    if (Error error = spirv::widenIntegers(**numbered))
      return error;
  }
  return Error::success();
}

/// Addresses that do not change leave their loops.
static Error hoistFromLoops(Module &module, ArrayRef<SpirvTask> tasks) {
  auto own = [](Function &function) -> Error {
    spirv::ownAccesses(function);
    return Error::success();
  };
  auto expand = [](Function &function) -> Error {
    spirv::splitValues(function);             // a pair that was moved behind a loop
    return spirv::expandIntrinsics(function); // licm makes llvm.umax
  };
  if (Error error = metate::runPasses(module, "function(early-cse)"))
    return error;
  if (Error error = eachTask(module, tasks, own))
    return error;
  if (Error error = metate::runPasses(module, "function(loop-mssa(licm),adce)"))
    return error;
  if (Error error = eachTask(module, tasks, expand))
    return error;
  if (Error error = metate::runPasses(module, "function(early-cse)"))
    return error;
  return eachTask(module, tasks, own);
}

Error spirv::prepare(Module &module, ArrayRef<SpirvTask> tasks, const SpirvOptions &options,
                     std::vector<uint8_t> &bytes) {
  if (Error error = verified(module, "given"))
    return error;
  placeBarriers(module);
  if (Error error = inlineTasks(module, tasks))
    return error;
  if (Error error = expandTasks(module, tasks, options))
    return error;
  Constants constants;
  if (Error error = legaliseTasks(module, tasks, options, constants))
    return error;
  bytes = std::move(constants.bytes);
  if (Error error = hoistFromLoops(module, tasks))
    return error;
  for (const SpirvTask &task : tasks)
    giveExits(*module.getFunction(task.name));
  return runPasses(module, "function(fix-irreducible)");
}
