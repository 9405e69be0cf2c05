// From triplets to a compressed matrix, in an order that does not depend on who appended first.
#include "Matrix.h"
#include "Parts.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

namespace metate::sparse {

namespace {

/// A triplet in its column: by row, then by the value's bits.
struct Single {
  uint64_t key;
  Single() = default;
  explicit Single(int32_t inner, float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    key = uint64_t(uint32_t(inner)) << 32 | bits;
  }
  int32_t inner() const { return int32_t(key >> 32); }
  float value() const {
    uint32_t bits = uint32_t(key);
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  bool operator<(const Single &other) const { return key < other.key; }
};

struct Double {
  uint64_t bits;
  int32_t row;
  Double() = default;
  explicit Double(int32_t inner, double value) : row(inner) {
    std::memcpy(&bits, &value, sizeof bits);
  }
  int32_t inner() const { return row; }
  double value() const {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  bool operator<(const Double &other) const {
    return row != other.row ? row < other.row : bits < other.bits;
  }
};

template <typename T> using Item = std::conditional_t<std::is_same_v<T, float>, Single, Double>;

/// Some columns next to each other, with their triplets.
template <typename T> struct Columns {
  int64_t first, count;
  std::vector<int64_t> starts; // of each column's items, then of what is left of them
  std::unique_ptr<Item<T>[]> items;
  bool isOutside = false; // an index is

  /// Counts the triplets of each column.
  void measure(const Triplets<T> &triplets, int64_t inner, int64_t outer) {
    starts.assign(size_t(count) + 1, 0);
    for (int64_t k = 0; k < triplets.count; ++k) {
      uint32_t column = uint32_t(triplets.outer[k]);
      if (column - uint64_t(first) < uint64_t(count)) {
        ++starts[size_t(column - first) + 1];
        isOutside |= uint64_t(uint32_t(triplets.inner[k])) >= uint64_t(inner);
      } else {
        isOutside |= column >= uint64_t(outer);
      }
    }
    for (int64_t j = 0; j < count; ++j)
      starts[size_t(j) + 1] += starts[size_t(j)];
  }

  /// Puts each column's triplets together.
  void gather(const Triplets<T> &triplets) {
    items.reset(new Item<T>[size_t(starts.back())]);
    std::vector<int64_t> next(starts.begin(), starts.end() - 1);
    for (int64_t k = 0; k < triplets.count; ++k) {
      uint64_t column = uint64_t(uint32_t(triplets.outer[k])) - uint64_t(first);
      if (column < uint64_t(count))
        items[size_t(next[column]++)] = Item<T>(triplets.inner[k], triplets.values[k]);
    }
  }

  /// Makes one item of those for one place.
  void addUp() {
    int64_t at = 0;
    for (int64_t j = 0; j < count; ++j) {
      Item<T> *item = items.get() + starts[size_t(j)], *end = items.get() + starts[size_t(j) + 1];
      std::sort(item, end);
      starts[size_t(j)] = at;
      while (item != end) {
        int32_t inner = item->inner();
        double sum = 0;
        for (; item != end && item->inner() == inner; ++item)
          sum += double(item->value());
        items[size_t(at++)] = Item<T>(inner, T(sum));
      }
    }
    starts[size_t(count)] = at;
  }

  /// Writes the columns into the matrix, whose entries before them are `before`.
  void write(Matrix<T> &matrix, int64_t before) const {
    for (int64_t j = 0; j < count; ++j)
      matrix.outerIndexPtr()[first + j] = int32_t(before + starts[size_t(j)]);
    for (int64_t k = 0; k < starts.back(); ++k) {
      matrix.innerIndexPtr()[before + k] = items[size_t(k)].inner();
      matrix.valuePtr()[before + k] = items[size_t(k)].value();
    }
  }
};

} // namespace

template <typename T>
Matrix<T> assemble(const Triplets<T> &triplets, int64_t inner, int64_t outer, int64_t threads) {
  if (triplets.count > mostEntries)
    throw std::length_error("more than 2147483647 triplets");
  constexpr int64_t least = 1 << 17; // triplets that pay for a thread
  int64_t parts = std::min(partsFor(triplets.count, least, threads), std::max<int64_t>(outer, 1));
  auto columns = std::vector<Columns<T>>(size_t(parts));
  forParts(parts, [&](int64_t part) {
    Columns<T> &own = columns[size_t(part)];
    own.first = outer * part / parts;
    own.count = outer * (part + 1) / parts - own.first;
    own.measure(triplets, inner, outer);
    if (own.isOutside)
      return;
    own.gather(triplets);
    own.addUp();
  });
  std::vector<int64_t> before{0};
  for (const Columns<T> &own : columns) {
    if (own.isOutside)
      throw std::invalid_argument("expected rows and columns inside of the matrix");
    before.push_back(before.back() + own.starts.back());
  }
  Matrix<T> result(inner, outer);
  result.resizeNonZeros(before.back());
  result.outerIndexPtr()[outer] = int32_t(before.back());
  forParts(parts, [&](int64_t part) { columns[size_t(part)].write(result, before[size_t(part)]); });
  return result;
}

template Matrix<float> assemble(const Triplets<float> &, int64_t, int64_t, int64_t);
template Matrix<double> assemble(const Triplets<double> &, int64_t, int64_t, int64_t);

Form checkForm(const int32_t *starts, const int32_t *indices, int64_t inner, int64_t outer,
               int64_t count) {
  if (starts[0] != 0 || starts[outer] != count)
    return Form::wrong;
  bool sorted = true;
  for (int64_t j = 0; j < outer; ++j) {
    if (starts[j] < 0 || starts[j] > starts[j + 1] || starts[j + 1] > count)
      return Form::wrong;
    int32_t last = -1;
    for (int32_t k = starts[j]; k < starts[j + 1]; ++k) {
      if (indices[k] < 0 || indices[k] >= inner)
        return Form::wrong;
      sorted &= indices[k] > last;
      last = indices[k];
    }
  }
  return sorted ? Form::canonical : Form::unsorted;
}

} // namespace metate::sparse
