//===- Machine.cpp - machines by name, resolved, as LLVM has them -*- C++ -*-===//
//
// The rule for features: code may use only what the host's CPU check can see before it loads a
// payload. On x86-64 these are the features of the psABI levels v1 to v4 and those of `checkable`
// below, the names that the runtime's driver/cpu knows; everything else of a CPU is switched off
// when the target is resolved. On AArch64 it is the base architecture.
//
//===----------------------------------------------------------------------===//
#include "metate/Emit/Machine.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

using namespace llvm;

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

/// The LLVM target of a triple, initialised. LLVM's registry is one per process, hence the flags.
static Expected<const Target *> findTarget(const Triple &triple) {
  static std::once_flag x86, aarch64;
  if (triple.getArch() == Triple::x86_64)
    std::call_once(x86, [] {
      LLVMInitializeX86TargetInfo();
      LLVMInitializeX86Target();
      LLVMInitializeX86TargetMC();
      LLVMInitializeX86AsmPrinter();
      LLVMInitializeX86Disassembler();
    });
  else if (triple.getArch() == Triple::aarch64)
    std::call_once(aarch64, [] {
      LLVMInitializeAArch64TargetInfo();
      LLVMInitializeAArch64Target();
      LLVMInitializeAArch64TargetMC();
      LLVMInitializeAArch64AsmPrinter();
      LLVMInitializeAArch64Disassembler();
    });
  else
    return llvm::createStringError("target '" + triple.str() +
                                   "' is not supported; expected an x86-64 or AArch64 triple");
  std::string text;
  const Target *target = TargetRegistry::lookupTarget(triple, text);
  if (!target)
    return llvm::createStringError(text);
  return target;
}

static bool isAarch64(const Triple &triple) { return triple.getArch() == Triple::aarch64; }

static std::string hostTriple() {
  Triple triple(sys::getProcessTriple());
  // Distributions differ in the vendor field; code does not.
  return (triple.getArchName() + "-unknown-" + triple.getOSName() + "-" +
          triple.getEnvironmentName())
      .str();
}

StringRef metate::machineArchitecture(StringRef name) {
  StringRef arch = name.split(':').first;
  if (arch == "aarch64" || arch == "arm64")
    return "aarch64";
  if (arch == "x86-64" || arch == "x86_64" || arch == "x64" || arch.starts_with("x86-64-v"))
    return "x86_64";
  return "";
}

Expected<metate::Machine> metate::parseMachine(StringRef name, unsigned optLevel) {
  Machine machine;
  machine.optLevel = optLevel;
  if (name.empty() || name == "native" || name == "host")
    return machine;
  auto [arch, cpu] = name.split(':');
  StringRef known = machineArchitecture(name);
  if (known == "aarch64") {
    machine.triple = "aarch64-unknown-linux-gnu";
    machine.cpu = cpu.empty() ? "generic" : cpu.str();
  } else if (known == "x86_64") {
    machine.triple = "x86_64-unknown-linux-gnu";
    if (arch.starts_with("x86-64-v"))
      machine.cpu = arch.str();
    else
      machine.cpu = cpu.empty() ? "x86-64" : cpu.str();
  } else {
    machine.cpu = arch.str();
  }
  if (Expected<Machine> resolved = resolveMachine(machine); !resolved)
    return resolved.takeError();
  return machine;
}

namespace {
/// What a CPU has, by LLVM's tables.
struct Subtarget {
  std::unique_ptr<MCSubtargetInfo> info;

  static Expected<Subtarget> create(const Triple &triple, StringRef cpu, StringRef features) {
    Expected<const Target *> target = findTarget(triple);
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
    StringSet<> names;
    for (const SubtargetSubTypeKV &entry : info->getAllProcessorDescriptions()) {
      if (StringRef(entry.Key) != cpu)
        continue;
      FeatureBitset bits = entry.Implies.getAsBitset();
      for (bool grown = true; grown;) {
        grown = false;
        for (const SubtargetFeatureKV &feature : info->getAllProcessorFeatures())
          if (bits.test(feature.Value) && (bits | feature.Implies.getAsBitset()) != bits) {
            bits |= feature.Implies.getAsBitset();
            grown = true;
          }
      }
      for (const SubtargetFeatureKV &feature : info->getAllProcessorFeatures())
        if (bits.test(feature.Value))
          names.insert(feature.Key);
    }
    return names;
  }
};

/// Features that a payload may use on this architecture: those the host's check can see.
StringSet<> allowedFeatures(const Triple &triple, const Subtarget &subtarget) {
  StringSet<> allowed = subtarget.ofCpu(isAarch64(triple) ? "generic" : "x86-64-v4");
  if (!isAarch64(triple))
    for (const char *name : checkable)
      allowed.insert(name);
  return allowed;
}
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
  std::map<std::string, bool> wanted; // sorted: the string is part of the module's bytes
  for (StringRef part : parts) {
    if (part.size() < 2 || (part[0] != '+' && part[0] != '-'))
      return llvm::createStringError("a feature is written +name or -name, got '" + part + "'");
    wanted[part.drop_front().str()] = part[0] == '+';
  }
  StringSet<> allowed = allowedFeatures(triple, *subtarget);
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
  Expected<const Target *> target = findTarget(triple);
  if (!target)
    return target.takeError();
  std::string features = options.features;
  // Unoptimised, LLVM 22 cannot copy what a function gives in a mask register, and ends the process.
  if (options.optLevel == 0 && triple.isX86())
    features += features.empty() ? "-avx512f" : ",-avx512f";
  llvm::TargetOptions machineOptions; // fp contraction: only where an operation's flags allow it
  std::unique_ptr<TargetMachine> machine(
      (*target)->createTargetMachine(triple, options.cpu, features, machineOptions, Reloc::PIC_,
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
  StringSet<> allowed = allowedFeatures(triple, *subtarget);
  std::vector<std::string> names;
  for (const SubtargetFeatureKV &feature : subtarget->info->getEnabledProcessorFeatures())
    if (allowed.contains(feature.Key))
      names.push_back(feature.Key);
  llvm::sort(names);
  return names;
}
