"""Control flow: loops, jumps, functions, what is known while compiling."""

import numpy as np
import pytest

import metate as ti

I32 = ti.types.ndarray(dtype=ti.i32, ndim=1)
F32 = ti.types.ndarray(dtype=ti.f32, ndim=1)
COUNT = 200


@ti.kernel
def collatz(start: I32, steps: I32):
    for i in range(start.shape[0]):
        n = start[i]
        count = 0
        while n != 1:
            if n % 2 == 0:
                n //= 2
            else:
                n = 3 * n + 1
            count += 1
        steps[i] = count


def test_while(rng):
    start = rng.integers(1, 3000, COUNT).astype(np.int32)
    steps = np.zeros(COUNT, np.int32)
    collatz(start, steps)

    def count(n):
        k = 0
        while n != 1:
            n, k = (n // 2 if n % 2 == 0 else 3 * n + 1), k + 1
        return k

    assert steps.tolist() == [count(n) for n in start.tolist()]


@ti.kernel
def jumps(x: I32, limit: ti.i32, out: I32):
    for i in range(x.shape[0]):
        if x[i] < 0:
            out[i] = -1
            continue
        total = 0
        for j in range(x[i]):
            if j % 3 == 1:
                continue
            k = 0
            while True:
                k += 1
                if k * k > j:
                    break
                if k > 6:
                    break
            total += k
            if total > limit:
                break
        out[i] = total


def test_break_and_continue(rng):
    x = rng.integers(-5, 60, COUNT).astype(np.int32)
    out = np.zeros(COUNT, np.int32)
    jumps(x, 120, out)

    def expected(n):
        if n < 0:
            return -1
        total = 0
        for j in range(n):
            if j % 3 == 1:
                continue
            k = 0
            while True:
                k += 1
                if k * k > j or k > 6:
                    break
            total += k
            if total > 120:
                break
        return total

    assert out.tolist() == [expected(n) for n in x.tolist()]


@ti.func
def find(x: ti.template(), start, value):
    """(position, number of elements looked at): an early return from nested loops."""
    if start < 0:
        return -2, 0
    looked = 0
    for block in range(start, x.shape[0], 10):
        for j in range(10):
            if block + j >= x.shape[0]:
                return -1, looked
            looked += 1
            if x[block + j] == value:
                return block + j, looked
    return -1, looked


@ti.kernel
def find_all(x: I32, starts: I32, values: I32, positions: I32, looks: I32):
    for i in range(values.shape[0]):
        positions[i], looks[i] = find(x, starts[i], values[i])


def test_early_returns(rng):
    x = rng.integers(0, 50, 95).astype(np.int32)
    starts = rng.integers(-2, 95, COUNT).astype(np.int32)
    values = rng.integers(0, 60, COUNT).astype(np.int32)
    positions, looks = np.zeros(COUNT, np.int32), np.zeros(COUNT, np.int32)
    find_all(x, starts, values, positions, looks)
    for start, value, position, looked in zip(starts.tolist(), values.tolist(), positions.tolist(), looks.tolist()):
        if start < 0:
            assert (position, looked) == (-2, 0)
            continue
        hits = [k for k in range(start, 95) if x[k] == value]
        assert position == (hits[0] if hits else -1)
        assert looked == (hits[0] - start + 1 if hits else 95 - start)


@ti.func
def bump(place: ti.template(), amount):
    place += amount
    amount = 0
    return amount


@ti.func
def by_value(a):
    a += 1
    return a


@ti.kernel
def references(x: I32, out: I32):
    for i in range(x.shape[0]):
        local = x[i]
        zero = bump(local, 5)
        bump(out[i], local + zero)
        again = by_value(local)
        out[i] += (again - local) * 1000


def test_arguments_by_value_and_by_template(rng):
    x = rng.integers(0, 100, COUNT).astype(np.int32)
    out = np.zeros(COUNT, np.int32)
    references(x, out)
    np.testing.assert_array_equal(out, x + 5 + 1000)


@ti.kernel
def ranges(bounds: ti.types.ndarray(dtype=ti.i32, ndim=2), sums: ti.types.ndarray(dtype=ti.i64, ndim=1)):
    for i in range(bounds.shape[0]):
        for j in range(bounds[i, 0], bounds[i, 1], bounds[i, 2]):
            sums[i] += j * 7 + 1


def test_ranges_with_any_step(rng):
    bounds = rng.integers(-30, 30, (COUNT, 3)).astype(np.int32)
    bounds[:, 2] = rng.integers(-4, 4, COUNT)
    sums = np.zeros(COUNT, np.int64)
    ranges(bounds, sums)
    expected = [sum(j * 7 + 1 for j in range(a, b, s)) if s else 0 for a, b, s in bounds.tolist()]
    assert sums.tolist() == expected


@ti.kernel
def parallel_steps(a: ti.i32, b: ti.i32, up: I32, down: I32):
    for i in range(a, b, 3):
        up[i] += 1
    for i in range(b - 1, a - 1, -4):
        down[i] += 1


def test_parallel_ranges_with_steps():
    up, down = np.zeros(100, np.int32), np.zeros(100, np.int32)
    parallel_steps(5, 95, up, down)
    assert np.flatnonzero(up).tolist() == list(range(5, 95, 3)) and up.max() == 1
    assert np.flatnonzero(down).tolist() == list(range(94, 4, -4))[::-1] and down.max() == 1


@ti.kernel
def serial_scan(x: I32):
    ti.loop_config(serialize=True)
    for i in range(1, x.shape[0]):
        x[i] += x[i - 1]
        if x[i] > 100000:
            break


def test_serialized_loop(rng):
    x = rng.integers(0, 5, 1000).astype(np.int32)
    want = np.cumsum(x)
    serial_scan(x)
    np.testing.assert_array_equal(x, want)


@ti.kernel
def steps_in_order(x: F32, out: F32):
    scale = 2.0
    for i in range(x.shape[0]):
        out[i] = x[i] * scale
    scale = 3.0
    for i in range(x.shape[0]):
        out[i] += out[x.shape[0] - 1 - i] * 0 + scale
    out[0] = -1.0


def test_top_level_statements_run_in_order(rng):
    x = rng.random(COUNT, np.float32)
    out = np.zeros(COUNT, np.float32)
    steps_in_order(x, out)
    np.testing.assert_allclose(out[1:], 2 * x[1:] + 3, rtol=1e-6)
    assert out[0] == -1


WEIGHTS = [1, 2, 4]
OFFSETS = ((0, 1), (1, 0))
DEBUG = False


@ti.kernel
def unrolled(x: I32, out: I32, mode: ti.template()):
    for i in range(x.shape[0] - 2):
        total = 0
        for k in ti.static(range(3)):
            if ti.static(k == 1 and mode == 1):
                continue
            total += x[i + k] * WEIGHTS[k]
        for a, b in ti.static(OFFSETS):
            total += a * 10 + b
        for n, w in ti.static(enumerate(WEIGHTS)):
            total += n * w
        if ti.static(DEBUG):
            total = undefined_name  # noqa: F821  (never looked at)
        squares = [k * k for k in range(4)]
        out[i] = total + squares[3]


@pytest.mark.parametrize("mode", [0, 1])
def test_unrolled_loops(rng, mode):
    x = rng.integers(0, 100, COUNT).astype(np.int32)
    out = np.zeros(COUNT, np.int32)
    unrolled(x, out, mode)
    want = x[:-2] + (2 * x[1:-1] if mode == 0 else 0) + 4 * x[2:] + 11 + 10 + 9
    np.testing.assert_array_equal(out[:-2], want)


def test_branches(rng):
    @ti.kernel
    def local(x: F32, out: F32):
        for i in range(x.shape[0]):
            if x[i] < -1:
                y = 1.0
            elif x[i] < 0:
                y = x[i]
            else:
                y = 5.0
                if x[i] < 0.5:
                    y += 1
            out[i] = y

    x = rng.normal(0, 1, COUNT).astype(np.float32)
    out = np.zeros(COUNT, np.float32)
    local(x, out)
    want = np.where(x < -1, 1, np.where(x < 0, x, np.where(x < 0.5, 6, 5)))
    np.testing.assert_allclose(out, want, rtol=1e-6)


@ti.kernel
def swaps(x: I32, y: I32):
    for i in range(x.shape[0]):
        x[i], y[i] = y[i], x[i]
        a, b = x[i], y[i]
        a, b = b, a
        if (c := a - b) > 0:
            x[i] = c


def test_unpacking_and_walrus(rng):
    x, y = rng.integers(0, 100, COUNT).astype(np.int32), rng.integers(0, 100, COUNT).astype(np.int32)
    want_x, want_y = np.where(x - y > 0, x - y, y), x.copy()
    swaps(x, y)
    np.testing.assert_array_equal(x, want_x)
    np.testing.assert_array_equal(y, want_y)


@ti.kernel
def defaults(x: I32, a: ti.i32 = 3, b: ti.i32 = 4):
    for i in x:
        x[i] = x[i] * a + b


def test_defaults_and_keywords():
    x = np.arange(5, dtype=np.int32)
    defaults(x)
    assert x.tolist() == [4, 7, 10, 13, 16]
    defaults(b=0, x=x, a=2)
    assert x.tolist() == [8, 14, 20, 26, 32]
    with pytest.raises(TypeError, match="missing a required argument"):
        defaults()


def test_code_without_a_file(rng):
    text = (
        "import metate as ti\n@ti.kernel\ndef f(x: ti.types.ndarray(dtype=ti.i32, ndim=1)):\n    for i in x:\n        x[i] += 1\n"
    )
    from metate.frontend.source import attach_source

    attach_source("<attached for a test>", text)
    names = {}
    exec(compile(text, "<attached for a test>", "exec"), names)
    x = np.zeros(3, np.int32)
    names["f"](x)
    assert x.tolist() == [1, 1, 1]


def test_kernels_run_from_many_threads(rng):
    import concurrent.futures

    @ti.kernel
    def add(x: ti.types.ndarray(ndim=1), n: ti.i32):
        for i in x:
            x[i] += n

    def work(k):
        x = np.zeros(50, [np.int32, np.int64, np.float32][k % 3])
        for _ in range(20):
            add(x, k)
        return (x == 20 * k).all()

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(24)))
    assert len(add.instances()) == 3


@ti.func
def first_below(x: ti.template(), at, limit):
    """Returns out of an unrolled loop: later iterations must not answer again."""
    for k in ti.static(range(4)):
        if x[at + k] < limit:
            return k
    return -1


@ti.kernel
def scan(x: I32, out: I32):
    for i in range(out.shape[0]):
        out[i] = first_below(x, i, 30)


def test_return_from_an_unrolled_loop(rng):
    x = rng.integers(0, 100, COUNT + 4).astype(np.int32)
    out = np.zeros(COUNT, np.int32)
    scan(x, out)
    want = [next((k for k in range(4) if x[i + k] < 30), -1) for i in range(COUNT)]
    assert out.tolist() == want


@ti.kernel
def names_of_unrolled_loops(x: I32, out: I32):
    for i in range(x.shape[0]):
        chosen = "none"
        for k in ti.static(range(3)):
            chosen = chosen + str(k)
            last = x[i] * k
        if ti.static(chosen == "none012"):
            out[i] = last + k


def test_names_after_an_unrolled_loop(rng):
    x = rng.integers(0, 100, COUNT).astype(np.int32)
    out = np.zeros(COUNT, np.int32)
    names_of_unrolled_loops(x, out)
    np.testing.assert_array_equal(out, 2 * x + 2)


@ti.func
def search(x: ti.template(), at):
    """The first return stands in a loop; the returns are of different types."""
    for k in range(5):
        if x[at + k] > 90:
            return k, 0
    if x[at] > 50:
        return 0.5, x[at]
    return ti.f64(-1), 7


@ti.kernel
def search_all(x: I32, out: ti.types.ndarray(dtype=ti.f64, ndim=2)):
    for i in range(out.shape[0]):
        out[i, 0], out[i, 1] = search(x, i)


def test_returns_of_different_types(rng):
    x = rng.integers(0, 100, COUNT + 5).astype(np.int32)
    out = np.zeros((COUNT, 2))
    search_all(x, out)
    for i, got in enumerate(out.tolist()):
        hits = [k for k in range(5) if x[i + k] > 90]
        want = (hits[0], 0) if hits else (0.5, x[i]) if x[i] > 50 else (-1, 7)
        assert got == list(want)


def test_fast_math_is_a_choice_of_the_kernel(rng):
    @ti.kernel(fast_math=True)
    def fast(x: F32) -> ti.f32:
        return x[0] / x[1]

    @ti.kernel
    def exact(x: F32) -> ti.f32:
        return x[0] / x[1]

    assert "fastmath<fast>" in fast.import_module().text(False)
    assert "fastmath<contract>" in exact.import_module().text(False)
    x = (rng.random(2) + 1).astype(np.float32)
    assert exact(x) == x[0] / x[1]
    assert fast(x) == pytest.approx(x[0] / x[1], rel=1e-5)


def test_python_sum_and_comprehensions(rng):
    @ti.kernel
    def rows(x: ti.types.ndarray(dtype=ti.f32, ndim=2), out: F32):
        for i in range(x.shape[0]):
            v = ti.Vector([x[i, k] for k in range(3)])
            out[i] = sum([v[k] * k for k in range(3)]) + max([x[i, k] for k in range(3) if k != 1])

    x = rng.random((20, 3), np.float32)
    out = np.zeros(20, np.float32)
    rows(x, out)
    np.testing.assert_allclose(out, x @ np.array([0, 1, 2], np.float32) + x[:, [0, 2]].max(1), rtol=1e-5)


def test_places_that_turns_write_again_and_again():
    # LLVM's loop vectoriser took all memory over what is computed for a store that another one in the turn overwrites.
    array = ti.types.ndarray(dtype=ti.f64, ndim=1)

    @ti.kernel
    def run(x: array, p: array, q: array, n: ti.i32):
        ti.loop_config(serialize=True)
        for i in range(n):
            if x[0] > x[0] and x[0] < 1.38:
                q[i] = x[0]
            else:
                q[i] = x[0] ** (ti.abs(i * 0.25) + 0.3) ** 0.5 * x[0]
            if x[0] > -0.53:
                if x[0] <= -0.20:
                    k = 0
                    while k < n and x[0] > p[(n + 2) % 8] * p[i % 8] and x[0] < 0.15:
                        k += 1
                        q[i] -= p[(i + 6) % 8]
                        q[i] -= x[0]
            q[i] = x[0]

    x, p, q = np.full(8, 0.7), np.ones(8), np.zeros(8)
    run(x, p, q, 5)
    np.testing.assert_array_equal(q, [0.7] * 5 + [0] * 3)


def test_loops_that_clear_matrices_are_vectors():
    c, x = ti.Matrix.field(2, 2, ti.f32, shape=100), ti.field(ti.f32, shape=100)

    @ti.kernel
    def run():
        for i in x:
            x[i] = x[i] * c[i].trace()
            c[i] = ti.Matrix.zero(ti.f32, 2, 2)

    c.fill(2)
    x.fill(3)
    run()
    np.testing.assert_array_equal(x.to_numpy(), np.full(100, 12, np.float32))
    np.testing.assert_array_equal(c.to_numpy(), np.zeros((100, 2, 2), np.float32))
    (loop,) = run.report(target="x86-64-v3").loops
    assert loop.vector_width == 8
