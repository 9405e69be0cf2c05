// _sparse: matrices and solvers for Python. A matrix is five arguments: outer and inner extent, starts, indices, values.
#include "Solvers.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace nb = nanobind;

namespace metate::sparse {
namespace {

template <typename T> using In = nb::ndarray<nb::ro, T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T> using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Indices = In<int32_t>;

void expect(bool holds, const char *what) {
  if (!holds)
    throw std::invalid_argument(what);
}

template <typename T>
View<T> viewOf(int64_t outer, int64_t inner, const Indices &starts, const Indices &indices,
               const In<T> &values) {
  expect(outer >= 0 && inner >= 0 && int64_t(starts.size()) == outer + 1,
         "expected a start for each column and one more");
  expect(indices.size() == values.size() && starts.data()[outer] == int64_t(values.size()),
         "expected as many indices as values");
  return View<T>(inner, outer, int64_t(values.size()), starts.data(), indices.data(),
                 values.data());
}

/// A NumPy array over a part of what `owner` keeps.
template <typename T> nb::object arrayOf(T *data, size_t size, nb::handle owner) {
  return nb::cast(nb::ndarray<nb::numpy, T>(data, {size}, owner));
}

/// (starts, indices, values) of a matrix, which these then own together.
template <typename T> nb::tuple arraysOf(Matrix<T> &&matrix) {
  auto *kept = new Matrix<T>(std::move(matrix));
  nb::capsule owner(kept, [](void *own) noexcept { delete static_cast<Matrix<T> *>(own); });
  kept->makeCompressed();
  size_t count = size_t(kept->nonZeros());
  return nb::make_tuple(arrayOf(kept->outerIndexPtr(), size_t(kept->outerSize()) + 1, owner),
                        arrayOf(kept->innerIndexPtr(), count, owner),
                        arrayOf(kept->valuePtr(), count, owner));
}

/// Runs without the interpreter's lock what gives a matrix.
template <typename F> auto released(F &&compute) {
  nb::gil_scoped_release release;
  return compute();
}

/// A solver and what was analysed, for one thread at a time.
template <typename T> class Factorization {
public:
  Factorization(const std::string &kind, const std::string &ordering) {
    Ordering order = ordering == "AMD" ? Ordering::amd : Ordering::colamd;
    solver = kind == "LU" ? makeLu<T>(order) : makeCholesky<T>(kind == "LDLT", order);
  }

  void analyze(const View<T> &a) {
    nb::gil_scoped_release release;
    std::lock_guard<std::mutex> lock(mutex);
    isFactorized = false;
    starts.clear(); // what throws leaves nothing analysed
    solver->analyze(Matrix<T>(a));
    starts.assign(a.outerIndexPtr(), a.outerIndexPtr() + a.outerSize() + 1);
    indices.assign(a.innerIndexPtr(), a.innerIndexPtr() + a.nonZeros());
  }

  /// -1: another pattern was analysed, or none; 0: a pivot is zero (or, for LLT, negative); 1: done.
  int factorize(const View<T> &a) {
    nb::gil_scoped_release release;
    std::lock_guard<std::mutex> lock(mutex);
    isFactorized = false;
    if (starts.size() != size_t(a.outerSize()) + 1 || indices.size() != size_t(a.nonZeros()) ||
        !std::equal(starts.begin(), starts.end(), a.outerIndexPtr()) ||
        !std::equal(indices.begin(), indices.end(), a.innerIndexPtr()))
      return -1;
    isFactorized = solver->factorize(Matrix<T>(a));
    return isFactorized;
  }

  void solve(const In<T> &b, const Out<T> &x) {
    nb::gil_scoped_release release;
    std::lock_guard<std::mutex> lock(mutex);
    expect(isFactorized, "expected a factorised matrix");
    expect(b.size() + 1 == starts.size() && x.size() == b.size(), "expected a value for each row");
    solver->solve(b.data(), x.data());
  }

private:
  std::unique_ptr<Solver<T>> solver;
  std::vector<int32_t> starts, indices; // of the pattern that was analysed
  bool isFactorized = false;
  std::mutex mutex;
};

#define METATE_MATRIX(name)                                                                        \
  int64_t name##Outer, int64_t name##Inner, Indices name##Starts, Indices name##Indices,           \
      In<T> name##Values
#define METATE_VIEW(name)                                                                          \
  viewOf<T>(name##Outer, name##Inner, name##Starts, name##Indices, name##Values)

template <typename T> void bindAssembly(nb::module_ &module) {
  module.def(
      "assemble",
      [](Indices outerOf, Indices innerOf, In<T> values, int64_t outer, int64_t inner,
         int64_t threads) {
        expect(outerOf.size() == values.size() && innerOf.size() == values.size() && outer >= 0 &&
                   inner >= 0,
               "expected a row and a column for each value");
        Triplets<T> triplets{outerOf.data(), innerOf.data(), values.data(), int64_t(values.size())};
        return arraysOf(released([&] { return assemble(triplets, inner, outer, threads); }));
      },
      nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(), nb::arg(),
      nb::arg(),
      "(starts, indices, values) of the sums of triplets: outer and inner indices, values, "
      "extents, threads.");
}

template <typename T> void bindPairs(nb::module_ &module) {
  module.def("add", [](METATE_MATRIX(a), METATE_MATRIX(b), T factor) {
    View<T> a = METATE_VIEW(a), b = METATE_VIEW(b);
    expect(a.rows() == b.rows() && a.cols() == b.cols(), "expected equal shapes");
    expect(a.nonZeros() + b.nonZeros() <= mostEntries, "the sum may have too many entries");
    return arraysOf(released([&] { return add(a, b, factor); }));
  });
  module.def("multiply_elements", [](METATE_MATRIX(a), METATE_MATRIX(b)) {
    View<T> a = METATE_VIEW(a), b = METATE_VIEW(b);
    expect(a.rows() == b.rows() && a.cols() == b.cols(), "expected equal shapes");
    return arraysOf(released([&] { return multiplyElements(a, b); }));
  });
  module.def("multiply", [](METATE_MATRIX(a), METATE_MATRIX(b)) {
    View<T> a = METATE_VIEW(a), b = METATE_VIEW(b);
    expect(a.cols() == b.rows(), "expected shapes that fit");
    return arraysOf(released([&] { return multiply(a, b); }));
  });
}

template <typename T> void bindSingle(nb::module_ &module) {
  module.def("transpose", [](METATE_MATRIX(a)) {
    View<T> a = METATE_VIEW(a);
    return arraysOf(released([&] { return transpose(a); }));
  });
  module.def("apply", [](METATE_MATRIX(a), bool transposed, In<T> x, Out<T> y, int64_t threads) {
    View<T> a = METATE_VIEW(a);
    expect(int64_t(x.size()) == (transposed ? a.rows() : a.cols()) &&
               int64_t(y.size()) == (transposed ? a.cols() : a.rows()),
           "expected vectors that fit");
    nb::gil_scoped_release release;
    apply(a, transposed, x.data(), y.data(), threads);
  });
  module.def("is_finite", [](METATE_MATRIX(a)) {
    View<T> a = METATE_VIEW(a);
    return released([&] { return isFinite(a); });
  });
  module.def("find_asymmetry", [](METATE_MATRIX(a)) {
    View<T> a = METATE_VIEW(a);
    expect(a.rows() == a.cols(), "expected a square matrix");
    return released([&] { return findAsymmetry(a); });
  });
  module.def("iterate", [](METATE_MATRIX(a), In<T> b, Out<T> x, int64_t most, double tolerance) {
    View<T> a = METATE_VIEW(a);
    expect(a.rows() == a.cols() && int64_t(b.size()) == a.rows() && x.size() == b.size(),
           "expected a square matrix and vectors that fit");
    Iterated done = released([&] { return iterate(a, b.data(), x.data(), most, tolerance); });
    return nb::make_tuple(done.iterations, done.error, done.converged);
  });
}

template <typename T> void bindSolver(nb::module_ &module, const char *name) {
  nb::class_<Factorization<T>>(module, name, "A factorisation of matrices of one pattern.")
      .def(nb::init<const std::string &, const std::string &>(), nb::arg("kind"),
           nb::arg("ordering"))
      .def("analyze",
           [](Factorization<T> &self, METATE_MATRIX(a)) {
             View<T> a = METATE_VIEW(a);
             expect(a.rows() == a.cols(), "expected a square matrix");
             self.analyze(a);
           })
      .def(
          "factorize",
          [](Factorization<T> &self, METATE_MATRIX(a)) {
            View<T> a = METATE_VIEW(a);
            expect(a.rows() == a.cols(), "expected a square matrix");
            return self.factorize(a);
          },
          "1, 0 where a pivot is zero (or, for LLT, negative), -1 where another pattern was "
          "analysed.")
      .def("solve", &Factorization<T>::solve, nb::arg("b").noconvert(), nb::arg("x").noconvert());
}

template <typename T> void bindAll(nb::module_ &module, const char *solver) {
  bindAssembly<T>(module);
  bindPairs<T>(module);
  bindSingle<T>(module);
  bindSolver<T>(module, solver);
}

} // namespace
} // namespace metate::sparse

NB_MODULE(_sparse, module) {
  using namespace metate::sparse;
  module.doc() = "Sparse matrices and solvers over Eigen; metate.linalg is their interface.";
  bindAll<float>(module, "SolverF32");
  bindAll<double>(module, "SolverF64");
  module.def(
      "check_form",
      [](int64_t outer, int64_t inner, Indices starts, Indices indices) {
        expect(int64_t(starts.size()) == outer + 1,
               "expected a start for each column and one more");
        return int(checkForm(starts.data(), indices.data(), inner, outer, int64_t(indices.size())));
      },
      "0: canonical; 1: a column's rows do not ascend; 2: an index is outside, or the starts are "
      "none.");
  module.attr("eigen") = std::to_string(EIGEN_WORLD_VERSION) + "." +
                         std::to_string(EIGEN_MAJOR_VERSION) + "." +
                         std::to_string(EIGEN_MINOR_VERSION);
}
