// B1, and the machine's limits that other workloads are held against: one pass over arrays of f32
// whose length is a multiple of 64. Variant 0 as the compiler does it, variant 1 with stores that
// go around the caches.
#include "reference.h"

#include <immintrin.h>

namespace {

constexpr float factor = 0.25f;
enum class Kind { saxpy, fill, copy, triad };

void stream(float *to, __m256 value) { _mm256_stream_ps(to, value); }

template <Kind kind, bool around>
void pass(const float *__restrict x, const float *__restrict y, float *__restrict out,
          std::int64_t begin, std::int64_t end) {
  if constexpr (!around) {
    for (std::int64_t i = begin; i < end; ++i)
      if constexpr (kind == Kind::saxpy)
        out[i] += factor * x[i];
      else if constexpr (kind == Kind::fill)
        out[i] = factor;
      else if constexpr (kind == Kind::copy)
        out[i] = x[i];
      else
        out[i] = x[i] + factor * y[i];
  } else {
    __m256 a = _mm256_set1_ps(factor);
    for (std::int64_t i = begin; i < end; i += 8)
      if constexpr (kind == Kind::saxpy)
        stream(out + i, _mm256_fmadd_ps(a, _mm256_load_ps(x + i), _mm256_load_ps(out + i)));
      else if constexpr (kind == Kind::fill)
        stream(out + i, a);
      else if constexpr (kind == Kind::copy)
        stream(out + i, _mm256_load_ps(x + i));
      else
        stream(out + i, _mm256_fmadd_ps(a, _mm256_load_ps(y + i), _mm256_load_ps(x + i)));
    _mm_sfence();
  }
}

template <Kind kind> class Stream : public Reference {
public:
  explicit Stream(const Setup &setup)
      : around(setup.variant == 1), count(std::int64_t(setup.numbers[0])),
        x(kind == Kind::fill ? 0 : count, kind == Kind::fill ? nullptr : setup.inputs[0]),
        y(kind == Kind::triad ? count : 0, kind == Kind::triad ? setup.inputs[1] : nullptr),
        out(count, kind == Kind::saxpy ? setup.inputs[1] : nullptr) {}

  void step() override {
    parallelParts(count / 64, [&](std::int64_t begin, std::int64_t end, int) {
      if (around)
        pass<kind, true>(x.get(), y.get(), out.get(), 64 * begin, 64 * end);
      else
        pass<kind, false>(x.get(), y.get(), out.get(), 64 * begin, 64 * end);
    });
  }

  void read(void *const *outputs) override { out.copyTo(outputs[0]); }

private:
  bool around;
  std::int64_t count;
  Buffer<float> x, y, out;
};

std::unique_ptr<Reference> make(const Setup &setup) {
  if (setup.variant > 1)
    return nullptr;
  if (named(setup, "saxpy"))
    return std::make_unique<Stream<Kind::saxpy>>(setup);
  if (named(setup, "fill"))
    return std::make_unique<Stream<Kind::fill>>(setup);
  if (named(setup, "copy"))
    return std::make_unique<Stream<Kind::copy>>(setup);
  if (named(setup, "triad"))
    return std::make_unique<Stream<Kind::triad>>(setup);
  return nullptr;
}

} // namespace

METATE_REFERENCES(make)
