// Compressed matrices as all of this extension has them, and what can be done with one or two of them.
//
// Everything here is column-major: `outer` columns, in each the rows that are not zero in ascending order. A row-major
// matrix comes as its transpose, which has the same three arrays; who calls knows which of both it is.
#pragma once

#include <Eigen/SparseCore>

#include <cstdint>

namespace metate::sparse {

template <typename T> using Matrix = Eigen::SparseMatrix<T, Eigen::ColMajor, int32_t>;
/// The same in memory of the caller's.
template <typename T> using View = Eigen::Map<const Matrix<T>>;

/// Entries that a matrix can have: places are of 32 bits.
constexpr int64_t mostEntries = INT32_MAX;

/// Triplets in memory of the caller's; several may be for one place.
template <typename T> struct Triplets {
  const int32_t *outer, *inner;
  const T *values;
  int64_t count;
};

/// The sums of the triplets of each place. The result does not depend on the triplets' order: those of one place are added
/// from the least bit pattern to the greatest. Throws invalid_argument where an index is outside.
template <typename T>
Matrix<T> assemble(const Triplets<T> &triplets, int64_t inner, int64_t outer, int64_t threads);

/// What is wrong with three arrays.
enum class Form { canonical, unsorted, wrong };

/// `unsorted`: a column's rows do not ascend, or one is there twice; `wrong`: an index is outside, or the starts are none.
Form checkForm(const int32_t *starts, const int32_t *indices, int64_t inner, int64_t outer,
               int64_t count);

template <typename T> Matrix<T> add(const View<T> &a, const View<T> &b, T factor); // a + factor * b
template <typename T> Matrix<T> multiplyElements(const View<T> &a, const View<T> &b);
/// Throws length_error where the product has more than mostEntries.
template <typename T> Matrix<T> multiply(const View<T> &a, const View<T> &b);
template <typename T> Matrix<T> transpose(const View<T> &a);
/// y = a * x, by one thread, or of the transpose, by several: a column is then summed by one.
template <typename T>
void apply(const View<T> &a, bool transposed, const T *x, T *y, int64_t threads);

/// Whether all values are finite.
template <typename T> bool isFinite(const View<T> &a);
/// A place whose value differs from its mirror image's by more than rounding of the greatest value; {-1, -1}: none.
template <typename T> std::pair<int32_t, int32_t> findAsymmetry(const View<T> &a);

} // namespace metate::sparse
