//===- Passes.td - from tasks to the CPU's execution model ------*- tablegen -*-===//
include "mlir/Pass/PassBase.td"

def MapTasksCpu : Pass<"metate-map-tasks-cpu", "::mlir::ModuleOp"> {
  let summary = "kernels become entries, parallel tasks become bodies run through the host's executor";
  let description = [{
    `metate.kernel` becomes an `llvm.func` with the signature of metate_entry; each `metate.range` a private function (context, begin,
    end, worker) and a call of metate_parallel_for, or of the body itself without an executor. Prints go to the host's sink. Memory operations get alias scopes.
  }];
  let options = [Option<"leastNanoseconds", "least-nanoseconds", "uint64_t", "20000",
    "what a chunk of iterations is worth at least, estimated; 0: one iteration">,
    Option<"acrossIterations", "across-iterations", "bool", "true",
    "iterations with long loops inside run as lanes of vectors">,
    Option<"nontemporalBytes", "nontemporal-bytes", "int64_t", "67108864",
    "a launch that writes so many bytes of streams writes them around the caches; less than 0: never">];
  let dependentDialects = ["::metate::MetateDialect", "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect", "::mlir::cf::ControlFlowDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def LowerChecksCpu : Pass<"metate-lower-checks-cpu", "::mlir::ModuleOp"> {
  let summary = "a failed assert or check records itself in the host's failure and leaves the function; a poll leaves it";
  let description = [{
    Runs on control flow graphs (after scf is gone): each of them ends its block. Places and names go to `metate.text`; indices and
    extents are stored where the check failed.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::metate::MetateDialect", "::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect"];
}

def ConvertToLLVMCpu : Pass<"metate-convert-to-llvm-cpu", "::mlir::ModuleOp"> {
  let summary = "everything that is left becomes the LLVM dialect; blocks become raw pointers";
  let dependentDialects = ["::metate::MetateDialect", "::mlir::LLVM::LLVMDialect"];
}
