"""Derivatives by quantised numbers: what is stored and read passes straight through, at the values that are read."""

import numpy as np
import pytest

import metate as ti

quant = ti.types.quant
FORMATS = {
    "fixed": quant.fixed(16, max_value=8.0),
    "coarse": quant.fixed(6, max_value=4.0),
    "float": quant.float(5, 9),
    "shared": quant.float(6, 10),
}
N = 12


def numbers(kind, **named):
    """A field of numbers that share words with one of integers, or a float's exponent with another float."""
    x = ti.field(FORMATS[kind], needs_grad=True, needs_dual=True, **named)
    beside = ti.field(quant.float(6, 10) if kind == "shared" else quant.int(7))
    word = ti.BitpackedFields(max_num_bits=32)
    word.place(x, beside, shared_exponent=kind == "shared")
    ti.root.dense(ti.i, N).place(word)
    ti.root.lazy_grad()
    ti.root.lazy_dual()
    return x


def plain(shape=N):
    return ti.field(ti.f32, shape, needs_grad=True, needs_dual=True)


def given():
    return np.random.default_rng(2).uniform(-3, 3, N).astype(np.float32)


@pytest.mark.parametrize("kind", FORMATS)
def test_reads(kind):
    x, loss = numbers(kind), plain(())

    @ti.kernel
    def run():
        for i in x:
            loss[None] += x[i] ** 2 * (i + 1)

    x.from_numpy(given())
    read = x.to_numpy()
    with ti.ad.Tape(loss):
        run()
    np.testing.assert_allclose(x.grad.to_numpy(), 2 * read * np.arange(1, N + 1), rtol=1e-6)
    assert x.grad.dtype is ti.f32


@pytest.mark.parametrize("kind", FORMATS)
def test_stores(kind):
    x, y, loss = plain(), numbers(kind), plain(())

    @ti.kernel
    def run():
        for i in x:
            y[i] = ti.sin(x[i]) * 2

    @ti.kernel
    def measure():
        for i in y:
            loss[None] += y[i] ** 2

    x.from_numpy(given())
    with ti.ad.Tape(loss):
        run()
        measure()
    stored = y.to_numpy()
    np.testing.assert_allclose(x.grad.to_numpy(), 2 * stored * 2 * np.cos(given()), rtol=1e-5)


@pytest.mark.parametrize("kind", ["fixed", "float", "shared"])
def test_sums_at_any_place(kind):
    x, y, loss = plain(), numbers(kind), plain(())
    at = ti.field(ti.i32, N)

    @ti.kernel
    def run():
        for i in x:
            y[at[i]] += x[i] * 0.25
            y[at[i]] -= x[i] * x[i] * 0.125

    @ti.kernel
    def measure():
        for i in y:
            loss[None] += y[i] * (i + 1)

    x.from_numpy(given())
    at.from_numpy((np.arange(N) * 5 % 4).astype(np.int32))
    with ti.ad.Tape(loss):
        run()
        measure()
    weight = at.to_numpy() + 1
    np.testing.assert_allclose(x.grad.to_numpy(), weight * (0.25 - 0.25 * given()), rtol=1e-5, atol=1e-6)


def test_what_was_there_before_a_sum():
    x, y, loss = plain(), numbers("fixed"), plain(())

    @ti.kernel
    def run():
        for i in x:
            old = ti.atomic_add(y[i], x[i])
            loss[None] += 3 * old

    y.from_numpy(given())
    loss.grad[None] = 1
    y.grad.fill(0.5)
    run.grad()
    assert y.grad.to_numpy().tolist() == [3.5] * N
    assert x.grad.to_numpy().tolist() == [0.5] * N


def dual_along(arch, kind):
    """The derivative of a loss along all of x, beside which y is stored as the kernel stores it."""
    ti.init(arch=arch)
    x, y, loss = numbers(kind), numbers(kind), plain(())

    @ti.kernel
    def run():
        for i in x:
            y[i] = x[i] * 1.5 + 0.25
        for i in y:
            y[i] += x[i] * 0.5
            loss[None] += y[i] * x[i]

    x.from_numpy(given())
    run()
    stored = y.to_numpy()
    loss[None] = 0
    with ti.ad.FwdMode(loss=loss, param=x, seed=[1.0] * N):
        run()
    assert (y.to_numpy() == stored).all()
    return loss.dual[None], (stored + 2 * x.to_numpy()).sum()


@pytest.mark.parametrize("kind", FORMATS)
def test_along_a_direction(kind):
    """Forward mode, compiled and interpreted."""
    found, wanted = dual_along(ti.cpu, kind)
    assert found == pytest.approx(wanted, rel=1e-5)
    assert found == pytest.approx(dual_along(ti.interp, kind)[0], rel=1e-6)


def test_members_of_a_tree():
    shape = (
        ti.types.SNodeTreeBuilder()
        .pointer(ti.i, 4)
        .quant_array(ti.j, 8, max_num_bits=32)
        .place(a=quant.fixed(8, max_value=2.0))
        .build()
    )
    t, loss = shape.new(needs_grad=True), plain(())

    @ti.kernel
    def run(f: shape):
        for i, j in f:
            loss[None] += f[i, j].a * f[i, j].a

    t.a[1, 3], t.a[2, 0] = 0.5, -1.25
    with ti.ad.Tape(loss):
        run(t)
    assert (t.grad.a[1, 3], t.grad.a[2, 0], t.grad.a[0, 0]) == (1.0, -2.5, 0.0)


def test_steps_that_overwrite_their_state():
    """A tape keeps what was there, bit for bit."""
    x, a, loss = numbers("fixed"), plain(()), plain(())

    @ti.kernel
    def step():
        for i in x:
            x[i] = x[i] * a[None] + 0.25

    @ti.kernel
    def measure():
        for i in x:
            loss[None] += x[i]

    x.from_numpy(given())
    a[None] = 0.75
    states = [x.to_numpy()]
    with ti.ad.Tape(loss):
        for _ in range(3):
            step()
            states.append(x.to_numpy())
        measure()
    wanted = sum(state.sum() * 0.75 ** (2 - k) for k, state in enumerate(states[:3]))
    assert a.grad[None] == pytest.approx(wanted, rel=1e-5)
    np.testing.assert_allclose(x.grad.to_numpy(), 0.75**3, rtol=1e-6)


def test_numbers_of_a_few_bits_are_learnt():
    """Weights are kept beside, stored in five bits and used from there, as networks with quantised weights are trained."""
    w, q, loss = plain(4), ti.field(quant.fixed(5, max_value=2.0), needs_grad=True), plain(())
    word = ti.BitpackedFields(max_num_bits=8)
    word.place(q)
    ti.root.dense(ti.i, 4).place(word)
    ti.root.lazy_grad()
    wanted = ti.Vector([0.625, -1.25, 1.5, -0.125])

    @ti.kernel
    def keep():
        for i in w:
            q[i] = w[i]

    @ti.kernel
    def measure():
        for i in q:
            loss[None] += (q[i] - wanted[i]) ** 2

    for _ in range(40):
        with ti.ad.Tape(loss):
            keep()
            measure()
        w.from_numpy(w.to_numpy() - 0.2 * w.grad.to_numpy())
    keep()
    assert q.to_numpy().tolist() == wanted.to_list()


def test_what_has_no_derivative():
    x, y = plain(), numbers("fixed")
    v = ti.Vector.field(2, quant.float(6, 10), needs_grad=True)
    word = ti.BitpackedFields(max_num_bits=32)
    word.place(v, shared_exponent=True)
    ti.root.dense(ti.i, N).place(word)
    ti.root.lazy_grad()

    @ti.kernel
    def least():
        for i in x:
            ti.atomic_min(y[0], x[i])

    @ti.kernel
    def together():
        for i in x:
            v[i] = ti.Vector([x[i], 2 * x[i]])

    @ti.kernel
    def apart():
        for i in x:
            v[i][0] = x[i]
            v[i][1] = 2 * x[i]

    with pytest.raises(ti.CompilationError, match=r"only \+ and - have a derivative"):
        least.grad()
    with pytest.raises(ti.CompilationError, match="share an exponent has no derivative; assign them one by one"):
        together.grad()
    v.grad.fill(1)
    apart.grad()
    assert x.grad.to_numpy().tolist() == [3] * N


@pytest.mark.parametrize("type_", [ti.f32, quant.fixed(8, max_value=2.0), quant.float(5, 10)], ids=["f32", "fixed", "float"])
def test_cells_that_are_not_there_stay_away(type_):
    x, y, cells = ti.field(type_, needs_grad=True), plain(16), ti.field(ti.i32, ())
    ti.root.pointer(ti.i, 4).dense(ti.i, 4).place(x)
    ti.root.lazy_grad()

    @ti.kernel
    def run():
        for i in range(16):
            y[i] = 3.0 * x[15 - i]

    @ti.kernel
    def count():
        for _ in x:
            cells[None] += 1

    x[1] = 1.0
    run()
    y.grad.fill(1)
    run.grad()
    count()
    assert cells[None] == 4
    assert x.grad.to_numpy().tolist() == [3.0] * 4 + [0.0] * 12


@pytest.mark.parametrize("shared", [False, True])
def test_constants_that_are_overwritten(shared):
    """What the derivative needs of a constant is what was there, also where a vector's components are stored together."""
    w, loss, v = plain(4), plain(()), ti.Vector.field(2, quant.float(5, 10))
    word = ti.BitpackedFields(max_num_bits=32)
    word.place(v, shared_exponent=shared)
    ti.root.dense(ti.i, 4).place(word)

    @ti.kernel
    def run():
        for i in w:
            loss[None] += w[i] * v[i].x
        for i in w:
            v[i] = [8.0, 8.0]

    for i in range(4):
        v[i] = [2.0, 1.0]
    w.fill(1)
    with ti.ad.Tape(loss):
        run()
    assert w.grad.to_numpy().tolist() == [2.0] * 4
    with pytest.raises(ti.MetateError, match="needs what was there before"):
        run.grad()
