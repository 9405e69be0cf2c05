"""Inner loops whose turns are written out, and what stays in values over their turns, against NumPy."""

import numpy as np
import pytest

import metate as ti

array = ti.types.ndarray


@pytest.fixture(autouse=True, params=[{}, {"unroll_loops": False, "promote_cells": False}, {"arch": ti.interp}], ids=str)
def context(request):
    with ti.Context(**request.param):
        yield


def test_small_matrices_by_loops(rng):
    @ti.kernel
    def run(
        a: array(ti.types.matrix(3, 3, ti.f64), 1), products: array(ti.types.matrix(3, 3, ti.f64), 1),
        inverses: array(ti.types.matrix(3, 3, ti.f64), 1), solved: array(ti.types.vector(3, ti.f64), 1)
    ):  # fmt: skip
        for n in a:
            m = a[n]
            product = ti.Matrix.zero(ti.f64, 3, 3)
            cofactors = ti.Matrix.zero(ti.f64, 3, 3)
            for i in range(3):
                for j in range(3):
                    for k in range(3):
                        product[i, j] += m[i, k] * m[k, j]
                    p, q, r, s = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
                    cofactors[j, i] = m[p, r] * m[q, s] - m[p, s] * m[q, r]
            det = ti.f64(0)
            for i in range(3):
                det += m[0, i] * cofactors[i, 0]
            products[n], inverses[n] = product, cofactors / det
            y = ti.Vector([ti.f64(1), 2, 3])
            for k in range(3):
                for i in range(k + 1, 3):
                    f = m[i, k] / m[k, k]
                    for j in range(k, 3):
                        m[i, j] -= f * m[k, j]
                    y[i] -= f * y[k]
            for back in range(3):
                k = 2 - back
                for j in range(k + 1, 3):
                    y[k] -= m[k, j] * y[j]
                y[k] /= m[k, k]
            solved[n] = y

    a = rng.random((6, 3, 3)) + 3 * np.eye(3)
    products, inverses, solved = np.zeros_like(a), np.zeros_like(a), np.zeros((6, 3))
    run(a, products, inverses, solved)
    np.testing.assert_allclose(products, a @ a, rtol=1e-13)
    np.testing.assert_allclose(inverses, np.linalg.inv(a), rtol=1e-12)
    np.testing.assert_allclose(solved, np.linalg.solve(a, np.array([1.0, 2, 3])[:, None])[..., 0], rtol=1e-12)


def test_loops_around_a_cell(request, rng):
    """Nine cells around each, by bounds that depend on the cell, without a loop that is left."""
    a, b = ti.field(ti.f32, (20, 30)), ti.field(ti.f32, (20, 30))

    @ti.kernel
    def sweep():
        for i, j in ti.ndrange((1, 19), (1, 29)):
            s = 0.0
            for p in range(i - 1, i + 2):
                for q in range(j - 1, j + 2):
                    if ti.abs(p - i) + ti.abs(q - j) == 1:
                        s += a[p, q]
            b[i, j] = s

    x = rng.integers(0, 100, (20, 30)).astype(np.float32)
    a.from_numpy(x)
    sweep()
    expected = np.zeros_like(x)
    expected[1:-1, 1:-1] = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
    np.testing.assert_array_equal(b.to_numpy(), expected)
    if not request.node.callspec.params["context"]:
        assert "scf.for" not in sweep.stages()["offload"]


def test_a_function_that_is_called_writes_the_place():
    """What the loop reads and stores, a real function stores as well: members of a word, and a number of its own."""
    x, n = ti.Vector.field(2, ti.types.quant.fixed(25, max_value=1.0), shape=()), ti.field(ti.i32, ())

    @ti.real_func
    def clear(k: ti.i32):
        x[None] = ti.Vector([0.0, 0.0])
        n[None] = 10 * k

    @ti.kernel
    def run() -> ti.i32:
        last = 0
        ti.loop_config(serialize=True)
        for k in range(40):
            x[None] = x[None] * 0.5
            n[None] += 1
            clear(k)
            last = n[None]
        return last

    x[None], n[None] = [0.25, 0.5], 3
    assert run() == 390 and n[None] == 390 and x[None].to_numpy().tolist() == [0, 0]


def test_values_that_stay(rng):
    """Members of one tree, an element beside what is written, a loop without turns, places that are another's values."""
    bodies = ti.Struct.field({"pos": ti.types.vector(3, ti.f64), "force": ti.types.vector(3, ti.f64), "steps": ti.i32}, shape=9)

    @ti.kernel
    def run(counts: array(ti.i32, 1), which: array(ti.i32, 1), x: array(ti.f64, 1), fib: array(ti.i64, 1)):
        for i in bodies:
            for j in range(9):
                bodies[i].force += bodies[j].pos - bodies[i].pos
                if bodies[j].pos[0] > bodies[i].pos[0]:
                    bodies[i].steps += 1
        for i in counts:
            for _ in range(counts[i]):
                x[which[i]] += x[4 + which[i]]
        for _ in range(1):
            for k in range(2, fib.shape[0]):
                fib[0] += 1
                fib[k] = fib[k - 1] + fib[k - 2] + fib[1]

    pos = rng.random((9, 3))
    bodies.pos.from_numpy(pos)
    counts, which = np.array([3, 0, 1, 0], np.int32), np.array([2, 10**6, 0, -(10**6)], np.int32)
    x, fib = np.arange(8) + 1.0, np.array([0, 1] + 8 * [0], np.int64)
    run(counts, which, x, fib)
    np.testing.assert_allclose(bodies.force.to_numpy(), (pos[None] - pos[:, None]).sum(1), atol=1e-13)
    np.testing.assert_array_equal(bodies.steps.to_numpy(), (pos[None, :, 0] > pos[:, None, 0]).sum(1))
    np.testing.assert_array_equal(x, [6, 2, 3 + 3 * 7, 4, 5, 6, 7, 8])
    expected = [0, 1]
    for k in range(2, 10):
        expected[0] += 1
        expected.append(expected[k - 1] + expected[k - 2] + expected[1])
    np.testing.assert_array_equal(fib, expected)


def test_a_conditional_store_finds_the_cell_inactive():
    x = ti.field(ti.f32)
    ti.root.pointer(ti.i, 8).dense(ti.i, 16).place(x)

    @ti.kernel
    def run(y: array(ti.f32, 1), n: ti.i32):
        for i in range(n):
            x[i] = 1.0  # finds no cell beyond 128
            for j in range(y.shape[0]):
                t = x[i]
                if y[j] > 0:
                    x[i] = t + y[j]

    run(np.ones(5, np.float32), 4000)
    np.testing.assert_array_equal(x.to_numpy(), np.full(128, 6))


def test_nothing_is_read_before_an_assertion_that_fails():
    @ti.kernel
    def run(x: array(ti.f32, 1), y: array(ti.f32, 1), w: array(ti.f32, 1), begin: ti.i32):
        for i in range(begin, begin + 1):
            for j in range(w.shape[0]):
                x[i] = x[i] + w[j]
            assert i < 8
            y[i] = x[i]

    options = {"asserts": True} | ({"arch": ti.interp} if ti.cfg.arch == ti.interp else {})
    with ti.Context(**options), pytest.raises(AssertionError, match="i < 8"):
        run(np.zeros(8, np.float32), np.zeros(8, np.float32), np.zeros(0, np.float32), 1 << 30)


def test_sums_of_sums_and_deep_nests_compile():
    @ti.kernel
    def run(x: array(ti.i32, 1), s: array(ti.i32, 1)):
        for i in x:
            a, b = i, i
            for _ in ti.static(range(50)):  # each value is in two of the next
                a, b = b, a + b
            x[b] += 1
            total = ti.Vector([0, 0, 0])
            for p in range(12):
                for q in range(p, p + 12):
                    for r in range(q, q + 12):
                        for t in range(r, r + 12):
                            total[t % 3] += 1
            s[i] = total.sum()

    x, s = np.zeros(1, np.int32), np.zeros(1, np.int32)
    run(x, s)
    assert x[0] == 1 and s[0] == 12**4


def test_what_is_computed_again_and_again_compiles():
    """Divisors, limits, bounds and sizes of which each step uses the one before twice: 2^30 ways to their leaves."""

    @ti.func
    def mixed(seed, kind: ti.template()):
        m = seed
        for _ in ti.static(range(30)):
            if ti.static(kind == 0):
                m = m ^ (m >> 1)
            elif ti.static(kind == 1):
                m = m * m
            else:
                m = ti.max(m, m * seed) - ti.min(m, seed)
        return m

    @ti.kernel
    def run(n: ti.i32, out: array(ti.i32, 2)):
        for c in range(out.shape[1]):
            out[0, c] = c // mixed(n, 0) + c % mixed(n, 1)
        for c in range(out.shape[1]):
            if c > mixed(n, 0):
                out[1, c] = 1
        for c in range(out.shape[1]):
            begin = mixed(n, 1)
            for z in range(begin, begin + 8):
                out[2, c] += z - begin
        for c in range(out.shape[1]):
            last = mixed(n, 2)
            for z in range(n):
                if z < last:
                    out[3, c] += ti.min(z + 1, last)

    out = np.zeros((4, 20), np.int32)
    run(1, out)
    assert out[0].tolist() == list(range(20)) and out[1].tolist() == [0, 0] + [1] * 18 and (out[2] == 28).all()


def test_columns_in_parallel(rng):
    """Each column sees its rows in order, whichever loop is the inner one."""

    @ti.kernel
    def run(a: array(ti.i32, 2), down: array(ti.i32, 2), picked: array(ti.i32, 2), first: ti.i32):
        for j in range(a.shape[1]):
            for i in range(a.shape[0]):
                down[i + 1, j] = down[i, j] + a[i, (j + 1) % a.shape[1]]
        for j in range(1, a.shape[1] - 1):
            odd = j % 2 + first
            for i in range(first, a.shape[0], 3):
                if odd == 1 and i > 0:
                    picked[i, j] = a[i - 1, j - 1] + 10 * j

    for n, m in ((1, 1), (1, 3), (7, 2), (9, 100)):
        a = rng.integers(-9, 9, (n, m)).astype(np.int32)
        down, picked, want = np.zeros((n + 1, m), np.int32), np.zeros((n, m), np.int32), np.zeros((n, m), np.int32)
        run(a, down, picked, 0)
        np.testing.assert_array_equal(down[1:], np.cumsum(np.roll(a, -1, 1), axis=0))
        want[3::3, 1 : m - 1 : 2] = a[2:-1:3, 0 : m - 2 : 2] + 10 * np.arange(1, m - 1, 2)
        np.testing.assert_array_equal(picked, want)
