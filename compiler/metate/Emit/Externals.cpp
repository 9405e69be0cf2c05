//===- Externals.cpp - the allow-list and its check -------------*- C++ -*-===//
//
// What is exact or rounded once, so that every C library gives the same: functions that code generators call where a machine
// has no instruction. sin, exp and their kin are arithmetic (Elementary/). Versions are glibc's, as old as the architecture's
// port but for what has changed since.
//
//===----------------------------------------------------------------------===//
#include "metate/Emit/Externals.h"

#include "metate/Emit/Sanitize.h"
#include "metate/abi/module.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Object/ObjectFile.h"

#include <iterator>

using namespace llvm;

static constexpr const char *libc = "libc.so.6", *libm = "libm.so.6";

// Sorted by name: findExternal searches by bisection.
static constexpr metate::External externals[] = {
    {"bcmp", libc, 0},        {"ceil", libm, 0},       {"ceilf", libm, 0},
    {"copysign", libm, 0},    {"copysignf", libm, 0},  {"fabs", libm, 0},
    {"fabsf", libm, 0},       {"floor", libm, 0},      {"floorf", libm, 0},
    {"fma", libm, 0},         {"fmaf", libm, 0},       {"fmax", libm, 0},
    {"fmaxf", libm, 0},       {"fmin", libm, 0},       {"fminf", libm, 0},
    {"fmod", libm, 0},        {"fmodf", libm, 0},      {"memcmp", libc, 0},
    {"memcpy", libc, 14},     {"memmove", libc, 0},    {"memset", libc, 0},
    {"nearbyint", libm, 0},   {"nearbyintf", libm, 0}, {"rint", libm, 0},
    {"rintf", libm, 0},       {"round", libm, 0},      {"roundeven", libm, 25},
    {"roundevenf", libm, 25}, {"roundf", libm, 0},     {"sqrt", libm, 0},
    {"sqrtf", libm, 0},       {"trunc", libm, 0},      {"truncf", libm, 0},
};

/// Arm's run-time ABI (RTABI): arithmetic of 64 bits and of floats that a CPU has no instructions for. Sorted.
static constexpr StringLiteral ofThumb[] = {
    "__aeabi_d2f",      "__aeabi_d2iz",     "__aeabi_d2lz",    "__aeabi_d2uiz",
    "__aeabi_d2ulz",    "__aeabi_dadd",     "__aeabi_dcmpeq",  "__aeabi_dcmpge",
    "__aeabi_dcmpgt",   "__aeabi_dcmple",   "__aeabi_dcmplt",  "__aeabi_dcmpun",
    "__aeabi_ddiv",     "__aeabi_dmul",     "__aeabi_dsub",    "__aeabi_f2d",
    "__aeabi_f2iz",     "__aeabi_f2lz",     "__aeabi_f2uiz",   "__aeabi_f2ulz",
    "__aeabi_fadd",     "__aeabi_fcmpeq",   "__aeabi_fcmpge",  "__aeabi_fcmpgt",
    "__aeabi_fcmple",   "__aeabi_fcmplt",   "__aeabi_fcmpun",  "__aeabi_fdiv",
    "__aeabi_fmul",     "__aeabi_fsub",     "__aeabi_i2d",     "__aeabi_i2f",
    "__aeabi_idiv",     "__aeabi_idivmod",  "__aeabi_l2d",     "__aeabi_l2f",
    "__aeabi_lasr",     "__aeabi_ldivmod",  "__aeabi_llsl",    "__aeabi_llsr",
    "__aeabi_lmul",     "__aeabi_memclr",   "__aeabi_memclr4", "__aeabi_memclr8",
    "__aeabi_memcpy",   "__aeabi_memcpy4",  "__aeabi_memcpy8", "__aeabi_memmove",
    "__aeabi_memmove4", "__aeabi_memmove8", "__aeabi_memset",  "__aeabi_memset4",
    "__aeabi_memset8",  "__aeabi_ui2d",     "__aeabi_ui2f",    "__aeabi_uidiv",
    "__aeabi_uidivmod", "__aeabi_ul2d",     "__aeabi_ul2f",    "__aeabi_uldivmod",
};

/// Products of 128 bits.
static constexpr StringLiteral ofWasm[] = {"__multi3"};

const metate::External *metate::findExternal(StringRef name) {
  const External *found = llvm::lower_bound(
      externals, name, [](const External &entry, StringRef key) { return entry.name < key; });
  return found != std::end(externals) && found->name == name ? found : nullptr;
}

std::string metate::externalVersion(const External &external, const Architecture &architecture) {
  unsigned first = 0; // 17 of "2.17"
  (void)architecture.glibc.split('.').second.split('.').first.getAsInteger(10, first);
  return "GLIBC_" + (external.since > first ? "2." + std::to_string(external.since)
                                            : architecture.glibc.str());
}

bool metate::isCompilersOwn(StringRef symbol, const Architecture &architecture) {
  if (architecture.code == METATE_ARCH_THUMB)
    return std::binary_search(std::begin(ofThumb), std::end(ofThumb), symbol);
  return architecture.code == METATE_ARCH_WASM32 && llvm::is_contained(ofWasm, symbol);
}

Expected<metate::Symbols> metate::symbolsOf(ArrayRef<StringRef> objects) {
  Symbols symbols;
  for (StringRef bytes : objects) {
    Expected<std::unique_ptr<object::ObjectFile>> file =
        object::ObjectFile::createObjectFile(MemoryBufferRef(bytes, "payload"));
    if (!file)
      return file.takeError();
    for (const object::SymbolRef &symbol : (*file)->symbols()) {
      Expected<uint32_t> flags = symbol.getFlags();
      Expected<StringRef> name = symbol.getName();
      if (!flags || !name)
        return joinErrors(flags.takeError(), name.takeError());
      if (*flags & object::SymbolRef::SF_Undefined)
        symbols.undefined.insert(name->str());
      else if (*flags & object::SymbolRef::SF_Global)
        symbols.defined.insert(*name);
    }
  }
  for (const auto &entry : symbols.defined)
    symbols.undefined.erase(entry.first().str());
  return symbols;
}

bool metate::isLinkersOwn(StringRef symbol) {
  return symbol.empty() || symbol == "_GLOBAL_OFFSET_TABLE_" || symbol == "__stack_pointer" ||
         symbol == "__indirect_function_table";
}

Error metate::undefinedSymbolError(StringRef symbol) {
  return createStringError("undefined symbol '" + symbol +
                           "' in the object code: a kernel calls only its host's hooks and the C "
                           "library's memory and math functions");
}

Expected<std::vector<std::string>> metate::undefinedSymbols(const Symbols &symbols,
                                                            const Architecture &architecture,
                                                            Sanitizer sanitizer) {
  std::vector<std::string> names;
  for (const std::string &name : symbols.undefined) {
    if (isLinkersOwn(name) || isSanitizerSymbol(name, sanitizer))
      continue;
    if (!findExternal(name) && !isCompilersOwn(name, architecture))
      return undefinedSymbolError(name);
    names.push_back(name);
  }
  return names;
}
