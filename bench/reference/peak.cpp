// The machine's limit of f32 arithmetic: `count` fused multiply-adds in vectors of the widest
// registers, enough of them independent to keep every unit busy.
#include "reference.h"

namespace {

#ifdef __AVX512F__
constexpr int width = 16, chains = 16;
#else
constexpr int width = 8, chains = 12; // of 16 registers
#endif
typedef float Vector __attribute__((vector_size(4 * width)));

class Peak : public Reference {
public:
  explicit Peak(const Setup &setup) : count(std::int64_t(setup.numbers[0])) {}

  void step() override {
    parallelParts(count / (width * chains), [&](std::int64_t begin, std::int64_t end, int part) {
      Vector values[chains];
      for (int c = 0; c < chains; ++c)
        values[c] = Vector{} + float(c + part);
      Vector factor = Vector{} + 0.999f, summand = Vector{} + 0.5f;
      for (std::int64_t n = begin; n < end; ++n) {
        for (int c = 0; c < chains; ++c)
          values[c] = values[c] * factor + summand;
        for (int c = 0; c < chains; ++c)
          asm volatile("" : "+v"(values[c])); // each turn happens, in registers
      }
      float sum = 0;
      for (int c = 0; c < chains; ++c)
        sum += values[c][0];
      if (sum == 1.0f)
        last = sum;
    });
  }

  void read(void *const *) override {}

private:
  std::int64_t count;
  volatile float last = 0;
};

std::unique_ptr<Reference> make(const Setup &setup) {
  return setup.variant == 0 && named(setup, "fma") ? std::make_unique<Peak>(setup) : nullptr;
}

} // namespace

METATE_REFERENCES(make)
