//===- PlaceAccess.cpp - reads and writes of cells and elements -*- C++ -*-===//
#include "metate/Transforms/PlaceAccess.h"

#include "metate/Mutants/Mutants.h"
#include "metate/Transforms/IntegerRange.h"
#include "metate/Transforms/LeafForm.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace metate;

static bool isSame(Value a, Value b) { return isEqualConstantIntOrValue(a, b); }

/// Is it positive in all turns of the loops whose variables it names? `j - i` is, of `for j in range(i + 1, n)`.
static bool isPositive(LinearForm form) {
  constexpr int mostLoops = 4;
  for (int replaced = 0; replaced <= mostLoops; ++replaced) {
    if (form.terms.empty())
      return form.constant > (isMutant(Mutant::LoopStartsBefore) ? -1 : 0);
    // The innermost loop first: its bounds name the variables of those around it.
    scf::ForOp loop;
    for (auto [value, factor] : form.terms) {
      scf::ForOp own = scf::getForInductionVarOwner(value);
      if (own && (!loop || loop->isProperAncestor(own)))
        loop = own;
    }
    if (!loop || loop.getUnsignedCmp() || getConstantIntValue(loop.getStep()).value_or(0) <= 0)
      return false;
    Value variable = loop.getInductionVar();
    int64_t coefficient = form.coefficient(variable);
    if (std::abs(coefficient) > 1024)
      return false;
    // The least that the term can be.
    LinearForm bound = coefficient > 0 ? LinearForm::of(loop.getLowerBound())
                                       : LinearForm::of(loop.getUpperBound()).plus(-1);
    if (std::abs(bound.constant) > IntegerRange::most)
      return false;
    form = form.without(variable);
    form.constant += coefficient * bound.constant;
    for (auto [value, factor] : bound.terms)
      form.add(value, coefficient * factor);
  }
  return false;
}

bool PlaceAccess::isAtSamePlace(const PlaceAccess &other) const {
  return target == other.target && llvm::equal(coordinates, other.coordinates, isSame) &&
         llvm::equal(components, other.components, isSame);
}

bool PlaceAccess::isApartFrom(const PlaceAccess &other, bool mayAlias) const {
  if (target.first != other.target.first)
    return !mayAlias || isArray() != other.isArray();
  if (target.second != other.target.second)
    return true;
  auto differs = [](auto pair) {
    LinearForm a = LinearForm::of(std::get<0>(pair)), b = LinearForm::of(std::get<1>(pair));
    return (a.constant != b.constant && a.terms == b.terms) || isPositive(a.minus(b)) ||
           isPositive(b.minus(a));
  };
  return llvm::any_of(llvm::zip(coordinates, other.coordinates), differs) ||
         llvm::any_of(llvm::zip(components, other.components), differs) ||
         isMutant(Mutant::ChangedCellPromoted);
}

std::optional<PlaceAccess> PlaceAccess::of(Operation *op) {
  if (!isa<LoadOp, StoreOp, AtomicOp, memref::LoadOp, memref::StoreOp, memref::AtomicRMWOp>(op))
    return std::nullopt;
  Type type = op->getNumResults() ? op->getResult(0).getType() : op->getOperand(0).getType();
  if (auto cell = dyn_cast<CellOpInterface>(op))
    return PlaceAccess{op,
                       {cell.getTree(), cell.getPath()},
                       llvm::to_vector_of<Value>(cell.getCellCoordinates()),
                       llvm::to_vector_of<Value>(cell.getCellComponents()),
                       type};
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return PlaceAccess{
        op, {load.getMemRef(), ""}, llvm::to_vector_of<Value>(load.getIndices()), {}, type};
  auto write = *writeOf(op);
  return PlaceAccess{op, write.first, llvm::to_vector_of<Value>(write.second), {}, type};
}
