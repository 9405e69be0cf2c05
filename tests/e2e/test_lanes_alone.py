"""Iterations as lanes that run a loop along their own row alone, add to shared places at the end, or have nests of few turns."""

import numpy as np
import pytest
from ways import PIECES, UNOPTIMISED, distinct, without

import metate as mt

f32, f64, i32 = mt.f32, mt.f64, mt.i32
NUMPY = {f32: np.float32, f64: np.float64, i32: np.int32}
array = mt.types.ndarray
WAYS = distinct(*without("across_iterations"), UNOPTIMISED, PIECES)
ROWS = [1, 15, 16, 17, 50]


@pytest.fixture(params=WAYS, ids=str)
def way(request):
    with mt.Context(**request.param) as context:
        yield context


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("m", [1, 3, 33, 100])
@pytest.mark.parametrize("n", ROWS)
def test_online_softmax(rng, n, m, fast):
    for options in WAYS:
        with mt.Context(fast_math=fast, **options):
            x, y = mt.field(f32, shape=(n, m)), mt.field(f32, shape=(n, m))
            values = rng.normal(0, 3, (n, m)).astype(np.float32)
            x.from_numpy(values)

            @mt.kernel
            def softmax(x: mt.template(), y: mt.template()):
                for i in range(n):
                    most, s = -1e30, 0.0
                    for j in range(m):
                        v = x[i, j]
                        if v > most:
                            s *= mt.exp(most - v)
                            most = v
                        s += mt.exp(v - most)
                    for j in range(m):
                        y[i, j] = mt.exp(x[i, j] - most) / s

            softmax(x, y)
            e = np.exp(values.astype(np.float64) - values.max(1, keepdims=True))
            np.testing.assert_allclose(y.to_numpy(), e / e.sum(1, keepdims=True), rtol=2e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize("n", ROWS)
def test_running_mean_then_sums(rng, way, n, dtype):
    """Behind the loop that waits for itself: a row's sum, its number of large ones, and the row normed."""
    m = 70
    table = array(dtype, 2)

    @mt.kernel
    def norm(x: table, y: table, sums: array(dtype, 1), large: array(i32, 1)):
        for i in range(x.shape[0]):
            mean, rest = mt.cast(0, dtype), mt.cast(0, dtype)
            for j in range(m):
                d = x[i, j] - mean
                mean += d / (j + 1)
                rest += d * (x[i, j] - mean)
            spread = mt.sqrt(rest / m)
            s, count = mt.cast(0, dtype), 0
            for j in range(m):
                s += x[i, j] * spread
                count += mt.cast(x[i, j] > mean, i32)
            sums[i] = s
            large[i] = count
            for j in range(m):
                y[i, j] = (x[i, j] - mean) / spread

    x = rng.normal(1, 2, (n, m)).astype(NUMPY[dtype])
    y, sums, large = np.zeros_like(x), np.zeros(n, x.dtype), np.zeros(n, np.int32)
    norm(x, y, sums, large)
    wide = x.astype(np.float64)
    mean, spread = wide.mean(1, keepdims=True), wide.std(1, keepdims=True)
    np.testing.assert_allclose(y, (wide - mean) / spread, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(sums, (wide * spread).sum(1), rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(large, (wide > mean).sum(1))


@pytest.mark.parametrize("n", ROWS)
def test_rows_that_turns_share(rng, way, n):
    """A loop whose turns read what earlier ones wrote stays in order."""
    m = 40

    @mt.kernel
    def scan(x: array(f32, 2), y: array(f32, 2)):
        for i in range(x.shape[0]):
            s = 0.0
            for j in range(m):
                s = 0.5 * s + mt.sin(x[i, j] + s)
            y[i, 0] = s
            for j in range(1, m):
                y[i, j] = y[i, j - 1] + x[i, j]

    x = rng.random((n, m)).astype(np.float32)
    y = np.zeros_like(x)
    scan(x, y)
    s = np.zeros(n)
    for j in range(m):
        s = 0.5 * s + np.sin(x[:, j] + s)
    expected = np.cumsum(np.concatenate([s[:, None], x[:, 1:]], 1), 1)
    np.testing.assert_allclose(y, expected, rtol=1e-4)


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("n", [1, 17, 100, 3000])
def test_nearest_of_few_is_counted(rng, way, n, k):
    """Additions to shared places behind a loop: each lane's at the end, those that no lane has not at all."""

    @mt.kernel
    def turn(p: array(f32, 2), c: array(f32, 2), label: array(i32, 1), count: array(i32, 1), total: array(f32, 2)):
        for i in range(p.shape[0]):
            least, best = 3.0e38, -1
            for q in range(c.shape[0]):
                s = 0.0
                for d in range(2):
                    s += (p[i, d] - c[q, d]) ** 2
                if s < least:
                    least, best = s, q
            label[i] = best
            count[best] += 1
            for d in range(2):
                total[best, d] += p[i, d]

    p, c = rng.integers(0, 50, (n, 2)).astype(np.float32), rng.integers(0, 50, (k, 2)).astype(np.float32)
    label, count, total = np.zeros(n, np.int32), np.full(k, 3, np.int32), np.ones((k, 2), np.float32)
    turn(p, c, label, count, total)
    expected = ((p[:, None] - c) ** 2).sum(-1).argmin(1)
    np.testing.assert_array_equal(label, expected)
    np.testing.assert_array_equal(count, 3 + np.bincount(expected, minlength=k))
    sums = np.ones((k, 2))
    np.add.at(sums, expected, p)
    np.testing.assert_array_equal(total, sums)


@pytest.mark.parametrize("shape", [(1, 1), (2, 19), (9, 33)])
def test_convolution_with_borders_by_ifs(rng, way, shape):
    """A nest of few turns that is too long to be written out."""
    n, m = shape
    ins, outs = 3, 4
    x, w, y = mt.field(f32, (ins, n, m)), mt.field(f32, (outs, ins, 3, 3)), mt.field(f32, (outs, n, m))
    values, taps = rng.random((ins, n, m), np.float32), rng.random((outs, ins, 3, 3), np.float32)
    x.from_numpy(values)
    w.from_numpy(taps)

    @mt.kernel
    def convolve():
        for o, i, j in y:
            s = 0.0
            for c in range(ins):
                for p in range(3):
                    for q in range(3):
                        r, t = i + p - 1, j + q - 1
                        if r >= 0 and r < n and t >= 0 and t < m:
                            s += x[c, r, t] * w[o, c, p, q]
            y[o, i, j] = s

    convolve()
    padded = np.pad(values.astype(np.float64), ((0, 0), (1, 1), (1, 1)))
    expected = sum(
        np.einsum("oc,cij->oij", taps[:, :, p, q], padded[:, p : p + n, q : q + m]) for p in range(3) for q in range(3)
    )
    np.testing.assert_allclose(y.to_numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("half", [1, 2, 8, 64])
def test_butterflies_in_place(rng, way, half):
    """`x[j] = x[i] - t; x[i] += t`, with a sine and a cosine; also where both are one place."""
    n = 256

    @mt.kernel
    def stage(re: array(f64, 1), im: array(f64, 1), to: array(i32, 1), half: i32):
        for b in range(n // 2):
            k = b % half
            i = b // half * 2 * half + k
            j = to[i]
            angle = -np.pi * k / half
            c, s = mt.cos(angle), mt.sin(angle)
            tr = re[j] * c - im[j] * s
            tm = re[j] * s + im[j] * c
            re[j] = re[i] - tr
            im[j] = im[i] - tm
            re[i] = re[i] + tr
            im[i] = im[i] + tm

    for shift in (half, 0):
        re, im = rng.random(n), rng.random(n)
        to = np.arange(n, dtype=np.int32) + shift
        i = np.array([b // half * 2 * half + b % half for b in range(n // 2)])
        z, turn = re + 1j * im, np.exp(-1j * np.pi * (i % half) / half)
        t = z[to[i]] * turn
        expected = z.copy()
        expected[to[i]] = z[i] - t
        expected[i] = (expected[i] if shift == 0 else z[i]) + t
        stage(re, im, to, half)
        np.testing.assert_allclose(re + 1j * im, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n", [1, 16, 19])
def test_sums_that_are_one_for_all_rows(rng, way, n):
    """Beside a row's own sum a loop gives one that all rows have: as a number, as a bound and as a place."""
    m = 40

    @mt.kernel
    def run(x: array(f32, 2), w: array(f32, 1), y: array(f32, 2), out: array(f32, 1)):
        for i in range(x.shape[0]):
            a = 0.0
            for j in range(m):
                a = a * 0.5 + mt.sin(x[i, j] + a)
            s, u, count = 0.0, 0.0, 0
            for j in range(m):
                s += x[i, j] * a
                u += w[j]
                count += mt.cast(w[j] > 0.5, i32)
            for j in range(count):
                y[i, j] = x[i, j] * s + u
            out[i] = x[i, count - 1] + count

    x, w = rng.random((n, m)).astype(np.float32), rng.random(m).astype(np.float32)
    w[0] = 1
    y, out = np.zeros_like(x), np.zeros(n, np.float32)
    run(x, w, y, out)
    a = np.zeros(n)
    for j in range(m):
        a = a * 0.5 + np.sin(x[:, j] + a)
    count = (w > 0.5).sum()
    expected = np.where(np.arange(m) < count, x * (x.sum(1) * a)[:, None] + w.sum(), 0)
    np.testing.assert_allclose(y, expected, rtol=1e-4)
    np.testing.assert_allclose(out, x[:, count - 1] + count, rtol=1e-6)


@pytest.mark.parametrize("n", [1, 16, 19])
def test_additions_to_arrays_that_are_one(rng, way, n):
    """Three arguments are one array: what is read behind two additions is what they made."""

    @mt.kernel
    def run(x: array(f32, 2), c: array(i32, 1), d: array(i32, 1), e: array(i32, 1), out: array(i32, 1)):
        for i in range(x.shape[0]):
            a = 0.0
            for j in range(40):
                a = a * 0.5 + mt.sin(x[i, j] + a)
            mt.atomic_add(c[i], 1)
            mt.atomic_add(d[i], 2)
            out[i] = e[i] * 10 + mt.cast(a > 100, i32)

    same, out = np.zeros(n, np.int32), np.zeros(n, np.int32)
    run(rng.random((n, 40)).astype(np.float32), same, same, same, out)
    np.testing.assert_array_equal(same, np.full(n, 3))
    np.testing.assert_array_equal(out, np.full(n, 30))
