//===- Interpreter.h - the reference interpreter ----------------*- C++ -*-===//
//
// The definition of the language, as a program: executes kernels of the metate dialect after stage
// import, simplify, activate or offload, one operation and one iteration at a time, on trees that
// are maps from coordinates to values. It finds what compiled code would do silently. It knows
// nothing of layouts, lowerings and passes, so that it can disagree with them.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_INTERP_INTERPRETER_H
#define METATE_INTERP_INTERPRETER_H

#include "metate/Dialect/Metate.h"
#include "metate/abi/kernel.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace metate::interp {

/// What is looked for beside what always is: accesses outside of an array or a dense tree, failed
/// asserts, operations without a meaning.
struct Checks {
  bool outside = false;       ///< accesses outside of a sparse tree: background, dropped writes
  bool inactiveRead = false;  ///< reads of cells that are not active
  bool unwrittenRead = false; ///< reads of active cells that no kernel has written
  bool overflow = false;      ///< integer results that wrap
  bool lossyCast = false;     ///< casts that change the value
  bool division = false;      ///< integer division by zero
  bool quantRange = false;    ///< values that a quantised member cannot hold
  bool nan = false;           ///< an operation that makes a NaN of numbers
  bool conflict = false;      ///< iterations that write different values to one place
  bool order = false;         ///< results that depend on the order of iterations (runs twice)
  bool stop = true;           ///< the first finding ends the launch with an error

  /// Sets the check of this name: `outside`, `inactive-read`, `unwritten-read`, `overflow`,
  /// `lossy-cast`, `division`, `quant-range`, `nan`, `conflict`, `order`. False if there is none.
  bool set(llvm::StringRef name);
  /// The names that `set` knows.
  static llvm::ArrayRef<llvm::StringRef> names();
};

/// One thing that was found, at one place in the source: the first time, and how often.
struct Finding {
  std::string kind; ///< a name of Checks, or `bounds`, `assert`, `capacity`, `undefined`
  std::string file;
  unsigned line = 0, column = 0;
  std::string kernel;
  /// Where functions were called that were inlined up to the place, innermost first:
  /// "file:line:column".
  std::vector<std::string> callers;
  std::string iteration; ///< "(3, 4)"; empty outside of parallel loops
  std::string message;
  uint64_t count = 1;
};

/// What the modules of one interpreter share: whose turn it is, and, for `unwritten-read`, what
/// kernels have written of trees.
class Workspace;
std::shared_ptr<Workspace> makeWorkspace();

/// One module's kernels, to be interpreted. Several threads may launch: of one workspace's launches
/// each waits for those before it. A tree must not be in launches of two workspaces at once.
class InterpretedModule {
public:
  /// `module` has left one of the stages import to offload; operations without a rule are an error
  /// that names them. `descriptor` is the module's (metate_descriptor), which says where the
  /// kernels' arguments and the types of their trees are; it is copied. The module's context must
  /// outlive this; launches only read it. `workspace`: null for one of its own.
  static llvm::Expected<std::unique_ptr<InterpretedModule>>
  create(mlir::OwningOpRef<mlir::ModuleOp> module, llvm::StringRef descriptor, const Checks &checks,
         std::shared_ptr<Workspace> workspace = nullptr);
  ~InterpretedModule();

  unsigned kernelCount() const;
  /// Runs kernel `number` of the descriptor; what a metate_entry does.
  int32_t launch(unsigned number, const metate_slot *slots, const metate_host *host);
  /// What was found since the last call.
  std::vector<Finding> takeFindings();

private:
  InterpretedModule();
  struct State;
  std::unique_ptr<State> state;
};

/// Does the interpreter know what the operation means?
bool hasRule(mlir::OperationName name);

} // namespace metate::interp

#endif
