"""Kernels that overwrite what their gradients need: kept by tapes and by `vjp`, put back while gradients run, else an error."""

import numpy as np
import pytest

import metate as mt

PAIRS = [(0, 1), (2, 4)]


@pytest.fixture(autouse=True, params=PAIRS, ids=lambda pair: f"O{pair[0]}-{pair[1]}")
def begin(request):
    level, threads = request.param
    mt.init(opt_level=level, threads=threads, default_fp=mt.f64)


def field(shape, values=None, **more):
    made = mt.field(mt.f64, shape, needs_grad=True, needs_dual=True, **more)
    if values is not None:
        made.from_numpy(np.asarray(values, np.float64))
    return made


def check(program, x, loss, rng, tolerance=1e-9):
    """The gradient that a tape gives, against forward mode along random directions; the fields are as the program leaves them."""
    start = x.to_numpy()

    def run():
        x.from_numpy(start)
        loss.fill(0)
        program()

    run()
    after, value = x.to_numpy(), loss[None]
    x.from_numpy(start)
    with mt.ad.Tape(loss):
        program()
    gradient = x.grad.to_numpy()
    assert loss[None] == value and (x.to_numpy() == after).all()
    for _ in range(3):
        direction = rng.standard_normal(start.shape)
        x.from_numpy(start)
        loss.fill(0)
        with mt.ad.FwdMode(loss, x, direction):
            program()
        slope = loss.dual[None]
        assert abs(float((gradient * direction).sum()) - slope) <= tolerance * max(1, abs(slope))
    return gradient


def test_in_place(rng):
    x, loss = field(5, rng.random(5) + 0.5), field(())

    @mt.kernel
    def square(k: mt.f64):
        for i in x:
            x[i] = k * x[i] * x[i]

    @mt.kernel
    def total():
        for i in x:
            loss[None] += mt.sin(x[i])

    def program():
        for k in (0.5, 0.25, 2.0):  # each overwrites what the one before has written
            square(k)
        total()

    start = x.to_numpy()
    found = check(program, x, loss, rng)
    one = 0.5 * start**2
    two = 0.25 * one**2
    assert np.allclose(found, np.cos(2 * two**2) * 4 * two * 0.5 * one * start)


def test_without_a_tape_it_is_an_error_or_restored():
    x = field(3, [1, 2, 3])

    @mt.kernel
    def square():
        for i in x:
            x[i] = x[i] * x[i]

    square()
    x.grad.fill(1)
    with pytest.raises(mt.TaichiCompilationError) as raised:
        square.grad()
    said = str(raised.value)
    assert "square.grad: the kernel overwrites" in said and "mt.ad.Tape" in said and "square.grad.restored(...)" in said
    x.from_numpy(np.array([1.0, 2, 3]))
    square.grad.restored()
    assert x.grad.to_numpy().tolist() == [2, 4, 6]
    with pytest.raises(mt.TaichiCompilationError):  # also when there is code for it
        square.grad()


def test_collisions(rng):
    """The state of a step in one place, conditions on what is overwritten, functions, several members."""
    n = 6
    x = mt.Vector.field(2, mt.f64, n, needs_grad=True, needs_dual=True)
    v = mt.Vector.field(2, mt.f64, n, needs_grad=True, needs_dual=True)
    loss = field(())
    x.from_numpy(rng.random((n, 2)))
    v.from_numpy(rng.standard_normal((n, 2)))

    @mt.func
    def bounce(i):
        if x[i].y < 0.2 and v[i].y < 0:
            v[i].y *= -0.8
            v[i].x = v[i].x * mt.cos(v[i].x)

    @mt.kernel
    def step():
        for i in x:
            v[i] += -0.1 * x[i] * x[i].norm()
            bounce(i)
            x[i] += 0.2 * v[i]

    @mt.kernel
    def measure():
        for i in x:
            loss[None] += x[i].norm_sqr() + v[i].dot(x[i])

    start = v.to_numpy()

    def program():
        v.from_numpy(start)
        for _ in range(4):
            step()
        measure()

    check(program, x, loss, rng)


def test_loops_and_branches_keep_cells_in_registers(rng):
    x, c, loss = field(4, rng.random(4)), field(7, rng.random(7)), field(())

    @mt.kernel
    def run(n: mt.i32):
        for i in x:
            for t in range(n):
                x[i] = x[i] * c[t] + 0.1 * mt.sin(x[i])
            while x[i] < 0.9:
                x[i] += x[i] * x[i] + 0.3
            if x[i] > 1:
                x[i] = mt.sqrt(x[i])
            mt.atomic_max(x[i], 1 - x[i])
            loss[None] += x[i] * x[i]

    check(lambda: run(7), x, loss, rng)
    check(lambda: run(0), x, loss, rng)


def test_members_of_one_tree_and_scalars(rng):
    x, v, s, loss = (mt.field(mt.f64, needs_grad=True, needs_dual=True) for _ in range(4))
    mt.root.dense(mt.i, 4).place(x, v, x.grad, v.grad, x.dual, v.dual)
    mt.root.place(s, loss, s.grad, loss.grad, s.dual, loss.dual)
    x.from_numpy(rng.random(4))
    v.from_numpy(rng.random(4))

    @mt.kernel
    def step():
        for i in x:
            v[i] = v[i] * x[i]  # v before and after, x before
            x[i] = v[i] * v[i]
        s[None] = s[None] * s[None] + 0.5

    @mt.kernel
    def measure():
        for i in x:
            loss[None] += s[None] * x[i]

    start = v.to_numpy()

    def program():
        v.from_numpy(start)
        s[None] = 0.5
        step()
        step()
        measure()

    check(program, x, loss, rng)


@pytest.mark.parametrize("level", ["pointer", "bitmasked"])
def test_sparse_cells(rng, level):
    x, loss = mt.field(mt.f64, needs_grad=True, needs_dual=True), field(())
    block = getattr(mt.root, level)(mt.i, 4)
    leaf = block.dense(mt.i, 4)
    leaf.place(x, x.grad, x.dual)
    values = np.zeros(16)
    values[4:8] = rng.random(4)

    @mt.kernel
    def activate():
        for i in range(4, 8):
            x[i] = 1

    @mt.kernel
    def square():
        for i in x:
            x[i] = x[i] * x[i] + mt.sin(x[i])

    @mt.kernel
    def grow():  # activates cells, which hold the background before
        for i in range(6, 12):
            x[i] = mt.exp(x[i])

    @mt.kernel
    def total():
        for i in x:
            loss[None] += x[i] * x[i]

    activate()
    x.from_numpy(values)

    def program():
        square()
        grow()
        square()
        total()

    x.from_numpy(values)
    start = x.to_numpy()
    with mt.ad.Tape(loss):
        program()
    gradient = x.grad.to_numpy()
    direction = rng.standard_normal(16)
    direction[:4] = direction[8:] = 0  # what is inactive is a constant
    x.from_numpy(start)
    loss.fill(0)
    with mt.ad.FwdMode(loss, x, direction):
        program()
    assert abs(float((gradient * direction).sum()) - loss.dual[None]) < 1e-9 * max(1, abs(loss.dual[None]))


def test_arrays(rng):
    @mt.kernel
    def square(x: mt.types.ndarray(), y: mt.types.ndarray()):
        for i in x:
            y[i] = x[i] * x[i] * x[i]
            x[i] = mt.sin(x[i]) * y[i]

    start, y = rng.random(4), np.zeros(4)
    x = start.copy()
    written, pull = mt.ad.vjp(square, x, y)
    after = x.copy()
    assert all(one is other for one, other in zip(written, (x, y)))
    a, b = rng.random(4), rng.random(4)
    (found,) = pull(a, b)[:1]
    assert (x == after).all()
    assert np.allclose(found, b * 3 * start**2 + a * (np.cos(start) * start**3 + np.sin(start) * 3 * start**2))
    assert np.allclose(pull(a, b)[0], found)


def test_tape_of_arrays(rng):
    x, s = mt.ndarray(mt.f64, 3, needs_grad=True), mt.ndarray(mt.f64, 1, needs_grad=True)

    @mt.kernel
    def square(x: mt.types.ndarray(mt.f64, 1), s: mt.types.ndarray(mt.f64, 1)):
        for i in x:
            x[i] = x[i] * x[i]
        for i in x:
            s[0] += x[i]

    start = rng.random(3)
    x.from_numpy(start)
    with mt.ad.Tape(s):
        square(x, s)
        square(x, s)
    assert np.allclose(x.grad.to_numpy(), 2 * start + 4 * start**3)
    assert np.allclose(x.to_numpy(), start**4)


def test_conditions_that_a_loop_changes(rng):
    x, y, n, c = field(3, rng.random(3) + 0.5), field(3), mt.field(mt.i32, 3), field((), 2.0)
    s, loss = field(()), field(())

    @mt.kernel
    def run():
        for i in x:
            while y[i] < 3:
                y[i] += x[i] * x[i]
            while n[i] > 0:
                n[i] -= 1
                y[i] += x[i]
            loss[None] += y[i] * y[i]

    @mt.kernel
    def whole():
        while s[None] < 3:
            s[None] += c[None] * s[None] + x[0] * x[1]
        t = 0.0
        for i in x:
            t += x[i]
        u = 1.0
        while u < 5:
            t += u * x[2]
            u = u * c[None]
        loss[None] += t * t * s[None]

    def program():
        y.fill(0)
        n.fill(2)
        s[None] = 0.1
        run()
        whole()

    check(program, x, loss, rng)


def test_what_is_refused_where_it_cannot_be_right():
    x, loss = mt.field(mt.f64, needs_grad=True), field(())
    block = mt.root.pointer(mt.i, 8)
    block.place(x, x.grad)

    @mt.kernel
    def give_up():
        for i in range(8):
            loss[None] += x[i] * x[i]
            mt.deactivate(block, [i])

    with pytest.raises(mt.TaichiCompilationError, match="cells are deactivated here whose members") as raised:
        give_up.grad()
    assert raised.value.line == give_up.source.first_line + 4

    y = field(3)

    @mt.kernel
    def again(n: mt.i32):
        for i in y:
            for _ in range(n):
                loss[None] += y[i] * y.grad[i]

    with pytest.raises(mt.TaichiCompilationError, match="is where the derivative is computed") as raised:
        again.grad(3)
    assert raised.value.line == again.source.first_line + 4

    @mt.kernel
    def counted():
        t = 0.0
        for i in y:
            t += y[i]
        while t < 5:
            t += y[0] * y[0]
        for i in y:
            loss[None] += t * y[i]

    with pytest.raises(mt.TaichiCompilationError, match="the value of 't' that is read here is needed again"):
        counted.grad()


def test_trees_and_structs_that_are_arguments(rng):
    line = mt.types.SNodeTreeBuilder().pointer(mt.i, 4).dense(mt.i, 4).place(h=mt.f64, g=mt.f64).build()
    bead = mt.types.struct(a=mt.f64, b=mt.f64)

    @mt.kernel
    def step(t: line, x: mt.types.ndarray(bead, 1)):
        for i in t.h:
            t.h[i] = t.h[i] * t.h[i] + t.g[i]
        for i in x:
            x[i].a = x[i].a * x[i].b
            x[i].b = mt.sin(x[i].b)

    @mt.kernel
    def total(t: line, x: mt.types.ndarray(bead, 1), s: mt.types.ndarray(mt.f64, 0)):
        for i in t.h:
            s[None] += t.h[i]
        for i in x:
            s[None] += x[i].a * x[i].b

    t, x = line.new(needs_grad=True), mt.ndarray(bead, 3, needs_grad=True)
    s = mt.ndarray(mt.f64, (), needs_grad=True)
    a, b = rng.random((2, 3))
    for i in range(3):
        x[i].a, x[i].b = a[i], b[i]
    t.h[5], t.g[5] = 0.5, 0.25
    with mt.ad.Tape(s):
        step(t, x)
        step(t, x)
        total(t, x, s)
    assert np.isclose(t.h[5], (0.5**2 + 0.25) ** 2 + 0.25)
    assert np.isclose(t.grad.h[5], 4 * 0.5 * (0.5**2 + 0.25)) and np.isclose(t.grad.g[5], 2 * (0.5**2 + 0.25) + 1)
    sine, twice = np.sin(b), np.sin(np.sin(b))
    assert np.allclose([x.grad[i].a for i in range(3)], b * sine * twice)
    slope = a * (sine * twice + b * np.cos(b) * twice + b * sine * np.cos(sine) * np.cos(b))
    assert np.allclose([x.grad[i].b for i in range(3)], slope)


def test_what_changes_between_calls(rng):
    """Fields that change places, numbers that the code is made for, and others."""
    x, y, loss = field(3), field(3), field(())
    start = rng.random((2, 3))

    @mt.kernel
    def step(of: mt.template(), k: mt.f64, n: mt.template()):
        for i in of:
            of[i] = k * of[i] ** 2 + n * mt.sin(of[i])

    @mt.kernel
    def total():
        for i in x:
            loss[None] += x[i] * y[i]

    def program():
        y.from_numpy(start[1])
        for of, k, n in ((x, 0.5, 0), (x, 0.7, 0), (y, 0.5, 0), (x, 0.7, 1), (x, 0.9, 1), (x, 0.5, 0)):
            step(of, k, n)
        total()

    x.from_numpy(start[0])
    check(program, x, loss, rng)


def test_states_in_between_are_refused_without_a_tape():
    """Under a tape the kernel runs in parts (test_parts.py)."""
    x, loss = field(3, [1, 2, 3]), field(())

    @mt.kernel
    def run():
        for i in x:
            x[i] = 2 * x[i]
        for i in x:
            loss[None] += x[i] * x[i]
        for i in x:
            x[i] = 0

    run()
    with pytest.raises(mt.TaichiCompilationError) as raised:
        run.grad()
    assert raised.value.line == run.source.first_line + 5 and "may have been overwritten" in str(raised.value)


def test_numbers_and_gradients_that_come_later():
    """Arrays with and without gradients, one after the other, under one kernel."""

    @mt.kernel
    def run(x: mt.types.ndarray(mt.f64, 1), y: mt.types.ndarray(mt.f64, 1)):
        for i in x:
            y[i] += x[i] * x[i]
            x[i] = y[i]

    for needs in (False, True, False, True):
        x = mt.ndarray(mt.f64, 2, needs_grad=needs)
        y = mt.ndarray(mt.f64, 2, needs_grad=True)
        x.from_numpy(np.array([2.0, 3]))
        s = mt.ndarray(mt.f64, 1, needs_grad=True)

        @mt.kernel
        def total(x: mt.types.ndarray(mt.f64, 1), s: mt.types.ndarray(mt.f64, 1)):
            for i in x:
                s[0] += x[i]

        x.from_numpy(np.array([2.0, 3]))
        y.fill(0)
        with mt.ad.Tape(s):
            run(x, y)
            total(x, s)
        if needs:
            assert x.grad.to_numpy().tolist() == [4, 6]
