//===- GraphOps.cpp - kernels that run kernels ------------------*- C++ -*-===//
#include "metate/Dialect/Graph.h"
#include "metate/abi/module.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace metate;

#define GET_OP_CLASSES
#include "metate/Dialect/MetateGraphOps.cpp.inc"

bool metate::isNode(KernelOp kernel) {
  return SymbolTable::getSymbolVisibility(kernel) == SymbolTable::Visibility::Private;
}

bool metate::isGraph(KernelOp kernel) {
  return kernel.walk([](RunOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

StringRef metate::shownName(KernelOp kernel) {
  StringRef name = kernel.getSymName();
  if (!isNode(kernel))
    return name;
  name.consume_back(METATE_SLICE_SUFFIX);
  return name.rsplit('.').second;
}

KernelOp metate::kernelOf(RunOp run) {
  return SymbolTable::lookupNearestSymbolFrom<KernelOp>(run, run.getKernelAttr());
}

/// (U2)
static bool fits(Type given, Type wanted) {
  if (isa<BlockType>(wanted) && given.isIndex())
    return true; // the address of an array of the graph's own
  auto from = dyn_cast<MemRefType>(given), to = dyn_cast<MemRefType>(wanted);
  if (!from || !to)
    return given == wanted;
  return from.getShape() == to.getShape() && from.getElementType() == to.getElementType();
}

LogicalResult RunOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel || !isNode(kernel) || !kernel->isBeforeInBlock((*this)->getParentOfType<KernelOp>()))
    return emitOpError("(U1) expected a private metate.kernel before this one, got '")
           << getKernel() << "'";
  if (isGraph(kernel))
    return emitOpError("(U1) expected a kernel that runs no other, got '") << getKernel() << "'";
  ArrayRef<Type> wanted = kernel.getArgumentTypes();
  if (wanted.size() != getNumOperands() ||
      !llvm::all_of_zip(getOperandTypes(), wanted, [](Type a, Type b) { return fits(a, b); }))
    return emitOpError("(U2) expected operands of the kernel's types ")
           << kernel.getFunctionType() << ", got (" << getOperandTypes() << ")";
  return success();
}

LogicalResult RunOp::verify() {
  for (Operation *parent = (*this)->getParentOp(); !isa_and_present<KernelOp>(parent);
       parent = parent->getParentOp())
    if (!isa_and_present<scf::ForOp, SerialOp>(parent))
      return emitOpError("(U3) expected only scf.for and metate.serial around it in a kernel");
  return success();
}
