// Solvers of linear equations. Sizes, patterns and numbers are checked by who calls: nothing here asserts.
#pragma once

#include "Matrix.h"

#include <memory>

namespace metate::sparse {

/// A factorisation: of a pattern first, then of matrices that have it.
template <typename T> class Solver {
public:
  virtual ~Solver() = default;
  /// Throws length_error where the factor would have more than mostEntries.
  virtual void analyze(const Matrix<T> &a) = 0;
  /// False: a pivot was zero, or negative for LLT.
  virtual bool factorize(const Matrix<T> &a) = 0;
  /// x with a * x = b, after a factorisation that succeeded.
  virtual void solve(const T *b, T *x) = 0;
};

enum class Ordering { amd, colamd };

/// Of symmetric matrices: L * L^T, or L * D * L^T, which takes indefinite ones.
template <typename T> std::unique_ptr<Solver<T>> makeCholesky(bool withDiagonal, Ordering ordering);
/// Of any matrix, with pivots.
template <typename T> std::unique_ptr<Solver<T>> makeLu(Ordering ordering);

struct Iterated {
  int64_t iterations;
  double error; ///< |b - a * x| / |b|
  bool converged;
};

/// Conjugate gradients with the diagonal as preconditioner, from the guess in x.
template <typename T>
Iterated iterate(const View<T> &a, const T *b, T *x, int64_t most, double tolerance);

} // namespace metate::sparse
