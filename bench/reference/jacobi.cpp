// B2: Jacobi sweeps over cubes and squares of f32, edges of length n. Variant 0 as the compiler
// does it, plane by plane; variant 1 in tiles of rows whose neighbours stay in the caches, with
// stores that go around them.
#include "reference.h"

#include <immintrin.h>

namespace {

constexpr std::int64_t tileRows = 64;
// Where both arrays begin at a page, a load waits for the store before it whose address agrees in
// its low 12 bits.
constexpr std::int64_t skew = 528;

// A cache line of values, as the two halves that AVX has.
struct Line {
  __m256 halves[2];

  static Line load(const float *from) { return {_mm256_loadu_ps(from), _mm256_loadu_ps(from + 8)}; }
  void streamTo(float *to) const {
    _mm256_stream_ps(to, halves[0]);
    _mm256_stream_ps(to + 8, halves[1]);
  }
  friend Line operator+(Line a, Line b) {
    return {a.halves[0] + b.halves[0], a.halves[1] + b.halves[1]};
  }
  friend Line operator*(float a, Line b) { return {a * b.halves[0], a * b.halves[1]}; }
};

// Calls at(k) for the cells [1, n - 1) of a row that are not in whole lines, line(k) for those that
// are. The rows that come next, `ahead` of `from`, are asked for early: there are more streams than
// the machine follows by itself.
template <typename At, typename OfLine>
void alongRow(const float *from, const float *row, std::int64_t n, At at, OfLine line) {
  constexpr std::int64_t early = 512;
  std::int64_t k = 1;
  for (; k < n - 1 && (reinterpret_cast<std::uintptr_t>(row + k) & 63); ++k)
    at(k);
  for (; k + 16 <= n - 1; k += 16) {
    _mm_prefetch(reinterpret_cast<const char *>(from + k + early), _MM_HINT_T0);
    line(k);
  }
  for (; k < n - 1; ++k)
    at(k);
}

void row2(const float *__restrict a, float *__restrict b, std::int64_t n) {
  for (std::int64_t k = 1; k < n - 1; ++k)
    b[k] = 0.25f * (a[k - n] + a[k + n] + a[k - 1] + a[k + 1]);
}

void row2Around(const float *__restrict a, float *__restrict b, std::int64_t n) {
  alongRow(
      a + n, b, n,
      [&](std::int64_t k) { b[k] = 0.25f * (a[k - n] + a[k + n] + a[k - 1] + a[k + 1]); },
      [&](std::int64_t k) {
        const float *at = a + k;
        Line sum =
            Line::load(at - n) + Line::load(at + n) + Line::load(at - 1) + Line::load(at + 1);
        (0.25f * sum).streamTo(b + k);
      });
}

float cell3(const float *a, std::int64_t row, std::int64_t plane) {
  float around = a[-plane] + a[plane] + a[-row] + a[row] + a[-1] + a[1];
  return 0.4f * a[0] + 0.1f * around;
}

void row3(const float *__restrict a, float *__restrict b, std::int64_t n) {
  std::int64_t plane = n * n;
  for (std::int64_t k = 1; k < n - 1; ++k)
    b[k] = cell3(a + k, n, plane);
}

void row3Around(const float *__restrict a, float *__restrict b, std::int64_t n) {
  std::int64_t plane = n * n;
  alongRow(
      a + plane, b, n, [&](std::int64_t k) { b[k] = cell3(a + k, n, plane); },
      [&](std::int64_t k) {
        const float *at = a + k;
        Line around = Line::load(at - plane) + Line::load(at + plane) + Line::load(at - n) +
                      Line::load(at + n) + Line::load(at - 1) + Line::load(at + 1);
        (0.4f * Line::load(at) + 0.1f * around).streamTo(b + k);
      });
}

class Sweep : public Reference {
public:
  Sweep(const Setup &setup, int dimensions)
      : around(setup.variant == 1), dimensions(dimensions), n(std::int64_t(setup.numbers[0])),
        a(count(), setup.inputs[0]), memory(count() + skew, nullptr), b(memory.get() + skew) {}

  void step() override { dimensions == 2 ? step2() : step3(); }
  void read(void *const *outputs) override { std::memcpy(outputs[0], b, sizeof(float) * count()); }

private:
  std::int64_t count() const { return dimensions == 2 ? n * n : n * n * n; }

  void step2() {
    parallelBlocks(n - 2, 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin + 1; i < end + 1; ++i)
        (around ? row2Around : row2)(a.get() + i * n, b + i * n, n);
      _mm_sfence();
    });
  }

  // Of the planes [begin, end), the rows of a tile are done one plane after the other.
  void step3() {
    std::int64_t rows = around ? tileRows : n;
    parallelBlocks(n - 2, 32, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t tile = 1; tile < n - 1; tile += rows)
        for (std::int64_t i = begin + 1; i < end + 1; ++i)
          for (std::int64_t j = tile; j < tile + rows && j < n - 1; ++j)
            (around ? row3Around : row3)(a.get() + (i * n + j) * n, b + (i * n + j) * n, n);
      _mm_sfence();
    });
  }

  bool around;
  int dimensions;
  std::int64_t n;
  Buffer<float> a, memory;
  float *b;
};

std::unique_ptr<Reference> make(const Setup &setup) {
  if (setup.variant > 1)
    return nullptr;
  if (named(setup, "sweep2"))
    return std::make_unique<Sweep>(setup, 2);
  if (named(setup, "sweep3"))
    return std::make_unique<Sweep>(setup, 3);
  return nullptr;
}

} // namespace

METATE_REFERENCES(make)
