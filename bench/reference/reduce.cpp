// B3: reductions of f32, a multiple of 64 of them. 'read' is the machine's limit: a sum without
// dependent additions.
#include "reference.h"

#include <limits>
#include <vector>

namespace {

enum class Kind { sum, dot, minMax, argmin };
constexpr int lanes = 64; // independent partial results, so that no addition waits for another

struct Part {
  float sum = 0, low = std::numeric_limits<float>::max(), high = -low;
  std::int64_t at = 0;
  char padding[40] = {};
};

template <Kind kind>
Part reduce(const float *__restrict x, const float *__restrict y, std::int64_t begin,
            std::int64_t end) {
  Part start;
  float sum[lanes], low[lanes], high[lanes];
  for (int l = 0; l < lanes; ++l)
    sum[l] = 0, low[l] = start.low, high[l] = start.high;
  for (std::int64_t i = begin; i < end; i += lanes)
    for (int l = 0; l < lanes; ++l)
      if constexpr (kind == Kind::sum)
        sum[l] += x[i + l];
      else if constexpr (kind == Kind::dot)
        sum[l] += x[i + l] * y[i + l];
      else {
        low[l] = x[i + l] < low[l] ? x[i + l] : low[l];
        if constexpr (kind == Kind::minMax)
          high[l] = x[i + l] > high[l] ? x[i + l] : high[l];
      }
  Part result;
  for (int l = 0; l < lanes; ++l) {
    result.sum += sum[l];
    result.low = low[l] < result.low ? low[l] : result.low;
    result.high = high[l] > result.high ? high[l] : result.high;
  }
  return result;
}

// The first index of the least value: blocks that fit into L1 are searched again only when they
// hold a new least one.
Part firstLeast(const float *x, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t block = 4096;
  Part result;
  for (std::int64_t from = begin; from < end; from += block) {
    std::int64_t to = from + block < end ? from + block : end;
    float low = reduce<Kind::argmin>(x, nullptr, from, to).low;
    if (low < result.low) {
      result.low = low;
      for (result.at = from; x[result.at] != low;)
        ++result.at;
    }
  }
  return result;
}

template <Kind kind> class Reduction : public Reference {
public:
  explicit Reduction(const Setup &setup)
      : count(std::int64_t(setup.numbers[0])), x(count, setup.inputs[0]),
        y(kind == Kind::dot ? count : 0, kind == Kind::dot ? setup.inputs[1] : nullptr),
        parts(threadCount) {}

  void step() override {
    parallelParts(count / lanes, [&](std::int64_t begin, std::int64_t end, int part) {
      if constexpr (kind == Kind::argmin)
        parts[part] = firstLeast(x.get(), lanes * begin, lanes * end);
      else
        parts[part] = reduce<kind>(x.get(), y.get(), lanes * begin, lanes * end);
    });
    result = parts[0];
    for (int n = 1; n < threadCount; ++n) {
      result.sum += parts[n].sum;
      if (parts[n].low < result.low)
        result.low = parts[n].low, result.at = parts[n].at;
      result.high = parts[n].high > result.high ? parts[n].high : result.high;
    }
  }

  void read(void *const *outputs) override {
    double *to = static_cast<double *>(outputs[0]);
    to[0] = kind == Kind::argmin   ? double(result.at)
            : kind == Kind::minMax ? result.low
                                   : result.sum;
    if (kind == Kind::minMax)
      to[1] = result.high;
  }

private:
  std::int64_t count;
  Buffer<float> x, y;
  std::vector<Part> parts;
  Part result;
};

std::unique_ptr<Reference> make(const Setup &setup) {
  if (setup.variant > 0)
    return nullptr;
  if (named(setup, "sum_") || named(setup, "read"))
    return std::make_unique<Reduction<Kind::sum>>(setup);
  if (named(setup, "dot"))
    return std::make_unique<Reduction<Kind::dot>>(setup);
  if (named(setup, "min_max"))
    return std::make_unique<Reduction<Kind::minMax>>(setup);
  if (named(setup, "argmin"))
    return std::make_unique<Reduction<Kind::argmin>>(setup);
  return nullptr;
}

} // namespace

METATE_REFERENCES(make)
