//===- Options.cpp - options by name ----------------------------*- C++ -*-===//
#include "metate/Options/Options.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace metate;
using llvm::StringRef;

StringRef metate::sanitizerName(Sanitizer sanitizer) {
  switch (sanitizer) {
  case Sanitizer::None:
    return "";
  case Sanitizer::Address:
    return "address";
  case Sanitizer::Thread:
    return "thread";
  }
  llvm_unreachable("no other sanitizer");
}

std::optional<Sanitizer> metate::parseSanitizer(StringRef name) {
  return llvm::StringSwitch<std::optional<Sanitizer>>(name)
      .Case("", Sanitizer::None)
      .Case("address", Sanitizer::Address)
      .Case("thread", Sanitizer::Thread)
      .Default(std::nullopt);
}

StringRef metate::reserveName(Reserve reserve) {
  static constexpr StringRef names[] = {"", "beside", "only"};
  return names[size_t(reserve)];
}

llvm::ArrayRef<OptionInfo> metate::optionTable() {
  static constexpr OptionInfo table[] = {
#define METATE_OPTION(member, name, type, value, role, documentation)                              \
  {#name, #type, #value, documentation, OptionRole::role},
#include "metate/Options/Options.def"
  };
  return table;
}

StringRef metate::optionRoleName(OptionRole role) {
  static constexpr StringRef names[] = {"Optimisation", "Code", "Carrier", "Process"};
  return names[size_t(role)];
}

/// A type of the table: what its values look like to callers, and how they are written and read.
template <typename T> struct TextOf;

template <> struct TextOf<bool> {
  static constexpr const char *expected = "true or false";
  static std::string print(bool value) { return value ? "true" : "false"; }
  static bool parse(StringRef text, bool &value) {
    value = text == "true";
    return value || text == "false";
  }
};

template <> struct TextOf<OptLevel> {
  static constexpr const char *expected = "0 to 3";
  static std::string print(OptLevel value) { return std::to_string(value); }
  static bool parse(StringRef text, OptLevel &value) {
    return !text.getAsInteger(10, value) && value <= 3;
  }
};

template <> struct TextOf<uint64_t> { // Nanoseconds, ByteCount
  static constexpr const char *expected = "a whole number, or never";
  static std::string print(uint64_t value) {
    return value == neverBytes ? "never" : std::to_string(value);
  }
  static bool parse(StringRef text, uint64_t &value) {
    if (text == "never")
      value = neverBytes;
    return text == "never" || !text.getAsInteger(10, value);
  }
};

template <> struct TextOf<Sanitizer> {
  static constexpr const char *expected = "'address' or 'thread'";
  static std::string print(Sanitizer value) { return sanitizerName(value).str(); }
  static bool parse(StringRef text, Sanitizer &value) {
    std::optional<Sanitizer> known = parseSanitizer(text);
    value = known.value_or(Sanitizer::None);
    return known.has_value();
  }
};

template <> struct TextOf<Reserve> {
  static constexpr const char *expected = "'', 'beside' or 'only'";
  static std::string print(Reserve value) { return reserveName(value).str(); }
  static bool parse(StringRef text, Reserve &value) {
    int found =
        llvm::StringSwitch<int>(text).Case("", 0).Case("beside", 1).Case("only", 2).Default(-1);
    value = found < 0 ? Reserve::None : Reserve(found);
    return found >= 0;
  }
};

template <typename T> static llvm::Error setFrom(StringRef name, StringRef text, T &value) {
  T parsed{};
  if (!TextOf<T>::parse(text, parsed))
    return llvm::createStringError(name + ": expected " + TextOf<T>::expected + ", got '" + text +
                                   "'");
  value = parsed;
  return llvm::Error::success();
}

llvm::Error metate::setOption(Options &options, StringRef name, StringRef value) {
#define METATE_OPTION(member, option, type, otherwise, role, documentation)                        \
  if (name == #option)                                                                             \
    return setFrom(name, value, options.member);
#include "metate/Options/Options.def"
  auto names = llvm::map_range(optionTable(), [](const OptionInfo &info) { return info.name; });
  return llvm::createStringError("no option '" + name + "'; the options are " +
                                 llvm::join(names, ", "));
}

std::string metate::changedOptions(const Options &options) {
  const Options plain;
  std::string text;
#define METATE_OPTION(member, name, type, value, role, documentation)                              \
  if (options.member != plain.member)                                                              \
    text +=                                                                                        \
        (text.empty() ? "" : " ") + std::string(#name "=") + TextOf<type>::print(options.member);
#include "metate/Options/Options.def"
  return text;
}
