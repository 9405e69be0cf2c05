// A module as the map stage leaves it, written by hand: y[i] += a * x[i] over arrays of any length,
// as one parallel task. What the tests of emit, pack and JIT compile.
#ifndef METATE_TESTS_COMPILER_SAXPY_H
#define METATE_TESTS_COMPILER_SAXPY_H

#include "metate/Dialect/Metate.h"
#include "metate/Pipelines/Stages.h"
#include "metate/Target/Targets.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Parser/Parser.h"

#include <string>

// Slots: a (f32), x {data, shape, stride}, y {data, shape, stride}.
inline const char *const saxpyText = R"(
module @saxpy_module {
  metate.interface @saxpy entry "metate_k_saxpy" tasks 1 [
    #metate.argument<"a", "scalar", f32>,
    #metate.argument<"x", "ndarray", f32 rank = 1 access = 1>,
    #metate.argument<"y", "ndarray", f32 rank = 1 access = 3>]
  llvm.func private @saxpy_body(%context: !llvm.ptr, %begin: i64, %end: i64, %worker: i32) -> i32 {
    %zero = llvm.mlir.constant(0 : i32) : i32
    %one = llvm.mlir.constant(1 : i64) : i64
    %x_slot = llvm.getelementptr %context[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %y_slot = llvm.getelementptr %context[4] : (!llvm.ptr) -> !llvm.ptr, i64
    %a = llvm.load %context : !llvm.ptr -> f32
    %x = llvm.load %x_slot : !llvm.ptr -> !llvm.ptr
    %y = llvm.load %y_slot : !llvm.ptr -> !llvm.ptr
    llvm.br ^head(%begin : i64)
  ^head(%i: i64):
    %more = llvm.icmp "slt" %i, %end : i64
    llvm.cond_br %more, ^body, ^exit
  ^body:
    %x_at = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %y_at = llvm.getelementptr %y[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x_value = llvm.load %x_at : !llvm.ptr -> f32 loc("saxpy.py":5:12)
    %y_value = llvm.load %y_at : !llvm.ptr -> f32 loc("saxpy.py":5:5)
    %product = llvm.fmul %a, %x_value {fastmathFlags = #llvm.fastmath<contract>} : f32 loc("saxpy.py":5:8)
    %sum = llvm.fadd %y_value, %product {fastmathFlags = #llvm.fastmath<contract>} : f32 loc("saxpy.py":5:5)
    llvm.store %sum, %y_at : f32, !llvm.ptr loc("saxpy.py":5:5)
    %next = llvm.add %i, %one : i64
    llvm.br ^head(%next : i64)
  ^exit:
    llvm.return %zero : i32
  } loc("saxpy.py":4:1)
  llvm.func @metate_k_saxpy(%slots: !llvm.ptr, %pools: !llvm.ptr, %host: !llvm.ptr) -> i32 {
    %zero64 = llvm.mlir.constant(0 : i64) : i64
    %zero = llvm.mlir.constant(0 : i32) : i32
    %n_slot = llvm.getelementptr %slots[2] : (!llvm.ptr) -> !llvm.ptr, i64
    %n = llvm.load %n_slot : !llvm.ptr -> i64
    %status = llvm.call @saxpy_body(%slots, %zero64, %n, %zero) : (!llvm.ptr, i64, i64, i32) -> i32 loc("saxpy.py":4:5)
    llvm.return %status : i32
  } loc("saxpy.py":3:1)
} loc("saxpy.py":1:1)
)";

namespace metate::test {
struct Compiled {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;

  explicit Compiled(const std::string &text) {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }
};

inline std::string textOf(llvm::Error error) { return llvm::toString(std::move(error)); }

inline TargetPtr named(const char *name) { return llvm::cantFail(ownTargets().parse(name)); }

/// Stage emit for targets by their names.
inline llvm::Error emitFor(mlir::ModuleOp module, llvm::ArrayRef<const char *> names,
                           const Options &options = {}) {
  std::vector<TargetPtr> targets;
  for (const char *name : names)
    targets.push_back(named(name));
  return metate::emitFor(module, targets, options);
}

inline llvm::Error verifyEmitted(mlir::ModuleOp module) {
  return verifyStage(module, Stage::Emit, named("native").get());
}

inline Options optimised(unsigned level) {
  Options options;
  options.optLevel = level;
  return options;
}

/// A copy of `text` with the first `from` replaced.
inline std::string replaced(std::string text, const std::string &from, const std::string &to) {
  return text.replace(text.find(from), from.size(), to);
}
} // namespace metate::test

#endif
