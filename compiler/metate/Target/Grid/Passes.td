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

def MarkBins : Pass<"metate-mark-bins", "::metate::KernelOp"> {
  let summary = "says of atomics on a small target, which a loop only accumulates in, where it lies";
  let description = [{
    Runs in stage layout, while members of trees are seen. `metate.atomic addi %v, %h["a"] [%k]` of a dense tree becomes one with `metate.bins = array<i64: 128, 1024>`, where its
    member's cells begin in the block and how many bytes they take; so does an array's of known extents. metate-map-grid then lets the invocations of a workgroup accumulate in
    memory that they share. Not where the loop does anything else with the target, nor where all its coordinates follow from the iteration.
  }];
  let options = [Option<"most", "most", "int64_t", "8192", "bytes of all targets of a loop">,
                 Option<"wide", "wide", "bool", "true", "numbers of 64 bits too">];
}

def ShareSums : Pass<"metate-share-sums", "::metate::KernelOp"> {
  let summary = "invocations side by side share out the turns of a loop that only accumulates";
  let description = [{
    Before: `metate.range (%i) = (%c0) to (%n) { %s = scf.for %j = %c0 to %m step %c1 iter_args(...) { reads, a sum }; metate.write %s, ... }`; after: a range of one dimension more, over
    a power of two of invocations (up to 32), of which each begins at its own turn and goes on by their number; results are combined by the family's `metate_grid_across_*`, and what
    stands behind the loops is the first one's. Not where reads lie side by side along the range rather than along the loop, sums may not be reassociated, or
    iterations without that fill a device.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect"];
}

def GridBricks : Pass<"metate-grid-bricks", "::metate::KernelOp"> {
  let summary = "the invocations of a workgroup take a brick of cells where iterations read neighbours across rows";
  let description = [{
    Before: `metate.range (%i, %j) = (%c1, %c1) to (%n, %m)`, which reads rows `%i - 1` and `%i + 1`; after: a range over bricks along each dimension and the invocations of a
    brick, with the variables computed of these, and a condition around the body for what of a brick lies beyond the range. Of the bricks of `group` invocations those are taken
    in which the fewest cells are read. Where there are `many` times as many iterations, an invocation takes `cells` cells along one dimension.
  }];
  let options = [Option<"group", "group", "int64_t", "128", "invocations of a workgroup, a power of two">,
                 Option<"cells", "cells", "int64_t", "8", "cells of an invocation, a power of two">,
                 Option<"many", "many", "int64_t", "1048576", "invocations that a device has work for at least, a power of two">];
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
