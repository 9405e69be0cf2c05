"""Kernels that overwrite what another of their statements left and needs again: their derivatives are those of parts."""

import numpy as np
import pytest

import metate as mt

from . import test_overwritten
from .test_overwritten import check, field

begin = test_overwritten.begin  # runs before each test


def test_a_state_between_two_loops(rng):
    x, y, loss = field(7, rng.random(7) + 0.5), field(7), field(())

    @mt.kernel
    def run(a: mt.f64):
        for i in x:
            x[i] = mt.sin(x[i]) * a
        for i in range(1, 6):
            y[i] = x[i - 1] * x[i + 1]
        for i in x:
            x[i] = y[i] * x[i] * x[i] + 1
        for i in x:
            loss[None] += x[i] ** 3 + y[i]
        for i in x:
            x[i] = 0

    def program():
        for a in (0.7, 1.3):  # the second one begins with zeros
            run(a)

    check(program, x, loss, rng)


def test_a_simulation_in_one_kernel(rng):
    """Two fields that each overwrite the other, values of the launch, statements that stand alone, a loop in order."""
    u, v, k, loss = field((5, 5), rng.random((5, 5))), field((5, 5)), field((), 0.3), field(())

    @mt.kernel
    def step(dt: mt.f64):
        c = k[None] * dt  # nothing changes it: each part computes it anew
        for i, j in u:
            v[i, j] += c * mt.sin(u[i, j])
        for i, j in u:
            right, below = v[(i + 1) % 5, j], v[i, (j + 1) % 5]
            u[i, j] += dt * v[i, j] * (right - below)
        loss[None] += u[2, 2] ** 2 * v[1, 1]
        v[0, 0] *= 0.5
        if dt > 0.15:
            u[1, 1] = u[1, 1] * v[0, 0] * k[None]

    def program():
        for dt in (0.1, 0.2, 0.1):
            step(dt)

    def from_zero():
        v.fill(0)
        program()

    start = u.to_numpy()
    check(from_zero, u, loss, rng)
    with mt.ad.Tape(loss):
        u.from_numpy(start)
        from_zero()
    found, values = k.grad[None], []
    for by in (1e-6, -1e-6):
        u.from_numpy(start)
        k[None] = 0.3 + by
        loss.fill(0)
        from_zero()
        values.append(loss[None])
    assert abs(found - (values[0] - values[1]) / 2e-6) <= 1e-6 * max(1, abs(found))


def test_arrays_and_what_is_returned(rng):
    """`vjp` and `grad` of one kernel; what a kernel returns, and numbers that are computed once."""

    @mt.kernel
    def run(x: mt.types.ndarray(mt.f64, 1), out: mt.types.ndarray(mt.f64, 1), n: mt.i32) -> mt.i32:
        for i in x:
            x[i] = x[i] * x[i]
        for i in x:
            out[i] = x[i] * x[(i + 1) % n]
        for i in x:
            x[i] = out[i] + 1
        for i in x:
            out[i] *= x[i]
        return n + 1

    start, weights = rng.random(6) + 0.5, rng.standard_normal(6)

    def model(x):
        x = x * x
        out = x * np.roll(x, -1)
        return out * (out + 1)

    values = mt.ndarray(mt.f64, 6, needs_grad=True)
    values.from_numpy(start)
    x, out = start.copy(), np.zeros(6)
    _, back = mt.ad.vjp(run, x, out, 6)
    assert np.allclose(out, model(start))
    gradient = back(np.zeros(6), weights)[0]
    for k in range(6):
        by = np.zeros(6)
        by[k] = 1e-6
        slope = ((model(start + by) - model(start - by)) * weights).sum() / 2e-6
        assert abs(gradient[k] - slope) <= 1e-6 * max(1, abs(slope))

    loss = field(())

    @mt.kernel
    def total(out: mt.types.ndarray(mt.f64, 1)):
        for i in out:
            loss[None] += out[i]

    result = mt.ndarray(mt.f64, 6, needs_grad=True)
    with mt.ad.Tape(loss):
        assert run(values, result, 6) == 7
        total(result)
    for k in range(6):
        by = np.zeros(6)
        by[k] = 1e-6
        slope = (model(start + by) - model(start - by)).sum() / 2e-6
        assert abs(values.grad.to_numpy()[k] - slope) <= 1e-6 * max(1, abs(slope))


def test_methods_and_random_numbers(rng):
    """A part draws what it drew; the object is an argument."""

    @mt.data_oriented
    class Noise:
        def __init__(self):
            self.x, self.scale = field(8, rng.random(8) + 1), field((), 0.5)
            self.drawn, self.loss = field(8), field(())

        @mt.kernel
        def run(self):
            for i in self.x:
                self.drawn[i] = mt.random(mt.f64)
            for i in self.x:
                self.x[i] = self.x[i] * self.x[i] * (1 + self.scale[None] * self.drawn[i])
            for i in self.x:
                self.drawn[i] = mt.random(mt.f64)
                self.loss[None] += self.x[i] ** 2 * self.drawn[i]

    noise = Noise()
    start = noise.x.to_numpy()
    seen = []
    with mt.ad.Tape(noise.loss):
        noise.run()
    second = noise.drawn.to_numpy()
    after = noise.x.to_numpy()
    factor = after / start**2
    seen = 2 * after * second * factor * 2 * start
    assert np.allclose(noise.x.grad.to_numpy(), seen)
    slope = (2 * after * second * start**2 * (factor - 1) / 0.5).sum()
    assert np.isclose(noise.scale.grad[None], slope)


def test_what_parts_share_keeps_them_together(rng):
    """A variable that a loop accumulates is of the launch: the statements that use it are of one part."""
    x, loss = field(5, rng.random(5) + 0.5), field(())

    @mt.kernel
    def scaled():
        for i in x:
            x[i] = x[i] * x[i]
        total = 0.0
        for i in x:
            total += mt.sin(x[i])
        for i in x:
            loss[None] += total * x[i] ** 2
        for i in x:
            x[i] = 0

    check(scaled, x, loss, rng)

    @mt.kernel
    def crossed():
        total = 0.0
        for i in x:
            total += x[i]
        for i in x:
            x[i] = x[i] * total
        for i in x:
            loss[None] += total * x[i] ** 2

    with pytest.raises(mt.TaichiCompilationError, match="needed again, but may have been overwritten") as raised:
        with mt.ad.Tape(loss):
            crossed()
    assert raised.value.file == __file__


def test_one_loop_that_needs_two_states_is_refused(rng):
    x, loss = field(5, rng.random(5)), field(())

    @mt.kernel
    def run(n: mt.i32):
        for i in x:
            for _ in range(n):
                loss[None] += x[i] * x[4 - i]
                x[i] = x[i] * x[i]

    with pytest.raises(mt.TaichiCompilationError, match="needed again, but may have been overwritten"):
        with mt.ad.Tape(loss):
            run(2)


def test_cells_that_come_between_are_refused():
    """Which cells a loop visits must not change behind it: parts would visit others."""
    x, loss = mt.field(mt.f64, needs_grad=True), field(())
    block = mt.root.pointer(mt.i, 4)
    block.dense(mt.i, 2).place(x, x.grad)

    @mt.kernel
    def run():
        for i in x:
            x[i] = x[i] * x[i]
        for i in x:
            loss[None] += x[i] ** 2
        for i in range(8):
            x[i] = 1.0

    x[0] = 2.0
    with pytest.raises(mt.TaichiCompilationError, match="gradient of kernel 'run'"):
        with mt.ad.Tape(loss):
            run()


def test_sparse_cells_stay(rng):
    x, loss = mt.field(mt.f64, needs_grad=True, needs_dual=True), field(())
    mt.root.pointer(mt.i, 4).dense(mt.i, 2).place(x, x.grad, x.dual)

    @mt.kernel
    def run():
        for i in x:
            x[i] = mt.exp(x[i])
        for i in x:
            loss[None] += x[i] ** 2
        for i in x:
            x[i] = x[i] * 0.5 * x[i]
        for i in x:
            loss[None] += x[i]

    start = rng.random(8)
    for i in (0, 1, 4, 5):
        x[i] = start[i]
    with mt.ad.Tape(loss):
        run()
    e = np.exp(start)
    expected = 2 * e * e + e * e
    found = x.grad.to_numpy()
    assert np.allclose(found[[0, 1, 4, 5]], expected[[0, 1, 4, 5]]) and not found[[2, 3, 6, 7]].any()


def test_cells_without_bounds(rng):
    """Below a hash level values are kept cell by cell."""
    x, loss = mt.Vector.field(2, mt.f64, needs_grad=True), field(())
    mt.root.hash(mt.i).dense(mt.i, 2).place(x, x.grad)

    @mt.kernel
    def square():
        for i in x:
            x[i] = x[i] * x[i]

    @mt.kernel
    def run():
        for i in x:
            x[i] = mt.sin(x[i])
        for i in x:
            loss[None] += x[i].dot(x[i])
            x[i] = x[i] * x[i].x

    values = {i: rng.random(2) + 0.5 for i in (-7, 5)}
    for i, value in values.items():
        x[i] = value
    with mt.ad.Tape(loss):
        square()
        run()
    for i, value in values.items():
        expected = 2 * np.sin(value**2) * np.cos(value**2) * 2 * value
        assert np.allclose(x.grad[i], expected)


def test_validation_sees_parts(rng):
    """A tape with validation calls parts too, and finds what another kernel overwrites."""
    mt.init(debug=True, default_fp=mt.f64)
    x, loss = field(4, rng.random(4) + 0.5), field(())

    @mt.kernel
    def run():
        for i in x:
            x[i] = x[i] * x[i]
        for i in x:
            loss[None] += x[i] ** 3
        for i in x:
            x[i] = 2.0 * x[i]

    @mt.kernel
    def forget():
        for i in x:
            x[i] = 0

    @mt.kernel
    def read():
        for i in x:
            loss[None] += x[i] ** 2

    start = x.to_numpy()
    with mt.ad.Tape(loss, validation=True):
        run()
        read()
    assert np.allclose(x.grad.to_numpy(), 6 * start**5 + 16 * start**3)
    x.from_numpy(start)
    with pytest.raises(mt.TaichiAssertionError, match="gradient of kernel 'read': the value of 'x"):
        with mt.ad.Tape(loss, validation=True):
            run()
            read()
            forget()


def test_interpreted_parts(rng):
    mt.init(arch=mt.interp, default_fp=mt.f64)
    x, loss = field(3, [0.5, 1, 1.5]), field(())

    @mt.kernel
    def run():
        for i in x:
            x[i] = x[i] * x[i]
        for i in x:
            loss[None] += x[i] ** 2
        for i in x:
            x[i] = 0

    with mt.ad.Tape(loss):
        run()
    assert np.allclose(x.grad.to_numpy(), [4 * v**3 for v in (0.5, 1, 1.5)])


def test_a_number_that_is_drawn_once_keeps_its_users_together(rng):
    """Parts would draw others; what is refused has not run, and neither has a part before it."""
    x, y, loss = field(4, rng.random(4) + 0.5), field(4), field(())

    @mt.kernel
    def run():
        for i in x:
            y[i] = x[i] + 1
        r = mt.random(mt.f64)
        for i in x:
            x[i] = x[i] * x[i] * r
        for i in x:
            loss[None] += x[i] ** 2
        for i in x:
            x[i] = r

    start = x.to_numpy()
    with pytest.raises(mt.TaichiCompilationError, match="needed again, but may have been overwritten"):
        with mt.ad.Tape(loss):
            run()
    assert (x.to_numpy() == start).all() and not y.to_numpy().any()


def test_new_views_of_one_array(rng):
    """What is put back last is what was there last, whichever view it was seen by."""
    loss = field(())

    @mt.kernel
    def square(x: mt.types.ndarray(mt.f64, 1)):
        for i in x:
            x[i] = x[i] * x[i]

    @mt.kernel
    def total(x: mt.types.ndarray(mt.f64, 1)):
        for i in x:
            loss[None] += x[i]

    start = rng.random(4) + 0.5
    values = start.copy()
    with mt.ad.Tape(loss):
        for _ in range(3):
            square(values[:])
        total(values[:])
    assert (values == ((start**2) ** 2) ** 2).all()
