// What quantised members store, computed three times: by the interpreter in whole numbers, by the dialect in APFloats, and, where
// there are few numbers, by looking for the nearest one. Values are drawn with fixed seeds.
#include "metate/Interp/QuantNumbers.h"
#include "metate/Interp/Numbers.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>

using namespace metate;
using namespace metate::interp;

namespace {
uint64_t seed() {
  const char *given = std::getenv("METATE_TEST_SEED"); // of a long run
  return given ? std::strtoull(given, nullptr, 10) : 1;
}

class QuantNumbers : public testing::Test {
protected:
  QuantNumbers() : context(mlir::MLIRContext::Threading::DISABLED), random(seed()) {
    context.loadDialect<MetateDialect>();
    f32 = mlir::Float32Type::get(&context);
    f64 = mlir::Float64Type::get(&context);
  }

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }
  mlir::Type pickFloat() { return pick(0, 1) ? f32 : f64; }

  QuantFormat integer(unsigned bits, bool isSigned, unsigned width, bool isUnsigned) {
    auto sign = isUnsigned ? mlir::IntegerType::Unsigned : mlir::IntegerType::Signless;
    return {QuantFormat::Int, bits, isSigned, mlir::IntegerType::get(&context, width, sign)};
  }
  QuantFormat fixed(unsigned bits, bool isSigned, double scale, mlir::Type compute) {
    return {QuantFormat::Fixed, bits, isSigned, compute, 0, scale};
  }
  QuantFormat floating(unsigned exponent, unsigned digits, bool isSigned, mlir::Type compute,
                       bool isShared = false) {
    return {
        QuantFormat::Float, exponent + digits + isSigned, isSigned, compute, exponent, 0, isShared};
  }
  QuantFormat anyFloating(mlir::Type compute, bool isShared = false) {
    while (true) {
      unsigned exponent = unsigned(pick(1, compute == f32 ? 8 : 11));
      unsigned digits = unsigned(pick(1, compute == f32 ? 23 : 52));
      bool isSigned = pick(0, 1);
      if (exponent + digits + isSigned <= 64)
        return floating(exponent, digits, isSigned, compute, isShared);
    }
  }
  QuantFormat anyFixed(mlir::Type compute) {
    bool isSigned = pick(0, 1);
    unsigned bits = unsigned(pick(1, (compute == f32 ? 24 : 53) + isSigned));
    double scale = std::ldexp(1 + double(pick(0, 1 << 20)) / (1 << 20), int(pick(-40, 20)));
    return fixed(bits, isSigned, pick(0, 3) ? scale : std::ldexp(1.0, int(pick(-40, 20))), compute);
  }

  llvm::APFloat numberOf(const QuantFormat &format, uint64_t value) {
    return toFloat(format.compute, value);
  }
  uint64_t bitsOf(const QuantFormat &format, double value) {
    return fromDouble(format.compute, value);
  }

  /// Values at which rounding, range and sign are decided.
  std::vector<uint64_t> edges(const QuantFormat &format) {
    std::vector<uint64_t> all;
    bool isF64 = format.compute == f64;
    uint64_t sign = uint64_t(1) << (isF64 ? 63 : 31);
    for (double value : {0.0, 1.0, 0.5, 1.5, 2.5, 1e-3, 1e30, 65504.0, 2147483647.0, 2147483648.0,
                         9.2233720368547758e18, 4294967295.0, double(INFINITY), double(NAN)})
      all.push_back(bitsOf(format, value));
    uint64_t infinity = bitsOf(format, INFINITY);
    for (uint64_t bits : {uint64_t(1), uint64_t(2), infinity - 1, infinity + 1, infinity >> 1})
      all.push_back(bits);
    for (size_t k = 0, count = all.size(); k < count; ++k)
      all.push_back(all[k] | sign);
    return all;
  }

  uint64_t anyValue(const QuantFormat &format) {
    bool isF64 = format.compute == f64;
    uint64_t any = random();
    if (pick(0, 3) == 0)
      return isF64 ? any : uint32_t(any);
    // Of bits that are stored, or half way to the next, and a last digit beside.
    uint64_t stored = wrap(any, format.bits);
    double value = toDouble(format.compute, dequantise(format, stored));
    double next = toDouble(format.compute, dequantise(format, wrap(stored + 1, format.bits)));
    uint64_t bits = bitsOf(format, pick(0, 2) ? (value + next) / 2 : value * double(pick(0, 5)));
    return wrap(bits + uint64_t(pick(-1, 1)), isF64 ? 64 : 32);
  }

  void compareValue(const QuantFormat &format, uint64_t value) {
    uint64_t expected = wrap(encodeQuant(format, numberOf(format, value)));
    ASSERT_EQ(quantise(format, value).bits, expected)
        << "of " << show(format.compute, value) << " (" << value << ") " << text(format);
  }
  void compareBits(const QuantFormat &format, uint64_t bits) {
    llvm::APFloat expected = decodeQuant(format, llvm::APInt(format.bits, bits));
    ASSERT_EQ(dequantise(format, bits), wrap(expected.bitcastToAPInt()))
        << "of the bits " << bits << " " << text(format);
  }
  /// All bits where there are few, else some; values beside.
  void compareFormat(const QuantFormat &format, int values) {
    bool isSmall = format.bits <= 12;
    for (uint64_t k = 0; k < (isSmall ? uint64_t(1) << format.bits : 60); ++k)
      compareBits(format, isSmall ? k : wrap(random(), format.bits));
    for (uint64_t value : edges(format))
      compareValue(format, value);
    for (int k = 0; k < values; ++k)
      compareValue(format, anyValue(format));
  }

  static std::string text(const QuantFormat &format) {
    std::string text;
    llvm::raw_string_ostream(text)
        << "in kind " << int(format.kind) << ", " << format.bits << " bits, exponent "
        << format.exponentBits << (format.isSigned ? ", signed" : "")
        << (format.isShared ? ", shared" : "") << ", scale " << format.scale << ", "
        << format.compute;
    return text;
  }

  mlir::MLIRContext context;
  mlir::Type f32, f64;
  std::mt19937_64 random;
};

TEST_F(QuantNumbers, IntegersKeepTheirLowBits) {
  for (unsigned width : {8, 16, 32, 64})
    for (unsigned bits = 1; bits <= width; ++bits)
      for (int form = 0; form < 4; ++form) {
        QuantFormat format = integer(bits, form & 1, width, form & 2);
        for (int k = 0; k < 20; ++k) {
          uint64_t value = wrap(random() >> pick(0, 63), width);
          Quantised stored = quantise(format, value);
          EXPECT_EQ(stored.bits, wrap(encodeQuant(format, llvm::APInt(width, value))));
          llvm::APInt back(bits, stored.bits);
          back = format.isSigned ? back.sextOrTrunc(width) : back.zextOrTrunc(width);
          EXPECT_EQ(dequantise(format, stored.bits), wrap(back));
          // -1 and 2^64 - 1 have the same bits, but only where signs agree are they one number.
          bool changesSign =
              format.isSigned == format.compute.isUnsignedInteger() && value >> (width - 1);
          EXPECT_EQ(stored.isHeld, wrap(back) == value && !changesSign) << text(format) << value;
        }
      }
}

TEST_F(QuantNumbers, SmallFormatsAgreeOnAllTheirNumbers) {
  for (mlir::Type compute : {f32, f64})
    for (bool isSigned : {false, true}) {
      for (unsigned exponent = 1; exponent <= 8; ++exponent)
        for (unsigned digits = 1; exponent + digits + isSigned <= 12; ++digits)
          compareFormat(floating(exponent, digits, isSigned, compute), 200);
      for (unsigned bits = 1; bits <= 12; ++bits)
        for (double scale : {1.0, 0.25, 1e-3, 3.0, 1.0 / 3, 1e6, 0.1})
          compareFormat(fixed(bits, isSigned, scale, compute), 200);
    }
}

TEST_F(QuantNumbers, AllFormatsAgreeOnNumbersThatAreDrawn) {
  for (int k = 0; k < 1000; ++k) {
    compareFormat(anyFloating(pickFloat()), 100);
    compareFormat(anyFixed(pickFloat()), 100);
  }
}

TEST_F(QuantNumbers, FloatsAreRoundedToTheNearestHalfAwayFromZero) {
  for (int k = 0; k < 60; ++k) {
    QuantFormat format = floating(unsigned(pick(1, 5)), unsigned(pick(1, 5)), pick(0, 1), f32);
    uint64_t magnitudes = uint64_t(1) << (format.bits - format.isSigned);
    for (int draw = 0; draw < 300; ++draw) {
      double value = toDouble(f32, anyValue(format));
      if (!std::isfinite(value) || (std::signbit(value) && !format.isSigned))
        continue;
      uint64_t best = 0;
      auto distance = [&](uint64_t bits) {
        return std::fabs(std::fabs(value) - toDouble(f32, dequantise(format, bits)));
      };
      for (uint64_t bits = 0; bits < magnitudes; ++bits)
        if (distance(bits) <= distance(best)) // ascending: the last of two is further from zero
          best = bits;
      if (std::signbit(value))
        best |= magnitudes;
      ASSERT_EQ(quantise(format, bitsOf(format, value)).bits, best) << value << text(format);
    }
  }
}

TEST_F(QuantNumbers, SharedExponentsAgree) {
  for (int k = 0; k < 1500; ++k) {
    mlir::Type compute = pickFloat();
    std::vector<QuantFormat> formats;
    unsigned exponent = unsigned(pick(1, compute == f32 ? 8 : 11));
    for (int members = int(pick(2, 5)); members; --members) {
      unsigned digits = unsigned(pick(1, compute == f32 ? 23 : 52));
      formats.push_back(floating(exponent, digits, pick(0, 1), compute, true));
    }
    for (int draw = 0; draw < 20; ++draw) {
      std::vector<uint64_t> values;
      std::vector<llvm::APFloat> numbers;
      for (const QuantFormat &format : formats) {
        std::vector<uint64_t> special = edges(format);
        values.push_back(pick(0, 4) ? anyValue(format) : special[pick(0, special.size() - 1)]);
        numbers.push_back(numberOf(format, values.back()));
      }
      auto [field, fractions] = encodeShared(formats, numbers);
      auto stored = quantiseTogether(formats, values);
      for (size_t m = 0; m < formats.size(); ++m) {
        uint64_t expected = fractions[m] | field << formats[m].fractionBits();
        ASSERT_EQ(stored[m].bits, expected) << show(compute, values[m]) << " " << text(formats[m]);
        compareBits(formats[m], expected);
      }
    }
  }
}

TEST_F(QuantNumbers, WhatIsHeldComesBackButForRounding) {
  QuantFormat five = integer(5, true, 32, false), counts = integer(4, false, 32, true);
  EXPECT_TRUE(quantise(five, wrap(uint64_t(-16), 32)).isHeld);
  EXPECT_FALSE(quantise(five, 16).isHeld);
  EXPECT_FALSE(quantise(counts, wrap(uint64_t(-1), 32)).isHeld);
  QuantFormat thousandths = fixed(11, true, 1e-3, f32);
  auto holds = [&](const QuantFormat &format, double value) {
    return quantise(format, bitsOf(format, value)).isHeld;
  };
  EXPECT_TRUE(holds(thousandths, 1.0234)); // 1023 steps
  EXPECT_FALSE(holds(thousandths, 1.0236));
  EXPECT_TRUE(holds(thousandths, -1.024));
  EXPECT_FALSE(holds(thousandths, NAN));
  EXPECT_FALSE(holds(thousandths, 1e20));
  QuantFormat half = floating(5, 10, true, f32);
  EXPECT_TRUE(holds(half, 131008.0)); // the greatest exponent is a number's, too
  EXPECT_TRUE(holds(half, 131020.0)); // rounded down
  EXPECT_FALSE(holds(half, 131072.0));
  EXPECT_TRUE(holds(half, 1e-20));
  EXPECT_FALSE(holds(half, INFINITY));
  QuantFormat positive = floating(5, 10, false, f32);
  EXPECT_TRUE(holds(positive, -0.0));
  EXPECT_FALSE(holds(positive, -1e-20));
  QuantFormat shared = floating(5, 10, true, f32, true);
  EXPECT_TRUE(holds(shared, 130944.0));
  EXPECT_FALSE(holds(shared, 131072.0));
}
} // namespace
