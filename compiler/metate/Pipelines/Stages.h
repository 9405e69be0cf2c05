//===- Stages.h - the eight stages ------------------------------*- C++ -*-===//
//
// The only place where passes are ordered. A module can enter at any stage and leave after any
// stage; after each, its invariant is checked. From stage layout on what a module becomes depends on its target: each
// target has a copy of the module, until stage emit puts their payloads together again.
//
//===----------------------------------------------------------------------===//
#ifndef METATE_PIPELINES_STAGES_H
#define METATE_PIPELINES_STAGES_H

#include "metate/Options/Options.h"
#include "metate/Remarks/Remarks.h"
#include "metate/Target/Target.h"
#include "metate/Transforms/KernelParts.h"

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

/// Is a module that has left the stage one target's? Of layout and map: dumps are then `<stage>.<target>`.
bool isPerTarget(Stage stage);

/// What compiling tells whoever asks.
struct CompileReport {
  struct StageReport {
    std::string name;        ///< of the stage, or `<stage>.<target>`
    double milliseconds = 0; ///< without writing the dump
    std::string dump;        ///< with locations; none after emit
  };
  /// The stages that ran, the one that the module had left first.
  std::vector<StageReport> stages;
  std::vector<Remark> remarks;
};

struct CompileOptions : Options {
  /// Null: nobody asks, and nothing is collected.
  CompileReport *report = nullptr;
  /// What to generate code for; exactly one for the JIT, and where a module enters or leaves between layout and map.
  std::vector<TargetPtr> targets;
};

/// Adds the passes of one stage (Simplify to Map). `target`: of stages from layout on.
void buildStage(mlir::OpPassManager &passes, Stage stage, const Options &options,
                const Target *target = nullptr);

/// The invariant that holds after a stage (up to Emit); an error names the offending operation's
/// place. `target`: after Map, whose it is; after Emit, whose payloads are looked into (null: none's).
llvm::Error verifyStage(mlir::ModuleOp module, Stage stage, const Target *target = nullptr);

/// Takes a module that has left `from` through the stages up to and with `to` (at most Emit).
/// Errors carry the text of the diagnostics.
llvm::Error runStages(mlir::ModuleOp module, Stage from, Stage to, const CompileOptions &options);

/// Adds the interfaces of kernels to a module that has left offload: what hosts and descriptors need, for a target that
/// lowers nothing.
llvm::Error recordInterfaces(mlir::ModuleOp module);

/// Writes the derivatives that imported kernels stand for, and does nothing else of stage simplify.
llvm::Error makeDerivatives(mlir::ModuleOp module, const Options &options);

/// A module's one kernel keeps one part of its statements.
llvm::Error takePartOfKernel(mlir::ModuleOp module, unsigned number);

/// What the parts of a module's one kernel, whose variables become values, read and write.
llvm::Expected<std::vector<PartAccesses>> partsOfKernel(mlir::ModuleOp module);

/// Stage emit alone, for a module after stage map whose code does for all targets: written by hand, for tests.
llvm::Error emitFor(mlir::ModuleOp module, llvm::ArrayRef<TargetPtr> targets,
                    const Options &options = {});

/// The module as text, with locations, as a dump that another run can start from. The first line is a comment that
/// names the stage, the target where it is one's, and the options that are not as by default.
std::string dumpModule(mlir::ModuleOp module, Stage stage, const CompileOptions &options);

/// Registers every pass that is no target's, for metate-opt.
void registerStagePasses();

} // namespace metate

#endif
