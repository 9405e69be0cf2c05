//===- RulesQuant.cpp - stored bits and values ------------------*- C++ -*-===//
#include "metate/Interp/QuantNumbers.h"
#include "metate/Interp/Rules.h"

using namespace mlir;
using namespace metate;
using namespace metate::interp;

static void decodeBits(Machine &machine, DecodeOp op) {
  QuantFormat format = *QuantFormat::of(op.getFormat(), op.getShared());
  elementwise(machine, op, [&](ArrayRef<uint64_t> in) { return dequantise(format, in[0]); });
}

/// What a member cannot hold is found where it is stored (QuantChecks.h).
static void encodeValue(Machine &machine, EncodeOp op) {
  QuantFormat format = *QuantFormat::of(op.getFormat());
  elementwise(machine, op, [&](ArrayRef<uint64_t> in) { return quantise(format, in[0]).bits; });
}

void interp::addQuantRules(RuleTable &table) {
  addRule<DecodeOp, decodeBits>(table);
  addRule<EncodeOp, encodeValue>(table);
}
