//===- Pointer.cpp - the pointer level --------------------------*- C++ -*-===//
//
// Reads follow links. An activation tests the link; where it is 0 the protocol's metate_rt_claim (Emit/Support/Tree.c) runs,
// once for each slot.
//
//===----------------------------------------------------------------------===//
#include "metate/Level/Levels.h"

#include "metate/Mutants/Mutants.h"

using namespace mlir;
using namespace metate;

namespace {
/// A u32 link per cell into a pool; protocol/metate/protocol/tree.h is how a cell becomes active.
class PointerLowering : public LevelLowering {
public:
  Cell locate(ByteBuilder &bytes, const layout::Node &node, const CellQuery &query) const override;
  Cell activate(ByteBuilder &bytes, const layout::Node &node,
                const CellQuery &query) const override;
  void deactivate(ByteBuilder &bytes, const layout::Node &node,
                  const CellQuery &query) const override;
};
} // namespace

Cell PointerLowering::locate(ByteBuilder &bytes, const layout::Node &node,
                             const CellQuery &query) const {
  Value linear = query.linear;
  if (query.inside)
    linear = bytes.select(query.inside, linear, bytes.index(0));
  Value link = bytes.readInteger(bytes.add(query.container, bytes.multiply(linear, 4)), 32,
                                 query.concurrent);
  if (query.inside)
    link = bytes.select(query.inside, link, bytes.integer(0, 32));
  return {bytes.slotAt(node, link), bytes.isNonzero(link), !node.ambient};
}

Cell PointerLowering::activate(ByteBuilder &bytes, const layout::Node &node,
                               const CellQuery &query) const {
  OpBuilder &builder = bytes.builder;
  Value at = bytes.add(query.container, bytes.multiply(query.linear, 4));
  Value link = bytes.readInteger(at, 32, /*acquire=*/true);
  auto branch =
      scf::IfOp::create(builder, bytes.loc, builder.getI32Type(), bytes.isNonzero(link), true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(builder, bytes.loc, link);
    builder.setInsertionPointToStart(branch.elseBlock());
    SmallVector<Value> own = query.coordinates();
    if (isMutant(Mutant::SlotCoordinatesReversed))
      std::reverse(own.begin(), own.end());
    scf::YieldOp::create(builder, bytes.loc,
                         bytes.call("claim", node, at, own, bytes.strict, builder.getI32Type()));
  }
  Value slot = branch.getResult(0);
  return {bytes.slotAt(node, slot), bytes.isNonzero(slot), true};
}

void PointerLowering::deactivate(ByteBuilder &bytes, const layout::Node &node,
                                 const CellQuery &query) const {
  bytes.call("deactivate", node, {query.container, query.linear}, query.coordinates(),
             std::nullopt);
}

const LevelLowering &metate::getPointerLowering() {
  static const PointerLowering lowering;
  return lowering;
}
