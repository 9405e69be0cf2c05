//===- Passes.td - passes of every target that goes on to LLVM --*- tablegen -*-===//
include "mlir/Pass/PassBase.td"

def LowerChecks : Pass<"metate-lower-checks", "::mlir::ModuleOp"> {
  let summary = "a failed assert or check records itself in the host's failure and leaves the function; a poll leaves it";
  let description = [{
    Runs on control flow graphs (after scf is gone): each of them ends its block. Places and names go to `metate.text`; indices and
    extents are stored where the check failed.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::metate::MetateDialect", "::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect"];
}

def ConvertToLLVM : Pass<"metate-convert-to-llvm", "::mlir::ModuleOp"> {
  let summary = "everything that is left becomes the LLVM dialect; blocks become raw pointers";
  let dependentDialects = ["::metate::MetateDialect", "::mlir::LLVM::LLVMDialect"];
}
