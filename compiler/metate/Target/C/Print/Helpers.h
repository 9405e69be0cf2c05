//===- Helpers.h - functions that generated C calls -------------*- C++ -*-===//
//
// They are in Support/*.txt, by subject; a C file gets the parts that it uses. A part begins with a line "//@ NAME: what it needs".
// Of a part with parameters $1 to $4 are these as they are named, $T and $S the unsigned and the signed type of the number $1, $W its
// bits; $U is the number $2's type. Must be C99 under any compiler, without a warning of gcc and clang.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_C_PRINT_HELPERS_H
#define METATE_TARGET_C_PRINT_HELPERS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"

#include <string>

namespace metate::c {

/// C's type of a number by its short name: "u32", "f64"; `isSigned`: "int32_t".
std::string numberType(llvm::StringRef name, bool isSigned = false);

/// The parts of Support/*.txt that a file uses, in an order in which they can stand.
class Helpers {
public:
  explicit Helpers(unsigned addressBytes);

  /// The function's name: use("load", {"u32"}) is "metate_load_u32".
  std::string use(llvm::StringRef part, llvm::ArrayRef<std::string> parameters = {});
  llvm::StringRef text() const { return written; }

private:
  struct Part {
    llvm::StringRef needs, text;
  };
  llvm::StringMap<Part> parts;
  llvm::StringMap<char> used;
  std::string written;
  unsigned addressBytes;
};

} // namespace metate::c

#endif
