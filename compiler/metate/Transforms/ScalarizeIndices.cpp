//===- ScalarizeIndices.cpp - vectors of integers component by component -*- C++ -*-===//
//
// `x[I + ti.Vector([0, 1])]` adds two vectors and takes the sum apart. What recognises neighbours, own cells and rows
// looks at scalars: each component of integers is computed for itself, where it is taken out.
//
//===----------------------------------------------------------------------===//
#include "metate/Dialect/Metate.h"
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace metate {
#define GEN_PASS_DEF_SCALARIZEINDICES
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
bool isIntegers(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getRank() == 1 && !vector.isScalable() &&
         isa<IntegerType, IndexType>(vector.getElementType());
}

/// An operation without effects that makes each component of those of its operands.
Operation *elementwise(Value vector) {
  Operation *op = vector.getDefiningOp();
  return op && op->getNumResults() == 1 && !op->getNumRegions() && isMemoryEffectFree(op) &&
                 op->hasTrait<OpTrait::Elementwise>() && !isa<arith::ConstantOp>(op)
             ? op
             : nullptr;
}

/// Components of vectors as scalars, each computed once, right behind its vector.
class Components {
public:
  Value of(Value vector, int64_t position) {
    auto [known, isNew] = values.try_emplace({vector, position});
    if (!isNew)
      return known->second;
    Value value = compute(vector, position);
    return values[{vector, position}] = value;
  }

private:
  Value compute(Value vector, int64_t position) {
    if (auto parts = vector.getDefiningOp<vector::FromElementsOp>())
      return parts.getElements()[isMutant(Mutant::FirstComponentAgain) ? 0 : position];
    OpBuilder builder(vector.getContext());
    builder.setInsertionPointAfterValue(vector);
    Operation *op = isIntegers(vector.getType()) ? elementwise(vector) : nullptr;
    if (!op)
      return builder.createOrFold<vector::ExtractOp>(vector.getLoc(), vector, position);
    auto operands = llvm::map_to_vector(op->getOperands(), [&](Value operand) {
      return isa<VectorType>(operand.getType()) ? of(operand, position) : operand;
    });
    Type type = cast<VectorType>(vector.getType()).getElementType();
    return builder
        .create(op->getLoc(), op->getName().getIdentifier(), operands, type, op->getAttrs())
        ->getResult(0);
  }

  llvm::DenseMap<std::pair<Value, int64_t>, Value> values;
};

struct ScalarizeIndices : metate::impl::ScalarizeIndicesBase<ScalarizeIndices> {
  void runOnOperation() override {
    SmallVector<vector::ExtractOp> extracts;
    getOperation().walk([&](vector::ExtractOp extract) {
      if (isIntegers(extract.getSource().getType()) && extract.getNumIndices() == 1 &&
          !extract.hasDynamicPosition() && elementwise(extract.getSource()))
        extracts.push_back(extract);
    });
    Components components;
    for (vector::ExtractOp extract : extracts) {
      Value scalar = components.of(extract.getSource(), extract.getStaticPosition()[0]);
      extract.replaceAllUsesWith(scalar);
      extract.erase();
      ++scalarized;
    }
  }
};
} // namespace
