// From triplets to a compressed matrix, in an order that does not depend on who appended first.
#include "Matrix.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace metate::sparse {

namespace {

/// A triplet in its column: by row, then by the value's bits.
struct Single {
  uint64_t key;
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

/// Where each column's triplets begin, once they stand together.
template <typename T> std::vector<int64_t> findStarts(const Triplets<T> &triplets, int64_t outer) {
  std::vector<int64_t> starts(size_t(outer) + 1);
  for (int64_t k = 0; k < triplets.count; ++k)
    ++starts[size_t(triplets.outer[k]) + 1];
  for (int64_t j = 0; j < outer; ++j)
    starts[size_t(j) + 1] += starts[size_t(j)];
  return starts;
}

/// Adds up a column's triplets, sorted, into the matrix's end.
template <typename T>
int64_t addUp(const Item<T> *item, const Item<T> *end, int32_t *indices, T *values, int64_t at) {
  while (item != end) {
    int32_t inner = item->inner();
    double sum = 0;
    for (; item != end && item->inner() == inner; ++item)
      sum += double(item->value());
    indices[at] = inner;
    values[at++] = T(sum);
  }
  return at;
}

} // namespace

template <typename T>
Matrix<T> assemble(const Triplets<T> &triplets, int64_t inner, int64_t outer) {
  if (triplets.count > mostEntries)
    throw std::length_error("more than 2147483647 triplets");
  std::vector<int64_t> starts = findStarts(triplets, outer);
  std::vector<int64_t> next(starts.begin(), starts.end() - 1);
  std::vector<Item<T>> items(size_t(triplets.count), Item<T>(0, T(0)));
  for (int64_t k = 0; k < triplets.count; ++k)
    items[size_t(next[size_t(triplets.outer[k])]++)] =
        Item<T>(triplets.inner[k], triplets.values[k]);

  Matrix<T> result(inner, outer);
  result.resizeNonZeros(triplets.count);
  int64_t at = 0;
  for (int64_t j = 0; j < outer; ++j) {
    Item<T> *first = items.data() + starts[size_t(j)], *last = items.data() + starts[size_t(j) + 1];
    std::sort(first, last);
    result.outerIndexPtr()[j] = int32_t(at);
    at = addUp<T>(first, last, result.innerIndexPtr(), result.valuePtr(), at);
  }
  result.outerIndexPtr()[outer] = int32_t(at);
  result.resizeNonZeros(at);
  result.data().squeeze();
  return result;
}

template Matrix<float> assemble(const Triplets<float> &, int64_t, int64_t);
template Matrix<double> assemble(const Triplets<double> &, int64_t, int64_t);

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
