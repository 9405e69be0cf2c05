//===- Passes.td - from tasks to grids of invocations -----------*- tablegen -*-===//
include "mlir/Pass/PassBase.td"

def SpreadNests : Pass<"metate-spread-nests", "::metate::KernelOp"> {
  let summary = "the cells of a leaf become iterations of their own";
  let description = [{
    Before: `metate.range (%slot) = (%c0) to (%n) { ...; scf.if %active { scf.for %i = ... { scf.for %j = ... { body } {metate.nest} } {metate.nest} } }`; after: a range of one
    dimension more, over the cells of a leaf, in which what stood around the nest is computed for each cell. Not where what stands there changes memory.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def MapGrid : Pass<"metate-map-grid", "::mlir::ModuleOp"> {
  let summary = "tasks become functions of a grid's invocations, and a table in which order they are launched";
  let description = [{
    Runs behind metate-outline-tasks. `metate.kernel` becomes functions (slots, frame), which a driver launches one behind the other: the function of each `metate.launch`,
    whose invocations share out the iterations, and one of a single invocation for what stands between two launches. What such code computes and later functions use lies
    in the frame; what follows from the arguments alone is computed where it is used. The module gets `metate_grid.kernels` and `metate_grid.prints`
    (Target/Grid/Table.h).
  }];
  let options = [Option<"group", "group", "int64_t", "128", "invocations of a workgroup">,
                 Option<"endsLoops", "ends-loops", "bool", "false", "the device ends loops by itself: every kernel may fail">];
  let dependentDialects = ["::metate::MetateDialect", "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect", "::mlir::cf::ControlFlowDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect"];
}
