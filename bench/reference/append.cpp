// B5: lists of i32 with room for `capacity` values each, emptied and filled again. Threads agree by adding to a list's
// counter; variants: each counts its values of each list first, or reserves room for a block of them.
#include "reference.h"

#include <atomic>
#include <vector>

namespace {

class Lists : public Reference {
public:
  Lists(const Setup &setup, std::int64_t rows)
      : lists(std::int64_t(setup.numbers[0])), count(std::int64_t(setup.numbers[1])),
        capacity(std::int64_t(setup.numbers[2])), keys(count, setup.inputs[0]),
        lengths(rows, nullptr), values(rows * capacity, nullptr) {}

protected:
  std::int64_t lists, count, capacity;
  Buffer<std::int32_t> keys, lengths, values;
};

class Many : public Lists {
public:
  explicit Many(const Setup &setup) : Lists(setup, std::int64_t(setup.numbers[0])) {}

  void step() override {
    std::memset(lengths.get(), 0, sizeof(std::int32_t) * lists);
    parallelBlocks(count, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) {
        std::atomic_ref<std::int32_t> length(lengths[keys[p]]);
        values[keys[p] * capacity + length.fetch_add(1, std::memory_order_relaxed)] =
            std::int32_t(p);
      }
    });
  }

  void read(void *const *outputs) override {
    lengths.copyTo(outputs[0]);
    auto *total = static_cast<std::int32_t *>(outputs[1]);
    for (std::int64_t list = 0; list < lists; ++list)
      for (std::int64_t at = 0; at < lengths[list]; ++at)
        total[list] += values[list * capacity + at];
  }
};

class ManyCounted : public Many {
public:
  explicit ManyCounted(const Setup &setup)
      : Many(setup), places(threadCount, std::vector<std::int32_t>(lists)) {}

  void step() override {
    parallelParts(count, [&](std::int64_t begin, std::int64_t end, int part) {
      std::fill(places[part].begin(), places[part].end(), 0);
      for (std::int64_t p = begin; p < end; ++p)
        ++places[part][keys[p]];
    });
    for (std::int64_t list = 0; list < lists; ++list) {
      std::int32_t length = 0;
      for (auto &part : places) {
        std::int32_t own = part[list];
        part[list] = length;
        length += own;
      }
      lengths[list] = length;
    }
    parallelParts(count, [&](std::int64_t begin, std::int64_t end, int part) {
      for (std::int64_t p = begin; p < end; ++p)
        values[keys[p] * capacity + places[part][keys[p]]++] = std::int32_t(p);
    });
  }

private:
  std::vector<std::vector<std::int32_t>> places;
};

template <bool blocks> class One : public Lists {
public:
  explicit One(const Setup &setup) : Lists(setup, 1) {}

  void step() override {
    lengths[0] = 0;
    std::atomic_ref<std::int32_t> length(lengths[0]);
    parallelBlocks(count, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
      if constexpr (blocks) {
        std::int32_t at = length.fetch_add(std::int32_t(end - begin), std::memory_order_relaxed);
        std::memcpy(&values[at], &keys[begin], sizeof(std::int32_t) * (end - begin));
      } else {
        for (std::int64_t p = begin; p < end; ++p)
          values[length.fetch_add(1, std::memory_order_relaxed)] = keys[p];
      }
    });
  }

  void read(void *const *outputs) override {
    lengths.copyTo(outputs[0]);
    auto *total = static_cast<std::int32_t *>(outputs[1]);
    for (std::int64_t at = 0; at < lengths[0]; ++at)
      ++total[values[at]];
  }
};

std::unique_ptr<Reference> make(const Setup &setup) {
  if (named(setup, "many") && setup.variant == 0)
    return std::make_unique<Many>(setup);
  if (named(setup, "many") && setup.variant == 1)
    return std::make_unique<ManyCounted>(setup);
  if (named(setup, "one") && setup.variant == 0)
    return std::make_unique<One<false>>(setup);
  if (named(setup, "one") && setup.variant == 1)
    return std::make_unique<One<true>>(setup);
  return nullptr;
}

} // namespace

METATE_REFERENCES(make)
