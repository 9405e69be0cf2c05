//===- Jit.h - emitted modules in this process ------------------*- C++ -*-===//
//
// Links the object code of an emitted module into this process with LLVM's ORC. The code is the
// same, byte for byte, as an ahead-of-time module's for the same target; only its home differs.
// Nothing is compiled here.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_JIT_JIT_H
#define METATE_JIT_JIT_H

#include "metate/Target/Target.h"
#include "metate/abi/kernel.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace metate {

/// The code and the descriptor of one module. Destroying it removes the code: no entry may be
/// running or be called afterwards. It keeps what it needs of its Jit alive.
class JitModule {
public:
  ~JitModule();
  JitModule(const JitModule &) = delete;
  JitModule &operator=(const JitModule &) = delete;

  /// Descriptor bytes (metate_descriptor) with one METATE_FORMAT_IN_MEMORY variant; aligned to 8,
  /// stable until destruction.
  llvm::StringRef descriptor() const;
  /// The kernels' addresses in the order of the descriptor's kernels; stable until destruction.
  llvm::ArrayRef<metate_entry> entries() const { return table; }

private:
  friend class Jit;
  struct Code;
  JitModule();
  std::unique_ptr<Code> code;
  std::vector<uint64_t> bytes; // 8-byte units: the descriptor's alignment
  size_t size = 0;
  std::vector<metate_entry> table;
};

/// What Linux's perf is told of the functions: nothing, their names (PerfMap.h), or names and lines (PerfDump.h).
enum class PerfOutput { None, Map, Dump };

/// Home of any number of JIT modules. Thread-safe.
class Jit {
public:
  static llvm::Expected<std::unique_ptr<Jit>> create(PerfOutput perf = PerfOutput::None);
  ~Jit();
  Jit(const Jit &) = delete;
  Jit &operator=(const Jit &) = delete;

  /// Links the one payload of a module that was emitted for `target` and builds its descriptor. Fails if
  /// the payload is of another family or architecture, or for a CPU with features that this machine lacks.
  llvm::Expected<std::unique_ptr<JitModule>> add(mlir::ModuleOp module, const Target &target);

private:
  friend class JitModule;
  struct Session;
  explicit Jit(std::shared_ptr<Session> session);
  std::shared_ptr<Session> session;
};

} // namespace metate

#endif
