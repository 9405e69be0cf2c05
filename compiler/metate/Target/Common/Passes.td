//===- Passes.td - passes that families of targets share --------*- tablegen -*-===//
include "mlir/Pass/PassBase.td"

def OutlineTasks : Pass<"metate-outline-tasks", "::mlir::ModuleOp"> {
  let summary = "tasks become functions, which their kernel launches";
  let description = [{
    Before: `metate.kernel @k(%x: !metate.block, %n: index) { metate.range (%i) = (%c0) to (%n) { body } }`; after: `func.func private @k_task0(%x: !metate.block,
    %n: index) attributes {metate.task} { %c0 = ...; metate.range (%i) = (%c0) to (%n) { body } }` and, in the kernel, `metate.launch @k_task0(%x, %n)`. Constants are
    copied into the function, everything else that it uses is an argument. What is left of the kernel is the host's part: serial tasks in order, checks of
    statuses, launches. Pools are found there: a worker's own is `metate.worker_part` of an argument.
    Ranges with the mark `metate.one_body` that differ in constant bounds alone become one function, which is launched with the bounds of each.
    The first half of stage map, of every family of targets; the second one is each family's own (Target/Common/Tasks.h reads what stands here).
  }];
  let options = [Option<"serial", "serial", "bool", "false", "serial tasks become functions too: for a host that cannot read blocks">];
  let statistics = [Statistic<"joined", "joined", "ranges that another one's function runs">];
  let dependentDialects = ["::metate::MetateDialect", "::mlir::func::FuncDialect"];
}

def AliasScopes : Pass<"metate-alias-scopes", "::metate::KernelOp"> {
  let summary = "accesses of different arguments get LLVM's alias scopes, unless the kernel was compiled for overlapping ones";
  let description = [{
    From the `scope` numbers of accesses, for targets that go on to LLVM. Must run before outline-tasks, while the accesses of all tasks stand in the kernel.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ExpandElementary : Pass<"metate-expand-elementary", "::mlir::ModuleOp"> {
  let summary = "elementary functions become arithmetic";
  let description = [{
    Before: `%y = metate.elementary exp(%x) : f32`; after: some thirty operations of arith (Elementary/), none of which may be contracted. Digits of 2 / pi, which
    sin, cos and tan read, are a constant of the module. Runs when loops have become lanes, bodies and calls: until then a function is one operation.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

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
