"""Loops that only accumulate, whose turns a GPU's invocations share out (on the stand-in one takes them all): bodies, rows."""

import device_tests
import numpy as np
import pytest

import metate as mt

ARCH = device_tests.ARCH or mt.simt
array = mt.types.ndarray
f32, f64, i32, i64 = mt.f32, mt.f64, mt.i32, mt.i64
LENGTHS = [0, 1, 7, 31, 32, 33, 127, 128, 300, 1025]


@pytest.fixture(autouse=True)
def device():
    with mt.Context(arch=ARCH) as context:
        yield context


def numbers(*shape, dtype=np.float32):
    rng = np.random.default_rng(sum(shape))
    return rng.integers(-1000, 1000, shape, dtype) if np.issubdtype(dtype, np.integer) else rng.random(shape).astype(dtype)


@pytest.mark.parametrize("rows", [1, 5, 70, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_rows_of_arrays(rows, dtype):
    scalar = {np.float32: f32, np.float64: f64, np.int32: i32, np.int64: i64}[dtype]

    @mt.kernel
    def add_up(a: array(scalar, 2), x: array(scalar, 1), out: array(scalar, 1)):
        for i in out:
            s = scalar(0)
            for j in range(a.shape[1]):
                s += a[i, j] * x[j]
            out[i] = s + i

    for length in LENGTHS:
        a, x, out = numbers(rows, length, dtype=dtype), numbers(length, dtype=dtype), np.full(rows, 7, dtype)
        add_up(a, x, out)
        np.testing.assert_allclose(out, a @ x + np.arange(rows), rtol=1e-5)


@pytest.mark.parametrize("length", [n for n in LENGTHS if n])
def test_rows_of_fields(length):
    a, out = mt.field(f32, (45, length)), mt.field(f32, 45)
    a.from_numpy(numbers(45, length))

    @mt.kernel
    def add_up():
        for i in range(45):
            s = 0.5
            for j in range(length):
                s += a[i, j]
            out[i] = 2 * s

    add_up()
    np.testing.assert_allclose(out.to_numpy(), 1 + 2 * a.to_numpy().sum(1), rtol=1e-5)


@pytest.mark.parametrize("n", [40, 300, 3000])
@pytest.mark.parametrize("struct", [False, True])
def test_forces_between_bodies(n, struct):
    place = numbers(n, 3)
    if struct:
        bodies = mt.Struct.field({"pos": mt.types.vector(3, f32), "acc": mt.types.vector(3, f32)}, shape=n)
        pos, acc = bodies.pos, bodies.acc
    else:
        pos, acc = mt.Vector.field(3, f32, n), mt.Vector.field(3, f32, n)
    pos.from_numpy(place)

    @mt.kernel
    def attract():
        for i in pos:
            p = pos[i]
            a = mt.Vector([0.0, 0.0, 0.0])
            for j in range(n):
                d = pos[j] - p
                s = 1.0 / mt.sqrt(d.dot(d) + 1e-4)
                a += d * (s * s * s)
            acc[i] = a

    attract()
    d = place[None].astype(np.float64) - place[:, None]
    expected = (d * ((d**2).sum(2, keepdims=True) + 1e-4) ** -1.5).sum(1)
    np.testing.assert_allclose(acc.to_numpy(), expected, rtol=2e-4, atol=2e-3 * np.abs(expected).max())


def test_several_loops_and_places_behind():
    @mt.kernel
    def work(a: array(f32, 2), b: array(f32, 2), out: array(f32, 2), total: array(i32, 1)):
        for i in range(a.shape[0]):
            s, count = 0.0, 0
            for j in range(a.shape[1]):
                if a[i, j] > 0.5:
                    s += a[i, j]
                    count += 1
            t = 0.0
            for j in range(0, b.shape[1], 3):
                t += b[i, j] * a[i, 0]
            out[i, 0] += s
            out[i, 1] = t
            total[0] += count
            for k in range(2, 4):
                out[i, k] = s - t

    a, b = numbers(130, 257), numbers(130, 99)
    out, total = np.ones((130, 4), np.float32), np.zeros(1, np.int32)
    work(a, b, out, total)
    s, t = np.where(a > 0.5, a, 0).sum(1), b[:, ::3].sum(1) * a[:, 0]
    np.testing.assert_allclose(out, np.stack([1 + s, t, s - t, s - t], 1), rtol=1e-4)
    assert total[0] == (a > 0.5).sum()


def test_an_iterations_own_place_is_read_and_written():
    @mt.kernel
    def sweep(x: array(f32, 1), w: array(f32, 1)):
        for i in x:
            s = 0.0
            for j in range(w.shape[0]):
                s += w[j] * x[i]
            x[i] = x[i] + s

    x, w = numbers(777), numbers(200)
    expected = x * (1 + w.sum())
    sweep(x, w)
    np.testing.assert_allclose(x, expected, rtol=1e-4)


@pytest.mark.parametrize("transposed", [False, True])
def test_products_of_matrices(transposed):
    @mt.kernel
    def multiply(a: array(f32, 2), b: array(f32, 2), c: array(f32, 2)):
        for i, j in c:
            s = 0.0
            for k in range(a.shape[1]):
                if mt.static(transposed):
                    s += a[i, k] * b[j, k]
                else:
                    s += a[i, k] * b[k, j]
            c[i, j] = s

    a, b, c = numbers(37, 150), numbers(150, 53), np.zeros((37, 53), np.float32)
    multiply(a, np.ascontiguousarray(b.T) if transposed else b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4)


def test_sums_of_columns_and_boxes():
    @mt.kernel
    def add_up(a: array(f32, 3), columns: array(f32, 1), boxes: array(f32, 1)):
        for j in columns:
            s = 0.0
            for i in range(a.shape[0]):
                s += a[i, 0, j]
            columns[j] = s
        for i in boxes:
            t = 0.0
            for j, k in mt.ndrange(a.shape[1], a.shape[2]):
                t += a[i, j, k]
            boxes[i] = t

    a, columns, boxes = numbers(100, 40, 65), np.zeros(65, np.float32), np.zeros(100, np.float32)
    add_up(a, columns, boxes)
    np.testing.assert_allclose(columns, a[:, 0].sum(0), rtol=1e-4)
    np.testing.assert_allclose(boxes, a.sum((1, 2)), rtol=1e-4)


def test_overflowing_integers_wrap():
    @mt.kernel
    def add_up(a: array(i32, 2), out: array(i32, 1)):
        for i in out:
            s = 0
            for j in range(a.shape[1]):
                s += a[i, j] * 1000003
            out[i] = s

    a, out = numbers(50, 900, dtype=np.int32), np.zeros(50, np.int32)
    add_up(a, out)
    np.testing.assert_array_equal(out, (a.astype(np.int64) * 1000003).sum(1).astype(np.int32))


def test_sums_that_the_loop_looks_at():
    @mt.kernel
    def prefix(a: array(i32, 2), w: array(f32, 1), out: array(i32, 1), walked: array(f32, 1)):
        for i in out:
            c, t, k, s = 0, 0, 0, 0.0
            for j in range(a.shape[1]):
                c += a[i, j]
                t += c
                k += 1
                s += w[k]
            out[i] = t
            walked[i] = s

    a, w = numbers(60, 129, dtype=np.int32), numbers(131)
    out, walked = np.zeros(60, np.int32), np.zeros(60, np.float32)
    prefix(a, w, out, walked)
    np.testing.assert_array_equal(out, a.cumsum(1).sum(1))
    np.testing.assert_allclose(walked, w[1:130].sum(), rtol=1e-4)


def test_functions_and_assertions_behind_the_loop():
    tree = mt.root.pointer(mt.i, 64)
    x = mt.field(f32)
    tree.dense(mt.i, 64).place(x)

    @mt.real_func
    def put(i: i32, s: f32) -> i32:
        x[i] = s
        return 0

    @mt.kernel(asserts=True)
    def call(a: array(f32, 2)):
        for i in range(a.shape[0]):
            s = 0.0
            for j in range(a.shape[1]):
                s += a[i, j]
            assert s < 500.0
            put(i, s)

    a = numbers(4000, 40)
    call(a)
    np.testing.assert_allclose(x.to_numpy()[:4000], a.sum(1), rtol=1e-4)
    a[1234] = 100
    with pytest.raises(mt.AssertionError_):
        call(a)


def test_places_that_are_long_sums_of_sums():
    @mt.kernel
    def hashed(w: array(f32, 1), out: array(f32, 1)):
        for i in out:
            s = 0.0
            for j in range(w.shape[0]):
                x = j + i
                for _ in mt.static(range(40)):
                    x = x ^ (x >> 3)
                    x = x + x * 3
                s += w[x & 63]
            out[i] = s

    w, out = numbers(64), np.zeros(33, np.float32)
    hashed(w, out)
    with np.errstate(over="ignore"):
        x = np.arange(64, dtype=np.int32)[None] + np.arange(33, dtype=np.int32)[:, None]
        for _ in range(40):
            x = x ^ (x >> 3)
            x = x + x * np.int32(3)
    np.testing.assert_allclose(out, w[x & 63].sum(1), rtol=1e-4)
