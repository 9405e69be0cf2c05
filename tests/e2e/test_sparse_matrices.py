"""Sparse matrices: assembled by kernels, computed with, read and written, shared with SciPy; against NumPy's dense ones."""

import subprocess
import sys

import numpy as np
import pytest
import seeded

import metate as mt
from metate.errors import RuntimeIndexError_, RuntimeIOError_, RuntimeTypeError_, RuntimeValueError_
from metate.linalg.sparse_native import available

pytestmark = pytest.mark.skipif(not available(), reason="this build has no Eigen (libeigen3-dev)")
DTYPES, FORMATS = (mt.f32, mt.f64), ("col_major", "row_major")
each = pytest.mark.parametrize("dtype, storage_format", [(t, f) for t in DTYPES for f in FORMATS])


@mt.kernel
def assemble(
    K: mt.types.sparse_matrix_builder(), rows: mt.types.ndarray(), columns: mt.types.ndarray(), values: mt.types.ndarray()
):
    for k in range(rows.shape[0]):
        if k % 2 == 0:
            K[rows[k], columns[k]] += values[k]
        else:
            K[mt.Vector([rows[k], columns[k]])] -= values[k]


@mt.kernel
def laplacian(K: mt.types.sparse_matrix_builder(), n: mt.i32):
    for i, j in mt.ndrange(n, n):
        at = i * n + j
        K[at, at] += 4
        if i > 0:
            K[at, at - n] -= 1
        if i < n - 1:
            K[at, at + n] -= 1
        if j > 0:
            K[at, at - 1] -= 1
        if j < n - 1:
            K[at, at + 1] -= 1


def random_triplets(rng, n, m, count):
    rows, columns = (rng.integers(0, k, count).astype(np.int32) for k in (n, m))
    return rows, columns, rng.standard_normal(count).astype(np.float32)


def dense_of(triplets, n, m):
    dense = np.zeros((n, m))
    rows, columns, values = triplets
    signs = np.where(np.arange(len(values)) % 2 == 0, 1, -1)
    np.add.at(dense, (rows, columns), signs * values.astype(np.float64))
    return dense


def made(name, n=7, m=5, count=20, dtype=mt.f64, storage_format="col_major"):
    """(a random matrix, the same dense in its dtype)."""
    triplets = random_triplets(seeded.generator(name), n, m, count)
    K = mt.linalg.SparseMatrixBuilder(n, m, count, dtype, storage_format)
    assemble(K, *triplets)
    return K.build(), dense_of(triplets, n, m).astype(dtype.numpy)


@each
@pytest.mark.parametrize("n, m, count", [(1, 1, 3), (40, 30, 3000), (1000, 7, 500), (3, 2, 0)])
def test_triplets_become_the_sum_of_each_place(dtype, storage_format, n, m, count):
    triplets = random_triplets(seeded.generator("sums"), n, m, count)
    K = mt.linalg.SparseMatrixBuilder(n, m, max_num_triplets=count, dtype=dtype, storage_format=storage_format)
    assemble(K, *triplets)
    assert K.num_triplets == count and K.shape == (n, m)
    A = K.build()
    dense = dense_of(triplets, n, m)
    assert np.array_equal(A.to_numpy(), dense.astype(dtype.numpy)) or dtype is mt.f64
    np.testing.assert_allclose(A.to_numpy(), dense, rtol=1e-6, atol=1e-12)
    assert A.nnz == len(set(zip(*(part.tolist() for part in triplets[:2]))))
    assert (A.shape, A.dtype, A.storage_format) == ((n, m), dtype, storage_format)
    assert K.num_triplets == 0, "build empties the builder, which can be filled again"


def test_one_instance_is_for_builders_of_all_sizes():
    for n in (2, 3, 10):
        K = mt.linalg.SparseMatrixBuilder(n * n, max_num_triplets=5 * n * n)
        laplacian(K, n)
        dense = K.build().to_numpy()
        assert np.array_equal(dense, dense.T) and np.all(np.diag(dense) == 4)
        assert dense.sum() == 4 * n  # what the border's missing neighbours leave
    assert len(laplacian.instances()) == 1


def test_the_sums_do_not_depend_on_threads_or_on_the_triplets_order():
    rng = seeded.generator("order")
    triplets = random_triplets(rng, 9, 9, 5000)
    triplets = (*triplets[:2], (triplets[2] * 10.0 ** rng.integers(-6, 6, 5000)).astype(np.float32))
    found = set()
    for threads in (1, 4):
        with mt.Context(threads=threads):
            for _ in range(3):
                K = mt.linalg.SparseMatrixBuilder(9, 9, 5000)
                pairs = rng.permutation(2500)
                order = np.stack([2 * pairs, 2 * pairs + 1], 1).ravel()  # the signs stay with their numbers
                assemble(K, *(part[order] for part in triplets))
                found.add(K.build().to_numpy().tobytes())
    assert len(found) == 1


@pytest.mark.parametrize("storage_format", FORMATS)
def test_large_matrices_are_the_same_for_any_number_of_threads(storage_format):
    n, found = 380, []
    x = seeded.generator("large").standard_normal((n, n)).astype(np.float32)
    for threads in (1, 3):
        with mt.Context(threads=threads):
            K = mt.linalg.SparseMatrixBuilder(n * n, max_num_triplets=5 * n * n, storage_format=storage_format)
            laplacian(K, n)
            assert K.num_triplets > 3 << 17, "enough for three threads"
            A = K.build()
            found.append((*A.triplets(), A @ x.ravel()))
    assert all(np.array_equal(one, other) for one, other in zip(*found))
    rows, columns, values, product = found[0]
    assert np.array_equal(values, np.where(rows == columns, 4, -1)) and np.isin(np.abs(rows - columns), (0, 1, n)).all()
    g = np.pad(x, 1)
    expected = 4 * x - g[2:, 1:-1] - g[:-2, 1:-1] - g[1:-1, 2:] - g[1:-1, :-2]
    np.testing.assert_allclose(product, expected.ravel(), atol=1e-5)


def test_builders_in_functions_methods_and_by_template():
    @mt.func
    def put(K: mt.types.sparse_matrix_builder(), i, value):
        K[i, i] += value

    @mt.data_oriented
    class Mesh:
        @mt.kernel
        def fill(self, K: mt.types.sparse_matrix_builder(mt.f64), weights: mt.template()):
            for i in weights:
                put(K, i, weights[i])

        @mt.kernel
        def by_template(self, K: mt.template()):
            for i in mt.static(range(3)):
                K[i, 2 - i] += mt.u8(1)
                K[i, 2 - i] -= mt.u8(3)  # its negative is no u8

    weights = mt.field(mt.f32, 3)
    weights.from_numpy(np.array([1, 2, 3], np.float32))
    K = mt.linalg.SparseMatrixBuilder(3, max_num_triplets=9, dtype=mt.f64)
    Mesh().fill(K, weights)
    Mesh().by_template(K)
    assert np.array_equal(K.build().to_numpy(), np.diag([1.0, 2, 3]) - 2 * np.eye(3)[::-1])


def test_kernels_of_modules_take_builders(tmp_path):
    @mt.kernel
    def diagonal(K: mt.types.sparse_matrix_builder(mt.f32), n: mt.i32):
        for i in range(n):
            K[i, i] += i

    module = mt.aot.Module()
    module.add_kernel(diagonal)
    loaded = mt.aot.load(module.save(tmp_path / "sparse.metate"))
    K = mt.linalg.SparseMatrixBuilder(4, max_num_triplets=9)
    loaded.diagonal(K, 4)
    assert np.array_equal(K.build().to_numpy(), np.diag([0, 1, 2, 3]))
    with pytest.raises(RuntimeTypeError_, match="expected one of counts, row, column, value, got 'rows'"):
        K.get_member("rows")


def test_print_triplets_and_matrices(capsys):
    K = mt.linalg.SparseMatrixBuilder(2, 3, max_num_triplets=10)
    assemble(K, np.array([1, 0, 1], np.int32), np.array([0, 2, 0], np.int32), np.array([1.5, 2, 1], np.float32))
    K.print_triplets()
    print(K.build())
    printed = "n=2, m=3, num_triplets=3 (max=10)\n[0, 2] = -2\n[1, 0] = 1\n[1, 0] = 1.5\n[  0,   0,  -2]\n[2.5,   0,   0]\n"
    assert capsys.readouterr().out == printed
    assert repr(mt.linalg.SparseMatrix(100, 50)) == ("<metate.linalg.SparseMatrix of f32, shape (100, 50), 0 entries, col_major>")


def test_too_many_triplets_and_places_outside_name_the_builders_line():
    K = mt.linalg.SparseMatrixBuilder(4, 4, max_num_triplets=3)
    line = sys._getframe().f_lineno - 1
    ones = np.ones(5, np.float32)
    assemble(K, np.zeros(5, np.int32), np.zeros(5, np.int32), ones)
    with pytest.raises(RuntimeValueError_) as caught:
        K.build()
    text = f"SparseMatrixBuilder of {__file__}:{line}: expected at most max_num_triplets=3 triplets, got 5: give it as many"
    assert str(caught.value) == text
    for row, column in ((4, 0), (0, 4), (-1, 0), (0, -7), (1 << 40, 0)):
        K.clear()
        assemble(K, np.array([row] * 2), np.array([column] * 2), ones[:2])
        for read in (K.build, K.print_triplets, lambda: K.num_triplets):
            with pytest.raises(RuntimeIndexError_) as caught:
                read()
            assert f"{__file__}:{line}: " in str(caught.value) and f"got ({row}, {column}) and 1 more" in str(caught.value)
    K.clear()
    assert K.build().nnz == 0


@each
def test_arithmetic(dtype, storage_format):
    other = FORMATS[storage_format == "col_major"]
    A, a = made("A", dtype=dtype, storage_format=storage_format)
    B, b = made("B", dtype=dtype, storage_format=other)
    C, c = made("C", 5, 6, 15, dtype, other)
    near = lambda found, expected: np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-5, atol=1e-6)
    for found, expected in (
        (A + B, a + b), (A - B, a - b), (A * B, a * b), (A * 2.5, a * 2.5), (3 * A, 3 * a), (A / 2, a / 2), (-A, -a),
        (A @ C, a @ c), (A.transpose(), a.T), (A.T @ A, a.T @ a), (np.float64(2) * A, 2 * a),
    ):  # fmt: skip
        near(found, expected)
        assert found.dtype is dtype and found.storage_format == storage_format
        assert found.to_numpy().shape == expected.shape
    D = mt.linalg.SparseMatrix(sm=A)
    D += B
    D -= A
    D *= 2
    near(D, 2 * b)
    near(A, a)
    near(A.astype(mt.f64), a)


@each
def test_products_with_vectors(dtype, storage_format):
    A, a = made("vectors", dtype=dtype, storage_format=storage_format)
    x = seeded.generator("x").standard_normal(5)
    near = lambda found: np.testing.assert_allclose(found, a @ x, rtol=1e-4, atol=1e-5)
    near(A @ x)
    near(A @ x.tolist())
    held = mt.ndarray(dtype, 5)
    held.from_numpy(x)
    assert type(A @ held) is type(held)
    near((A @ held).to_numpy())
    field = mt.field(dtype, 5)
    field.from_numpy(x.astype(dtype.numpy))
    assert (A @ field).dtype == dtype.numpy
    near(A @ field)
    for y in (mt.field(dtype, 7), mt.ndarray(dtype, 7), np.zeros(7, dtype.numpy)):
        A.spmv(field, y)
        near(y if isinstance(y, np.ndarray) else y.to_numpy())


@each
def test_entries_are_read_and_written(dtype, storage_format):
    A, a = made("entries", dtype=dtype, storage_format=storage_format)
    for i, j in np.ndindex(a.shape):
        assert A[i, j] == a[i, j]
    before = A.nnz
    for i, j, value in ((2, 3, 7.0), (6, 4, -1.0), (0, 0, 2.5), (6, 0, 1.0)):
        A[i, j] = a[i, j] = value
        assert np.array_equal(A.to_numpy(), a)
    assert before < A.nnz == np.count_nonzero(a)
    for key in ((7, 0), (0, 5), (-1, 0), 3, (1.5, 0)):
        with pytest.raises(RuntimeIndexError_):
            A[key]


def test_build_from_ndarray():
    triplets = mt.Vector.ndarray(3, mt.f32, 4)
    triplets.from_numpy(np.array([[0, 1, 5], [1, 2, 7], [0, 1, 0.5], [2, 0, -1]], np.float32))
    expected = np.array([[0, 5.5, 0], [0, 0, 7], [-1, 0, 0]])
    for given in (triplets, triplets.to_numpy()):
        A = mt.linalg.SparseMatrix(3, 3, dtype=mt.f64)
        A.build_from_ndarray(given)
        assert np.array_equal(A.to_numpy(), expected)
    for wrong, error in (
        ([[0, 0, 1], [3, 0, 1]], RuntimeIndexError_), ([[0.5, 0, 1]], RuntimeValueError_), ([[0, np.nan, 1]], RuntimeValueError_),
        ([1, 2, 3], RuntimeValueError_),
    ):  # fmt: skip
        with pytest.raises(error):
            A.build_from_ndarray(np.array(wrong))


@each
def test_matrix_market_files_give_the_same_bits_back(tmp_path, dtype, storage_format):
    A, a = made("file", dtype=dtype, storage_format=storage_format)
    path = tmp_path / "a.mtx"
    A.mmwrite(path)
    B = mt.linalg.SparseMatrix.mmread(path, dtype, storage_format)
    assert np.array_equal(B.to_numpy(), a) and B.nnz == A.nnz
    half = "%%MatrixMarket matrix coordinate {} {}\n% a comment\n\n3 3 2\n1 1 {}\n3 2 {}\n"
    for field, symmetry, values, expected in (
        ("integer", "symmetric", (4, 5), [[4, 0, 0], [0, 0, 5], [0, 5, 0]]),
        ("real", "skew-symmetric", (0, 2.5), [[0, 0, 0], [0, 0, -2.5], [0, 2.5, 0]]),
        ("pattern", "general", ("", ""), [[1, 0, 0], [0, 0, 0], [0, 1, 0]]),
    ):
        path.write_text(half.format(field, symmetry, *values))
        assert np.array_equal(mt.linalg.SparseMatrix.mmread(path, dtype).to_numpy(), expected)


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "expected '%%MatrixMarket matrix'"),
        ("%%MatrixMarket matrix array real general\n2 2\n", "expected coordinate format, got array"),
        ("%%MatrixMarket matrix coordinate complex general\n", "got complex"),
        ("%%MatrixMarket matrix coordinate real hermitian\n", "got hermitian"),
        ("%%MatrixMarket matrix coordinate real general\n% only this\n", "got the file's end"),
        ("%%MatrixMarket matrix coordinate real general\n2 2\n", "expected rows, columns and entries"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 99999999999\n", "expected at most 2147483647"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n", "expected 2 lines of 3 numbers"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n", "expected rows and columns from 1"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 x 1\n", "could not convert"),
    ],
)
def test_files_that_are_none_are_errors(tmp_path, text, said):
    (tmp_path / "a.mtx").write_text(text)
    with pytest.raises(RuntimeIOError_, match=said):
        mt.linalg.SparseMatrix.mmread(tmp_path / "a.mtx")
    with pytest.raises(RuntimeIOError_, match="No such file"):
        mt.linalg.SparseMatrix.mmread(tmp_path / "b.mtx")


@each
def test_scipy_shares_the_memory(dtype, storage_format):
    sparse = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")
    A, a = made("scipy", dtype=dtype, storage_format=storage_format)
    S = A.to_scipy()
    assert S.format == ("csr" if storage_format == "row_major" else "csc") and np.array_equal(S.toarray(), a)
    S.data *= 2
    assert np.array_equal(A.to_numpy(), 2 * a)
    B = mt.linalg.SparseMatrix.from_scipy(S)
    B[tuple(np.argwhere(a)[0])] = 100
    assert 100 in S.data and B.storage_format == storage_format and B.dtype is dtype
    for other in (S.tocoo(), S.tolil(), sparse.bsr_array(S)):
        assert np.array_equal(mt.linalg.SparseMatrix.from_scipy(other).to_numpy(), S.toarray())
    S.indices[0] = 10**6
    for use in (lambda: B @ np.ones(5), lambda: A + A, lambda: A.transpose(), lambda: B[0, 0]):
        with pytest.raises(RuntimeValueError_, match="SciPy has changed them"):
            use()


def test_scipys_unsorted_and_repeated_indices_are_put_in_order():
    sparse = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")
    S = sparse.csr_array((np.array([1.0, 2, 4]), np.array([2, 0, 2]), np.array([0, 3, 3])), shape=(2, 3))
    A = mt.linalg.SparseMatrix.from_scipy(S)
    assert np.array_equal(A.to_numpy(), [[2, 0, 5], [0, 0, 0]]) and A.nnz == 2
    S.indices[:] = 7
    with pytest.raises(RuntimeValueError_, match="expected indices inside"):
        mt.linalg.SparseMatrix.from_scipy(S)
    for wrong in (np.eye(3), sparse.csr_array(np.eye(2, dtype=np.int32)), sparse.csr_array(np.eye(2, dtype=complex))):
        with pytest.raises(RuntimeTypeError_):
            mt.linalg.SparseMatrix.from_scipy(wrong)


def test_wrong_arguments_are_errors_that_say_what_was_expected():
    make, builder = mt.linalg.SparseMatrix, mt.linalg.SparseMatrixBuilder
    A, B, C = make(3), make(3, dtype=mt.f64), make(3, 4)
    for use, error, said in (
        (lambda: make(-1), RuntimeValueError_, "SparseMatrix: n: expected 0 to 2147483647, got -1"),
        (lambda: make(2.5), RuntimeTypeError_, "expected an integer, got 2.5"),
        (lambda: make(2, dtype=mt.i32), RuntimeTypeError_, "dtype: expected f32 or f64, got i32"),
        (lambda: make(2, storage_format="csr"), RuntimeValueError_, "expected 'col_major' or 'row_major', got 'csr'"),
        (lambda: builder(2, 2, -3), RuntimeValueError_, "max_num_triplets: expected 0 to"),
        (lambda: builder(), RuntimeTypeError_, "num_rows: expected an integer, got None"),
        (lambda: A + B, RuntimeTypeError_, r"SparseMatrix \+: expected a matrix of f32, got one of f64"),
        (lambda: A - C, RuntimeValueError_, r"SparseMatrix -: expected shape \(3, 3\), got \(3, 4\)"),
        (lambda: C @ A, RuntimeValueError_, r"expected a matrix of 4 rows, got shape \(3, 3\)"),
        (lambda: A + 1, RuntimeTypeError_, "expected a SparseMatrix, got int"),
        (lambda: A * "x", RuntimeTypeError_, "expected a number or a SparseMatrix, got str"),
        (lambda: A / A, RuntimeTypeError_, "expected a number, got SparseMatrix"),
        (lambda: A @ np.ones(4), RuntimeValueError_, r"expected shape \(3,\), got \(4,\)"),
        (lambda: A @ np.ones((3, 1)), RuntimeValueError_, r"expected shape \(3,\), got \(3, 1\)"),
        (lambda: A @ "abc", RuntimeTypeError_, "expected a field, an ndarray or a NumPy array of numbers"),
        (lambda: A @ np.ones(3, complex), RuntimeTypeError_, "NumPy array of numbers"),
        (lambda: laplacian(np.zeros(3, np.float32), 1), RuntimeTypeError_, "expected a linalg.SparseMatrixBuilder, got ndarray"),
        (lambda: assemble(builder(2), builder(2), 1, 2), RuntimeTypeError_, "annotate it with types.sparse_matrix_builder"),
    ):
        with pytest.raises(error, match=said):
            use()


def test_importing_does_not_load_eigen():
    program = (
        "import sys, metate as mt; mt.linalg.svd; assert 'metate_native._sparse' not in sys.modules; "
        "mt.linalg.SparseMatrix(2) @ [1, 2]; assert 'metate_native._sparse' in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
