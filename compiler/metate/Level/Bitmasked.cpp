//===- Bitmasked.cpp - the bitmasked level ----------------------*- C++ -*-===//
//
// Bits are set and cleared by atomic operations on their words, without an order: a cell's memory is
// there before and after, and what workers write into it they do not hand to one another by its bit.
//
//===----------------------------------------------------------------------===//
#include "metate/Level/Levels.h"
#include "metate/Level/Mask.h"

#include "metate/Mutants/Mutants.h"

using namespace mlir;
using namespace metate;

namespace {
/// All cells inline, with a bit each. An inactive cell holds background, so that reads need no test.
class BitmaskedLowering : public LevelLowering {
public:
  Cell locate(ByteBuilder &bytes, const layout::Node &node, const CellQuery &query) const override;
  Cell activate(ByteBuilder &bytes, const layout::Node &node,
                const CellQuery &query) const override;
  void deactivate(ByteBuilder &bytes, const layout::Node &node,
                  const CellQuery &query) const override;
  mlir::Value bitsFrom(ByteBuilder &bytes, const layout::Node &node,
                       const CellQuery &query) const override;
};
} // namespace

/// Byte offset of the word that holds the cell's bit, and the bit's number in it, i32.
static std::pair<Value, Value> positionOf(ByteBuilder &bytes, const layout::Node &node,
                                          const CellQuery &query) {
  int64_t mask = node.maskOffset + (query.entry ? node.maskBytes() : 0);
  Value word = bytes.multiply(bytes.divide(query.linear, 32), 4);
  return {bytes.add(bytes.add(query.container, mask), word),
          bytes.toInteger(bytes.remainder(query.linear, 32), 32)};
}

/// As positionOf, with the bit alone in such a word.
static std::pair<Value, Value> bitOf(ByteBuilder &bytes, const layout::Node &node,
                                     const CellQuery &query) {
  auto [at, position] = positionOf(bytes, node, query);
  return {at, arith::ShLIOp::create(bytes.builder, bytes.loc, bytes.integer(1, 32), position)};
}

Value BitmaskedLowering::bitsFrom(ByteBuilder &bytes, const layout::Node &node,
                                  const CellQuery &query) const {
  auto [at, position] = positionOf(bytes, node, query);
  Value word = bytes.readInteger(at, 32, query.concurrent);
  return arith::ShRUIOp::create(bytes.builder, bytes.loc, word, position);
}

static Value isSet(ByteBuilder &bytes, Value word, Value bit) {
  return bytes.isNonzero(arith::AndIOp::create(bytes.builder, bytes.loc, word, bit));
}

Cell BitmaskedLowering::locate(ByteBuilder &bytes, const layout::Node &node,
                               const CellQuery &query) const {
  auto [at, bit] = bitOf(bytes, node, query);
  Value active = isSet(bytes, bytes.readInteger(at, 32, query.concurrent), bit);
  if (query.inside)
    active = arith::AndIOp::create(bytes.builder, bytes.loc, query.inside, active);
  return {bytes.add(query.container, bytes.multiply(query.linear, node.cellBytes)), active, false};
}

Cell BitmaskedLowering::activate(ByteBuilder &bytes, const layout::Node &node,
                                 const CellQuery &query) const {
  OpBuilder &builder = bytes.builder;
  auto [at, bit] = bitOf(bytes, node, query);
  // Test first: most cells are active already, and their words stay shared by all caches.
  Value active = isSet(bytes, bytes.readInteger(at, 32, /*acquire=*/true), bit);
  Value inactive = arith::XOrIOp::create(builder, bytes.loc, active, bytes.integer(1, 1));
  setWhereMissing(bytes, inactive, [&] {
    auto kind = isMutant(Mutant::MaskBitAssigned) ? arith::AtomicRMWKind::assign
                                                  : arith::AtomicRMWKind::ori;
    bytes.atomic(kind, at, bit);
  });
  return {bytes.add(query.container, bytes.multiply(query.linear, node.cellBytes)), Value(), false};
}

void BitmaskedLowering::deactivate(ByteBuilder &bytes, const layout::Node &node,
                                   const CellQuery &query) const {
  bytes.call("deactivate", node, {query.container, query.linear}, query.coordinates(),
             std::nullopt);
}

const LevelLowering &metate::getBitmaskedLowering() {
  static const BitmaskedLowering lowering;
  return lowering;
}
