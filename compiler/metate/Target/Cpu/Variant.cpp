//===- Variant.cpp - what a CPU's payload asks of its machine ----*- C++ -*-===//
#include "metate/Target/Cpu/Variant.h"

#include "metate/Emit/Architecture.h"
#include "metate/Emit/Machine.h"
#include "metate/abi/module.h"

#include "llvm/TargetParser/Triple.h"

using namespace metate;
using llvm::Expected;

/// Features of a CPU by LLVM's name, sorted.
static Expected<std::vector<std::string>> featuresOf(llvm::StringRef triple, llvm::StringRef cpu,
                                                     llvm::StringRef features) {
  Machine options;
  options.triple = triple.str();
  options.cpu = cpu.str();
  options.features = features.str();
  return machineFeatures(options);
}

Expected<Variant> cpu::variantOf(PayloadOp payload) {
  Variant variant;
  variant.format = METATE_FORMAT_SHARED_OBJECT;
  variant.triple = payload.getTriple().str();
  variant.cpu = payload.getCpu().str();
  llvm::Triple triple(variant.triple);
  Expected<std::vector<std::string>> used =
      featuresOf(variant.triple, variant.cpu, payload.getFeatures());
  if (!used)
    return used.takeError();
  const Architecture &architecture = *architectureOf(triple);
  variant.arch = architecture.code;
  variant.level = architecture.level;
  Expected<Machine> plain = plainMachine(variant.triple);
  if (!plain)
    return plain.takeError();
  Expected<std::vector<std::string>> base = machineFeatures(*plain);
  if (!base)
    return base.takeError();
  if (variant.arch == METATE_ARCH_X86_64) {
    static const char *const levels[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
    for (unsigned k = 0; k < 4; ++k) {
      Expected<std::vector<std::string>> level = featuresOf(variant.triple, levels[k], "");
      if (!level)
        return level.takeError();
      // A CPU with less than v1 still needs v1: the loader knows no lower level.
      if (k && !std::includes(used->begin(), used->end(), level->begin(), level->end()))
        break;
      variant.level = k + 1;
      base = std::move(*level);
    }
  }
  std::vector<std::string> beyond;
  std::set_difference(used->begin(), used->end(), base->begin(), base->end(),
                      std::back_inserter(beyond));
  // Last: a host reads the list up to the first that it lacks.
  if (std::optional<llvm::StringRef> sanitizer = payload.getSanitizer())
    beyond.push_back((METATE_FEATURE_SANITIZER + *sanitizer).str());
  variant.features = llvm::join(beyond, ",");
  return variant;
}
