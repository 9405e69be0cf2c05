//===- CodegenRemarks.h - LLVM's messages while code is made ----*- C++ -*-===//
//
// LLVM's errors as text, and what its vectoriser, unroller and register allocator say of loops, in the manual's words.
// LLVM works on parts of the code on several threads, MLIR's remarks are one thread's: they wait here until all are done.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_EMIT_CODEGENREMARKS_H
#define METATE_EMIT_CODEGENREMARKS_H

#include "metate/Remarks/Remarks.h"

#include "llvm/IR/DiagnosticHandler.h"

#include <memory>
#include <string>
#include <vector>

namespace metate {

/// A remark on its way from LLVM.
struct CodegenRemark {
  Outcome outcome = Outcome::Noted;
  llvm::StringRef pass, subject; ///< of this file's tables
  std::vector<std::pair<std::string, std::string>>
      parts; ///< text, or a number by its name; the first is empty for text
  std::string file;
  unsigned line = 0, column = 0;
};

/// Adds the text of errors to `errors`; remarks to `remarks`, unless that is null: LLVM then makes none.
std::unique_ptr<llvm::DiagnosticHandler> codegenMessages(std::string &errors,
                                                         std::vector<CodegenRemark> *remarks);

/// Gives them to who collects remarks in the context.
void emitRemarks(mlir::MLIRContext *context, llvm::ArrayRef<CodegenRemark> remarks);

} // namespace metate

#endif
