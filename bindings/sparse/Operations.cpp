// What Eigen does with one or two matrices, and what is asked of one before a solver takes it.
#include "Matrix.h"
#include "Parts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace metate::sparse {

template <typename T> Matrix<T> add(const View<T> &a, const View<T> &b, T factor) {
  return factor == T(1) ? Matrix<T>(a + b) : Matrix<T>(a + b * factor);
}

template <typename T> Matrix<T> multiplyElements(const View<T> &a, const View<T> &b) {
  return a.cwiseProduct(b);
}

namespace {

/// How many entries the product has, at most `limit` + 1.
template <typename T> int64_t countProduct(const View<T> &a, const View<T> &b, int64_t limit) {
  std::vector<int32_t> seen(size_t(a.rows()), -1);
  int64_t count = 0;
  for (int32_t j = 0; j < b.cols() && count <= limit; ++j)
    for (typename View<T>::InnerIterator k(b, j); k; ++k)
      for (typename View<T>::InnerIterator i(a, k.row()); i; ++i)
        if (seen[size_t(i.row())] != j) {
          seen[size_t(i.row())] = j;
          ++count;
        }
  return count;
}

} // namespace

template <typename T> Matrix<T> multiply(const View<T> &a, const View<T> &b) {
  int64_t most = 0; // if no two of the sums' terms met
  for (int32_t j = 0; j < b.cols(); ++j)
    for (typename View<T>::InnerIterator k(b, j); k; ++k)
      most += a.outerIndexPtr()[k.row() + 1] - a.outerIndexPtr()[k.row()];
  if (most > mostEntries && countProduct(a, b, mostEntries) > mostEntries)
    throw std::length_error("the product has more than 2147483647 entries");
  return a * b;
}

template <typename T> Matrix<T> transpose(const View<T> &a) { return Matrix<T>(a.transpose()); }

template <typename T>
void apply(const View<T> &a, bool transposed, const T *x, T *y, int64_t threads) {
  if (!transposed) {
    using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
    Eigen::Map<Vector>(y, a.rows()).noalias() = a * Eigen::Map<const Vector>(x, a.cols());
    return;
  }
  const int32_t *starts = a.outerIndexPtr(), *rows = a.innerIndexPtr();
  const T *values = a.valuePtr();
  constexpr int64_t least = 1 << 18; // entries that pay for a thread
  int64_t parts = partsFor(a.nonZeros(), least, threads), columns = a.cols();
  forParts(parts, [=](int64_t part) {
    // Columns with about as many entries as the other parts'.
    auto bound = [&](int64_t k) {
      int64_t entry = int64_t(starts[columns]) * k / parts;
      return k == parts ? columns : std::lower_bound(starts, starts + columns, entry) - starts;
    };
    for (int64_t j = bound(part), end = bound(part + 1); j < end; ++j) {
      T sum = 0;
      for (int32_t k = starts[j]; k < starts[j + 1]; ++k)
        sum += values[k] * x[rows[k]];
      y[j] = sum;
    }
  });
}

template <typename T> bool isFinite(const View<T> &a) {
  for (int64_t k = 0; k < a.nonZeros(); ++k)
    if (!std::isfinite(a.valuePtr()[k]))
      return false;
  return true;
}

template <typename T> std::pair<int32_t, int32_t> findAsymmetry(const View<T> &a) {
  T greatest = 0;
  for (int64_t k = 0; k < a.nonZeros(); ++k)
    greatest = std::max(greatest, std::abs(a.valuePtr()[k]));
  T most = greatest * std::sqrt(std::numeric_limits<T>::epsilon());
  Matrix<T> difference = Matrix<T>(a.transpose()) - a;
  for (int32_t j = 0; j < difference.outerSize(); ++j)
    for (typename Matrix<T>::InnerIterator i(difference, j); i; ++i)
      if (!(std::abs(i.value()) <= most))
        return {i.row(), j};
  return {-1, -1};
}

#define METATE_OPERATIONS(T)                                                                       \
  template Matrix<T> add(const View<T> &, const View<T> &, T);                                     \
  template Matrix<T> multiplyElements(const View<T> &, const View<T> &);                           \
  template Matrix<T> multiply(const View<T> &, const View<T> &);                                   \
  template Matrix<T> transpose(const View<T> &);                                                   \
  template void apply(const View<T> &, bool, const T *, T *, int64_t);                             \
  template bool isFinite(const View<T> &);                                                         \
  template std::pair<int32_t, int32_t> findAsymmetry(const View<T> &);
METATE_OPERATIONS(float)
METATE_OPERATIONS(double)
#undef METATE_OPERATIONS

} // namespace metate::sparse
