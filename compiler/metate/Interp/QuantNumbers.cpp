//===- QuantNumbers.cpp - what quantised members store ----------*- C++ -*-===//
#include "metate/Interp/QuantNumbers.h"

#include "metate/Interp/Numbers.h"

#include "llvm/ADT/bit.h"

#include <algorithm>

using namespace mlir;
using namespace metate;
using namespace metate::interp;

//===-- numbers -------------------------------------------------------------===//

namespace {
using Digits = unsigned __int128;

/// digits * 2^unit, exactly.
struct Exact {
  Digits digits = 0;
  int unit = 0;
  bool isNegative = false;
  enum { Finite, Infinite, NaN } kind = Finite;
};

/// A float type that kernels compute with.
struct Ieee {
  int digits;   ///< the hidden one included
  int exponent; ///< bits
  explicit Ieee(bool isF64) : digits(isF64 ? 53 : 24), exponent(isF64 ? 11 : 8) {}
  explicit Ieee(const QuantFormat &format) : Ieee(format.compute.isF64()) {}
  /// What the lowest digit of the least numbers counts: 2^least.
  int least() const { return 3 - digits - (1 << (exponent - 1)); }
  uint64_t greatestField() const { return (uint64_t(1) << exponent) - 1; }
};
} // namespace

static int lengthOf(Digits digits) {
  auto high = uint64_t(digits >> 64), low = uint64_t(digits);
  return high ? 128 - llvm::countl_zero(high) : 64 - llvm::countl_zero(low);
}

static Exact exactly(Ieee ieee, uint64_t bits) {
  uint64_t below = wrap(bits, ieee.digits - 1);
  uint64_t field = wrap(bits >> (ieee.digits - 1), ieee.exponent);
  Exact number;
  number.isNegative = bits >> (ieee.digits - 1 + ieee.exponent) & 1;
  if (field == ieee.greatestField())
    number.kind = below ? Exact::NaN : Exact::Infinite;
  number.digits = field ? below | uint64_t(1) << (ieee.digits - 1) : below;
  number.unit = ieee.least() + int(field ? field - 1 : 0);
  return number;
}

/// How often 2^unit goes into the magnitude: the next whole number, half away from zero or to even. What is very many is 2^120.
static Digits stepsIn(const Exact &number, int unit, bool toEven = false) {
  constexpr int most = 120;
  int drop = unit - number.unit;
  if (!number.digits)
    return 0;
  if (drop <= 0)
    return lengthOf(number.digits) - drop > most ? Digits(1) << most : number.digits << -drop;
  if (drop > 127)
    return 0;
  Digits whole = number.digits >> drop, half = Digits(1) << (drop - 1);
  Digits rest = number.digits - (whole << drop);
  return whole + (rest > half || (rest == half && (!toEven || (whole & 1))));
}

/// The bits of the next number of the type, half to even.
static uint64_t roundedTo(Ieee ieee, const Exact &number) {
  int unit = std::max(ieee.least(), number.unit + lengthOf(number.digits) - ieee.digits);
  auto digits = uint64_t(stepsIn(number, unit, /*toEven=*/true));
  uint64_t hidden = uint64_t(1) << (ieee.digits - 1);
  if (digits == 2 * hidden) {
    digits = hidden;
    ++unit;
  }
  uint64_t field = digits < hidden ? 0 : uint64_t(unit - ieee.least()) + 1;
  uint64_t sign = uint64_t(number.isNegative) << (ieee.digits - 1 + ieee.exponent);
  if (field >= ieee.greatestField())
    return sign | ieee.greatestField() << (ieee.digits - 1);
  return sign | field << (ieee.digits - 1) | (digits & (hidden - 1));
}

static Exact rounded(Ieee ieee, const Exact &number) {
  return exactly(ieee, roundedTo(ieee, number));
}

static Exact product(Exact a, const Exact &b) {
  a.digits *= b.digits; // 53 each
  a.unit += b.unit;
  a.isNegative ^= b.isNegative;
  return a;
}

static Exact exactScale(const QuantFormat &format) {
  return exactly(Ieee(true), llvm::bit_cast<uint64_t>(format.scale));
}

//===-- integers and fixed ones ---------------------------------------------===//

int64_t interp::countOfBits(const QuantFormat &format, uint64_t bits) {
  return format.isSigned ? signedOf(bits, format.bits) : int64_t(bits);
}

static Quantised quantiseInteger(const QuantFormat &format, uint64_t value) {
  unsigned width = widthOf(format.compute);
  Quantised result{wrap(value, format.bits)};
  bool isUnsigned = format.compute.isUnsignedInteger();
  auto wide = [](uint64_t bits, unsigned width, bool isSigned) {
    return isSigned ? __int128(signedOf(bits, width)) : __int128(bits);
  };
  result.isHeld =
      wide(value, width, !isUnsigned) == wide(result.bits, format.bits, format.isSigned);
  return result;
}

/// 1 / scale as f64 has it, then as the compute type has that.
static Exact reciprocalOf(const QuantFormat &format) {
  Exact scale = exactScale(format), quotient;
  Digits one = Digits(1) << 120; // more digits than any type has
  quotient.digits = one / scale.digits << 1 | (one % scale.digits != 0);
  quotient.unit = -121 - scale.unit;
  return rounded(Ieee(format), rounded(Ieee(true), quotient));
}

std::optional<int64_t> interp::stepsOf(const QuantFormat &format, uint64_t value) {
  Ieee ieee(format);
  Exact number = exactly(ieee, value);
  if (number.kind != Exact::Finite)
    return std::nullopt;
  Exact quotient = rounded(ieee, product(number, reciprocalOf(format)));
  Digits steps = stepsIn(quotient, 0);
  if (quotient.kind != Exact::Finite || steps >= Digits(1) << (format.bits < 32 ? 31 : 63))
    return std::nullopt;
  return quotient.isNegative ? -int64_t(steps) : int64_t(steps);
}

static Quantised quantiseFixed(const QuantFormat &format, uint64_t value) {
  std::optional<int64_t> steps = stepsOf(format, value);
  Quantised result{wrap(uint64_t(steps.value_or(0)), format.bits)};
  result.isHeld = steps && *steps == countOfBits(format, result.bits);
  return result;
}

static uint64_t valueOfFixed(const QuantFormat &format, uint64_t bits) {
  Ieee ieee(format);
  int64_t count = countOfBits(format, bits);
  Exact whole;
  whole.isNegative = count < 0;
  whole.digits = whole.isNegative ? 0 - uint64_t(count) : uint64_t(count);
  return roundedTo(ieee, product(rounded(ieee, whole), rounded(ieee, exactScale(format))));
}

//===-- floats --------------------------------------------------------------===//

namespace {
/// A number as a member without a sign cannot have it, and no NaN: what is left of it.
struct Kept {
  Exact number;
  bool isHeld;

  Kept(const QuantFormat &format, uint64_t value) : number(exactly(Ieee(format), value)) {
    isHeld =
        number.kind == Exact::Finite && (format.isSigned || !number.isNegative || !number.digits);
    if (number.kind == Exact::NaN || (number.isNegative && !format.isSigned))
      number = Exact();
  }
};
} // namespace

/// The number is a whole number below 2^(digits + 1) of the unit that its own magnitude, or else the least exponent, says.
static Quantised quantiseFloat(const QuantFormat &format, uint64_t value) {
  Kept kept(format, value);
  const Exact &number = kept.number;
  int digits = int(format.digits()), bias = int(format.bias());
  int greatest = int(format.greatestExponent());
  Digits hidden = Digits(1) << digits;
  int top = number.unit + lengthOf(number.digits) - 1;
  int unit = std::max(top, 1 - bias) - digits;
  Digits steps = stepsIn(number, unit);
  if (steps == 2 * hidden) {
    steps = hidden;
    ++unit;
  }
  int field = steps < hidden ? 0 : unit + digits + bias;
  if (number.kind == Exact::Infinite || field > greatest) {
    steps = 2 * hidden - 1;
    field = greatest;
    kept.isHeld = false;
  }
  uint64_t bits = uint64_t(field) << digits | uint64_t(steps & (hidden - 1));
  if (number.isNegative)
    bits |= uint64_t(1) << (format.bits - 1);
  return {bits, kept.isHeld};
}

/// What the lowest digit of a number counts that shares this exponent: 2^unit.
static int sharedUnit(const QuantFormat &format, int exponent) {
  return exponent - int(format.bias()) - (int(format.digits()) - 1);
}

static Digits mostDigits(const QuantFormat &format) { return (Digits(1) << format.digits()) - 1; }

SmallVector<Quantised> interp::quantiseTogether(ArrayRef<QuantFormat> formats,
                                                ArrayRef<uint64_t> values) {
  SmallVector<Kept> all;
  int greatest = int(formats[0].greatestExponent());
  for (auto [format, value] : llvm::zip(formats, values)) {
    Kept &kept = all.emplace_back(format, value);
    Exact most = kept.number; // held in range
    most.digits = mostDigits(format);
    most.unit = sharedUnit(format, greatest);
    bool isBeyond =
        kept.number.kind == Exact::Infinite || stepsIn(kept.number, most.unit) > most.digits;
    kept.isHeld &= !isBeyond;
    if (!isBeyond)
      continue;
    most.kind = Exact::Finite;
    kept.number = most;
  }
  auto fits = [&](int exponent) {
    return llvm::all_of(llvm::zip(formats, all), [&](auto pair) {
      auto &[format, kept] = pair;
      return stepsIn(kept.number, sharedUnit(format, exponent)) <= mostDigits(format);
    });
  };
  int exponent = 0;
  while (exponent < greatest && !fits(exponent))
    ++exponent;
  SmallVector<Quantised> result;
  for (auto [format, kept] : llvm::zip(formats, all)) {
    auto bits = uint64_t(stepsIn(kept.number, sharedUnit(format, exponent)));
    bits |= uint64_t(kept.number.isNegative) << format.digits();
    result.push_back({bits | uint64_t(exponent) << format.fractionBits(), kept.isHeld});
  }
  return result;
}

static uint64_t valueOfFloat(const QuantFormat &format, uint64_t bits) {
  unsigned digits = format.digits();
  Exact number;
  number.digits = wrap(bits, digits);
  number.isNegative = format.isSigned && (bits >> (format.isShared ? digits : format.bits - 1) & 1);
  auto field =
      int(wrap(bits >> (format.isShared ? format.fractionBits() : digits), format.exponentBits));
  if (format.isShared) {
    number.unit = sharedUnit(format, field);
  } else {
    if (field)
      number.digits |= Digits(1) << digits;
    number.unit = std::max(field, 1) - int(format.bias()) - int(digits);
  }
  return roundedTo(Ieee(format), number);
}

//===-- all -----------------------------------------------------------------===//

Quantised interp::quantise(const QuantFormat &format, uint64_t value) {
  if (format.kind == QuantFormat::Int)
    return quantiseInteger(format, value);
  if (format.kind == QuantFormat::Fixed)
    return quantiseFixed(format, value);
  return format.isShared ? quantiseTogether(format, value)[0] : quantiseFloat(format, value);
}

uint64_t interp::dequantise(const QuantFormat &format, uint64_t bits) {
  if (format.kind == QuantFormat::Int)
    return wrap(uint64_t(countOfBits(format, bits)), widthOf(format.compute));
  return format.kind == QuantFormat::Fixed ? valueOfFixed(format, bits)
                                           : valueOfFloat(format, bits);
}
