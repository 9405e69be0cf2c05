// B20: sorting (the library's, parallel), prefix sums, compaction and a histogram of 32-bit values. A step begins
// with a copy of the input.
#include "reference.h"

#ifdef _OPENMP
#include <parallel/algorithm>
#else
#include <tbb/parallel_sort.h>
#endif

#include <algorithm>
#include <vector>

namespace {

enum class Kind { sort, scan, compact, histogram };
constexpr int bins = 256;

template <Kind kind> class Algorithm : public Reference {
public:
  explicit Algorithm(const Setup &setup)
      : count(std::int64_t(setup.numbers[0])), given(count, setup.inputs[0]), x(count, nullptr),
        out(kind == Kind::compact ? count : 0, nullptr), parts(threadCount + 1) {
    counts.resize(kind == Kind::histogram ? std::size_t(threadCount) * bins : 0);
  }

  void step() override {
    parallelParts(count, [&](std::int64_t begin, std::int64_t end, int) {
      std::memcpy(x.get() + begin, given.get() + begin, std::size_t(end - begin) * 4);
    });
    if constexpr (kind == Kind::sort)
      sort();
    else if constexpr (kind == Kind::scan)
      scan();
    else if constexpr (kind == Kind::compact)
      compact();
    else
      histogram();
  }

  void read(void *const *outputs) override {
    if constexpr (kind == Kind::histogram) {
      auto *to = static_cast<std::int64_t *>(outputs[0]);
      for (int b = 0; b < bins; ++b) {
        to[b] = 0;
        for (int part = 0; part < threadCount; ++part)
          to[b] += counts[std::size_t(part) * bins + b];
      }
    } else {
      (kind == Kind::compact ? out : x).copyTo(outputs[0]);
    }
  }

private:
  void sort() {
#ifdef _OPENMP
    __gnu_parallel::sort(x.get(), x.get() + count,
                         __gnu_parallel::default_parallel_tag(threadCount));
#else
    tbb::parallel_sort(x.get(), x.get() + count);
#endif
  }

  // Sums of the parts, then each part from those before it.
  void scan() {
    parallelParts(count, [&](std::int64_t begin, std::int64_t end, int part) {
      std::uint32_t sum = 0;
      for (std::int64_t i = begin; i < end; ++i)
        sum += x[i];
      parts[part + 1] = sum;
    });
    for (int part = 0; part < threadCount; ++part)
      parts[part + 1] += parts[part];
    parallelParts(count, [&](std::int64_t begin, std::int64_t end, int part) {
      std::uint32_t sum = parts[part];
      for (std::int64_t i = begin; i < end; ++i)
        x[i] = sum += x[i];
    });
    parts[0] = 0;
  }

  void compact() {
    parallelParts(count, [&](std::int64_t begin, std::int64_t end, int part) {
      std::uint32_t kept = 0;
      for (std::int64_t i = begin; i < end; ++i)
        kept += x[i] & 1;
      parts[part + 1] = kept;
    });
    for (int part = 0; part < threadCount; ++part)
      parts[part + 1] += parts[part];
    parallelParts(count, [&](std::int64_t begin, std::int64_t end, int part) {
      std::uint32_t at = parts[part];
      for (std::int64_t i = begin; i < end; ++i)
        if (x[i] & 1)
          out[at++] = x[i];
    });
  }

  void histogram() {
    std::fill(counts.begin(), counts.end(), 0);
    parallelParts(count, [&](std::int64_t begin, std::int64_t end, int part) {
      std::int64_t *own = counts.data() + std::size_t(part) * bins;
      for (std::int64_t i = begin; i < end; ++i) {
        float value;
        std::memcpy(&value, &x[i], 4);
        own[std::min(bins - 1, int(value * bins))]++;
      }
    });
  }

  std::int64_t count;
  Buffer<std::uint32_t> given, x, out;
  std::vector<std::uint32_t> parts;
  std::vector<std::int64_t> counts;
};

/// Keys with values, as pairs.
class Pairs : public Reference {
public:
  explicit Pairs(const Setup &setup)
      : count(std::int64_t(setup.numbers[0])), given(count, setup.inputs[0]), x(count, nullptr) {}

  void step() override {
    parallelParts(count, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i)
        x[i] = {given[i], std::int32_t(i)};
    });
    auto comesBefore = [](const Pair &a, const Pair &b) { return a.key < b.key; };
#ifdef _OPENMP
    __gnu_parallel::sort(x.get(), x.get() + count, comesBefore,
                         __gnu_parallel::default_parallel_tag(threadCount));
#else
    tbb::parallel_sort(x.get(), x.get() + count, comesBefore);
#endif
  }

  void read(void *const *outputs) override {
    for (std::int64_t i = 0; i < count; ++i) {
      static_cast<std::uint32_t *>(outputs[0])[i] = x[i].key;
      static_cast<std::int32_t *>(outputs[1])[i] = x[i].value;
    }
  }

private:
  struct Pair {
    std::uint32_t key;
    std::int32_t value;
  };

  std::int64_t count;
  Buffer<std::uint32_t> given;
  Buffer<Pair> x;
};

std::unique_ptr<Reference> make(const Setup &setup) {
  if (setup.variant > 0)
    return nullptr;
  if (named(setup, "sort"))
    return std::make_unique<Algorithm<Kind::sort>>(setup);
  if (named(setup, "scan"))
    return std::make_unique<Algorithm<Kind::scan>>(setup);
  if (named(setup, "compact"))
    return std::make_unique<Algorithm<Kind::compact>>(setup);
  if (named(setup, "histogram"))
    return std::make_unique<Algorithm<Kind::histogram>>(setup);
  if (named(setup, "pairs"))
    return std::make_unique<Pairs>(setup);
  return nullptr;
}

} // namespace

METATE_REFERENCES(make)
