"""`Tape(validation=True)` in all kinds of memory: fields, levels, arrays, structs, trees that are arguments."""

import contextlib

import numpy as np
import pytest
from stale_reads import stale

import metate as mt

array = mt.types.ndarray


@pytest.fixture(autouse=True)
def begin():
    mt.init(debug=True)


def test_fields_without_gradients_and_indices():
    x, w = mt.field(mt.f32, 4, needs_grad=True), mt.field(mt.f32, 4)
    at, loss = mt.field(mt.i32, 4), mt.field(mt.f32, (), needs_grad=True)

    @mt.kernel
    def gather():
        for i in at:
            loss[None] += x[at[i]]

    @mt.kernel
    def weigh():
        for i in w:
            loss[None] += x[i] * w[i]

    @mt.kernel
    def change(values: array()):
        for i in at:
            at[i] = i
            w[i] = values[i]

    values = np.ones(4, np.float32)
    for read in (gather, weigh):
        with stale("overwritten since by kernel 'change'"), mt.ad.Tape(loss, validation=True):
            read()
            change(values)
        with mt.ad.Tape(loss, validation=True):
            change(values)
            read()


def test_vectors_by_components():
    p = mt.Vector.field(3, mt.f32, 4, needs_grad=True)
    m = mt.Matrix.field(2, 2, mt.f32, 4, needs_grad=True)
    q = mt.Vector.field(2, mt.f32, 4, needs_grad=True, layout=mt.Layout.SOA)
    loss = mt.field(mt.f32, (), needs_grad=True)

    @mt.kernel
    def read():
        for i in p:
            loss[None] += p[i].x ** 2 + m[i][0, 1] ** 2 + q[i][1] ** 2

    @mt.kernel
    def read_whole():
        for i in p:
            loss[None] += p[i].norm_sqr()

    @mt.kernel
    def write_others():
        for i in p:
            p[i].y = 1
            m[i][1, 0] += 1
            q[i][0] = 2

    @mt.kernel
    def write(which: mt.i32):
        if which == 0:
            p[2].x += 1
        elif which == 1:
            m[2] = mt.Matrix([[1, 2], [3, 4]])
        else:
            q[2] = mt.Vector([1, 2])

    with mt.ad.Tape(loss, validation=True):
        read()
        write_others()
    for which, name in enumerate("pmq"):
        with stale(f"'{name}[2]'", "overwritten since by kernel 'write'"), mt.ad.Tape(loss, validation=True):
            read()
            write(which)
    with stale("'p[", "overwritten since by kernel 'write_others'"), mt.ad.Tape(loss, validation=True):
        read_whole()
        write_others()


def test_members_of_structs():
    s = mt.Struct.field({"a": mt.f32, "b": mt.types.vector(2, mt.f32)}, shape=4, needs_grad=True)
    loss = mt.field(mt.f32, (), needs_grad=True)

    @mt.kernel
    def read():
        for i in s:
            loss[None] += s[i].a * s[i].a

    @mt.kernel
    def write_b():
        for i in s:
            s[i].b = mt.Vector([1, 2])

    @mt.kernel
    def write_a():
        s[1].a = 2

    with mt.ad.Tape(loss, validation=True):
        read()
        write_b()
    for write in (write_a, lambda: s.a.fill(1), lambda: s[2].__setattr__("a", 5), lambda: s.fill(0)):
        with stale("s.a[", "overwritten since by"), mt.ad.Tape(loss, validation=True):
            read()
            write()


def test_arrays():
    x, loss = mt.ndarray(mt.f32, 4, needs_grad=True), mt.ndarray(mt.f32, 1, needs_grad=True)
    v = mt.Vector.ndarray(2, mt.f32, 4, needs_grad=True)

    @mt.kernel
    def read(x: array(), v: array(), loss: array()):
        for i in x:
            loss[0] += x[i] * v[i].x * v[i].x

    @mt.kernel
    def write(x: array(), v: array(), k: mt.i32):
        v[k].y = 3
        if k > 1:
            x[k] += 1

    with mt.ad.Tape(loss, validation=True):
        read(x, v, loss)
        write(x, v, 1)
    with stale("'x[2]'", "overwritten since by kernel 'write'"), mt.ad.Tape(loss, validation=True):
        read(x, v, loss)
        write(x, v, 2)
    foreign = np.ones(4, np.float32)  # of others nobody knows who writes to them
    with mt.ad.Tape(loss, validation=True):
        read(foreign, v, loss)
        write(foreign, v, 2)


@pytest.mark.parametrize("levels", ["pointer", "bitmasked", "hash", "dynamic", "pointers"])
def test_levels(levels):
    x, loss = mt.field(mt.f32, name="x"), mt.field(mt.f32, (), needs_grad=True)
    root = {
        "pointer": lambda: mt.root.pointer(mt.i, 4).dense(mt.i, 4),
        "bitmasked": lambda: mt.root.bitmasked(mt.i, 16),
        "hash": lambda: mt.root.hash(mt.i).dense(mt.i, 4),
        "dynamic": lambda: mt.root.dynamic(mt.i, 14, 4),
        "pointers": lambda: mt.root.pointer(mt.i, 2).pointer(mt.i, 2).bitmasked(mt.i, 4),
    }[levels]()
    root.place(x, x.grad)

    @mt.kernel
    def begin():
        for i in range(12):
            x[i] = i + 1

    @mt.kernel
    def read():
        for i in x:
            loss[None] += x[i] * x[i]

    @mt.kernel
    def write(k: mt.i32):
        x[k] = 2

    begin()
    with mt.ad.Tape(loss, validation=True):
        read()
    assert [x.grad[i] for i in range(12)] == [2 * (i + 1) for i in range(12)]
    with stale("'x[7]'", "overwritten since by kernel 'write'"), mt.ad.Tape(loss, validation=True):
        read()
        write(7)
    with stale("'x[", f"overwritten since by Python, at {__file__}"), mt.ad.Tape(loss, validation=True):
        read()
        x.fill(3)


@pytest.mark.parametrize("levels", ["pointer", "bitmasked", "hash", "dynamic"])
def test_deactivated_cells(levels):
    x, loss = mt.field(mt.f32, name="x"), mt.field(mt.f32, (), needs_grad=True)
    root = {
        "pointer": lambda: mt.root.pointer(mt.ij, (2, 4)).dense(mt.ij, (2, 2)),
        "bitmasked": lambda: mt.root.dense(mt.j, 2).bitmasked(mt.ij, (4, 4)),
        "hash": lambda: mt.root.hash(mt.i).dense(mt.ij, (4, 8)),
        "dynamic": lambda: mt.root.dense(mt.i, 4).dynamic(mt.j, 10, 4),
    }[levels]()
    root.place(x, x.grad)
    level = root if levels in ("bitmasked", "dynamic") else root.parent()
    cell = {"pointer": [1, 2], "bitmasked": [3, 5], "hash": [0], "dynamic": [3]}[levels]

    @mt.kernel
    def begin():
        for i, j in mt.ndrange(4, 8):
            x[i, j] = i + j

    @mt.kernel
    def read(i: mt.i32, j: mt.i32):
        loss[None] += x[i, j] ** 2

    @mt.kernel
    def leave():
        mt.deactivate(level, cell)

    for at, is_gone in (((3, 5), True), ((1, 1), levels == "hash")):
        begin()
        with contextlib.ExitStack() as stack:
            if is_gone:
                stack.enter_context(stale(f"'x[{at[0]}, {at[1]}]'", "overwritten since by kernel 'leave'", "at "))
            stack.enter_context(mt.ad.Tape(loss, validation=True))
            read(*at)
            leave()
        with mt.ad.Tape(loss, validation=True):
            leave()
            begin()
            read(*at)


@pytest.mark.parametrize("levels", ["pointer", "bitmasked", "hash", "dynamic"])
def test_cells_that_loops_visit(levels):
    x, count, loss = mt.field(mt.f32, name="x"), mt.field(mt.i32, ()), mt.field(mt.f32, (), needs_grad=True)
    root = {
        "pointer": lambda: mt.root.pointer(mt.i, 8),
        "bitmasked": lambda: mt.root.pointer(mt.i, 2).bitmasked(mt.i, 4),
        "hash": lambda: mt.root.hash(mt.i),
        "dynamic": lambda: mt.root.dense(mt.i, 8).dynamic(mt.j, 4),
    }[levels]
    root().place(x)
    root().place(x.grad)
    level = x.parent()

    @mt.kernel
    def total():
        for cell in mt.grouped(x):
            loss[None] += 2 * x[cell]

    @mt.kernel
    def amount():
        for cell in mt.grouped(x):
            count[None] += 1 + 0 * cell[0]
        for _ in range(1):
            loss[None] += 1

    @mt.kernel
    def enter(i: mt.i32):
        if mt.static(levels == "dynamic"):
            x[i, 0] = 5
        else:
            x[i] = 5

    @mt.kernel
    def leave(i: mt.i32):
        mt.deactivate(level, [i])

    for i in range(3):
        enter(i)
    words = "which cells of 'x' are active is asked here and needed again, and was changed since by"
    for change in (enter, leave):
        with stale(f"{__file__}:", "gradient of kernel 'total'", words, f"kernel '{change.__name__}'"):
            with mt.ad.Tape(loss, validation=True):
                total()
                change(1 if change is leave else 4)
        with mt.ad.Tape(loss, validation=True):  # no derivative asks
            amount()
            change(2 if change is leave else 5)
    with mt.ad.Tape(loss, validation=True):  # as before
        total()
        leave(0)
        enter(0)
    assert [x.grad[(i, 0) if levels == "dynamic" else i] for i in (0, 1, 4)] == [2, 0, 2]
    with mt.ad.Tape(loss, validation=True):
        enter(6)
        total()
        enter(6)


def test_lists_that_grow():
    x, loss = mt.field(mt.f32, name="x"), mt.field(mt.f32, (), needs_grad=True)
    mt.root.dynamic(mt.i, 32, 8).place(x, x.grad)

    @mt.kernel
    def grow(k: mt.i32):
        x.append(mt.f32(k))

    @mt.kernel
    def read(n: mt.i32):
        for i in range(n):
            loss[None] += x[i] ** 2

    @mt.kernel
    def write():
        x[2] += 1

    for k in range(5):
        grow(k)
    with mt.ad.Tape(loss, validation=True):
        read(5)
        mt.ad.no_grad(grow)(7)
    assert [x.grad[i] for i in range(6)] == [0, 2, 4, 6, 8, 0]
    with stale("'x[2]'", "overwritten since by kernel 'write'"), mt.ad.Tape(loss, validation=True):
        read(4)
        write()


def test_trees_that_are_arguments():
    tree = mt.types.SNodeTreeBuilder().pointer(mt.i, 4).dense(mt.i, 4).place(a=mt.f32, b=mt.f32).build()
    x, loss = mt.field(mt.f32, 16, needs_grad=True), mt.field(mt.f32, (), needs_grad=True)
    t, u = tree.new(), tree.new()

    @mt.kernel
    def read(t: tree):
        for i in x:
            loss[None] += t.a[i] * x[i]

    @mt.kernel
    def write(t: tree):
        for i in range(2):
            t.a[i] = 5

    @mt.kernel
    def write_b(t: tree):
        for i in range(2):
            t.b[i] = 5

    with mt.ad.Tape(loss, validation=True):
        read(t)
        write(u)
        write_b(t)
    with stale("t.a[", "overwritten since by kernel 'write'"), mt.ad.Tape(loss, validation=True):
        read(t)
        write(t)
