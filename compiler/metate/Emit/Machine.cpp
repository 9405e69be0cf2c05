//===- Machine.cpp - machines by name, resolved, as LLVM has them -*- C++ -*-===//
//
// The rule for features: code may use only what the host's CPU check can see before it loads a
// payload. On x86-64 these are the features of the psABI levels v1 to v4 and those of `checkable`
// below, the names that the runtime's driver/cpu knows; everything else of a CPU is switched off
// when the target is resolved. On other architectures with a system it is what each machine has; where
// there is none nobody looks, and code may use all that its CPU has.
//
//===----------------------------------------------------------------------===//
#include "metate/Emit/Machine.h"

#include "metate/Emit/Architecture.h"
#include "metate/abi/module.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using metate::Architecture;
using metate::architectureOf;
using metate::architectures;

// Not avx512bf16, although it can be seen: its conversions to bf16 take subnormals for zero.
static const char *const checkable[] = {
    "adx",
    "aes",
    "amx-bf16",
    "amx-int8",
    "amx-tile",
    "avx512bitalg",
    "avx512fp16",
    "avx512ifma",
    "avx512vbmi",
    "avx512vbmi2",
    "avx512vnni",
    "avx512vp2intersect",
    "avx512vpopcntdq",
    "avxifma",
    "avxvnni",
    "clflushopt",
    "clwb",
    "fsgsbase",
    "gfni",
    "movdir64b",
    "movdiri",
    "pclmul",
    "prfchw",
    "rdpid",
    "rdrnd",
    "rdseed",
    "serialize",
    "sha",
    "vaes",
    "vpclmulqdq",
    "xsave",
};

/// The row of a triple.
static Expected<const Architecture *> knownArchitecture(const Triple &triple) {
  const Architecture *found = architectureOf(triple);
  if (found)
    return found;
  std::string names;
  for (const Architecture &entry : architectures())
    names += (names.empty() ? "" : ", ") + entry.triple.str();
  return llvm::createStringError("target '" + triple.str() + "' is not supported; expected " +
                                 names);
}

/// The LLVM target of a triple, initialised.
static Expected<const llvm::Target *> findTarget(const Triple &triple) {
  Expected<const Architecture *> architecture = knownArchitecture(triple);
  if (!architecture)
    return architecture.takeError();
  (*architecture)->initialise();
  std::string text;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, text);
  if (!target)
    return llvm::createStringError(text);
  return target;
}

static std::string hostTriple() {
  Triple triple(sys::getProcessTriple());
  // Distributions differ in the vendor field; code does not.
  return (triple.getArchName() + "-unknown-" + triple.getOSName() + "-" +
          triple.getEnvironmentName())
      .str();
}

Expected<metate::Machine> metate::parseMachine(StringRef name, unsigned optLevel) {
  Machine machine;
  machine.optLevel = optLevel;
  if (name.empty() || name == "native" || name == "host")
    return machine;
  auto [arch, cpu] = name.split(':');
  if (const Architecture *known = findArchitecture(name)) {
    machine.triple = known->triple.str();
    bool isLevel = arch.starts_with("x86-64-v");
    machine.cpu = isLevel ? arch.str() : cpu.empty() ? known->cpu.str() : cpu.str();
  } else {
    machine.cpu = arch.str();
  }
  if (Expected<Machine> resolved = resolveMachine(machine); !resolved)
    return resolved.takeError();
  return machine;
}

const Architecture *metate::architectureOf(const Machine &machine) {
  return architectureOf(Triple(machine.triple.empty() ? hostTriple() : machine.triple));
}

Expected<metate::Machine> metate::plainMachine(StringRef triple) {
  Expected<const Architecture *> architecture = knownArchitecture(Triple(triple));
  if (!architecture)
    return architecture.takeError();
  Machine machine;
  machine.triple = triple.str();
  machine.cpu = (*architecture)->cpu.str();
  return resolveMachine(machine);
}

namespace {
/// What a CPU has, by LLVM's tables.
struct Subtarget {
  std::unique_ptr<MCSubtargetInfo> info;

  static Expected<Subtarget> create(const Triple &triple, StringRef cpu, StringRef features) {
    Expected<const llvm::Target *> target = findTarget(triple);
    if (!target)
      return target.takeError();
    Subtarget result{
        std::unique_ptr<MCSubtargetInfo>((*target)->createMCSubtargetInfo(triple, "", ""))};
    if (!result.info->isCPUStringValid(cpu))
      return llvm::createStringError("unknown CPU '" + cpu + "' for target '" + triple.str() + "'");
    result.info.reset((*target)->createMCSubtargetInfo(triple, cpu, features));
    return result;
  }

  /// The CPU's instruction-set features without the tuning hints that LLVM keeps in the same table.
  StringSet<> ofCpu(StringRef cpu) const {
    FeatureBitset bits;
    for (const SubtargetSubTypeKV &entry : info->getAllProcessorDescriptions())
      if (StringRef(entry.Key) == cpu)
        bits = entry.Implies.getAsBitset();
    return namesOf(bits);
  }

  /// A feature and all that come with it.
  StringSet<> ofFeature(StringRef name) const {
    FeatureBitset bits;
    for (const SubtargetFeatureKV &feature : info->getAllProcessorFeatures())
      if (feature.Key == name)
        bits.set(feature.Value);
    return namesOf(bits);
  }

private:
  StringSet<> namesOf(FeatureBitset bits) const {
    for (bool grown = true; grown;) {
      grown = false;
      for (const SubtargetFeatureKV &feature : info->getAllProcessorFeatures())
        if (bits.test(feature.Value) && (bits | feature.Implies.getAsBitset()) != bits) {
          bits |= feature.Implies.getAsBitset();
          grown = true;
        }
    }
    StringSet<> names;
    for (const SubtargetFeatureKV &feature : info->getAllProcessorFeatures())
      if (bits.test(feature.Value))
        names.insert(feature.Key);
    return names;
  }
};

/// Features that a payload may use on this architecture: those the host's check can see, or any.
class AllowedFeatures {
public:
  AllowedFeatures(const Architecture &architecture, const Subtarget &subtarget)
      : isAny(architecture.isBare()) {
    bool isX86 = architecture.code == METATE_ARCH_X86_64;
    names = subtarget.ofCpu(isX86 ? "x86-64-v4" : architecture.cpu);
    SmallVector<StringRef> own;
    architecture.features.split(own, ',', -1, false);
    for (StringRef feature : own)
      for (const auto &name : subtarget.ofFeature(feature.drop_front()))
        names.insert(name.first());
    for (const char *name : isX86 ? ArrayRef(checkable) : ArrayRef<const char *>())
      names.insert(name);
  }
  bool contains(StringRef name) const { return isAny || names.contains(name); }

private:
  bool isAny;
  StringSet<> names;
};
} // namespace

/// "+a,-b" entries that take a CPU's features to this machine's.
static std::string hostDifference(const StringSet<> &ofCpu) {
  std::vector<std::string> entries;
  for (const auto &feature : sys::getHostCPUFeatures())
    if (feature.second != ofCpu.contains(feature.first()))
      entries.push_back(((feature.second ? "+" : "-") + feature.first()).str());
  llvm::sort(entries);
  return llvm::join(entries, ",");
}

Expected<metate::Machine> metate::resolveMachine(const Machine &options) {
  Machine result = options;
  if (result.triple.empty())
    result.triple = hostTriple();
  Triple triple(result.triple);
  bool native = result.cpu == "native" || result.cpu == "host";
  if (native && triple.getArch() != Triple(sys::getProcessTriple()).getArch())
    return llvm::createStringError(
        "CPU 'native' needs a target of this machine's architecture, got '" + triple.str() + "'");
  Expected<const Architecture *> architecture = knownArchitecture(triple);
  if (!architecture)
    return architecture.takeError();
  if (native)
    result.cpu = sys::getHostCPUName().str();
  Expected<Subtarget> subtarget = Subtarget::create(triple, result.cpu, "");
  if (!subtarget)
    return subtarget.takeError();
  StringSet<> enabled = subtarget->ofCpu(result.cpu);
  SmallVector<StringRef> parts;
  std::string host = native ? hostDifference(enabled) : "";
  StringRef(host).split(parts, ',', -1, false);
  StringRef(options.features).split(parts, ',', -1, false);
  (*architecture)->features.split(parts, ',', -1, false); // of every machine: they win
  std::map<std::string, bool> wanted; // sorted: the string is part of the module's bytes
  for (StringRef part : parts) {
    if (part.size() < 2 || (part[0] != '+' && part[0] != '-'))
      return llvm::createStringError("a feature is written +name or -name, got '" + part + "'");
    wanted[part.drop_front().str()] = part[0] == '+';
  }
  AllowedFeatures allowed(**architecture, *subtarget);
  for (const auto &name : enabled)
    if (!allowed.contains(name.first()))
      wanted[name.first().str()] = false;
  std::vector<std::string> entries;
  for (const auto &[name, on] : wanted)
    if (on ? allowed.contains(name) && !enabled.contains(name) : enabled.contains(name))
      entries.push_back((on ? "+" : "-") + name);
  result.features = llvm::join(entries, ",");
  result.optLevel = std::min(result.optLevel, 3u);
  return result;
}

static CodeGenOptLevel codeGenLevel(unsigned optLevel) {
  switch (optLevel) {
  case 0:
    return CodeGenOptLevel::None;
  case 1:
    return CodeGenOptLevel::Less;
  case 2:
    return CodeGenOptLevel::Default;
  default:
    return CodeGenOptLevel::Aggressive;
  }
}

Expected<std::unique_ptr<TargetMachine>> metate::createTargetMachine(const Machine &options) {
  Triple triple(options.triple);
  Expected<const llvm::Target *> target = findTarget(triple);
  if (!target)
    return target.takeError();
  const Architecture &architecture = *architectureOf(triple);
  std::string features = options.features;
  // Unoptimised, LLVM 22 cannot copy what a function gives in a mask register, and ends the process.
  if (options.optLevel == 0 && triple.isX86())
    features += features.empty() ? "-avx512f" : ",-avx512f";
  llvm::TargetOptions machineOptions; // fp contraction: only where an operation's flags allow it
  machineOptions.MCOptions.ABIName = architecture.abi.str();
  if (architecture.isBare()) {
    machineOptions.ThreadModel = ThreadModel::Single;
    // A program's linker leaves out what it does not call.
    machineOptions.FunctionSections = machineOptions.DataSections = true;
  }
  std::unique_ptr<TargetMachine> machine(
      (*target)->createTargetMachine(triple, options.cpu, features, machineOptions,
                                     architecture.isBare() ? Reloc::Static : Reloc::PIC_,
                                     std::nullopt, codeGenLevel(options.optLevel)));
  if (!machine)
    return llvm::createStringError("no code generator for target '" + options.triple + "'");
  return machine;
}

Expected<std::vector<std::string>> metate::machineFeatures(const Machine &options) {
  Triple triple(options.triple);
  Expected<Subtarget> subtarget = Subtarget::create(triple, options.cpu, options.features);
  if (!subtarget)
    return subtarget.takeError();
  AllowedFeatures allowed(*architectureOf(triple), *subtarget);
  std::vector<std::string> names;
  for (const SubtargetFeatureKV &feature : subtarget->info->getEnabledProcessorFeatures())
    if (allowed.contains(feature.Key))
      names.push_back(feature.Key);
  llvm::sort(names);
  return names;
}

bool metate::hasMaskedStores(const Machine &options) {
  auto features = [&]() -> Expected<std::vector<std::string>> {
    Expected<Machine> machine = resolveMachine(options);
    return machine ? machineFeatures(*machine) : machine.takeError();
  }();
  if (features)
    return llvm::is_contained(*features, "avx512vl");
  llvm::consumeError(features.takeError()); // who makes the code says what is wrong
  return false;
}
