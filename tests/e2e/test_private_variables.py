"""Variables made before a parallel loop that each iteration makes anew: assigned there before they are read, not read after."""

import numpy as np
import pytest

import metate as mt

N = 4000  # enough for several chunks


@pytest.fixture(autouse=True)
def _run():
    mt.init(arch=mt.cpu)
    yield
    mt.reset()


def _refused(kernel, *arguments):
    with pytest.raises(mt.CompilationError, match=r"r(\[0\])?'?: made outside the parallel loop that assigns it"):
        kernel(*arguments)


def test_scalars_and_vectors_are_the_iterations_own():
    x = mt.field(mt.f32, shape=N)

    @mt.kernel
    def k():
        r = x[0] + 7.0
        v = mt.Vector([r, 1.0])
        for i in range(N):
            r = i * 2.0
            v = mt.Vector([r, 3.0])
            if i % 2 == 0:
                r += v[1]
            x[i] = r + v[0]

    k()
    i = np.arange(N)
    np.testing.assert_array_equal(x.to_numpy(), 4.0 * i + 3.0 * (i % 2 == 0))


def test_it_has_the_type_of_the_variable_before_the_loop():
    x = mt.field(mt.f32, shape=8)

    @mt.kernel
    def k():
        n = 0
        for i in range(8):
            n = i + 1.5
            x[i] = n

    with pytest.warns(UserWarning, match="variable 'n': a value of type f32 is cast to the variable's type i32"):
        k()
    np.testing.assert_array_equal(x.to_numpy(), np.arange(8) + 1)


def test_nested_blocks_and_sums_of_its_own():
    x, y = mt.field(mt.f32, shape=N), mt.field(mt.i32, shape=N)

    @mt.kernel
    def k():
        s, t = 0.0, 0
        for i in range(N):
            s = 0.0
            for j in range(i % 7):
                s += j
            x[i] = s
            for j in range(3):
                if j > 1:
                    t = i
                else:
                    t = -j
                y[i] += t
        s = 1.0
        x[0] = s

    k()
    m = np.arange(N) % 7
    expected = (m * (m - 1) // 2).astype(np.float32)
    expected[0] = 1
    np.testing.assert_array_equal(x.to_numpy(), expected)
    np.testing.assert_array_equal(y.to_numpy(), np.arange(N) - 1)


def test_loops_over_fields_boxes_and_unrolled_ones():
    x, y = mt.field(mt.i32, shape=N), mt.field(mt.i32, shape=(3, 5))
    pair = mt.types.struct(a=mt.i32, b=mt.i32)

    @mt.kernel
    def k():
        r, q = 0, 0
        p = pair(a=1, b=2)
        for i in x:
            r, q = i, 2 * i
            p = pair(a=r, b=q)
            x[i] = p.a + p.b
        for c in mt.static(range(2)):
            for i, j in mt.ndrange(3, 5):
                r = i * 10 + j
                y[i, j] += r + c

    k()
    np.testing.assert_array_equal(x.to_numpy(), 3 * np.arange(N))
    i, j = np.indices((3, 5))
    np.testing.assert_array_equal(y.to_numpy(), 20 * i + 2 * j + 1)


def test_a_sum_in_one_loop_is_private_in_another():
    x = mt.field(mt.i32, shape=N)

    @mt.kernel
    def k():
        s = 0
        for i in range(N):
            s += i
        x[0] = s
        for i in range(1, N):
            s = i
            s += 1
            x[i] = s

    k()
    np.testing.assert_array_equal(x.to_numpy(), [N * (N - 1) // 2, *range(2, N + 1)])


def test_derivatives():
    x, y = mt.field(mt.f32, shape=8, needs_grad=True), mt.field(mt.f32, shape=8, needs_grad=True)

    @mt.kernel
    def k():
        r = 2.0
        for i in range(8):
            r = x[i] * x[i]
            y[i] = r * x[i]

    x.from_numpy(np.arange(8, dtype=np.float32))
    k()
    y.grad.fill(1)
    k.grad()
    np.testing.assert_array_equal(y.to_numpy(), np.arange(8.0) ** 3)
    np.testing.assert_array_equal(x.grad.to_numpy(), 3 * np.arange(8.0) ** 2)


def test_what_an_iteration_may_read_from_before_is_refused():
    x = mt.field(mt.f32, shape=8)

    @mt.kernel
    def under_a_condition():
        r = 1.0
        for i in range(8):
            if i > 3:
                r = i
            x[i] = r

    @mt.kernel
    def in_its_own_value():
        r = 1.0
        for i in range(8):
            r = r * 2.0
            x[i] = r

    @mt.kernel
    def in_a_loop_without_iterations():
        r = 1.0
        for i in range(8):
            for j in range(i):
                r = j
            x[i] = r

    @mt.kernel
    def by_a_function():
        r = 1.0
        f = lambda a: a + r
        for i in range(8):
            r = i * 1.0
            x[i] = f(r)

    @mt.kernel
    def a_component():
        r = mt.Vector([1.0, 2.0])
        for i in range(8):
            r[0] = i
            x[i] = r[1]

    for kernel in (under_a_condition, in_its_own_value, in_a_loop_without_iterations, by_a_function, a_component):
        _refused(kernel)


def test_what_is_read_after_the_loop_is_refused():
    x = mt.field(mt.f32, shape=8)

    @mt.kernel
    def after():
        r = 1.0
        for i in range(8):
            r = i
        x[0] = r

    @mt.kernel
    def under_a_condition(n: mt.i32):
        r = 1.0
        for i in range(8):
            r = i
        if n > 0:
            r = 2.0
        x[0] = r

    @mt.kernel
    def in_the_next_unrolled_iteration():
        r = 1.0
        for c in mt.static(range(2)):
            x[c] = r
            for i in range(8):
                r = i

    @mt.kernel
    def past_a_continue():
        r = 1.0
        for c in mt.static(range(2)):
            x[c] = r
            for i in range(8):
                r = i
            if mt.static(c == 0):
                continue
            r = 3.0

    @mt.kernel
    def as_the_bound_of_the_next() -> mt.i32:
        r = 1
        for i in range(8):
            r = i
        n = 0
        for i in range(r):
            n += i
        return n

    for kernel in (after, in_the_next_unrolled_iteration, past_a_continue, as_the_bound_of_the_next):
        _refused(kernel)
    _refused(under_a_condition, 1)
