//===- SplitCarried.cpp - components that loops carry -----------*- C++ -*-===//
//
// `tile[p, q] += a[p, k] * b[k, q]` in a loop over k carries a matrix from turn to turn: taken apart at the beginning of a turn, put together
// at its end. Its components are carried as scalars: registers, each a sum of its own.
//
//===----------------------------------------------------------------------===//
#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace metate {
#define GEN_PASS_DEF_SPLITCARRIED
#include "metate/Transforms/Passes.h.inc"
} // namespace metate

using namespace mlir;
using namespace metate;

namespace {
/// A vector of more components would not stay in registers.
constexpr int64_t mostCarried = 32;

SmallVector<int64_t> positionOf(VectorType type, int64_t number) {
  SmallVector<int64_t> position(type.getRank());
  for (int64_t axis = type.getRank(); axis-- > 0; number /= type.getDimSize(axis))
    position[axis] = number % type.getDimSize(axis);
  return position;
}

/// The components of a vector, in the order of FromElementsOp.
SmallVector<Value> componentsOf(OpBuilder &builder, Value vector) {
  if (auto parts = vector.getDefiningOp<vector::FromElementsOp>())
    return llvm::to_vector_of<Value>(parts.getElements());
  auto type = cast<VectorType>(vector.getType());
  return llvm::map_to_vector(llvm::seq(type.getNumElements()), [&](int64_t number) {
    return builder.createOrFold<vector::ExtractOp>(vector.getLoc(), vector,
                                                   positionOf(type, number));
  });
}

/// The number of the component that is taken out; nullopt: several, or one that is known at run time only.
std::optional<int64_t> numberOf(vector::ExtractOp extract) {
  auto type = cast<VectorType>(extract.getSource().getType());
  if (extract.hasDynamicPosition() || extract.getNumIndices() != type.getRank())
    return std::nullopt;
  int64_t number = 0;
  for (auto [size, position] : llvm::zip(type.getShape(), extract.getStaticPosition()))
    number = number * size + position;
  return number;
}

/// A vector that is taken apart wherever it is used.
bool isTakenApart(Value carried) {
  auto type = dyn_cast<VectorType>(carried.getType());
  if (!type || type.isScalable() || type.getNumElements() > mostCarried)
    return false;
  return llvm::all_of(carried.getUsers(), [&](Operation *user) {
    auto extract = dyn_cast<vector::ExtractOp>(user);
    return isa<vector::ToElementsOp>(user) || (extract && numberOf(extract));
  });
}

void replaceParts(Value carried, ArrayRef<Value> parts) {
  for (Operation *user : llvm::make_early_inc_range(carried.getUsers())) {
    std::optional<int64_t> number;
    if (auto one = dyn_cast<vector::ExtractOp>(user))
      number = numberOf(one);
    if (isa<vector::ToElementsOp>(user))
      user->replaceAllUsesWith(parts);
    else if (number)
      user->getResult(0).replaceAllUsesWith(
          parts[isMutant(Mutant::CarriedTransposed) ? parts.size() - 1 - *number : *number]);
    else
      continue;
    user->erase();
  }
}

/// Replaces a loop by one that carries the components of some of its vectors.
class CarriedSplit {
public:
  CarriedSplit(scf::ForOp loop, const llvm::SmallBitVector &split) : loop(loop), split(split) {
    OpBuilder builder(loop);
    auto made =
        scf::ForOp::create(builder, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
                           loop.getStep(), flat(builder, loop.getInitArgs()));
    made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    Operation *end = loop.getBody()->getTerminator();
    OpBuilder atEnd(end);
    SmallVector<Value> yielded = flat(atEnd, end->getOperands());
    end->setOperands(yielded);
    loop.getInductionVar().replaceAllUsesWith(made.getInductionVar());
    replace(loop.getRegionIterArgs(), made.getRegionIterArgs());
    made.getBody()->getOperations().splice(made.getBody()->end(), loop.getBody()->getOperations());
    replace(loop.getResults(), made.getResults());
    loop.erase();
  }

private:
  SmallVector<Value> flat(OpBuilder &builder, ValueRange values) {
    SmallVector<Value> result;
    for (auto [number, value] : llvm::enumerate(values))
      if (split[number])
        llvm::append_range(result, componentsOf(builder, value));
      else
        result.push_back(value);
    return result;
  }

  void replace(ValueRange old, ValueRange made) {
    for (auto [number, value] : llvm::enumerate(old)) {
      if (!split[number]) {
        value.replaceAllUsesWith(made.front());
        made = made.drop_front();
        continue;
      }
      auto type = cast<VectorType>(value.getType());
      SmallVector<Value> parts(made.take_front(type.getNumElements()));
      made = made.drop_front(parts.size());
      replaceParts(value, parts);
      if (value.use_empty())
        continue;
      OpBuilder builder(loop->getContext());
      builder.setInsertionPointAfterValue(parts.back());
      value.replaceAllUsesWith(vector::FromElementsOp::create(builder, loop.getLoc(), type, parts));
    }
  }

  scf::ForOp loop;
  const llvm::SmallBitVector &split;
};

struct SplitCarried : metate::impl::SplitCarriedBase<SplitCarried> {
  void runOnOperation() override {
    SmallVector<scf::ForOp>
        loops; // from the inside out: what one leaves is put together for the one around
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      visit(loop);
  }

private:
  void visit(scf::ForOp loop) {
    llvm::SmallBitVector chosen(loop.getNumRegionIterArgs());
    for (auto [number, carried] : llvm::enumerate(loop.getRegionIterArgs())) {
      Value end = loop.getYieldedValues()[number];
      if (end.getDefiningOp<vector::FromElementsOp>() && isTakenApart(carried))
        chosen.set(number);
    }
    if (chosen.none())
      return;
    split += chosen.count();
    CarriedSplit(loop, chosen);
  }
};
} // namespace
