"""Lists and tuples beside vectors, products of vectors, truth of comparisons: as in Taichi, in kernels and in Python."""

import pytest

import metate as ti


def test_lists_beside_vectors_in_kernels():
    @ti.kernel
    def run() -> ti.types.vector(8, ti.i32):
        v = ti.Vector([1, 2, 3])
        m = ti.Matrix([[1, 2], [3, 4]])
        least = ti.min(v, [2, 2, 2])
        most = ti.max([2, 2, 2], v)
        chosen = ti.select(v > 1, [1, 1, 1], [0, 0, 0])
        return ti.Vector(
            [
                all(v == [1, 2, 3]),
                all(m == ((1, 2), (3, 4))),
                any(v != (1, 2, 3)),
                least.sum(),
                most.sum(),
                chosen.sum(),
                all([3, 2, 1] >= v),
                (v < [2, 2, 4]).sum(),
            ]
        )

    assert run().to_list() == [1, 1, 0, 5, 7, 2, 0, 2]


def test_a_list_of_another_length_is_refused():
    @ti.kernel
    def run():
        print(ti.Vector([1, 2, 3]) == [1, 2])

    with pytest.raises(ti.TaichiTypeError):
        run()


def test_products_of_vectors_in_kernels():
    @ti.kernel
    def run() -> ti.types.vector(4, ti.f32):
        v = ti.Vector([1.0, 2.0])
        w = ti.Vector([3.0, 4.0])
        m = ti.Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        row = v @ m
        return ti.Vector([v @ w, row[0], row[1], row[2]])

    assert run().to_list() == [11, 9, 12, 15]


def test_truth_of_comparisons_in_python():
    x = ti.Vector.field(2, ti.f32, ())
    x[None] = [1, 2]
    assert x[None] == [1, 2]
    assert not (x[None] == [1, 3])
    m = ti.Matrix([[1, 2], [3, 4]])
    assert all(m == ti.Matrix([[1, 2], [3, 4]]))
    assert not all(m == ti.Matrix([[1, 2], [3, 5]]))
    assert any(m == ti.Matrix([[9, 9], [3, 4]]))  # a row, as a whole


def test_grouped_loops_of_no_dimensions():
    x = ti.field(ti.f32, ())

    @ti.kernel
    def fill(x: ti.template(), value: ti.f32):
        for I in ti.grouped(x):
            x[I] = value

    @ti.kernel
    def over_nothing() -> ti.i32:
        n = 0
        for _I in ti.grouped(ti.ndrange()):
            n += 1
        for _I in ti.static(ti.grouped(ti.ndrange())):
            n += 10
        return n

    fill(x, 3.0)
    assert x[None] == 3
    assert over_nothing() == 11


def test_a_number_for_all_of_a_nested_struct():
    L = ti.types.struct(d=ti.math.vec3, len=float)
    S = ti.types.struct(line=L, k=int)
    s = S(2)
    assert s.line.d.to_list() == [2, 2, 2]
    assert (s.line.len, s.k) == (0, 0)

    @ti.kernel
    def run() -> ti.types.vector(5, ti.f32):
        s = S(2)
        return ti.Vector([s.line.d[0], s.line.d[1], s.line.d[2], s.line.len, s.k])

    assert run().to_list() == [2, 2, 2, 0, 0]


def test_classes_of_values():
    v, m = ti.Vector([1, 2]), ti.Matrix([[1, 2], [3, 4]])
    assert isinstance(v, ti.Matrix) and isinstance(m, ti.Matrix)
    assert isinstance(v, ti.Vector) and not isinstance(m, ti.Vector)
    assert not isinstance([1, 2], ti.Vector)
    assert isinstance(ti.ndarray(ti.f32, 3), ti.ScalarNdarray)
    assert isinstance(ti.Vector.ndarray(2, ti.f32, 3), ti.VectorNdarray)
    assert isinstance(ti.Matrix.ndarray(2, 2, ti.f32, 3), ti.MatrixNdarray)
    assert isinstance(ti.Vector.ndarray(2, ti.f32, 3), ti.Ndarray)
    assert not isinstance(ti.ndarray(ti.f32, 3), ti.VectorNdarray)
    assert (v.entries == [1, 2]).all()
    assert ti.i32.to_string() == "i32"


def test_classes_of_values_in_kernels():
    @ti.func
    def kind(x):
        found = 0
        if ti.static(isinstance(x, ti.Vector)):
            found = 1
        elif ti.static(isinstance(x, ti.Matrix)):
            found = 2
        return found

    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.math.vec2, ndim=1)) -> ti.types.vector(4, ti.i32):
        m = ti.Matrix([[1, 2], [3, 4]])
        is_array = 0
        if ti.static(isinstance(a, ti.VectorNdarray) and not isinstance(a, (ti.ScalarNdarray, ti.MatrixNdarray))):
            is_array = 1
        return ti.Vector([kind(a[0]), kind(m), kind(3), is_array])

    assert run(ti.Vector.ndarray(2, ti.f32, 3)).to_list() == [1, 2, 0, 1]


def test_zeros_and_ones_by_keywords():
    assert ti.Vector.zero(ti.f32, n=3).to_list() == [0, 0, 0]
    assert ti.Matrix.one(dt=ti.i32, n=2, m=1).to_list() == [[1], [1]]

    @ti.kernel
    def run() -> ti.f32:
        return ti.Vector.one(ti.f32, n=3).sum() + ti.Matrix.zero(ti.f32, n=2, m=2).sum() + ti.Matrix.one(ti.f32, 2, 2).sum()

    assert run() == 7


def test_return_none():
    x = ti.field(ti.i32, ())

    @ti.kernel
    def run(n: ti.i32):
        if n > 1:
            x[None] = n
        return None

    run(3)
    assert x[None] == 3

    @ti.kernel
    def ends(early: ti.template()):
        x[None] = 1
        if ti.static(early):
            return None
        x[None] = 2

    ends(True)
    assert x[None] == 1
    ends(False)
    assert x[None] == 2


def test_a_loop_under_a_constant_condition():
    @ti.kernel
    def run() -> ti.i32:
        last = 0
        if True:
            for i in range(100):
                if i == 7:
                    break
                last = i
        if ti.static(1):
            for i in range(100):
                if i == 5:
                    break
                last += i
        return last

    assert run() == 6 + 10


def test_serialized_loops_over_fields():
    x = ti.field(ti.i32, (4, 4))

    @ti.kernel
    def sweep():
        ti.loop_config(serialize=True)
        for i, j in x:
            if i > 0:
                x[i, j] = x[i - 1, j] + 1
            elif j > 0:
                x[i, j] = x[i, j - 1] + 10

    sweep()
    assert x.to_numpy().tolist() == [[10 * j + i for j in range(4)] for i in range(4)]


def test_captured_arrays_of_no_dimensions():
    import numpy as np

    n = np.array(5)

    @ti.kernel
    def run() -> ti.i32:
        s = 0
        for i in range(n):
            s += i * n
        return s

    assert run() == 50


def test_a_grouped_static_index_is_a_vector():
    @ti.kernel
    def run() -> ti.f32:
        s = 0.0
        for I in ti.static(ti.grouped(ti.ndrange(2, 3))):
            s += I.cast(float).norm_sqr() + I.sum()
        return s

    assert run() == sum(i * i + j * j + i + j for i in range(2) for j in range(3))


def test_structs_without_members():
    @ti.dataclass
    class Methods:
        @ti.func
        def two(self):
            return 2

    @ti.kernel
    def run() -> ti.i32:
        return Methods().two()

    assert run() == 2
    ti.types.struct()


def test_vectors_from_rows_and_columns():
    import numpy as np

    v = ti.Vector.field(3, ti.f32, 2)
    values = np.arange(6, dtype="f4").reshape(2, 3)
    for shape in ((2, 3), (2, 1, 3), (2, 3, 1)):
        v.fill(0)
        v.from_numpy(values.reshape(shape))
        assert (v.to_numpy() == values).all()


def test_any_and_all_of_matrices():
    m = ti.Vector.field(2, ti.i32, ())

    @ti.kernel
    def run() -> ti.i32:
        return any(m[None]) + 2 * all(m[None] > 0)

    assert run() == 0
    m[None] = [1, 0]
    assert run() == 1
    m[None] = [1, 2]
    assert run() == 3
