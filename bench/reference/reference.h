// What a file of hand-written programs offers to bench/harness/worker.py: named cases, each made
// from numbers and input arrays, run some steps, and read back. A file includes this once and ends
// with METATE_REFERENCES.
#pragma once

#include "parallel.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sys/mman.h>

// Memory for `count` values, aligned to pages of 2 MiB and not touched yet.
template <typename T> class Buffer {
public:
  explicit Buffer(std::size_t count) : length(count) {
    std::size_t bytes = (count * sizeof(T) + (2u << 20) - 1) & ~std::size_t((2u << 20) - 1);
    data.reset(static_cast<T *>(std::aligned_alloc(2u << 20, bytes)));
    madvise(data.get(), bytes,
            MADV_HUGEPAGE); // where it is not given, pages are small: slower, not wrong
  }
  // A copy of `from`, each part touched first by the thread that will work on it; zeros without
  // one.
  Buffer(std::size_t count, const void *from) : Buffer(count) {
    parallelParts(std::int64_t(count), [&](std::int64_t begin, std::int64_t end, int) {
      if (from)
        std::memcpy(data.get() + begin, static_cast<const T *>(from) + begin,
                    sizeof(T) * (end - begin));
      else
        std::memset(static_cast<void *>(data.get() + begin), 0, sizeof(T) * (end - begin));
    });
  }
  T *get() const { return data.get(); }
  T &operator[](std::size_t at) const { return data.get()[at]; }
  std::size_t size() const { return length; }
  void copyTo(void *to) const { std::memcpy(to, data.get(), sizeof(T) * length); }

private:
  struct Free {
    void operator()(T *memory) const { std::free(memory); }
  };
  std::size_t length;
  std::unique_ptr<T, Free> data;
};

class Reference {
public:
  virtual ~Reference() = default;
  virtual void step() = 0;
  // Back to the inputs, before each sample and outside of its time; where a step changes what the
  // next one reads.
  virtual void reset() {}
  // Writes the results to the arrays, in the order of the workload's outputs.
  virtual void read(void *const *outputs) = 0;
};

struct Setup {
  const char *name;
  int variant;
  const double *numbers;
  const void *const *inputs;
};

// Null when the file has no such case or variant.
using Maker = std::unique_ptr<Reference> (*)(const Setup &);

#define METATE_REFERENCES(make)                                                                    \
  extern "C" {                                                                                     \
  Reference *reference_create(const char *name, int variant, int threads, const double *numbers,   \
                              const void *const *inputs) {                                         \
    threadCount = threads;                                                                         \
    return make(Setup{name, variant, numbers, inputs}).release();                                  \
  }                                                                                                \
  double reference_run(Reference *reference, int steps) {                                          \
    reference->reset();                                                                            \
    auto start = std::chrono::steady_clock::now();                                                 \
    for (int n = 0; n < steps; ++n)                                                                \
      reference->step();                                                                           \
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();        \
  }                                                                                                \
  void reference_read(Reference *reference, void *const *outputs) { reference->read(outputs); }    \
  void reference_destroy(Reference *reference) { delete reference; }                               \
  }

inline bool named(const Setup &setup, const char *name) {
  return std::strcmp(setup.name, name) == 0;
}
