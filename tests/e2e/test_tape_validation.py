"""`Tape(validation=True)` in debug mode: what is overwritten between kernels and needed again, in all kinds of memory."""

import contextlib
import inspect
import re

import numpy as np
import pytest

import metate as mt

array = mt.types.ndarray


@pytest.fixture(autouse=True)
def begin():
    mt.init(debug=True)


def line_of(function, text):
    """The line of a kernel's statement."""
    lines, first = inspect.getsourcelines(function)
    (found,) = [first + k for k, line in enumerate(lines) if text in line]
    return found


def stale(*parts):
    """The error, which says all of this."""
    return pytest.raises(mt.TaichiAssertionError, match=".*".join(map(re.escape, parts)))


def test_both_lines_are_named():
    x, loss = (mt.field(mt.f32, n, needs_grad=True, name=name) for n, name in ((4, "x"), ((), "loss")))

    def read():
        for i in x:
            loss[None] += x[i] * x[i]

    def write(k: mt.i32):
        for i in range(2, 4):
            x[i] = k * i

    measure, change = mt.kernel(read), mt.kernel(write)
    with pytest.raises(mt.TaichiAssertionError) as raised, mt.ad.Tape(loss, validation=True):
        measure()
        change(1)
        change(2)
    text = str(raised.value)
    read_at, written_at = line_of(read, "loss[None] +="), line_of(write, "x[i] = k * i")
    assert f"{__file__}:{read_at}:" in text and f"{__file__}:{written_at}:" in text
    assert re.search(r"gradient of kernel 'read': the value of 'x\[[23]\]' that is read here is needed again, and was ", text)
    assert "overwritten since by kernel 'write', at" in text and "keep each step's values in places of their own" in text
    with mt.ad.Tape(loss, validation=True):  # the order matters
        change(3)
        measure()
    assert x.grad.to_numpy().tolist() == [0, 0, 0, 0]  # what is overwritten has no influence
    with mt.ad.Tape(loss, validation=True):
        measure()
    assert x.grad.to_numpy().tolist() == [0, 0, 12, 18]


def test_linear_reads_are_not_needed():
    x, v, loss = mt.field(mt.f32, 3, needs_grad=True), mt.field(mt.f32, 3, needs_grad=True), mt.field(mt.f32, (), needs_grad=True)

    @mt.kernel
    def step(dt: mt.f32):
        for i in x:
            x[i] += v[i] * dt
            v[i] = 0.5 * v[i]

    @mt.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    v.fill(1)
    with mt.ad.Tape(loss, validation=True):
        for _ in range(3):
            step(1.0)
        total()
    assert v.grad.to_numpy().tolist() == [1.75] * 3


def test_the_same_kernel_again():
    x, y, loss = (mt.field(mt.f32, n, needs_grad=True) for n in (2, 2, ()))

    @mt.kernel
    def square(of: mt.template(), to: mt.template()):
        for i in of:
            to[i] = of[i] ** 2

    @mt.kernel
    def total(of: mt.template()):
        for i in of:
            loss[None] += of[i]

    x.fill(1.5)
    with mt.ad.Tape(loss, validation=True):
        square(x, y)
        square(x, y)  # y was not needed
        total(y)
    assert x.grad[0] == 3
    with stale("overwritten since by kernel 'square'"), mt.ad.Tape(loss, validation=True):
        square(x, y)
        square(y, x)
        square(x, y)
        total(y)


def writes_of_python():
    return {
        "an element": lambda x, other: x.__setitem__(1, 2.0),
        "fill": lambda x, other: x.fill(0),
        "from_numpy": lambda x, other: x.from_numpy(np.ones(3, np.float32)),
        "from_numpy of another type": lambda x, other: x.from_numpy(np.ones(3)),
        "copy_from": lambda x, other: x.copy_from(other),
    }


@pytest.mark.parametrize("what", writes_of_python())
def test_writes_of_python(what):
    x, other = mt.field(mt.f32, 3, needs_grad=True), mt.field(mt.f32, 3)
    loss = mt.field(mt.f32, (), needs_grad=True)
    write = writes_of_python()[what]

    @mt.kernel
    def measure():
        for i in x:
            loss[None] += x[i] * x[i]

    for _ in range(2):
        with stale("that is read here", f"overwritten since by Python, at {__file__}:"), mt.ad.Tape(loss, validation=True):
            measure()
            write(x, other)
        x.fill(2)
        with mt.ad.Tape(loss, validation=True):
            write(x, other)
            measure()
            write(other, x)
    assert type(x._elements).__name__ == "Elements"


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


def test_functions_that_write():
    x, loss = mt.field(mt.f32, 4, needs_grad=True, name="x"), mt.field(mt.f32, (), needs_grad=True)

    @mt.func
    def inline(i):
        x[i] = 3

    @mt.real_func
    def real(i: mt.i32):
        x[i] = 4

    @mt.real_func
    def real_array(a: array(mt.f32, 1), i: mt.i32):
        a[i] = 4

    @mt.kernel
    def read():
        for i in x:
            loss[None] += x[i] ** 2

    @mt.kernel
    def read_array(a: array(mt.f32, 1)):
        for i in a:
            loss[None] += a[i] ** 2

    @mt.kernel
    def write_inline():
        for i in range(2):
            inline(i)

    @mt.kernel
    def write_real():
        for i in range(2):
            real(i)

    @mt.kernel
    def write_array(a: array(mt.f32, 1)):
        for i in range(2):
            real_array(a, i)

    for write in (write_inline, write_real):
        with stale("'x[", f"overwritten since by kernel '{write.__name__}', at {__file__}:"), mt.ad.Tape(loss, validation=True):
            read()
            write()
    a = mt.ndarray(mt.f32, 4, needs_grad=True)
    with stale("'a[", "overwritten since by kernel 'write_array'"), mt.ad.Tape(loss, validation=True):
        read_array(a)
        write_array(a)


def test_what_a_tape_does_not_remember_is_seen():
    x, loss = mt.field(mt.f32, 4, needs_grad=True, name="x"), mt.field(mt.f32, (), needs_grad=True)

    @mt.kernel
    def read():
        for i in x:
            loss[None] += x[i] ** 2

    @mt.kernel
    def write():
        for i in x:
            x[i] += 1

    @mt.ad.no_grad
    def quietly():
        write()

    @mt.ad.grad_replaced
    def replaced():
        write()

    @mt.ad.grad_for(replaced)
    def nothing():
        pass

    @mt.ad.grad_replaced
    def idle():
        pass

    @mt.ad.grad_for(idle)
    def back():
        write()

    other = mt.field(mt.f32, (), needs_grad=True)
    for change in (quietly, replaced):
        with stale("overwritten since by kernel 'write'"), mt.ad.Tape(loss, validation=True):
            read()
            change()
    with stale("overwritten since by kernel 'write'"), mt.ad.Tape(loss, validation=True):
        read()
        with mt.ad.Tape(other, clear_gradients=False):
            write()
    with stale("overwritten since by kernel 'write'"), mt.ad.Tape(loss, validation=True):  # by the gradient of one's own
        read()
        idle()


def test_graphs_are_their_kernels():
    x, loss = mt.field(mt.f32, 4, needs_grad=True, name="x"), mt.field(mt.f32, (), needs_grad=True)

    @mt.kernel
    def read():
        for i in x:
            loss[None] += x[i] ** 2

    @mt.kernel
    def write(k: mt.i32):
        for i in x:
            x[i] = k

    def graph(*kernels):
        builder = mt.graph.GraphBuilder()
        for one, *given in kernels:
            builder.dispatch(one, *given)
        return builder.compile()

    with mt.ad.Tape(loss, validation=True):
        graph((write, 1), (read,)).run({})
    with stale("overwritten since by kernel 'write'"), mt.ad.Tape(loss, validation=True):
        graph((read,), (write, 2)).run({})


def test_an_exception_leaves_nothing_behind():
    x, loss = mt.field(mt.f32, 4, needs_grad=True), mt.field(mt.f32, (), needs_grad=True)

    @mt.kernel
    def read():
        for i in x:
            loss[None] += x[i] ** 2

    with pytest.raises(ValueError), mt.ad.Tape(loss, validation=True):
        read()
        x.fill(1)
        raise ValueError
    assert type(x._elements).__name__ == "Elements"
    x.fill(2)
    with mt.ad.Tape(loss, validation=True):
        read()
    assert x.grad.to_numpy().tolist() == [4] * 4


def test_a_tree_that_is_destroyed_under_the_tape():
    x, y, loss = mt.field(mt.f32), mt.field(mt.f32, 3, needs_grad=True), mt.field(mt.f32, (), needs_grad=True)
    builder = mt.FieldsBuilder()
    builder.dense(mt.i, 3).place(x)
    tree = builder.finalize()

    @mt.kernel
    def copy():
        for i in x:
            x[i] = 2 * y[i]

    @mt.kernel
    def read():
        for i in y:
            loss[None] += y[i] ** 2

    y.fill(1)
    with mt.ad.Tape(loss, validation=True):
        mt.ad.no_grad(copy)()
        read()
        tree.destroy()
    assert y.grad.to_numpy().tolist() == [2] * 3


def test_numbers_can_be_looked_at():
    x, y, loss = mt.field(mt.f32, 3, needs_grad=True), mt.ndarray(mt.f32, 3), mt.field(mt.f32, (), needs_grad=True)

    @mt.kernel
    def write(y: array(), k: mt.i32):
        x[k] = 1
        y[k] += 1
        y[k] = 2

    with mt.ad.Tape(loss, validation=True):
        for k in range(1, 3):
            write(y, k)
    of_x, of_y = mt.ad.write_numbers(x).to_numpy(), mt.ad.write_numbers(y).to_numpy()
    assert of_x[0] == of_y[0] == 0 and (of_y - of_x).tolist() == [0, 2, 2]
    calls = of_x // 1024
    assert 0 < calls[1] < calls[2] and (of_x % 1024).tolist() == [0, 0, 0]
    with pytest.raises(mt.TaichiRuntimeTypeError, match="write_numbers: expected a field or an array, got 5"):
        mt.ad.write_numbers(5)


def test_without_debug_mode_nothing_is_looked_for():
    mt.init()
    x, loss = mt.field(mt.f32, 3, needs_grad=True), mt.field(mt.f32, (), needs_grad=True)

    @mt.kernel
    def read():
        for i in x:
            loss[None] += x[i] ** 2

    with pytest.warns(UserWarning, match="validation: what is overwritten between kernels is not looked for without mt.init"):
        tape = mt.ad.Tape(loss, validation=True)
    with tape:
        read()
        x.fill(1)
    assert "numbered" not in read.__dict__ and "_numbers" not in x._tree.__dict__ and x.grad.to_numpy().tolist() == [2] * 3


def test_what_is_called_without_validation_is_as_it_was():
    """The same code, and no argument more."""
    x, loss = mt.field(mt.f32, 3, needs_grad=True), mt.field(mt.f32, (), needs_grad=True)

    @mt.kernel
    def read():
        for i in x:
            loss[None] += x[i] ** 2

    with mt.ad.Tape(loss):
        read()
    before = [(one.signature, one.hits) for kernel in (read, read.grad) for one in kernel.instances()]
    with mt.ad.Tape(loss, validation=True):
        read()
    assert before == [(one.signature, one.hits) for kernel in (read, read.grad) for one in kernel.instances()]
    assert [len(kernel.instances()) for kernel in (read.numbered, read.grad.numbered)] == [1, 1]


@pytest.mark.parametrize("options", [{"arch": mt.interp}, {"threads": 1}, {"opt_level": 0}], ids=["interp", "one", "O0"])
def test_other_contexts(options):
    with mt.Context(debug=True, **options):
        x, loss = mt.field(mt.f32, 3, needs_grad=True, name="x"), mt.field(mt.f32, (), needs_grad=True)

        @mt.kernel
        def read():
            for i in x:
                loss[None] += x[i] ** 2

        @mt.kernel
        def write():
            x[1] = 2

        x.fill(1)
        with mt.ad.Tape(loss, validation=True):
            write()
            read()
        assert x.grad.to_numpy().tolist() == [2, 0, 2]
        with stale("'x[1]'", "overwritten since by kernel 'write'", "at "), mt.ad.Tape(loss, validation=True):
            read()
            write()
