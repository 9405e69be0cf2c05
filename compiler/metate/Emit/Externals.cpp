//===- Externals.cpp - the allow-list and its check -------------*- C++ -*-===//
//
// What is exact or rounded once, so that every C library gives the same: functions that code generators call where a machine
// has no instruction. sin, exp and their kin are arithmetic (Elementary/). Versions are glibc's, as old as the architecture's
// port but for roundeven's.
//
//===----------------------------------------------------------------------===//
#include "metate/Emit/Externals.h"

#include "metate/Emit/Sanitize.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Object/ObjectFile.h"

#include <iterator>

using namespace llvm;

static constexpr const char *libc = "libc.so.6", *libm = "libm.so.6";
static constexpr const char *v225 = "GLIBC_2.2.5", *v214 = "GLIBC_2.14", *v217 = "GLIBC_2.17",
                            *v225r = "GLIBC_2.25";

// Sorted by name: findExternal searches by bisection.
static constexpr metate::External externals[] = {
    {"bcmp", libc, v225, v217},        {"ceil", libm, v225, v217},
    {"ceilf", libm, v225, v217},       {"copysign", libm, v225, v217},
    {"copysignf", libm, v225, v217},   {"fabs", libm, v225, v217},
    {"fabsf", libm, v225, v217},       {"floor", libm, v225, v217},
    {"floorf", libm, v225, v217},      {"fma", libm, v225, v217},
    {"fmaf", libm, v225, v217},        {"fmax", libm, v225, v217},
    {"fmaxf", libm, v225, v217},       {"fmin", libm, v225, v217},
    {"fminf", libm, v225, v217},       {"fmod", libm, v225, v217},
    {"fmodf", libm, v225, v217},       {"memcmp", libc, v225, v217},
    {"memcpy", libc, v214, v217},      {"memmove", libc, v225, v217},
    {"memset", libc, v225, v217},      {"nearbyint", libm, v225, v217},
    {"nearbyintf", libm, v225, v217},  {"rint", libm, v225, v217},
    {"rintf", libm, v225, v217},       {"round", libm, v225, v217},
    {"roundeven", libm, v225r, v225r}, {"roundevenf", libm, v225r, v225r},
    {"roundf", libm, v225, v217},      {"sqrt", libm, v225, v217},
    {"sqrtf", libm, v225, v217},       {"trunc", libm, v225, v217},
    {"truncf", libm, v225, v217},
};

const metate::External *metate::findExternal(StringRef name) {
  const External *found = llvm::lower_bound(
      externals, name, [](const External &entry, StringRef key) { return entry.name < key; });
  return found != std::end(externals) && found->name == name ? found : nullptr;
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
  return symbol.empty() || symbol == "_GLOBAL_OFFSET_TABLE_";
}

Error metate::undefinedSymbolError(StringRef symbol) {
  return createStringError("undefined symbol '" + symbol +
                           "' in the object code: a kernel calls only its host's hooks and the C "
                           "library's memory and math functions");
}

Expected<std::vector<std::string>> metate::undefinedSymbols(const Symbols &symbols,
                                                            Sanitizer sanitizer) {
  std::vector<std::string> names;
  for (const std::string &name : symbols.undefined) {
    if (isLinkersOwn(name) || isSanitizerSymbol(name, sanitizer))
      continue;
    if (!findExternal(name))
      return undefinedSymbolError(name);
    names.push_back(name);
  }
  return names;
}
