"""Kernels on a device, mt.simt or METATE_TEST_ARCH: numbers, atomics, texts and errors are as NumPy and the CPU have them."""

import importlib.util

import device_tests
import numpy as np
import pytest

import metate as mt

ARCH = device_tests.ARCH or mt.simt
array = mt.types.ndarray
SIZES = [0, 1, 31, 1000]
INTEGERS = {t: getattr(mt, t) for t in ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")}
FLOATS = {"f32": mt.f32, "f64": mt.f64}
NUMBERS = {**INTEGERS, **FLOATS}


def on(arch, **options):
    return mt.Context(arch=arch, **options)


@pytest.fixture
def device():
    with on(ARCH) as context:
        yield context


def numbers(rng, dtype, shape, bits=None):
    """Values of a type; floats of few bits, whose sums and products are exact."""
    if dtype.is_float:
        return (rng.integers(-64, 64, shape) / 8).astype(dtype.numpy)
    low, high = dtype.range() if bits is None else (-(1 << bits) if dtype.range()[0] else 0, 1 << bits)
    return rng.integers(low, high, shape, dtype.numpy)


# ---- arithmetic


@pytest.mark.parametrize("dtype", NUMBERS.values(), ids=NUMBERS)
def test_arithmetic(device, rng, dtype):
    @mt.kernel
    def run(x: array(dtype, 1), y: array(dtype, 1), out: array(dtype, 2)):
        for i in x:
            out[i, 0] = x[i] + y[i]
            out[i, 1] = x[i] - y[i]
            out[i, 2] = x[i] * y[i]
            out[i, 3] = x[i] // y[i]
            out[i, 4] = x[i] % y[i]
            out[i, 5] = mt.min(x[i], y[i])
            out[i, 6] = mt.max(x[i], y[i])
            out[i, 7] = mt.select(x[i] < y[i], abs(x[i]), -y[i])

    x, y = numbers(rng, dtype, 1000), numbers(rng, dtype, 1000, 6)
    y[y == 0] = 1
    out = np.zeros((1000, 8), dtype.numpy)
    run(x, y, out)
    with np.errstate(over="ignore"):
        want = [x + y, x - y, x * y, x // y, x % y, np.minimum(x, y), np.maximum(x, y), np.where(x < y, np.abs(x), 0 - y)]
    np.testing.assert_array_equal(out, np.stack(want, -1))


@pytest.mark.parametrize("dtype", INTEGERS.values(), ids=INTEGERS)
def test_bits(device, rng, dtype):
    width = np.dtype(dtype.numpy).itemsize * 8

    @mt.kernel
    def run(x: array(dtype, 1), y: array(dtype, 1), n: array(dtype, 1), out: array(dtype, 2)):
        for i in x:
            out[i, 0] = x[i] & y[i]
            out[i, 1] = x[i] | y[i]
            out[i, 2] = x[i] ^ y[i]
            out[i, 3] = ~x[i]
            out[i, 4] = x[i] << n[i]
            out[i, 5] = x[i] >> n[i]

    x, y, n = numbers(rng, dtype, 500), numbers(rng, dtype, 500), rng.integers(0, width, 500, dtype.numpy)
    out = np.zeros((500, 6), dtype.numpy)
    run(x, y, n, out)
    np.testing.assert_array_equal(out, np.stack([x & y, x | y, x ^ y, ~x, x << n, x >> n], -1))


@pytest.mark.parametrize("dtype", FLOATS.values(), ids=FLOATS)
def test_functions_have_the_cpus_bits(rng, dtype):
    @mt.kernel
    def run(x: array(dtype, 1), y: array(dtype, 1), out: array(dtype, 2)):
        for i in x:
            out[i, 0] = mt.sin(x[i])
            out[i, 1] = mt.exp(x[i])
            out[i, 2] = mt.log(abs(x[i]))
            out[i, 3] = mt.sqrt(abs(x[i]))
            out[i, 4] = mt.atan2(x[i], y[i])
            out[i, 5] = abs(x[i]) ** y[i]
            out[i, 6] = mt.tanh(x[i])
            out[i, 7] = x[i] / y[i]
            out[i, 8] = mt.floor(x[i]) + mt.ceil(y[i])
            out[i, 9] = mt.round(x[i])

    x, y = (rng.standard_normal(300) * 10).astype(dtype.numpy), rng.standard_normal(300).astype(dtype.numpy)
    x[:6], y[:6] = [0, -0.0, np.inf, -np.inf, np.nan, 2.5], [1, 2, -1, 0.5, 1, np.nan]
    found = []
    for arch in (mt.cpu, ARCH):
        with on(arch, contract=False):
            found.append(np.zeros((300, 10), dtype.numpy))
            run(x, y, found[-1])
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(np.signbit(found[0][6:]), np.signbit(found[1][6:]))
    np.testing.assert_allclose(found[1][6:, 0], np.sin(x[6:].astype(np.float64)), rtol=1e-6)


@pytest.mark.parametrize("dtype", [mt.f16, mt.f32, mt.f64], ids=["f16", "f32", "f64"])
def test_zeros_infinities_and_whole_numbers_have_the_cpus_bits(rng, dtype):
    @mt.kernel
    def run(x: array(dtype, 1), out: array(dtype, 2)):
        zero = dtype(0.0)
        for i in x:
            out[i, 0] = x[i] * zero
            out[i, 1] = x[i] + zero
            out[i, 2] = zero - x[i]
            out[i, 3] = x[i] - x[i]
            out[i, 4] = mt.round(x[i])
            out[i, 5] = mt.floor(x[i])
            out[i, 6] = mt.cast(mt.cast(x[i], mt.f32), dtype)
            out[i, 7] = mt.select(x[i] * zero == zero, x[i], dtype(1.0))

    x = (rng.standard_normal(600) * 2.0 ** rng.integers(-14, 15 if dtype is mt.f16 else 55, 600)).astype(dtype.numpy)
    x[:9] = [0, -0.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 2.5, -1.5]
    found = []
    for arch in (mt.cpu, ARCH):
        with on(arch, contract=False):
            found.append(np.zeros((600, 8), dtype.numpy))
            run(x, found[-1])
    np.testing.assert_array_equal(*found)
    of_numbers = ~np.isnan(found[0])  # a NaN's sign is no one's
    np.testing.assert_array_equal(np.signbit(found[0])[of_numbers], np.signbit(found[1])[of_numbers])


@pytest.mark.parametrize("to", ["i8", "u16", "i32", "u64", "f16", "f32", "f64", "u1"])
def test_casts(rng, to):
    dtype, found = getattr(mt, to), []

    @mt.kernel
    def run(x: array(mt.f64, 1), n: array(mt.i64, 1), out: array(dtype, 2)):
        for i in x:
            out[i, 0] = mt.cast(x[i], dtype)
            out[i, 1] = mt.cast(n[i], dtype)

    x, n = rng.integers(0, 1000, 200) / 8 % 128, rng.integers(-(2**62), 2**62, 200)
    for arch in (mt.cpu, ARCH):
        with on(arch):
            found.append(np.zeros((200, 2), dtype.numpy))
            run(x, n, found[-1])
    np.testing.assert_array_equal(*found)


# ---- reductions


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", ["i32", "i64", "u32", "f32", "f64"])
def test_reductions(device, rng, name, n):
    dtype = NUMBERS[name]

    @mt.kernel
    def run(x: array(dtype, 1), out: array(dtype, 1)) -> dtype:
        total = mt.cast(3, dtype)
        for i in range(x.shape[0]):
            total += x[i]
            out[0] += x[i]
            mt.atomic_min(out[1], x[i])
            mt.atomic_max(out[2], x[i])
        return total

    x = numbers(rng, dtype, n)
    out = np.array([5, 7, 2], dtype.numpy)
    with np.errstate(over="ignore"):
        assert run(x, out) == 3 + x.sum(dtype=dtype.numpy)
        want = [5 + x.sum(dtype=dtype.numpy), min([7, *x.tolist()]), max([2, *x.tolist()])]
    np.testing.assert_array_equal(out, np.array(want, dtype.numpy))


@pytest.mark.parametrize("n", SIZES)
def test_reductions_of_vectors(device, rng, n):
    vec3 = mt.types.vector(3, mt.f32)
    total, least = mt.Vector.field(3, mt.f32, ()), mt.Vector.field(3, mt.f32, ())
    least[None] = [100, 0, -100]

    @mt.kernel
    def run(x: array(vec3, 1)) -> vec3:
        s = vec3(0)
        for i in x:
            s += x[i]
            total[None] += 2 * x[i]
            mt.atomic_min(least[None], x[i])
        return s

    x = (rng.integers(-64, 64, (n, 3)) / 8).astype(np.float32)
    assert np.array_equal(run(x), x.sum(0)) and np.array_equal(total[None].to_numpy(), 2 * x.sum(0))
    assert np.array_equal(least[None].to_numpy(), np.vstack([x, [[100, 0, -100]]]).min(0))


@pytest.mark.parametrize("dtype", FLOATS.values(), ids=FLOATS)
@pytest.mark.parametrize("n", SIZES[1:])
def test_extremes_leave_nan_out(device, dtype, n):
    """min and max of a NaN and a number are the number; a sum is NaN."""

    @mt.kernel
    def run(x: array(dtype, 1), out: array(dtype, 1)):
        for i in x:
            mt.atomic_min(out[0], x[i])
            mt.atomic_max(out[1], x[i])
            out[2] += x[i]

    x, nan = np.full(n, np.nan, dtype.numpy), np.nan
    x[n // 2] = 3
    for start in (nan, 1.0):
        out = np.array([start, start, 0], dtype.numpy)
        run(x, out)
        np.testing.assert_array_equal(out, [np.nanmin([3, start]), 3, nan if n > 1 else 3])
    x[:] = nan
    out = np.array([nan, 1, 0], dtype.numpy)
    run(x, out)
    np.testing.assert_array_equal(out, [nan, 1, nan])


# ---- atomics


@pytest.mark.parametrize("dtype", NUMBERS.values(), ids=NUMBERS)
def test_atomics_give_what_was_there(device, rng, dtype):
    """Each place is changed by ten iterations; what they found are its values in the order in which they came."""

    @mt.kernel
    def run(x: array(dtype, 1), f: array(dtype, 2), old: array(dtype, 2)):
        for i in x:
            old[0, i] = mt.atomic_add(f[0, i % 10], x[i])
            old[1, i] = mt.atomic_sub(f[1, i % 10], x[i])
            old[2, i] = mt.atomic_min(f[2, i % 10], x[i])
            old[3, i] = mt.atomic_max(f[3, i % 10], x[i])
            old[4, i] = mt.atomic_mul(f[4, i % 10], mt.cast(2, dtype))
            old[5, i] = mt.atomic_exchange(f[5, i % 10], x[i])
            old[6, i] = mt.atomic_compare_exchange(f[6, i % 10], mt.cast(0, dtype), x[i])

    x = rng.permutation(np.arange(1, 101)).astype(dtype.numpy)
    f, old = np.ones((7, 10), dtype.numpy), np.zeros((7, 100), dtype.numpy)
    f[1], f[2], f[6] = 100, 120, 0
    start = f.copy()
    run(x, f, old)
    with np.errstate(over="ignore"):
        for place in range(10):
            own, seen = x[place::10], old[:, place::10]
            wide = own.astype(np.int64)
            for k, sign in ((0, 1), (1, -1)):  # what each found and what it made of that form one chain
                made = sorted(np.append(seen[k] + own if sign > 0 else seen[k] - own, start[k, place]).tolist())
                assert made == sorted([*seen[k].tolist(), f[k, place]])
                assert f[k, place] == np.array(start[k, place] + sign * wide.sum()).astype(dtype.numpy)
            assert f[2, place] == own.min() and f[3, place] == own.max()
            assert set(seen[2].tolist()) <= {*own.tolist(), 120} and set(seen[3].tolist()) <= {*own.tolist(), 1}
            assert sorted(seen[4].tolist()) == sorted(np.array([1 << k for k in range(10)]).astype(dtype.numpy).tolist())
            assert sorted([*seen[5].tolist(), f[5, place]]) == sorted([*own.tolist(), 1])
            assert (seen[6] == 0).sum() == 1 and f[6, place] == own[seen[6] == 0][0]


@pytest.mark.parametrize("name", ["i8", "u16", "i32", "u32", "i64", "u64"])
def test_atomics_of_bits(device, rng, name):
    dtype = INTEGERS[name]

    @mt.kernel
    def run(x: array(dtype, 1), out: array(dtype, 1), old: array(dtype, 1)):
        for i in x:
            out[0] &= x[i] | mt.cast(3, dtype)
            out[1] |= x[i] & mt.cast(60, dtype)
            old[i] = mt.atomic_xor(out[2], x[i])

    x, old = numbers(rng, dtype, 333), np.zeros(333, dtype.numpy)
    out = np.array([127, 1, 9], dtype.numpy)
    run(x, out, old)
    want = [127 & np.bitwise_and.reduce(x | 3), 1 | np.bitwise_or.reduce(x & 60), 9 ^ np.bitwise_xor.reduce(x)]
    assert out.tolist() == np.array(want).astype(dtype.numpy).tolist()
    assert sorted([*(old ^ x).tolist(), 9]) == sorted([*old.tolist(), int(out[2])])


# ---- texts


def printed(capfd, run):
    capfd.readouterr()
    run()
    mt.sync()
    return capfd.readouterr().out


def test_prints(capfd):
    vec2 = mt.types.vector(2, mt.f32)

    @mt.kernel
    def show(n: mt.i32, x: mt.f32, big: mt.u64, flag: mt.u1, v: vec2):
        print("n =", n, "x =", x, flag)
        print(big, v, mt.Matrix([[1, 2], [n, 4]]), sep="|", end="!\n")
        print(f"{n:5d} {x:.3f} {v.y:e} {n + 1:x}", (n, 2))
        print(mt.i64(-1), mt.u8(255), mt.f64(0.1), mt.f16(1.5), n > 3)
        for _ in range(1):  # in order within an iteration
            for k in range(4):
                print("turn", k, x / k)

    texts = []
    for arch in (mt.cpu, ARCH):
        with on(arch):
            texts.append(printed(capfd, lambda: show(7, 2.5, 2**64 - 1, True, [1.0, -0.5])))
    assert texts[0] == texts[1] and texts[1].splitlines()[1] == "18446744073709551615|[1.0, -0.5]|[[1, 2], [7, 4]]!"


def test_many_statements(device, tmp_path, capfd):
    """Each stands beside the others, not inside of the one before it: devices bound how deep conditions are nested."""
    lines = "".join(f'    print("{k}:", n + {k})\n' for k in range(120))
    (tmp_path / "many.py").write_text(f"import metate as mt\n\n@mt.kernel\ndef run(n: mt.i32):\n{lines}")
    spec = importlib.util.spec_from_file_location("many", tmp_path / "many.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.run(7)
    mt.sync()
    assert capfd.readouterr().out.splitlines() == [f"{k}: {k + 7}" for k in range(120)]


def test_lines_of_many_iterations(device, capfd):
    @mt.kernel
    def show(n: mt.i32):
        for i in range(n):
            print("first", i)
            print("second", i, 0.5 * i)

    lines = printed(capfd, lambda: show(300)).splitlines()
    assert sorted(lines) == sorted(line for i in range(300) for line in (f"first {i}", f"second {i} {0.5 * i}"))
    assert all(lines.index(f"first {i}") < lines.index(f"second {i} {0.5 * i}") for i in range(300))


# ---- what stops a kernel


@mt.kernel
def asserted(x: array(mt.i32, 1), at: mt.i32):
    for i in x:
        assert i != at, f"at {i}: {x[i]}"
        x[i] += 1


@mt.kernel
def outside(x: array(mt.i32, 1), at: mt.i32):
    for i in range(10):
        x[i + at - 9] += 1


@mt.kernel
def outside_of_two(x: array(mt.i32, 2), at: mt.i32):
    for i in range(1):
        x[i, at] = 1


@mt.kernel
def divided(x: array(mt.i32, 1), at: mt.i32):
    for i in x:
        x[i] = 100 // (i - at)


@mt.kernel
def component(x: array(mt.i32, 1), at: mt.i32):
    v = mt.Vector([1, 2, 3])
    x[0] = v[at]


@mt.kernel
def raised(x: array(mt.i32, 1), at: mt.i32):
    for i in x:
        x[i] = 2 ** (at - i)


STOPPED = [
    (asserted, (9,), 99, 5, "assertion failed: at 5: 0"),
    (outside, (10,), 9, 30, "index out of range: x["),
    (outside, (0,), None, 9, "index out of range: x["),
    (outside_of_two, (4, 5), 4, 5, "index out of range: x[0, 5] of shape (4, 5)"),
    (divided, (9,), 99, 5, "division by zero"),
    (component, (2,), 2, -1, "index out of range: component[-1] of shape (3,)"),
    (raised, (4,), 9, 2, "Negative exponent in pow"),
]


@pytest.mark.parametrize(("kernel", "shape", "right", "wrong", "text"), STOPPED)
def test_errors_are_the_cpus(kernel, shape, right, wrong, text):
    said = []
    for arch in (mt.cpu, ARCH):
        with on(arch, debug=True, threads=1):
            if right is not None:
                kernel(np.zeros(shape, np.int32), right)
            with pytest.raises(mt.MetateError) as caught:
                kernel(np.zeros(shape, np.int32), wrong)
            said.append((type(caught.value), str(caught.value)))
            if right is not None:  # the next launch is not hurt
                kernel(np.zeros(shape, np.int32), right)
    (kind, expected), (other, found) = said
    assert kind is other and text in found
    # Which one of several iterations stops first is not said.
    assert found.partition(text)[0] == expected.partition(text)[0]


def test_nothing_comes_after_a_failed_task(device):
    @mt.kernel(asserts=True)
    def run(x: array(mt.i32, 1)):
        for i in x:
            assert x[i] < 100, "too large"
        for i in x:
            x[i] = 7

    x = np.arange(200, dtype=np.int32)
    with pytest.raises(mt.AssertionError_, match=r"test_devices\.py:\d+:\d+: kernel 'run': assertion failed: too large"):
        run(x)
    assert x.tolist() == list(range(200))


# ---- what a kernel is


def test_random_numbers_are_the_cpus():
    @mt.kernel
    def draw(x: array(mt.f32, 2), n: array(mt.u32, 1), d: array(mt.f64, 1)):
        for i, j in x:
            x[i, j] = mt.random() + mt.randn(mt.f32)
        for i in n:
            n[i] = mt.random(mt.u32)
            d[i] = mt.random(mt.f64)

    found = []
    for arch in (mt.cpu, ARCH):
        with on(arch, random_seed=5, contract=False):
            for _ in range(2):
                drawn = np.zeros((20, 7), np.float32), np.zeros(50, np.uint32), np.zeros(50)
                draw(*drawn)
                found.append(drawn)
    for of_cpu, of_device in zip(found[:2], found[2:], strict=True):
        for a, b in zip(of_cpu, of_device, strict=True):
            np.testing.assert_array_equal(a, b)
    assert not np.array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("n", SIZES)
def test_tasks_follow_each_other(device, rng, n):
    """Serial tasks between loops; values that a later task uses; a loop as long as a task has found."""

    @mt.kernel
    def run(x: array(mt.i32, 1), y: array(mt.i32, 1), out: array(mt.i32, 1)) -> mt.i32:
        most = 0
        for i in x:
            mt.atomic_max(most, x[i])
        out[0] = most + 1
        half = out[0] // 2
        for i in range(x.shape[0]):
            y[i] = x[i] + half
        count = 0
        for i in y:
            if y[i] >= most:
                count += 1
        out[1] = count
        for i in range(count):
            mt.atomic_add(out[2], i)
        return out[2] + half

    x = rng.integers(0, 50, n).astype(np.int32)
    y, out = np.zeros(n, np.int32), np.zeros(3, np.int32)
    result = run(x, y, out)
    most = max([0, *x.tolist()])
    half, count = (most + 1) // 2, int((x + (most + 1) // 2 >= most).sum())
    assert np.array_equal(y, x + half) and out.tolist() == [most + 1, count, count * (count - 1) // 2]
    assert result == out[2] + half


def test_results(device):
    vec, mat = mt.types.vector(2, mt.f64), mt.types.matrix(2, 2, mt.i32)
    Pair = mt.types.struct(a=mt.f32, n=mt.i64)

    @mt.kernel
    def many(x: mt.i8, y: mt.f32) -> (mt.i8, mt.f32, mt.u1, vec, mat, Pair):
        total = mt.i64(0)
        for i in range(100):
            total += i
        return x + mt.i8(1), y * 2, y > 1, vec(y, x), mat([[1, 2], [3, x]]), Pair(a=y, n=total << 20)

    x, y, flag, v, m, pair = many(-128, 1.5)
    assert (x, y, flag, v.tolist(), m.tolist()) == (-127, 3.0, True, [1.5, -128.0], [[1, 2], [3, -128]])
    assert (pair["a"], pair["n"]) == (1.5, 4950 << 20)


@mt.real_func
def squares(n: mt.i32) -> mt.i64:
    total = mt.i64(0)
    for k in range(n):
        if k == 40:
            return -1
        total += k * k
    return total


@mt.real_func
def checked(n: mt.i32, v: mt.types.vector(2, mt.f32)) -> mt.types.vector(2, mt.f32):
    assert n < 50, "n is too large"
    return v * squares(n)


def test_real_functions(device):
    @mt.kernel
    def run(out: array(mt.types.vector(2, mt.f32), 1)):
        for i in out:
            out[i] = checked(i, mt.Vector([1.0, 2.0]))

    out = np.zeros((45, 2), np.float32)
    run(out)
    sums = [sum(k * k for k in range(i)) if i <= 40 else -1 for i in range(45)]
    np.testing.assert_array_equal(out, np.outer(sums, [1, 2]))
    with on(ARCH, asserts=True):
        run(out)
        with pytest.raises(mt.AssertionError_, match="n is too large"):
            run(np.zeros((60, 2), np.float32))


@mt.real_func
def recursive(n: mt.i32) -> mt.i32:
    if n < 2:
        return n
    return recursive(n - 1) + recursive(n - 2)


def test_what_does_not_run_here_is_said(device):
    @mt.kernel
    def calls(n: mt.i32) -> mt.i32:
        return recursive(n)

    with on(ARCH, debug=True):  # where each call would be counted
        with pytest.raises(mt.CompilationError, match="a function that calls itself does not run on this target"):
            calls(5)
