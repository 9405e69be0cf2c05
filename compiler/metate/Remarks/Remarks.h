//===- Remarks.h - what passes did about a loop, and why not ----*- C++ -*-===//
//
// One interface for every pass that decides something about a loop: it says what it did, or why it did not, in the words
// of the manual. MLIR's remark engine carries them; without one (nobody asked) a remark is a test of a pointer.
// Numbers are named parts of the text: `remark << "a chunk is " << Number("iterations", 512) << " iterations"`.
// Must not know passes and stages; who wants remarks is Pipelines' and metate-opt's (--remarks-filter).
//
//===----------------------------------------------------------------------===//
#ifndef METATE_REMARKS_REMARKS_H
#define METATE_REMARKS_REMARKS_H

#include "mlir/IR/Remarks.h"

#include <string>
#include <vector>

namespace metate {

/// The text of a remark is what goes in with `<<`; false, and `<<` does nothing, where nobody asked.
using InFlightRemark = mlir::remark::detail::InFlightRemark;
/// A part of the text that is also a fact by its name; a fact alone, if the name begins with `#`.
using Number = mlir::remark::detail::Remark::Arg;

/// `op`: the loop, or what of it the remark is about. `pass`: as in Passes.td, without `metate-`. `subject`: the
/// manual's word for what is decided: "atomics", "rows", "chunks", ... Both must outlive the remark.
InFlightRemark remarkDone(mlir::Operation *op, llvm::StringRef pass, llvm::StringRef subject);
InFlightRemark remarkDeclined(mlir::Operation *op, llvm::StringRef pass, llvm::StringRef subject);
/// What is neither: a number that a reader wants to know.
InFlightRemark remarkNoted(mlir::Operation *op, llvm::StringRef pass, llvm::StringRef subject);
/// The same of code that has no operations any more; `loop` as `where`.
enum class Outcome { Done, Declined, Noted };
InFlightRemark remarkAt(mlir::Location where, Outcome outcome, llvm::StringRef pass,
                        llvm::StringRef subject);

/// " (line 12)": where in the user's source what is in the way stands; empty: not known.
std::string atLine(mlir::Operation *op);

/// Has anybody asked? For what costs something to find out.
inline bool wantsRemarks(mlir::MLIRContext *context) { return context->getRemarkEngine(); }

/// A remark as a value.
struct Remark {
  std::string pass, subject;
  std::string outcome; ///< "done", "declined" or "noted"
  std::string text;
  std::string file; ///< of what the remark is about; empty: not known
  unsigned line = 0, column = 0;
  std::string loopFile; ///< of the parallel loop (the statement, of a serial task) around it
  unsigned loopLine = 0;
  std::vector<std::pair<std::string, std::string>> numbers;
};

/// While it lives, the context's remarks are added to `remarks`, each once. One at a time in a context.
class CollectedRemarks {
public:
  CollectedRemarks(mlir::MLIRContext *context, std::vector<Remark> &remarks);
  ~CollectedRemarks();
  CollectedRemarks(const CollectedRemarks &) = delete;
  CollectedRemarks &operator=(const CollectedRemarks &) = delete;

private:
  mlir::MLIRContext *context;
};

} // namespace metate

#endif
