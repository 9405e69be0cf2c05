//===- Format.h - how values stand in texts ---------------------*- C++ -*-===//
//
// The formats of print and assert: those of Python's format() that numbers have. Here is which
// there are; what they give is the runtime's to write (runtime/print/format.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef METATE_DIALECT_FORMAT_H
#define METATE_DIALECT_FORMAT_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace metate {

/// Why a number has no such format; empty where it has. The grammar:
/// [[fill]align][sign][#][0][width][, or _][.precision][type], align one of < > = ^, sign one of
/// + - and space, type one of b d o x X for integers, a A for floats and of e E f F g G % for both. As in C, an
/// integer's precision is its least number of digits, i is d, u is the d of unsigned ones and a has digits of base 16.
std::string whyNotFormat(llvm::StringRef format, bool isFloat, bool isSigned);

/// A piece of an assert's message with operands: a text, or the hole of the next operand, whose
/// text is then its format.
struct MessagePart {
  bool isHole;
  std::string text;
};
/// Fails where a brace is neither doubled nor part of a hole.
mlir::FailureOr<llvm::SmallVector<MessagePart>> splitMessage(llvm::StringRef message);
/// The text with braces doubled.
std::string escapeMessage(llvm::StringRef text);
/// A hole as metate_failure's text has it: with what the value is, a metate_print_item's kind.
std::string messageHole(uint32_t kind, llvm::StringRef format);

} // namespace metate

#endif
