//===- Stages.h - the eight stages ------------------------------*- C++ -*-===//
//
// The only place where passes are ordered. A module can enter at any stage and leave after any
// stage; after each, its invariant is checked.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_PIPELINES_STAGES_H
#define METATE_PIPELINES_STAGES_H

#include "metate/Emit/Machine.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace metate {

enum class Stage { Import, Simplify, Activate, Offload, Layout, Map, Emit, Pack };

/// Names as on the command line, in order: "import", "simplify", ...
llvm::ArrayRef<llvm::StringRef> stageNames();
llvm::StringRef stageName(Stage stage);
std::optional<Stage> parseStage(llvm::StringRef name);

/// Slices: kernels that count what others activate (metate-slice-activations).
enum class Slices { None, Beside, Only };

struct CompileOptions {
  /// What to generate code for; exactly one for the JIT.
  std::vector<Machine> targets;
  /// One activation and one lookup per leaf, neighbours through a tile. Off: each access on its
  /// own.
  bool hoistLeaves = true;
  /// Activations and tests of cells that are known to be active go.
  bool proveActivity = true;
  /// Bits of bitmasked leaves are read a row at a time. Off: a cell at a time.
  bool scanMasks = true;
  /// Atomics that one iteration owns become plain accesses.
  bool demoteAtomics = true;
  /// Atomics that accumulate in one place do so in a partial result for each chunk of iterations.
  bool privateReductions = true;
  /// Iterations that run a long loop in order do so side by side, as lanes of vectors.
  bool acrossIterations = true;
  /// A task that only writes what it writes, row by row, does so around the caches from so many bytes a
  /// launch on: more than a last-level cache, so that nothing finds them there afterwards anyway. UINT64_MAX: never.
  uint64_t nontemporalBytes = uint64_t(64) << 20;
  /// Kernels give the same bits in every run, for any number of workers: loops over slots in the order of coordinates,
  /// sums of floats in pieces that do not depend on the workers, what depends on the order of iterations in order.
  bool deterministic = false;
  /// A chunk of a parallel loop is at least that much work, as far as it can be estimated: less is
  /// not worth waking a worker for. 0: one iteration.
  uint64_t chunkNanoseconds = 20000;
  /// Accesses, divisions and activations are checked at run time, and a kernel stops at the first
  /// that is wrong.
  bool debug = false;
  /// Floating-point products and sums may become fused multiply-adds.
  bool contract = true;
  /// LLVM's instrumentation of the generated code: for hosts built with the same sanitizer.
  Sanitizer sanitizer = Sanitizer::None;
  /// Whether kernels that may activate cells get one, or leave nothing else.
  Slices slices = Slices::None;
  /// Check each stage's invariant, and the IR that leaves the passes (to LLVM, or as a dump) by MLIR's
  /// verifiers.
  bool verify = true;
};

/// Adds the passes of one stage (Simplify to Map).
void buildStage(mlir::OpPassManager &passes, Stage stage, const CompileOptions &options);

/// The invariant that holds after a stage (up to Emit); an error names the offending operation's
/// place.
llvm::Error verifyStage(mlir::ModuleOp module, Stage stage);

/// Takes a module that has left `from` through the stages up to and with `to` (at most Emit).
/// Errors carry the text of the diagnostics.
llvm::Error runStages(mlir::ModuleOp module, Stage from, Stage to, const CompileOptions &options);

/// The module as text, with locations, as a dump that another run can start from.
std::string dumpModule(mlir::ModuleOp module);

/// Registers every pass, for metate-opt.
void registerAllPasses();

} // namespace metate

#endif
