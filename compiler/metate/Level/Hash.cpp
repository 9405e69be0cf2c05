//===- Hash.cpp - the hash level --------------------------------*- C++ -*-===//
//
// Look-ups and claims are the protocol's; the address of a slot is computed here, as of a pointer.
//
//===----------------------------------------------------------------------===//
#include "metate/Level/Levels.h"

using namespace mlir;
using namespace metate;

namespace {
/// Cells at any coordinates, found through the table of the pool; nothing is inline.
class HashLowering : public LevelLowering {
public:
  Cell locate(ByteBuilder &bytes, const layout::Node &node, const CellQuery &query) const override;
  Cell activate(ByteBuilder &bytes, const layout::Node &node,
                const CellQuery &query) const override;
  void deactivate(ByteBuilder &bytes, const layout::Node &node,
                  const CellQuery &query) const override;
};
} // namespace

static Value find(ByteBuilder &bytes, const layout::Node &node, const CellQuery &query) {
  return bytes.call("hash_find", node, query.container, query.coordinates(), std::nullopt,
                    bytes.builder.getI32Type());
}

Cell HashLowering::locate(ByteBuilder &bytes, const layout::Node &node,
                          const CellQuery &query) const {
  Value slot = find(bytes, node, query);
  if (query.inside)
    slot = bytes.select(query.inside, slot, bytes.integer(0, 32));
  return {bytes.slotAt(node, slot), bytes.isNonzero(slot), !node.ambient};
}

Cell HashLowering::activate(ByteBuilder &bytes, const layout::Node &node,
                            const CellQuery &query) const {
  OpBuilder &builder = bytes.builder;
  Value known = find(bytes, node, query);
  auto branch =
      scf::IfOp::create(builder, bytes.loc, builder.getI32Type(), bytes.isNonzero(known), true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(builder, bytes.loc, known);
    builder.setInsertionPointToStart(branch.elseBlock());
    Value slot = bytes.call("hash_claim", node, query.container, query.coordinates(), bytes.strict,
                            builder.getI32Type());
    scf::YieldOp::create(builder, bytes.loc, slot);
  }
  Value slot = branch.getResult(0);
  return {bytes.slotAt(node, slot), bytes.isNonzero(slot), true};
}

void HashLowering::deactivate(ByteBuilder &bytes, const layout::Node &node,
                              const CellQuery &query) const {
  bytes.call("deactivate", node, {query.container, bytes.index(0)}, query.coordinates(),
             std::nullopt);
}

const LevelLowering &metate::getHashLowering() {
  static const HashLowering lowering;
  return lowering;
}
