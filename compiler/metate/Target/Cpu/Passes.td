//===- Passes.td - from tasks to the CPU's execution model ------*- tablegen -*-===//
include "mlir/Pass/PassBase.td"

def MapTasksCpu : Pass<"metate-map-tasks-cpu", "::mlir::ModuleOp"> {
  let summary = "kernels become entries, functions of tasks become bodies run through the host's executor";
  let description = [{
    Runs behind metate-outline-tasks. `metate.kernel` becomes an `llvm.func` with the signature of metate_entry; the function of each `metate.launch` a private
    one (context, begin, end, worker), and the launch a call of metate_parallel_for, or of the body itself without an executor. Prints go to the host's sink.
  }];
  let options = [Option<"chunkNs", "chunk-ns", "uint64_t", "20000",
    "what a chunk of iterations is worth at least, estimated; 0: one iteration">,
    Option<"acrossIterations", "across-iterations", "bool", "true",
    "iterations with long loops inside run as lanes of vectors">,
    Option<"nontemporalBytes", "nontemporal-bytes", "int64_t", "67108864",
    "a launch that writes so many bytes, row by row, and does not read them writes them around the caches (nontemporally); less than 0: never">];
  let dependentDialects = ["::metate::MetateDialect", "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect", "::mlir::cf::ControlFlowDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}
