"""`Tape(validation=True)` in debug mode: what is overwritten between kernels and needed again."""

import re

import numpy as np
import pytest
from stale_reads import line_of, stale

import metate as mt

array = mt.types.ndarray


@pytest.fixture(autouse=True)
def begin():
    mt.init(debug=True)


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
