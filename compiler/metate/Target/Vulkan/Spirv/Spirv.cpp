//===- Spirv.cpp - device functions as SPIR-V for Vulkan --------*- C++ -*-===//
#include "metate/Target/Vulkan/Spirv/Spirv.h"

#include "metate/Target/Vulkan/Spirv/FunctionWriter.h"
#include "metate/Target/Vulkan/Spirv/ModuleWriter.h"
#include "metate/Target/Vulkan/Spirv/Prepare.h"

using namespace llvm;
using namespace metate;

/// Mesa forgets the conditions of selections that lie deeper.
static constexpr unsigned lavapipeDepth = 80;

Expected<SpirvModule> metate::emitSpirv(Module &module, ArrayRef<SpirvTask> tasks,
                                        const SpirvOptions &options) {
  std::vector<uint8_t> constants;
  if (Error error = spirv::prepare(module, tasks, options, constants))
    return std::move(error);
  std::vector<spirv::Structure> structures;
  for (const SpirvTask &task : tasks) {
    Function &function = *module.getFunction(task.name);
    if (options.lavapipe && task.group == 1)
      spirv::runOneLane(function);
    Expected<spirv::Structure> structure = spirv::makeStructure(function);
    if (!structure)
      return structure.takeError();
    if (options.lavapipe && structure->depth > lavapipeDepth)
      return createStringError(task.name + ": conditions are nested " + Twine(structure->depth) +
                               " deep, of which lavapipe runs " + Twine(lavapipeDepth) +
                               "; make several kernels of it");
    structures.push_back(std::move(*structure));
    if (!options.lavapipe)
      continue;
    if (task.ended.value)
      spirv::hideTurns(function, structures.back());
    spirv::keepBehindLoops(function);
    if (task.ended.value)
      spirv::leaveEndedLoops(function, structures.back(), task.ended);
    spirv::hideZeros(function);
  }
  if (Error error = spirv::verified(module, "made"))
    return std::move(error);
  spirv::ModuleWriter writer;
  for (auto [task, structure] : zip(tasks, structures)) {
    Function &function = *module.getFunction(task.name);
    spirv::FunctionWriter code(writer, function, task.group, structure, options.lavapipe);
    if (Error error = code.write())
      return std::move(error);
  }
  SpirvModule made = writer.finish();
  made.constants = std::move(constants);
  return made;
}
