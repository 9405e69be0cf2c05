//===- QuantChecks.cpp - values that quantised members cannot hold -*- C++ -*-===//
#include "metate/Interp/QuantChecks.h"

#include "metate/Interp/QuantNumbers.h"

using namespace mlir;
using namespace metate;
using namespace metate::interp;

using AtomicKind = arith::AtomicRMWKind;

static constexpr StringRef rangeCheck = "quant-range";

void interp::checkStored(Machine &machine, Operation *op, Type type, const QuantFormat &format,
                         uint64_t value) {
  Quantised stored = quantise(format, value);
  if (stored.isHeld || machine.isKnown(rangeCheck, op))
    return;
  machine.report(rangeCheck, op,
                 show(format.compute, value) + " does not fit " + shownQuant(type) +
                     " and becomes " + show(format.compute, dequantise(format, stored.bits)));
}

/// The value that the bits were encoded from; nullopt after the stages that write that as arithmetic.
static std::optional<uint64_t> sourceOfBits(Machine &machine, Value bits) {
  if (auto exchange = bits.getDefiningOp<ExchangeIfOp>())
    bits = exchange.getDesired();
  auto encode = bits.getDefiningOp<EncodeOp>();
  return encode ? std::optional(machine.components(encode.getValue())[0]) : std::nullopt;
}

void interp::checkStored(Machine &machine, Operation *op, Type type, const QuantFormat &format,
                         Value bits) {
  if (std::optional<uint64_t> value = sourceOfBits(machine, bits))
    checkStored(machine, op, type, format, *value);
}

/// What the integer counts: of a fixed one, a value.
static std::string shownCount(const QuantFormat &format, __int128 count) {
  if (format.kind == QuantFormat::Fixed)
    return show(format.compute, fromDouble(format.compute, double(count) * format.scale));
  llvm::APInt bits(128, {uint64_t(count), uint64_t(count >> 64)});
  return llvm::toString(bits, 10, /*Signed=*/true);
}

/// What is added to the stored integer, from the value before it lost its high bits; of a difference, what is taken from it.
/// Nullopt where a store could not say the value, or where it is not known.
static std::optional<__int128> operandOf(Machine &machine, AtomicOp op, const QuantFormat &format) {
  bool subtracts = op->hasAttr(mark::subtracts);
  std::optional<uint64_t> value = sourceOfBits(machine, op.getValue());
  if (!value)
    return std::nullopt;
  if (format.kind == QuantFormat::Fixed) {
    std::optional<int64_t> steps = stepsOf(format, *value);
    return steps ? std::optional<__int128>(subtracts ? -*steps : *steps) : std::nullopt;
  }
  unsigned width = widthOf(format.compute);
  uint64_t bits =
      subtracts ? wrap(0 - *value, width) : *value; // what was written, before it was negated
  return format.compute.isUnsignedInteger() ? __int128(bits) : __int128(signedOf(bits, width));
}

static void checkSum(Machine &machine, AtomicOp op, Type type, const QuantFormat &format,
                     __int128 before, __int128 operand) {
  bool isProduct = op.getKind() == AtomicKind::muli, subtracts = op->hasAttr(mark::subtracts);
  __int128 exact = isProduct ? before * operand : subtracts ? before - operand : before + operand;
  __int128 now = countOfBits(format, wrap(uint64_t(exact), format.bits));
  if (format.bits == 64 && !format.isSigned)
    now = uint64_t(now);
  if (now == exact || machine.isKnown(rangeCheck, op))
    return;
  machine.report(rangeCheck, op,
                 shownCount(format, before) +
                     (isProduct   ? " * "
                      : subtracts ? " - "
                                  : " + ") +
                     inBrackets(shownCount(format, operand)) + " is " + shownCount(format, exact) +
                     ", which does not fit " + shownQuant(type) + " and becomes " +
                     shownCount(format, now));
}

void interp::checkCombined(Machine &machine, AtomicOp op, Type type, const QuantFormat &format,
                           uint64_t old) {
  std::optional<__int128> operand = operandOf(machine, op, format);
  bool combines = op.getKind() == AtomicKind::addi || op.getKind() == AtomicKind::muli;
  if (!combines || !operand)
    return checkStored(machine, op, type, format, op.getValue());
  __int128 before = format.isSigned ? __int128(countOfBits(format, old)) : __int128(old);
  checkSum(machine, op, type, format, before, *operand);
}
