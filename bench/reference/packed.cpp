// B11: numbers that share words. Vectors of three and matrices of nine are decoded, changed and
// encoded, a word at a time ("plain"), or a number of each of a block of words at a time, which
// compilers make vectors of; sums that meet go by compare and swap, or each thread has some of the
// cells; elements of four bits go by words.
#include "reference.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <vector>

namespace {

constexpr std::int64_t block = 64;

// Bits `at` to `at + bits` of a word as a number with a sign.
template <int at, int bits> std::int32_t whole(std::uint64_t word) {
  constexpr std::int32_t sign = 1 << (bits - 1);
  return (std::int32_t(word >> at & ((1 << bits) - 1)) ^ sign) - sign;
}

// The next whole number, half away from zero.
std::int32_t nearest(float value) { return std::int32_t(value + std::copysign(0.5f, value)); }

// -- vectors of three ----------------------------------------------------------------------------

struct Plain3 {
  static constexpr float offsets[] = {0.25f, -0.5f, 0.125f};
  struct Stored {
    float x[3];
  };
  static void decode(Stored s, float *x) {
    for (int k = 0; k < 3; ++k)
      x[k] = s.x[k];
  }
  static float changed(float value, int k) { return value * 0.5f + offsets[k]; }
  static Stored encode(const float *x) { return {{x[0], x[1], x[2]}}; }
};

struct Fixed3 : Plain3 {
  using Stored = std::uint32_t;
  static void decode(Stored s, float *x) {
    x[0] = float(whole<0, 10>(s)) * (1.0f / 256);
    x[1] = float(whole<10, 10>(s)) * (1.0f / 256);
    x[2] = float(whole<20, 10>(s)) * (1.0f / 256);
  }
  static Stored encode(const float *x) {
    Stored s = 0;
    for (int k = 0; k < 3; ++k)
      s |= Stored(nearest(x[k] * 256.0f) & 1023) << 10 * k;
    return s;
  }
};

struct Int3 {
  static constexpr std::int32_t offsets[] = {1, -3, 7};
  using Stored = std::uint32_t;
  // Whole numbers need no sign to be changed modulo 1024.
  static void decode(Stored s, std::int32_t *x) {
    for (int k = 0; k < 3; ++k)
      x[k] = std::int32_t(s >> 10 * k);
  }
  static std::int32_t changed(std::int32_t value, int k) { return value * 3 + offsets[k]; }
  static Stored encode(const std::int32_t *x) {
    return Stored(x[0] & 1023) | Stored(x[1] & 1023) << 10 | Stored(x[2] & 1023) << 20;
  }
  static void read(Stored s, float *x) {
    x[0] = float(whole<0, 10>(s)), x[1] = float(whole<10, 10>(s)), x[2] = float(whole<20, 10>(s));
  }
  static Stored made(const float *x) {
    std::int32_t numbers[] = {nearest(x[0]), nearest(x[1]), nearest(x[2])};
    return encode(numbers);
  }
};

// Three of nine digits without a sign, above an exponent of five: digits * 2^(exponent - 15 - 8).
struct Shared3 {
  static constexpr float offsets[] = {0.5f, 1.0f, 2.0f};
  using Stored = std::uint32_t;
  static float power(std::int32_t exponent) {
    return std::bit_cast<float>(std::uint32_t(exponent + 127) << 23);
  }
  static void decode(Stored s, float *x) {
    float unit = power(std::int32_t(s & 31) - 23);
    for (int k = 0; k < 3; ++k)
      x[k] = float(std::int32_t(s >> (5 + 9 * k) & 511)) * unit;
  }
  static float changed(float value, int k) { return value * 0.5f + offsets[k]; }
  static Stored encode(const float *x) {
    float greatest = 511.0f * power(31 - 23), a[3];
    for (int k = 0; k < 3; ++k) {
      a[k] = x[k] > 0 ? x[k] : 0;
      a[k] = a[k] < greatest ? a[k] : greatest;
    }
    float most = a[0] > a[1] ? a[0] : a[1];
    most = most > a[2] ? most : a[2];
    std::int32_t e = std::int32_t(std::bit_cast<std::uint32_t>(most) >> 23) - 127 + 15;
    e = e > 0 ? e : 0;
    e += std::int32_t(most * power(23 - e) + 0.5f) > 511; // rounded up to one more digit
    float inverse = power(23 - e);
    Stored s = Stored(e);
    for (int k = 0; k < 3; ++k)
      s |= Stored(std::int32_t(a[k] * inverse + 0.5f)) << (5 + 9 * k);
    return s;
  }
};

// -- matrices: nine fixed numbers of seven bits ---------------------------------------------------

struct Fixed9 {
  using Stored = std::uint64_t;
  static void decode(Stored s, float *x) {
    for (int k = 0; k < 9; ++k)
      x[k] = float((std::int32_t(s >> 7 * k & 127) ^ 64) - 64) * (1.0f / 32);
  }
  static void turned(const float *x, float *y) {
    constexpr float turn[3][3] = {{0.5f, 0.5f, 0}, {-0.5f, 0.5f, 0}, {0, 0.25f, 1}};
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c)
        y[3 * r + c] =
            x[3 * r] * turn[0][c] + x[3 * r + 1] * turn[1][c] + x[3 * r + 2] * turn[2][c];
  }
  static Stored encode(const float *x) {
    Stored s = 0;
    for (int k = 0; k < 9; ++k)
      s |= Stored(nearest(x[k] * 32.0f) & 127) << 7 * k;
    return s;
  }
};

// What the kinds do to the numbers of one word, and how they come from and go to f32.
template <typename Kind> struct Change {
  static constexpr int count = 3;
  using Number = float;
  static void change(const float *x, float *y) {
    for (int k = 0; k < 3; ++k)
      y[k] = Kind::changed(x[k], k);
  }
  static void read(typename Kind::Stored s, float *x) { Kind::decode(s, x); }
  static typename Kind::Stored made(const float *x) { return Kind::encode(x); }
};

template <> struct Change<Int3> {
  static constexpr int count = 3;
  using Number = std::int32_t;
  static void change(const Number *x, Number *y) {
    for (int k = 0; k < 3; ++k)
      y[k] = Int3::changed(x[k], k);
  }
  static void read(std::uint32_t s, float *x) { Int3::read(s, x); }
  static std::uint32_t made(const float *x) { return Int3::made(x); }
};

template <> struct Change<Fixed9> {
  static constexpr int count = 9;
  using Number = float;
  static void change(const float *x, float *y) { Fixed9::turned(x, y); }
  static void read(std::uint64_t s, float *x) { Fixed9::decode(s, x); }
  static std::uint64_t made(const float *x) { return Fixed9::encode(x); }
};

template <typename Kind, bool byPlanes> class Update : public Reference {
public:
  using Stored = typename Kind::Stored;
  using Number = typename Change<Kind>::Number;
  static constexpr int count = Change<Kind>::count;

  explicit Update(const Setup &setup)
      : n(std::int64_t(setup.numbers[0])), x(std::size_t(n), nullptr) {
    const float *from = static_cast<const float *>(setup.inputs[0]);
    for (std::int64_t i = 0; i < n; ++i)
      x[i] = Change<Kind>::made(from + count * i);
  }

  void step() override {
    parallelParts(n, [&](std::int64_t begin, std::int64_t end, int) {
      if constexpr (byPlanes)
        for (; begin + block <= end; begin += block)
          planes(x.get() + begin);
      for (std::int64_t i = begin; i < end; ++i) {
        Number old[count], now[count];
        Kind::decode(x[i], old);
        Change<Kind>::change(old, now);
        x[i] = Kind::encode(now);
      }
    });
  }

  void read(void *const *outputs) override {
    float *to = static_cast<float *>(outputs[0]);
    for (std::int64_t i = 0; i < n; ++i)
      Change<Kind>::read(x[i], to + count * i);
  }

private:
  static void planes(Stored *words) {
    Number old[count][block], now[count][block];
    for (std::int64_t i = 0; i < block; ++i) {
      Number one[count];
      Kind::decode(words[i], one);
      for (int k = 0; k < count; ++k)
        old[k][i] = one[k];
    }
    for (std::int64_t i = 0; i < block; ++i) {
      Number one[count], other[count];
      for (int k = 0; k < count; ++k)
        one[k] = old[k][i];
      Change<Kind>::change(one, other);
      for (int k = 0; k < count; ++k)
        now[k][i] = other[k];
    }
    for (std::int64_t i = 0; i < block; ++i) {
      Number one[count];
      for (int k = 0; k < count; ++k)
        one[k] = now[k][i];
      words[i] = Kind::encode(one);
    }
  }

  std::int64_t n;
  Buffer<Stored> x;
};

// -- one number among others: 0.25 more ------------------------------------------------------------

// A fixed one of 13 bits that counts sixteenths: 4 more of them.
struct FixedMember {
  static constexpr int bits = 13;
  static std::uint32_t added(std::uint32_t word) { return (word & ~8191u) | ((word + 4) & 8191); }
  static float read(std::uint32_t word) { return float(whole<0, 13>(word)) * (1.0f / 16); }
  static std::uint32_t made(float value) { return std::uint32_t(nearest(value * 16)) & 8191; }
};

// Twelve digits, an exponent of six bits, the sign; from the lowest bit on.
struct FloatMember {
  static constexpr int bits = 19;
  static std::uint32_t added(std::uint32_t word) {
    return (word & ~((1u << 19) - 1)) | made(read(word) + 0.25f);
  }
  // Numbers of such an exponent are normal ones of f32, but for those of exponent 0, which have no
  // hidden digit: they are scaled by a product.
  static float read(std::uint32_t word) {
    std::uint32_t digits = word & 4095, exponent = word >> 12 & 63;
    float small = float(std::int32_t(digits)) * 0x1p-42f;
    float normal = std::bit_cast<float>(digits << 11 | (exponent + 127 - 31) << 23);
    float size = exponent ? normal : small;
    return word >> 18 & 1 ? -size : size;
  }
  static std::uint32_t made(float value) {
    std::uint32_t all = std::bit_cast<std::uint32_t>(value), sign = all >> 31,
                  size = all & 0x7fffffff;
    // The least number is 2^-42; below 2^-30 steps are as large.
    std::uint32_t small = std::uint32_t(std::int32_t(std::bit_cast<float>(size) * 0x1p42f + 0.5f));
    std::uint32_t normal = ((size + 1024) >> 11) - ((127 - 31) << 12);
    std::uint32_t greatest = (1u << 18) - 1;
    normal = normal < greatest ? normal : greatest;
    std::uint32_t bits = size < (127u - 30) << 23 ? small : normal;
    return bits | sign << 18;
  }
};

template <typename Kind> class Member : public Reference {
public:
  explicit Member(const Setup &setup)
      : n(std::int64_t(setup.numbers[0])), x(std::size_t(n), nullptr) {
    const float *from = static_cast<const float *>(setup.inputs[0]);
    for (std::int64_t i = 0; i < n; ++i)
      x[i] = Kind::made(from[i]) | std::uint32_t(i & 8191) << Kind::bits;
  }

  void step() override {
    parallelParts(n, [&](std::int64_t begin, std::int64_t end, int) {
      std::uint32_t *__restrict words = x.get();
      for (std::int64_t i = begin; i < end; ++i)
        words[i] = Kind::added(words[i]);
    });
  }

  void read(void *const *outputs) override {
    float *to = static_cast<float *>(outputs[0]);
    for (std::int64_t i = 0; i < n; ++i) {
      to[2 * i] = Kind::read(x[i]);
      to[2 * i + 1] = float(std::int32_t(x[i] >> Kind::bits & 8191));
    }
  }

private:
  std::int64_t n;
  Buffer<std::uint32_t> x;
};

// -- sums that meet in words ------------------------------------------------------------------------

// Two numbers of 16 bits in a word: one more in the low one, four eighths in the high one.
struct Pair {
  static std::int64_t wordOf(std::int32_t at) { return at; }
  static std::uint32_t added(std::uint32_t word, std::int32_t) {
    return ((word + 1) & 0xffff) | ((word & 0xffff0000) + (4u << 16));
  }
};

// Eight counters of four bits in a word.
struct Eight {
  static std::int64_t wordOf(std::int32_t at) { return at / 8; }
  static std::uint32_t added(std::uint32_t word, std::int32_t at) {
    std::uint32_t mask = 15u << at % 8 * 4;
    return (word & ~mask) | ((word + (1u << at % 8 * 4)) & mask);
  }
};

template <typename Kind, bool apart> class Scatter : public Reference {
public:
  explicit Scatter(const Setup &setup)
      : m(std::int64_t(setup.numbers[1])), cells(std::int64_t(setup.numbers[0])),
        words(Kind::wordOf(std::int32_t(cells - 1)) + 1), at(std::size_t(m), setup.inputs[0]),
        x(std::size_t(words), nullptr) {}

  void reset() override {
    for (std::int64_t i = 0; i < words; ++i)
      x[i] = 0;
  }

  void step() override {
    if constexpr (apart) // every thread reads all places
      parallelParts(words, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t p = 0; p < m; ++p)
          if (std::int64_t w = Kind::wordOf(at[p]); w >= begin && w < end)
            x[w] = Kind::added(x[w], at[p]);
      });
    else
      parallelParts(m, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t p = begin; p < end; ++p) {
          std::atomic_ref<std::uint32_t> word(x[Kind::wordOf(at[p])]);
          std::uint32_t old = word.load(std::memory_order_relaxed);
          while (
              !word.compare_exchange_weak(old, Kind::added(old, at[p]), std::memory_order_relaxed))
            ;
        }
      });
  }

  void read(void *const *outputs) override;

private:
  std::int64_t m, cells, words;
  Buffer<std::int32_t> at;
  Buffer<std::uint32_t> x;
};

template <typename Kind, bool apart> void Scatter<Kind, apart>::read(void *const *outputs) {
  for (std::int64_t i = 0; i < cells; ++i)
    if constexpr (std::is_same_v<Kind, Eight>) {
      static_cast<std::uint8_t *>(outputs[0])[i] = x[i / 8] >> i % 8 * 4 & 15;
    } else {
      static_cast<std::int32_t *>(outputs[0])[i] = std::int16_t(x[i]);
      static_cast<float *>(outputs[1])[i] = float(std::int16_t(x[i] >> 16)) * (1.0f / 8);
    }
}

// -- arrays of four bits: 3 more ----------------------------------------------------------------------

class Sweep : public Reference {
public:
  explicit Sweep(const Setup &setup)
      : words(std::int64_t(setup.numbers[0]) / 16), x(std::size_t(words), nullptr) {
    const std::uint8_t *from = static_cast<const std::uint8_t *>(setup.inputs[0]);
    for (std::int64_t i = 0; i < 16 * words; ++i)
      x[i / 16] |= std::uint64_t(from[i]) << i % 16 * 4;
  }

  void step() override {
    constexpr std::uint64_t high = 0x8888888888888888, three = 0x3333333333333333;
    parallelParts(words, [&](std::int64_t begin, std::int64_t end, int) {
      std::uint64_t *__restrict w = x.get();
      for (std::int64_t i = begin; i < end; ++i)
        w[i] = ((w[i] & ~high) + three) ^ (w[i] & high);
    });
  }

  void read(void *const *outputs) override {
    std::uint8_t *to = static_cast<std::uint8_t *>(outputs[0]);
    for (std::int64_t i = 0; i < 16 * words; ++i)
      to[i] = x[i / 16] >> i % 16 * 4 & 15;
  }

private:
  std::int64_t words;
  Buffer<std::uint64_t> x;
};

template <typename Kind> std::unique_ptr<Reference> update(const Setup &setup) {
  if (setup.variant == 0)
    return std::make_unique<Update<Kind, false>>(setup);
  return std::make_unique<Update<Kind, true>>(setup);
}

template <typename Kind> std::unique_ptr<Reference> scatter(const Setup &setup) {
  if (setup.variant == 0)
    return std::make_unique<Scatter<Kind, false>>(setup);
  return std::make_unique<Scatter<Kind, true>>(setup);
}

std::unique_ptr<Reference> make(const Setup &setup) {
  if (setup.variant > 1)
    return nullptr;
  if (named(setup, "vector_f32"))
    return update<Plain3>(setup);
  if (named(setup, "vector_fixed"))
    return update<Fixed3>(setup);
  if (named(setup, "vector_int"))
    return update<Int3>(setup);
  if (named(setup, "vector_shared"))
    return update<Shared3>(setup);
  if (named(setup, "matrix"))
    return update<Fixed9>(setup);
  if (named(setup, "scatter"))
    return scatter<Pair>(setup);
  if (named(setup, "bins"))
    return scatter<Eight>(setup);
  if (setup.variant > 0)
    return nullptr;
  if (named(setup, "member_fixed"))
    return std::make_unique<Member<FixedMember>>(setup);
  if (named(setup, "member_float"))
    return std::make_unique<Member<FloatMember>>(setup);
  if (named(setup, "sweep"))
    return std::make_unique<Sweep>(setup);
  return nullptr;
}

} // namespace

METATE_REFERENCES(make)
