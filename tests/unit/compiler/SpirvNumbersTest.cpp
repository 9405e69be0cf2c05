// Vulkan's exact quotients, square roots, remainders and whole numbers (Target/Vulkan/Spirv/Support/Numbers.c) against this machine's, from estimates that are as wrong
// as a device's may be.
#include <bit>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <random>

namespace {
std::mt19937_64 random(7);

/// Some units in the last place off.
template <typename Real> Real worse(Real value) {
  Real next = value;
  int steps = int(random() % 13) - 6;
  for (int k = 0; k < std::abs(steps); ++k)
    next = std::nextafter(next, steps < 0 ? Real(0) : Real(INFINITY));
  return next;
}

#define ESTIMATE(value) worse(value)
#include "metate/Target/Vulkan/Spirv/Support/Numbers.c"

template <typename Real> using Bits = std::conditional_t<sizeof(Real) == 4, uint32_t, uint64_t>;

/// Any bits; subnormal ones, near 1, limits and specials more often than chance would have them.
template <typename Real> Real anyNumber() {
  using Word = Bits<Real>;
  constexpr int mantissa = sizeof(Real) == 4 ? 23 : 52;
  Word bits = Word(random()), sign = Word(1) << (sizeof(Real) * 8 - 1);
  Word fraction = (Word(1) << mantissa) - 1;
  static const Real specials[] = {0,
                                  1,
                                  Real(INFINITY),
                                  Real(NAN),
                                  std::numeric_limits<Real>::denorm_min(),
                                  std::numeric_limits<Real>::min(),
                                  std::numeric_limits<Real>::max()};
  switch (random() % 6) {
  case 0:
    return std::bit_cast<Real>(Word(bits & (sign | fraction)));
  case 1:
    return std::copysign(specials[random() % std::size(specials)], bits & 1 ? Real(-1) : Real(1));
  case 2:
    return std::bit_cast<Real>(Word((bits & (sign | fraction)) | std::bit_cast<Word>(Real(1))));
  default:
    return std::bit_cast<Real>(bits);
  }
}

template <typename Real> bool same(Real a, Real b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<Bits<Real>>(a) == std::bit_cast<Bits<Real>>(b);
}

template <typename Real, typename Divide, typename Root, typename Remainder>
void compare(Divide divide, Root root, Remainder remainder) {
  for (int k = 0; k < 300000; ++k) {
    Real a = anyNumber<Real>(), b = anyNumber<Real>();
    ASSERT_TRUE(same(divide(a, b), a / b)) << a << " / " << b;
    ASSERT_TRUE(same(root(a), std::sqrt(a))) << "sqrt " << a;
    if (k % 10 == 0) {
      ASSERT_TRUE(same(remainder(a, b), std::fmod(a, b))) << a << " fmod " << b;
    }
  }
}

TEST(SpirvNumbers, AreExactFromEstimates) {
  compare<float>(metate_number_divide_f32, metate_number_sqrt_f32, metate_number_remainder_f32);
  compare<double>(metate_number_divide_f64, metate_number_sqrt_f64, metate_number_remainder_f64);
}

TEST(SpirvNumbers, AreWhole) {
  auto check = [](double value) {
    EXPECT_TRUE(same(metate_number_roundeven_f64(value), std::nearbyint(value))) << value;
    EXPECT_TRUE(same(metate_number_round_f64(value), std::round(value))) << value;
    EXPECT_TRUE(same(metate_number_trunc_f64(value), std::trunc(value))) << value;
  };
  for (int k = 0; k < 300000; ++k) {
    double value = anyNumber<double>();
    check(value);
    double near = std::ldexp(1 + double(random() >> 12) * 0x1p-52, int(random() % 56) - 2);
    check(near);
    double half = std::floor(near) + 0.5;
    for (double beside : {half, std::nextafter(half, 0.0), std::nextafter(half, INFINITY)}) {
      check(beside);
      check(-beside);
    }
  }
  for (double value : {0.5, std::nextafter(0.5, 1.0), 1.5, 0x1p52 - 0.5, 0x1p52, 0x1p53 + 2})
    check(value);
}

/// The nearest 16-bit number by looking at both neighbours in f64, of `digits` stored ones and the least exponent.
double nearest(double value, int digits, int least) {
  int exponent = std::max(value == 0 ? least : std::ilogb(value), least);
  return std::ldexp(std::nearbyint(std::ldexp(value, digits - exponent)), exponent - digits);
}
double decode(uint16_t bits, int digits, int bias) {
  int exponent = (bits & 0x7fff) >> digits, fraction = bits & ((1 << digits) - 1);
  double value = exponent ? std::ldexp((1 << digits) + fraction, exponent - bias - digits)
                          : std::ldexp(fraction, 1 - bias - digits);
  return bits & 0x8000 ? -value : value;
}

TEST(SpirvNumbers, RoundTo16Bits) {
  std::uniform_real_distribution<double> exponents(-30, 15), fractions(1, 2);
  for (int k = 0; k < 300000; ++k) {
    double value = std::ldexp(fractions(random), int(exponents(random)));
    if (k % 3 == 0) // half-way and beside it
      value = nearest(value, 10, -14) + std::ldexp(0.5 + (int(random() % 3) - 1) * 0x1p-38,
                                                   std::max(std::ilogb(value), -14) - 10);
    if (k % 2)
      value = -value;
    if (std::fabs(value) >= 65504)
      continue;
    EXPECT_EQ(decode(metate_number_f16_of_f64(value), 10, 15), nearest(value, 10, -14)) << value;
    EXPECT_EQ(decode(metate_number_bf16_of_f64(value), 7, 127), nearest(value, 7, -126)) << value;
    float single = float(value);
    EXPECT_EQ(decode(metate_number_f16_of_f32(single), 10, 15), nearest(single, 10, -14)) << single;
    EXPECT_EQ(decode(metate_number_bf16_of_f32(single), 7, 127), nearest(single, 7, -126))
        << single;
  }
  EXPECT_EQ(metate_number_f16_of_f32(65520.0f), 0x7c00);
  EXPECT_EQ(metate_number_f16_of_f32(65519.0f), 0x7bff);
  EXPECT_EQ(metate_number_f16_of_f32(INFINITY), 0x7c00);
  EXPECT_GT(metate_number_f16_of_f32(NAN) & 0x7fff, 0x7c00);
  EXPECT_GT(metate_number_bf16_of_f64(NAN) & 0x7fff, 0x7f80);
}
} // namespace
