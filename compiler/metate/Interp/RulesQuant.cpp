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
                      op.getKind() != arith::AtomicRMWKind::assign);
  }
  machine.set(op, old);
}

void interp::addQuantRules(RuleTable &table) {
  addRule<DecodeOp, decodeBits>(table);
  addRule<EncodeOp, encodeValue>(table);
  addRule<LoadSharedOp, loadShared>(table);
  addRule<UpdateOp, update>(table);
}
