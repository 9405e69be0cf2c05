// Solvers of symmetric matrices: Eigen's simplicial factorisations and its conjugate gradients.
#include "Solvers.h"

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/OrderingMethods>
#include <Eigen/SparseCholesky>

#include <stdexcept>
#include <vector>

namespace metate::sparse {

namespace {

/// How many entries the factor of a matrix has, whose upper half is given: the elimination tree's row subtrees.
template <typename T> int64_t countFactor(const Matrix<T> &upper) {
  std::vector<int32_t> parent(size_t(upper.cols()), -1), seen(size_t(upper.cols()));
  int64_t count = upper.cols();
  for (int32_t k = 0; k < upper.cols(); ++k) {
    seen[size_t(k)] = k;
    for (typename Matrix<T>::InnerIterator it(upper, k); it && it.row() < k; ++it)
      for (int32_t i = it.row(); seen[size_t(i)] != k; i = parent[size_t(i)]) {
        if (parent[size_t(i)] == -1)
          parent[size_t(i)] = k;
        seen[size_t(i)] = k;
        ++count;
      }
  }
  return count;
}

/// Eigen's factorisation with an ordering that is chosen at run time, and counted before its 32-bit places are.
template <typename T, template <typename, int, typename> class Factor>
class Cholesky final : public Solver<T>,
                       private Factor<Matrix<T>, Eigen::Lower, Eigen::NaturalOrdering<int32_t>> {
  using Base = Factor<Matrix<T>, Eigen::Lower, Eigen::NaturalOrdering<int32_t>>;
  static constexpr bool withDiagonal = std::is_same_v<
      Base, Eigen::SimplicialLDLT<Matrix<T>, Eigen::Lower, Eigen::NaturalOrdering<int32_t>>>;

public:
  explicit Cholesky(Ordering ordering) : ordering(ordering) {}

  void analyze(const Matrix<T> &a) override {
    Matrix<T> whole = a.template selfadjointView<Eigen::Lower>();
    if (ordering == Ordering::amd)
      Eigen::internal::minimum_degree_ordering(whole, this->m_Pinv);
    else
      Eigen::COLAMDOrdering<int32_t>()(whole, this->m_Pinv);
    this->m_P = this->m_Pinv.inverse();
    Matrix<T> upper(a.rows(), a.cols());
    upper.template selfadjointView<Eigen::Upper>() =
        a.template selfadjointView<Eigen::Lower>().twistedBy(this->m_P);
    if (countFactor(upper) > mostEntries)
      throw std::length_error("the factor has more than 2147483647 entries");
    this->analyzePattern_preordered(upper, withDiagonal);
  }

  bool factorize(const Matrix<T> &a) override {
    Base::factorize(a);
    return this->info() == Eigen::Success;
  }

  void solve(const T *b, T *x) override {
    using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
    Eigen::Map<Vector>(x, this->cols()) = Base::solve(Eigen::Map<const Vector>(b, this->rows()));
  }

private:
  Ordering ordering;
};

} // namespace

template <typename T>
std::unique_ptr<Solver<T>> makeCholesky(bool withDiagonal, Ordering ordering) {
  if (withDiagonal)
    return std::make_unique<Cholesky<T, Eigen::SimplicialLDLT>>(ordering);
  return std::make_unique<Cholesky<T, Eigen::SimplicialLLT>>(ordering);
}

template <typename T>
Iterated iterate(const View<T> &a, const T *b, T *x, int64_t most, double tolerance) {
  using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  Eigen::ConjugateGradient<Matrix<T>, Eigen::Lower | Eigen::Upper> solver;
  solver.setMaxIterations(most);
  solver.setTolerance(T(tolerance));
  solver.compute(a);
  Eigen::Map<Vector> result(x, a.cols());
  Vector found = solver.solveWithGuess(Eigen::Map<const Vector>(b, a.rows()), result);
  result = found;
  return {solver.iterations(), double(solver.error()), solver.info() == Eigen::Success};
}

template std::unique_ptr<Solver<float>> makeCholesky(bool, Ordering);
template std::unique_ptr<Solver<double>> makeCholesky(bool, Ordering);
template Iterated iterate(const View<float> &, const float *, float *, int64_t, double);
template Iterated iterate(const View<double> &, const double *, double *, int64_t, double);

} // namespace metate::sparse
