//===- Levels.cpp - what is asked of all levels, background ----------*- C++ -*-===//
#include "metate/Level/Levels.h"

#include "metate/Mutants/Mutants.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace metate;

const LevelLowering &metate::levelLowering(uint32_t kind) {
  switch (kind) {
#define METATE_LEVEL(Name)                                                                         \
  case Name##Attr::kindCode:                                                                       \
    return get##Name##Lowering();
#include "metate/Level/Levels.def"
  default:
    llvm_unreachable("a level without a lowering");
  }
}

void LevelLowering::deactivate(ByteBuilder &, const layout::Node &, const CellQuery &) const {
  llvm_unreachable("a level whose cells are always active");
}

Value LevelLowering::bitsFrom(ByteBuilder &, const layout::Node &, const CellQuery &) const {
  llvm_unreachable("a level without a mask");
}

Value LevelLowering::length(ByteBuilder &, const layout::Node &, const CellQuery &) const {
  llvm_unreachable("a level that is no list");
}

Value LevelLowering::append(ByteBuilder &, const layout::Node &, const CellQuery &) const {
  llvm_unreachable("a level that is no list");
}

Value metate::backgroundValue(ByteBuilder &bytes, PlaceAttr place) {
  Type type = signlessType(place.getType());
  TypedAttr background = place.getBackground();
  if (!background || (isMutant(Mutant::VectorBackgroundZero) && isa<VectorType>(type)))
    return arith::ConstantOp::create(bytes.builder, bytes.loc, type,
                                     bytes.builder.getZeroAttr(type));
  // Constants are signless; the attribute of an unsigned member is not.
  if (auto integer = dyn_cast<IntegerAttr>(background))
    background = IntegerAttr::get(type, integer.getValue());
  else if (auto elements = dyn_cast<DenseElementsAttr>(background))
    background = elements.bitcast(layout::scalarType(type)).reshape(cast<ShapedType>(type));
  return arith::ConstantOp::create(bytes.builder, bytes.loc, type, background);
}
