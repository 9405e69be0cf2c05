//===- UnifyExtents.cpp - extents with one name are one value ---*- C++ -*-===//
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace metate {
#define GEN_PASS_DEF_UNIFYEXTENTS
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// Where a dim stands first: an argument and its dimension.
using FirstPlace = std::pair<unsigned, int64_t>;

struct UnifyExtents : metate::impl::UnifyExtentsBase<UnifyExtents> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    llvm::SmallDenseMap<Attribute, FirstPlace> first;
    for (unsigned k = 0; k < kernel.getArgumentTypes().size(); ++k)
      if (auto shape = kernel.getArgAttrOfType<ArrayAttr>(k, mark::shape))
        for (auto [axis, extent] : llvm::enumerate(shape))
          first.try_emplace(extent, k, isMutant(Mutant::UnifiedFirstAxis) ? 0 : int64_t(axis));
    if (first.empty())
      return;
    kernel.walk([&](memref::DimOp op) {
      auto array = dyn_cast<BlockArgument>(op.getSource());
      std::optional<int64_t> axis = op.getConstantIndex();
      if (!array || array.getOwner() != &kernel.getBody().front() || !axis)
        return;
      auto shape = kernel.getArgAttrOfType<ArrayAttr>(array.getArgNumber(), mark::shape);
      if (!shape || *axis >= int64_t(shape.size()) || !isa<DimAttr>(shape[*axis]))
        return;
      auto [argument, dimension] = first.lookup(shape[*axis]);
      if (argument == array.getArgNumber() && dimension == *axis)
        return;
      OpBuilder builder(op);
      op.replaceAllUsesWith(memref::DimOp::create(builder, op.getLoc(),
                                                  kernel.getBody().getArgument(argument), dimension)
                                .getResult());
      op.erase();
      ++unified;
    });
  }
};
} // namespace
