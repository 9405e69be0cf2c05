// f16 and bf16 conversions on CPUs without instructions for them, against a table of all values.
#include "Saxpy.h"

#include "metate/Jit/Jit.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace metate;
using namespace metate::test;

namespace {
/// A 16-bit format with `exponent` exponent bits.
struct Format {
  const char *name;
  int exponent;
  int mantissa() const { return 15 - exponent; }

  double decode(uint16_t bits) const {
    int biased = (bits & 0x7fff) >> mantissa(), bias = (1 << (exponent - 1)) - 1;
    int fraction = bits & ((1 << mantissa()) - 1);
    double value = biased ? std::ldexp((1 << mantissa()) + fraction, biased - bias - mantissa())
                          : std::ldexp(fraction, 1 - bias - mantissa());
    if (biased == (1 << exponent) - 1)
      value = fraction ? NAN : INFINITY;
    return bits & 0x8000 ? -value : value;
  }
  uint16_t infinity() const { return uint16_t(((1 << exponent) - 1) << mantissa()); }

  /// Nearest value, ties to the even one; what rounds past the largest finite value is infinite.
  /// Magnitudes of consecutive bit patterns ascend, so the pattern is found by bisection.
  uint16_t encode(double value) const {
    uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    double magnitude = std::fabs(value);
    uint16_t low = 0, high = infinity();
    while (high - low > 1) {
      uint16_t middle = uint16_t((low + high) / 2);
      (decode(middle) <= magnitude ? low : high) = middle;
    }
    if (std::isinf(magnitude))
      return uint16_t(sign | infinity());
    double below = magnitude - decode(low);
    double next = high == infinity() ? 2 * decode(uint16_t(high - 1)) - decode(uint16_t(high - 2))
                                     : decode(high);
    double above = next - magnitude;
    bool up = above < below || (above == below && (low & 1));
    return uint16_t(sign | (up ? high : low));
  }
};
constexpr Format formats[] = {{"f16", 5}, {"bf16", 8}};

/// A kernel that converts slot 0 of type `from` and stores it, as type `to`, in slot 1.
class Conversion {
public:
  Conversion(const char *from, const char *to, const char *op, const char *cpu) {
    std::string text =
        std::string("metate.interface @k entry \"e\" tasks 0 []\n"
                    "llvm.func @e(%s: !llvm.ptr, %a: !llvm.ptr, %b: !llvm.ptr) -> i32 {\n"
                    "%v = llvm.load %s : !llvm.ptr -> ") +
        from + "\n%r = llvm." + op + " %v : " + from + " to " + to +
        "\n%at = llvm.getelementptr %s[1] : (!llvm.ptr) -> !llvm.ptr, i64\n"
        "llvm.store %r, %at : " +
        to +
        ", !llvm.ptr\n"
        "%z = llvm.mlir.constant(0 : i32) : i32\nllvm.return %z : i32\n}";
    Compiled compiled(text);
    llvm::cantFail(emitFor(*compiled.module, {cpu}));
    module = llvm::cantFail(jit->add(*compiled.module, *named("native")));
  }
  template <typename To, typename From> To run(From value) const {
    metate_slot slots[2] = {};
    std::memcpy(&slots[0], &value, sizeof value);
    EXPECT_EQ(module->entries()[0](slots, nullptr, nullptr), METATE_OK);
    To result;
    std::memcpy(&result, &slots[1], sizeof result);
    return result;
  }

private:
  std::unique_ptr<Jit> jit = llvm::cantFail(Jit::create());
  std::unique_ptr<JitModule> module;
};

/// Random bit patterns, and what lies on and beside each value of the format and each tie.
template <typename Float, typename Bits> std::vector<Float> samples(const Format &format) {
  std::mt19937_64 random(7);
  std::vector<Float> values;
  for (int k = 0; k < 20000; ++k) {
    Bits bits = Bits(random());
    Float value;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isnan(value))
      values.push_back(value);
  }
  for (uint32_t bits = 0; bits < format.infinity(); bits += 7) {
    Float at = Float(format.decode(uint16_t(bits))),
          next = Float(format.decode(uint16_t(bits + 1)));
    for (Float value : {at, Float(at + (next - at) / 2)})
      if (std::isfinite(value))
        for (Float near :
             {value, std::nextafter(value, Float(0)), std::nextafter(value, Float(INFINITY))})
          values.insert(values.end(), {near, -near});
  }
  return values;
}
} // namespace

template <typename Float, typename Bits> static void checkNarrowing(const char *from) {
  for (const Format &format : formats)
    for (const char *cpu : {"x86-64", "native"}) {
      Conversion conversion(from, format.name, "fptrunc", cpu);
      unsigned wrong = 0;
      for (Float value : samples<Float, Bits>(format)) {
        uint16_t got = conversion.run<uint16_t>(value);
        // Hardware's f32 to bf16 takes denormals for zero.
        if (cpu[0] == 'n' && (got & 0x7fff) == 0 && std::fabs(value) < 1e-37)
          continue;
        if (got != format.encode(double(value)) && ++wrong < 5)
          ADD_FAILURE() << format.name << " of " << value << " on " << cpu << ": got " << got
                        << ", expected " << format.encode(double(value));
      }
      EXPECT_EQ(wrong, 0u);
      uint16_t nan = conversion.run<uint16_t>(Float(NAN));
      EXPECT_TRUE(std::isnan(format.decode(nan))) << format.name << " on " << cpu;
    }
}

TEST(HalfConversions, NarrowFromF32) { checkNarrowing<float, uint32_t>("f32"); }
TEST(HalfConversions, NarrowFromF64) { checkNarrowing<double, uint64_t>("f64"); }

TEST(HalfConversions, WidenExactly) {
  for (const Format &format : formats) {
    Conversion toF32(format.name, "f32", "fpext", "x86-64"),
        toF64(format.name, "f64", "fpext", "x86-64");
    for (uint32_t bits = 0; bits < 0x10000; bits += 3) {
      double expected = format.decode(uint16_t(bits));
      float single = toF32.run<float>(uint16_t(bits));
      double wide = toF64.run<double>(uint16_t(bits));
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(single) && std::isnan(wide));
      else
        EXPECT_TRUE(double(single) == expected && wide == expected) << format.name << " " << bits;
    }
  }
}
