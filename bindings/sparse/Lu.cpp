// Eigen's supernodal LU with partial pivoting.
#include "Solvers.h"

#include <Eigen/OrderingMethods>
#include <Eigen/SparseLU>

namespace metate::sparse {

namespace {

template <typename T, typename Order> class Lu final : public Solver<T> {
public:
  void analyze(const Matrix<T> &a) override { solver.analyzePattern(a); }

  bool factorize(const Matrix<T> &a) override {
    if (a.nonZeros() < a.cols()) // singular; Eigen would enlarge a memory of no entries for ever
      return false;
    solver.factorize(a);
    return solver.info() == Eigen::Success;
  }

  void solve(const T *b, T *x) override {
    using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
    Eigen::Map<Vector>(x, solver.cols()) = solver.solve(Eigen::Map<const Vector>(b, solver.rows()));
  }

private:
  Eigen::SparseLU<Matrix<T>, Order> solver;
};

} // namespace

template <typename T> std::unique_ptr<Solver<T>> makeLu(Ordering ordering) {
  if (ordering == Ordering::amd)
    return std::make_unique<Lu<T, Eigen::AMDOrdering<int32_t>>>();
  return std::make_unique<Lu<T, Eigen::COLAMDOrdering<int32_t>>>();
}

template std::unique_ptr<Solver<float>> makeLu(Ordering);
template std::unique_ptr<Solver<double>> makeLu(Ordering);

} // namespace metate::sparse
