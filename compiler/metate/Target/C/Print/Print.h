//===- Print.h - LLVM IR as C99 ---------------------------------*- C++ -*-===//
//
// One LLVM module becomes one C file that any compiler takes and that gives the same bits: integers are unsigned, what
// C leaves undefined is a function of Support/*.txt, memory is read and written by memcpy. Must not know kernels,
// carriers and stages.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_TARGET_C_PRINT_PRINT_H
#define METATE_TARGET_C_PRINT_PRINT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace llvm {
class CallInst;
class Instruction;
class Module;
class Value;
} // namespace llvm

namespace metate::c {

/// What stands before the code.
struct PrintOptions {
  std::string comment; ///< without /* and */
  std::string header;  ///< a file to include: what it declares is defined here
  std::string text;    ///< C that the code calls
};

/// Makes of the module what C can say: no vectors but in calls, no debug information, no operation that has to be computed in parts.
/// Functions become part of their callers where they are marked so; what else is to be is the C compiler's affair. `widens`: loops that
/// C compilers may not make vectors of are vectors, which is more code.
llvm::Error prepare(llvm::Module &module, bool widens);

/// A function that code may call without defining it: the pointer at a place of an array of the machine's own pointers.
inline constexpr llvm::StringLiteral pointerAt = "metate_pointer_at";
llvm::CallInst *callPointerAt(llvm::Instruction &before, llvm::Value &array, uint64_t place);

/// The file's text. Names that are visible stay as they are, all else is static. An error says what cannot be printed.
llvm::Expected<std::string> print(llvm::Module &module, const PrintOptions &options);

} // namespace metate::c

#endif
