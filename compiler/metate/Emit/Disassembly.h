//===- Disassembly.h - code as text -----------------------------*- C++ -*-===//
//
// The instructions of a payload's objects with their lines in the user's source, for readers. By LLVM's disassembler and
// DWARF reader, of what will run, not of another compilation.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_EMIT_DISASSEMBLY_H
#define METATE_EMIT_DISASSEMBLY_H

#include "metate/Dialect/Metate.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace metate {

struct CodeLine {
  std::string text;  ///< Intel's syntax of x86; targets of branches are labels: ".3"
  std::string label; ///< ".3", of one that a branch goes to, else empty
  std::string file;  ///< empty: the compiler's own
  unsigned line = 0;
};

struct CodeFunction {
  std::string name;
  uint64_t bytes = 0;
  std::vector<CodeLine> instructions;                    ///< none: they are not known
  std::vector<std::pair<std::string, uint64_t>> numbers; ///< what else is known: "registers", ...
};

/// The functions of a payload of object files, in their order.
llvm::Expected<std::vector<CodeFunction>> disassemble(PayloadOp payload);

} // namespace metate

#endif
