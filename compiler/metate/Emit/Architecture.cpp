//===- Architecture.cpp - the table of architectures ------------*- C++ -*-===//
#include "metate/Emit/Architecture.h"

#include "metate/abi/module.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/TargetSelect.h"

#include <mutex>

using namespace metate;
using llvm::StringRef;
using llvm::Triple;

// LLVM's registry is one per process, hence the flags.
#define METATE_BACKEND(name)                                                                       \
  static void initialise##name() {                                                                 \
    static std::once_flag once;                                                                    \
    std::call_once(once, [] {                                                                      \
      LLVMInitialize##name##TargetInfo();                                                          \
      LLVMInitialize##name##Target();                                                              \
      LLVMInitialize##name##TargetMC();                                                            \
      LLVMInitialize##name##AsmPrinter();                                                          \
      LLVMInitialize##name##AsmParser(); /* the tree protocol has lines of assembly */             \
      LLVMInitialize##name##Disassembler();                                                        \
    });                                                                                            \
  }
METATE_BACKEND(X86)
METATE_BACKEND(AArch64)
METATE_BACKEND(RISCV)
METATE_BACKEND(ARM)
METATE_BACKEND(WebAssembly)

static constexpr Architecture table[] = {
#define METATE_SUPPORT_OF_SYSTEM(support, flags)
#define METATE_SUPPORT_ALONE(support, flags)
#define METATE_ARCHITECTURE(arch, level, name, others, what, backend, support, triple, cpu,        \
                            features, abi, glibc, lanes)                                           \
  {METATE_ARCH_##arch, level, name,  others,    what, initialise##backend, #support, triple, cpu,  \
   features,           abi,   glibc, lanes != 0},
#include "metate/Emit/Architectures.def"
};

llvm::ArrayRef<Architecture> metate::architectures() { return table; }

const Architecture *metate::findArchitecture(StringRef machine) {
  StringRef name = machine.split(':').first;
  for (const Architecture &entry : table) {
    llvm::SmallVector<StringRef> others;
    entry.others.split(others, ' ', -1, /*KeepEmpty=*/false);
    if (name == entry.name || name == entry.triple || llvm::is_contained(others, name))
      return &entry;
  }
  // x86-64-v3 is a CPU to LLVM; whatever begins so is meant to be one.
  return name.starts_with("x86-64-v") ? table : nullptr;
}

const Architecture *metate::architectureOf(const Triple &triple) {
  for (const Architecture &entry : table) {
    Triple own(entry.triple);
    // Variants of a distribution's triple are the same architecture; those of Arm's M profile differ in how they call.
    bool isSame = own.getArch() == triple.getArch() && own.getSubArch() == triple.getSubArch();
    if (isSame && (!entry.isBare() || own.getEnvironment() == triple.getEnvironment()))
      return &entry;
  }
  return nullptr;
}

StringRef metate::supportFor(const Triple &triple, llvm::ArrayRef<SupportCode> codes) {
  const Architecture *architecture = architectureOf(triple);
  for (const SupportCode &entry : codes)
    if (architecture && entry.support == architecture->support)
      return entry.code();
  return "";
}
