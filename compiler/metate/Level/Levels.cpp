//===- Levels.cpp - the list of levels, and background ----------*- C++ -*-===//
#include "metate/Level/Levels.h"

#include "metate/Level/Bitmasked.h"
#include "metate/Level/Dense.h"
#include "metate/Level/Dynamic.h"
#include "metate/Level/Hash.h"
#include "metate/Level/Pointer.h"
#include "metate/Mutants/Mutants.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace metate;

const LevelLowering &metate::levelLowering(uint32_t kind) {
  static const DenseLowering dense;
  static const PointerLowering pointer;
  static const BitmaskedLowering bitmasked;
  static const DynamicLowering dynamic;
  static const HashLowering hash;
  switch (kind) {
  case DenseAttr::kindCode:
    return dense;
  case PointerAttr::kindCode:
    return pointer;
  case BitmaskedAttr::kindCode:
    return bitmasked;
  case DynamicAttr::kindCode:
    return dynamic;
  case HashAttr::kindCode:
    return hash;
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
