//===- ScatteringKernel.cpp - does a kernel scatter to arrays? --*- C++ -*-===//
//
// Counts what atomic operations add, with the turns of the loops around them that are known. What is inlined later is not counted.
//
//===----------------------------------------------------------------------===//
#include "metate/Frontend/ScatteringKernel.h"

#include "metate/Dialect/Graph.h"
#include "metate/Dialect/Metate.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace metate;

/// As metate-bin-scatters asks for of an iteration (LayoutTuning::addsToOrder).
static constexpr int64_t leastAdds = 16;

static int64_t turnsAround(Operation *op, RangeOp range) {
  int64_t turns = 1;
  for (Operation *parent = op->getParentOp(); parent != range; parent = parent->getParentOp())
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      if (std::optional<APInt> count = loop.getStaticTripCount())
        turns = std::min(turns * count->getSExtValue(), leastAdds);
  return turns;
}

/// Is it an array of the kernel whose size the launch says?
static bool isOpenArray(Value value) {
  auto array = dyn_cast<BlockArgument>(value);
  auto type = dyn_cast<MemRefType>(value.getType());
  return array && type && isa<KernelOp>(array.getOwner()->getParentOp()) &&
         ShapedType::isDynamicShape(type.getShape());
}

/// The numbers that an atomic operation adds at another place than the iteration's own.
static int64_t addsOf(Operation *op, RangeOp range) {
  Type type;
  if (auto cell = dyn_cast<AtomicOp>(op))
    type = cell.getValue().getType();
  else if (auto array = dyn_cast<memref::AtomicRMWOp>(op))
    type = array.getValue().getType();
  if (!type || llvm::is_contained(op->getOperands(), range.getBody().getArgument(0)))
    return 0;
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}

static bool isScatterOfArrays(RangeOp range) {
  int64_t adds = 0;
  bool usesArrays = false;
  range.getBody().walk([&](Operation *op) {
    adds += addsOf(op, range) * turnsAround(op, range);
    usesArrays |= llvm::any_of(op->getOperands(), isOpenArray);
  });
  return usesArrays && adds >= leastAdds;
}

bool frontend::scattersToArrays(ModuleOp module) {
  auto kernels = llvm::to_vector(module.getOps<KernelOp>());
  if (kernels.size() != 1 || kernels[0].getMayAlias() || isGraph(kernels[0]))
    return false;
  auto ranges = kernels[0].getBody().front().getOps<RangeOp>();
  return llvm::any_of(ranges, [](RangeOp range) {
    return range.getLower().size() == 1 && isScatterOfArrays(range);
  });
}
