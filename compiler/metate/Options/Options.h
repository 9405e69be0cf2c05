//===- Options.h - what callers of the compiler choose ----------*- C++ -*-===//
//
// The table of Options.def as a value, and as text by the options' names. Must not decide what an option does:
// that is the pass's, the target's or the stage's that asks for it.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_OPTIONS_OPTIONS_H
#define METATE_OPTIONS_OPTIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace metate {

/// What LLVM instruments generated code for.
enum class Sanitizer { None, Address, Thread };
/// "address", "thread"; "" for none.
llvm::StringRef sanitizerName(Sanitizer sanitizer);
/// The opposite of sanitizerName.
std::optional<Sanitizer> parseSanitizer(llvm::StringRef name);

/// Reserve: kernels that count what others activate (metate-slice-activations).
enum class Reserve { None, Beside, Only };
/// "beside", "only"; "" for none.
llvm::StringRef reserveName(Reserve reserve);

/// The types of the table.
using OptLevel = unsigned;
using Nanoseconds = uint64_t;
using ByteCount = uint64_t;

constexpr ByteCount neverBytes = UINT64_MAX;

/// The value of each option; as it is when nobody says anything.
struct Options {
private:
  /// The table's None, of either type.
  struct NoneOf {
    constexpr operator Sanitizer() const { return Sanitizer::None; }
    constexpr operator Reserve() const { return Reserve::None; }
  };
  static constexpr NoneOf None{};

public:
#define METATE_OPTION(member, name, type, value, role, documentation) type member = value;
#include "metate/Options/Options.def"
};

enum class OptionRole { Optimisation, Code, Carrier, Process };

/// A row of the table, all of it as text.
struct OptionInfo {
  llvm::StringRef name, type, value, documentation;
  OptionRole role;
};

/// The table, in its order.
llvm::ArrayRef<OptionInfo> optionTable();
llvm::StringRef optionRoleName(OptionRole role);

/// Sets an option by its name from its value as text: `true`, `3`, `67108864`, `never`, `address`, `only`. Fails on
/// an unknown name and on a value that the type does not have.
llvm::Error setOption(Options &options, llvm::StringRef name, llvm::StringRef value);

/// "name=value" for each option that is not as by default, in the table's order, with blanks between them.
std::string changedOptions(const Options &options);

} // namespace metate

#endif
