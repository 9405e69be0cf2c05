//===- Diagnostics.h - what is wrong with the user's source -----*- C++ -*-===//
//
// The builder's channel for errors in the user's source. The first error
// sticks; operations on the null values that follow it do nothing. Who drives
// the builder asks after each call and adds the place. Must not know files or
// lines.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_FRONTEND_DIAGNOSTICS_H
#define METATE_FRONTEND_DIAGNOSTICS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

#include <optional>
#include <string>
#include <vector>

namespace metate::frontend {

enum class ErrorKind { Syntax, Type, Name };

/// One error: lower case, no period, expected and got; a hint where a fix is
/// known.
struct Diagnostic {
  ErrorKind kind;
  std::string message;
  std::string hint;
};

class Diagnostics {
public:
  void error(ErrorKind kind, const llvm::Twine &message, const llvm::Twine &hint = "") {
    if (!first)
      first = Diagnostic{kind, message.str(), hint.str()};
  }
  void typeError(const llvm::Twine &message, const llvm::Twine &hint = "") {
    error(ErrorKind::Type, message, hint);
  }
  void warning(const llvm::Twine &message) { warnings.push_back(message.str()); }

  /// Takes the error, so that the builder may be used again.
  std::optional<Diagnostic> takeError() { return std::exchange(first, std::nullopt); }
  std::vector<std::string> takeWarnings() { return std::exchange(warnings, {}); }

private:
  std::optional<Diagnostic> first;
  std::vector<std::string> warnings;
};

} // namespace metate::frontend

#endif
