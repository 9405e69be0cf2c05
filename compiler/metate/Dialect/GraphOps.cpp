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

LogicalResult IntermediateOp::verify() {
  auto type = cast<MemRefType>(getArray().getType());
  size_t dims = llvm::count_if(getShape(), llvm::IsaPred<DimAttr>);
  bool fits = type.getLayout().isIdentity() && dims == getExtents().size() &&
              size_t(type.getRank()) >= getShape().size();
  for (auto [k, extent] : llvm::enumerate(getShape())) {
    auto number = dyn_cast<IntegerAttr>(extent);
    fits = fits && isExtent(extent) &&
           type.getDimSize(k) == (number ? number.getInt() : ShapedType::kDynamic);
  }
  for (int64_t inner :
       type.getShape().drop_front(std::min(getShape().size(), size_t(type.getRank()))))
    fits = fits && !ShapedType::isDynamic(inner);
  if (!fits)
    return emitOpError("(U4) expected an array without gaps of the shape ")
           << getShape() << " with an extent for each dim, got " << type << " and "
           << getExtents().size() << " extents";
  if (!isa_and_present<KernelOp>((*this)->getParentOp()) ||
      !llvm::all_of((*this)->getUsers(), llvm::IsaPred<RunOp>))
    return emitOpError("(U5) expected to stand directly in a kernel, and to be used by runs");
  for (Operation *other = (*this)->getPrevNode(); other; other = other->getPrevNode())
    if (auto one = dyn_cast<IntermediateOp>(other); one && one.getName() == getName())
      return emitOpError("(U5) expected a name that no other intermediate has, got '")
             << getName() << "'";
  return success();
}

LogicalResult RunOp::verify() {
  for (Operation *parent = (*this)->getParentOp(); !isa_and_present<KernelOp>(parent);
       parent = parent->getParentOp())
    if (!isa_and_present<scf::ForOp, SerialOp>(parent))
      return emitOpError("(U3) expected only scf.for and metate.serial around it in a kernel");
  return success();
}
