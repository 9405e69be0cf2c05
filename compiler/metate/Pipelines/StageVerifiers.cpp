//===- StageVerifiers.cpp - what holds after each stage ---------*- C++ -*-===//
//
// The invariants of the stage table, checked on the IR. Each is a function of the module alone, so
// that a dump fed back is held to the same.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Call.h"
#include "metate/Dialect/Derivative.h"
#include "metate/Pipelines/Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace metate;

/// Says why an operation must not be there; empty: it may.
using Check = llvm::function_ref<std::string(Operation *)>;

/// Discardable attributes stand from the stage that sets them to the one that consumes them.
static std::string misplacedMark(ArrayRef<NamedAttribute> attributes, Stage stage) {
  for (NamedAttribute attribute : attributes)
    if (const Mark *mark = findMark(attribute.getName()))
      if (stage < *parseStage(mark->first) || stage > *parseStage(mark->last))
        return ("expected '" + mark->name + "' after the stages " + mark->first + " to " +
                mark->last + " only")
            .str();
  return "";
}

static std::string misplacedMark(Operation *op, Stage stage) {
  if (stage >= Stage::Map) // the target's operations have what those that they were made of had
    return "";
  std::string reason = misplacedMark(llvm::to_vector(op->getDiscardableAttrs()), stage);
  auto kernel = reason.empty() ? dyn_cast<KernelOp>(op) : KernelOp();
  for (unsigned k = 0; kernel && reason.empty() && k < kernel.getNumArguments(); ++k)
    reason = misplacedMark(function_interface_impl::getArgAttrs(kernel, k), stage);
  return reason;
}

static llvm::Error checkAll(ModuleOp module, Stage stage, Check check) {
  std::string text;
  module->walk([&](Operation *op) {
    if (op == module)
      return WalkResult::advance();
    std::string reason = check(op);
    if (reason.empty())
      reason = misplacedMark(op, stage);
    if (reason.empty())
      return WalkResult::advance();
    llvm::raw_string_ostream(text) << op->getLoc() << ": after stage " << stageName(stage) << ": "
                                   << reason << ", got '" << op->getName() << "'";
    return WalkResult::interrupt();
  });
  return text.empty() ? llvm::Error::success() : llvm::createStringError(text);
}

static bool isOfDialect(Operation *op, ArrayRef<StringRef> names) {
  return llvm::is_contained(names, op->getName().getDialectNamespace());
}

static std::string afterImport(Operation *op) {
  if (!isOfDialect(op,
                   {"metate", "arith", "math", "scf", "vector", "memref", "func", "ub", "builtin"}))
    return "expected an operation of metate, arith, math, scf, vector, memref or func";
  // Folding shares constants between places, so they have none.
  if (isa<UnknownLoc>(op->getLoc()) && !op->hasTrait<OpTrait::ConstantLike>())
    return "expected a place in the source";
  if (isa<memref::GlobalOp, memref::GetGlobalOp>(op))
    return "expected no globals";
  return "";
}

static std::string afterSimplify(Operation *op) {
  auto alloca = dyn_cast<memref::AllocaOp>(op);
  if (alloca && alloca.getType().getRank() == 0)
    return "expected variables to have become values";
  if (isa<func::CallOp>(op) && !op->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(
                                   cast<func::CallOp>(op).getCallee()))
    return "expected calls of functions of the module only";
  return afterImport(op);
}

static std::string afterActivate(Operation *op) {
  if (auto cell = dyn_cast<CellOpInterface>(op); cell && cell.needsActivation())
    return "expected every store and atomic to be active";
  if (auto kernel = dyn_cast<KernelOp>(op))
    for (unsigned k = 0; k < kernel.getArgumentTypes().size(); ++k)
      if (isa<TreeType, MemRefType>(kernel.getArgumentTypes()[k]) &&
          !kernel.getArgAttr(k, mark::access))
        return "expected each argument's access to be known";
  return afterSimplify(op);
}

static std::string afterOffload(Operation *op) {
  if (isa<ForEachOp>(op))
    return "expected struct-for loops to have become tasks";
  bool isTask = isa<RangeOp, CellsOp, SerialOp>(op);
  if (isTask && !isa<KernelOp>(op->getParentOp()))
    return "expected tasks directly in a kernel";
  if (isa_and_present<KernelOp>(op->getParentOp()) && !isTask && !isa<ReturnOp, FunctionOp>(op) &&
      !isMemoryEffectFree(op))
    return "expected statements with effects to be in a task";
  return afterActivate(op);
}

static std::string afterLayout(Operation *op) {
  if (op->hasTrait<LoweredByLayout>())
    return "expected no operations on cells";
  if (isa<PhiloxOp>(op))
    return "expected random words to have become arithmetic";
  for (Type type : op->getOperandTypes())
    if (isa<TreeType>(type))
      return "expected trees to have become blocks";
  if (auto kernel = dyn_cast<KernelOp>(op))
    for (Type type : kernel.getArgumentTypes())
      if (isa<TreeType, MemRefType>(type))
        return "expected arguments to have become blocks";
  return "";
}

static llvm::Error verifyEmitted(ModuleOp module, const Target *target) {
  if (module.getOps<PayloadOp>().empty())
    return llvm::createStringError("after emit: expected at least one metate.payload");
  for (Operation &op : *module.getBody())
    if (!isa<PayloadOp, InterfaceOp, NamedTypeOp, TextOp, DerivedOp>(op))
      return llvm::createStringError("after emit: operation '" + op.getName().getStringRef() +
                                     "' is left");
  SmallVector<StringRef> entries = entryNames(module);
  for (PayloadOp payload : module.getOps<PayloadOp>()) {
    if (!target || payload.getFamily() != target->family())
      continue;
    if (llvm::Error error = target->verifyPayload(payload, entries))
      return llvm::joinErrors(
          llvm::createStringError("after emit: payload '" + payload.getSymName() + "'"),
          std::move(error));
  }
  return llvm::Error::success();
}

llvm::Error metate::verifyStage(ModuleOp module, Stage stage, const Target *target) {
  switch (stage) {
  case Stage::Import:
    return checkAll(module, stage, afterImport);
  case Stage::Simplify:
    return checkAll(module, stage, afterSimplify);
  case Stage::Activate:
    return checkAll(module, stage, afterActivate);
  case Stage::Offload:
    return checkAll(module, stage, afterOffload);
  case Stage::Layout:
    return checkAll(module, stage, afterLayout);
  case Stage::Map:
    return checkAll(module, stage, [&](Operation *op) { return target->problemAfterMap(op); });
  case Stage::Emit:
    return verifyEmitted(module, target);
  case Stage::Pack:
    break;
  }
  llvm_unreachable("a packed module is bytes, not IR");
}
