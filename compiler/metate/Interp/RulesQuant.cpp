//===- RulesQuant.cpp - quantised members -----------------------*- C++ -*-===//
//
// Stored bits and values, and what is done to values in one step. What a member cannot hold is found where it is stored
// (QuantChecks.h).
//
//===----------------------------------------------------------------------===//
#include "metate/Interp/CellPlace.h"
#include "metate/Interp/QuantChecks.h"
#include "metate/Interp/QuantNumbers.h"
#include "metate/Interp/Rules.h"

using namespace mlir;
using namespace metate;
using namespace metate::interp;

static void decodeBits(Machine &machine, DecodeOp op) {
  QuantFormat format = *QuantFormat::of(op.getFormat(), op.getShared());
  elementwise(machine, op, [&](ArrayRef<uint64_t> in) { return dequantise(format, in[0]); });
}

static void encodeValue(Machine &machine, EncodeOp op) {
  QuantFormat format = *QuantFormat::of(op.getFormat());
  elementwise(machine, op, [&](ArrayRef<uint64_t> in) { return quantise(format, in[0]).bits; });
}

static void loadShared(Machine &machine, LoadSharedOp op) {
  machine.set(op, valueAt(machine, op, CellPlace(machine, op)));
}

/// Of a quantised member by its value, and of those that share its exponent.
static void update(Machine &machine, UpdateOp op) {
  CellPlace place(machine, op);
  uint64_t old = place.shown(place.tree.background(place.node)[0]);
  if (prepareWrite(machine, op, place, op.getActive())) {
    old = place.shown(place.tree.read(place.node, place.at)[0]);
    const QuantFormat &format = *place.info().format;
    uint64_t now =
        combineChecked(machine, op, op.getKind(), format.compute, old, machine.bits(op.getValue()));
    if (machine.checks.quantRange)
      checkStored(machine, op, place.info().place.getType(), format, now);
    place.tree.assign(place.node, place.at, now);
    machine.noteWrite(op, place.tree, place.node, place.at, place.tree.read(place.node, place.at),
                      op.getKind() != arith::AtomicRMWKind::assign || !op.getOld().use_empty());
  }
  machine.set(op, old);
}

/// Several members that share an exponent.
static void storeShared(Machine &machine, StoreSharedOp op) {
  CellPlace place(machine, op);
  if (!prepareWrite(machine, op, place, op.getActive()))
    return;
  SmallVector<std::pair<int, uint64_t>> given;
  for (auto [member, value] : llvm::zip(op.getMembers(), op.getValues())) {
    int node = place.tree.shape.find(cast<StringAttr>(member).getValue());
    given.push_back({node, machine.bits(value)});
    const auto &info = place.tree.shape.nodes[node];
    if (machine.checks.quantRange)
      checkStored(machine, op, info.place.getType(), *info.format, given.back().second);
  }
  place.tree.assign(given, place.at);
  for (auto [node, value] : given)
    machine.noteWrite(op, place.tree, node, place.at, place.tree.read(node, place.at),
                      /*isAtomic=*/false);
}

//===-- words ---------------------------------------------------------------===//

/// Calls `visit` with the place of each element of the word and where its bits begin.
static void visitElements(CellPlace place, function_ref<void(const CellPlace &, unsigned)> visit) {
  unsigned shift = 0;
  for (Coordinates &at : place.tree.shape.elementsOfWord(place.node, place.at)) {
    place.at = std::move(at);
    visit(place, shift);
    shift += place.info().format->bits;
  }
}

/// What is beyond the elements means nothing: all ones, which no pass has put there.
static void loadWord(Machine &machine, LoadWordOp op) {
  CellPlace first(machine, op);
  unsigned width = widthOf(op.getType());
  uint64_t word = wrap(~uint64_t(0), width);
  visitElements(first, [&](const CellPlace &place, unsigned shift) {
    unsigned bits = place.info().format->bits;
    word &= ~(wrap(~uint64_t(0), bits) << shift);
    word |= valueAt(machine, op, place)[0] << shift;
  });
  machine.set(op, word);
}

static void storeWord(Machine &machine, StoreWordOp op) {
  CellPlace first(machine, op);
  uint64_t word = machine.bits(op.getValue());
  if (!prepareWrite(machine, op, first, op.getActive()))
    return;
  visitElements(first, [&](const CellPlace &place, unsigned shift) {
    Components value{wrap(word >> shift, place.info().format->bits)};
    machine.noteWrite(op, place.tree, place.node, place.at, value, /*isAtomic=*/false);
    place.tree.write(place.node, place.at, std::move(value));
  });
}

void interp::addQuantRules(RuleTable &table) {
  addRule<DecodeOp, decodeBits>(table);
  addRule<EncodeOp, encodeValue>(table);
  addRule<LoadSharedOp, loadShared>(table);
  addRule<UpdateOp, update>(table);
  addRule<StoreSharedOp, storeShared>(table);
  addRule<LoadWordOp, loadWord>(table);
  addRule<StoreWordOp, storeWord>(table);
}
