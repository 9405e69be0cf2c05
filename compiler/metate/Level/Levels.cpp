//===- Levels.cpp - the list of levels, and background ----------*- C++ -*-===//
#include "metate/Level/Levels.h"

#include "metate/Level/Dense.h"
#include "metate/Level/Pointer.h"
#include "metate/Mutants/Mutants.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace metate;

const LevelLowering &metate::levelLowering(uint32_t kind) {
  static const DenseLowering dense;
  static const PointerLowering pointer;
  switch (kind) {
  case DenseAttr::kindCode:
    return dense;
  case PointerAttr::kindCode:
    return pointer;
  default:
    llvm_unreachable("a level without a lowering");
  }
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

void metate::fillBackground(ByteBuilder &bytes, const layout::TreeLayout &layout, unsigned parent,
                            Value offset) {
  for (auto [k, node] : llvm::enumerate(layout.nodes)) {
    if (node.parent != int(parent))
      continue;
    Value at = bytes.add(offset, node.offset);
    if (node.place) {
      bytes.writeValue(backgroundValue(bytes, node.place), at);
      continue;
    }
    int64_t stride = node.pool >= 0 ? 4 : node.cellBytes;
    auto loop = scf::ForOp::create(bytes.builder, bytes.loc, bytes.index(0),
                                   bytes.index(node.cells), bytes.index(1));
    OpBuilder::InsertionGuard guard(bytes.builder);
    bytes.builder.setInsertionPointToStart(loop.getBody());
    Value cell = bytes.add(at, bytes.multiply(loop.getInductionVar(), stride));
    if (node.pool >= 0)
      bytes.write(bytes.integer(0, 32), cell);
    else
      fillBackground(bytes, layout, k, cell);
  }
}
