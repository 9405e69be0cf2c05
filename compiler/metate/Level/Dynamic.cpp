//===- Dynamic.cpp - the dynamic level --------------------------*- C++ -*-===//
#include "metate/Level/Levels.h"

using namespace mlir;
using namespace metate;
namespace header = metate::layout::header;

namespace {
/// A length and slots of `chunk` cells. Chunks below the length are linked; what lies from the length on holds
/// background, so that reads need no test.
class DynamicLowering : public LevelLowering {
public:
  Cell locate(ByteBuilder &bytes, const layout::Node &node, const CellQuery &query) const override;
  Cell activate(ByteBuilder &bytes, const layout::Node &node,
                const CellQuery &query) const override;
  void deactivate(ByteBuilder &bytes, const layout::Node &node,
                  const CellQuery &query) const override;
  mlir::Value length(ByteBuilder &bytes, const layout::Node &node,
                     const CellQuery &query) const override;
  mlir::Value append(ByteBuilder &bytes, const layout::Node &node,
                     const CellQuery &query) const override;
};
} // namespace

Value DynamicLowering::length(ByteBuilder &bytes, const layout::Node &,
                              const CellQuery &query) const {
  uint64_t at = query.entry ? header::listEntryLength() : header::listLength();
  return bytes.readInteger(bytes.add(query.container, at), 32, query.concurrent);
}

Value DynamicLowering::append(ByteBuilder &bytes, const layout::Node &node,
                              const CellQuery &query) const {
  Value index = bytes.call("append", node, query.container, query.coordinates(), std::nullopt,
                           bytes.builder.getI64Type());
  return arith::TruncIOp::create(bytes.builder, bytes.loc, bytes.builder.getI32Type(), index);
}

/// Byte offset of the link of the cell's chunk.
static Value linkOf(ByteBuilder &bytes, const layout::Node &node, Value container, Value index) {
  Value chunk = bytes.divide(index, node.slotCells);
  return bytes.add(bytes.add(container, header::listLink(0)), bytes.multiply(chunk, 4));
}

/// Byte offset of the cell in its chunk's slot.
static Value cellIn(ByteBuilder &bytes, const layout::Node &node, Value slot, Value index) {
  Value within = bytes.remainder(index, node.slotCells);
  return bytes.add(bytes.slotAt(node, slot), bytes.multiply(within, node.cellBytes));
}

Cell DynamicLowering::locate(ByteBuilder &bytes, const layout::Node &node,
                             const CellQuery &query) const {
  Value index = query.linear;
  if (query.inside)
    index = bytes.select(query.inside, index, bytes.index(0));
  Value active =
      bytes.compare(arith::CmpIPredicate::ult, index, bytes.toIndex(length(bytes, node, query)));
  Value link = bytes.readInteger(linkOf(bytes, node, query.container, index), 32, query.concurrent);
  // The length may have been read before the list was emptied, the link after it; on a device it may be ahead of chunks.
  if ((query.unlinked || query.concurrent) && !query.entry)
    active = arith::AndIOp::create(bytes.builder, bytes.loc, active, bytes.isNonzero(link));
  if (query.inside) {
    active = arith::AndIOp::create(bytes.builder, bytes.loc, query.inside, active);
    link = bytes.select(query.inside, link, bytes.integer(0, 32));
  }
  return {cellIn(bytes, node, link, index), active, !node.ambient};
}

Cell DynamicLowering::activate(ByteBuilder &bytes, const layout::Node &node,
                               const CellQuery &query) const {
  OpBuilder &builder = bytes.builder;
  CellQuery live = query;
  live.concurrent = true;
  Value there = bytes.compare(arith::CmpIPredicate::ult, query.linear,
                              bytes.toIndex(length(bytes, node, live)));
  auto known = scf::IfOp::create(builder, bytes.loc, builder.getI32Type(), there, true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(known.thenBlock());
    Value link = bytes.readInteger(linkOf(bytes, node, query.container, query.linear), 32,
                                   /*acquire=*/true);
    scf::YieldOp::create(builder, bytes.loc, link);
    builder.setInsertionPointToStart(known.elseBlock());
    scf::YieldOp::create(builder, bytes.loc, bytes.integer(0, 32));
  }
  // Below the length no chunk is missing, but where an append on a device has not linked it yet, or the list was emptied meanwhile.
  Value link = known.getResult(0);
  auto branch =
      scf::IfOp::create(builder, bytes.loc, builder.getI32Type(), bytes.isNonzero(link), true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(builder, bytes.loc, link);
    builder.setInsertionPointToStart(branch.elseBlock());
    Value slot = bytes.call("dynamic_activate", node, {query.container, query.linear},
                            query.coordinates(), bytes.strict, builder.getI32Type());
    scf::YieldOp::create(builder, bytes.loc, slot);
  }
  Value slot = branch.getResult(0);
  return {cellIn(bytes, node, slot, query.linear), bytes.isNonzero(slot), true};
}

void DynamicLowering::deactivate(ByteBuilder &bytes, const layout::Node &node,
                                 const CellQuery &query) const {
  bytes.call("clear_list", node, query.container, query.coordinates(), std::nullopt);
}

const LevelLowering &metate::getDynamicLowering() {
  static const DynamicLowering lowering;
  return lowering;
}
