"""`mt.ad`: tapes, forward mode, gradients of one's own, differences; against derivatives by hand."""

import numpy as np
import pytest

import metate as mt


@pytest.fixture(autouse=True)
def begin():
    mt.init()


def fields(*shapes, dtype=mt.f64, **needs):
    return [mt.field(dtype, shape, **(needs or {"needs_grad": True})) for shape in shapes]


def test_calls_are_replayed_backwards():
    x, y, loss = fields(3, 3, ())

    @mt.kernel
    def square(k: mt.f64 = 2.0):
        for i in x:
            y[i] = k * x[i] ** 2

    @mt.kernel
    def add(*, scale: mt.f64):
        for i in y:
            loss[None] += y[i] * scale

    x.from_numpy(np.array([1.0, 2, 3]))
    square()  # before: the plain way
    for _ in range(2):
        with mt.ad.Tape(loss) as tape:
            if x[0] < 2:
                square(k=3.0)
            add(scale=0.5)
        assert loss[None] == 21 and loss.grad[None] == 1
        assert x.grad.to_numpy().tolist() == [3, 6, 9]
    assert tape.calls == [(square, (3.0,)), (add, (0.5,))] and tape.modes == ["none", "none"]


def test_gradients_are_cleared_unless_told():
    x, loss = fields(2, ())

    @mt.kernel
    def total():
        for i in x:
            loss[None] += 2 * x[i]

    for clear, expected in ((True, 2), (True, 2), (False, 4)):
        with mt.ad.Tape(loss=loss, clear_gradients=clear):
            total()
        assert x.grad.to_numpy().tolist() == [expected] * 2
    mt.ad.clear_all_gradients()
    assert x.grad.to_numpy().tolist() == [0, 0] and loss.grad[None] == 0


def test_loops_of_time():
    n = 5
    x, v, loss = fields((n, 2), (n, 2), (1,))

    @mt.kernel
    def advance(t: mt.i32):
        for i in range(2):
            v[t, i] = v[t - 1, i] - 0.1 * x[t - 1, i] ** 3
            x[t, i] = x[t - 1, i] + 0.1 * v[t, i]

    @mt.kernel
    def measure():
        for i in range(2):
            loss[0] += x[n - 1, i] * v[n - 1, i]

    def run(start):
        x.fill(0)
        x[0, 0], x[0, 1] = start
        with mt.ad.Tape(loss):
            for t in range(1, n):
                advance(t)
            measure()
        return loss[0], x.grad.to_numpy()[0]

    _, slope = run([1.0, -0.5])
    for k in range(2):
        step = np.eye(2)[k] * 1e-5
        difference = (run([1.0, -0.5] + step)[0] - run([1.0, -0.5] - step)[0]) / 2e-5
        assert slope[k] == pytest.approx(difference, rel=1e-6)


def test_methods_templates_and_arrays():
    @mt.kernel
    def weigh(x: mt.template(), w: mt.types.ndarray(), loss: mt.types.ndarray()):
        for i in x:
            loss[0] += w[i] * x[i]

    @mt.data_oriented
    class Model:
        def __init__(self):
            self.x = mt.field(mt.f32, 3, needs_grad=True)

        @mt.kernel
        def set(self, p: mt.types.ndarray()):
            for i in self.x:
                self.x[i] = p[0] * i

    model = Model()
    w, p, loss = (mt.ndarray(mt.f32, n, needs_grad=True) for n in (3, 1, 1))
    w.fill(2)
    p.fill(3)
    with mt.ad.Tape(loss):
        model.set(p)
        weigh(model.x, w, loss)
    assert loss[0] == 18 and p.grad[0] == 6 and w.grad.to_numpy().tolist() == [0, 3, 6]


def test_tapes_in_tapes_and_derivatives_in_tapes():
    x, a, b = fields((), (), ())

    @mt.kernel
    def f():
        a[None] += x[None] ** 2

    @mt.kernel
    def g():
        b[None] += x[None] ** 3

    x[None] = 2
    with mt.ad.Tape(a) as outer:
        f()
        with mt.ad.Tape(b, clear_gradients=False) as inner:
            g()
        assert x.grad[None] == 12
        x.grad[None] = 0
        f.grad()  # is called and not remembered
    assert [one for one, _ in outer.calls] == [f] and [one for one, _ in inner.calls] == [g]
    assert x.grad[None] == 4


def test_an_exception_leaves_gradients_and_no_tape():
    x, loss = fields((), ())

    @mt.kernel
    def f():
        loss[None] += x[None]

    with pytest.raises(ValueError), mt.ad.Tape(loss) as tape:
        f()
        raise ValueError
    assert x.grad[None] == 0
    f()
    assert len(tape.calls) == 1


def test_a_tape_without_a_loss_only_remembers():
    x, loss = fields((), ())

    @mt.kernel
    def f():
        loss[None] += x[None]

    with mt.ad.Tape() as tape:
        f()
    assert len(tape.calls) == 1 and x.grad[None] == 0
    with pytest.raises(RuntimeError, match="Tape: the gradient needs a loss"):
        tape.grad()


def test_whole_fields_that_are_written_between_kernels():
    """In each turn the values start anew: what an earlier turn made of x has no part in a later one."""
    x, y, s = fields(3, 3, ())

    @mt.kernel
    def acc():
        for i in x:
            y[i] += x[i]

    @mt.kernel
    def add():
        for i in y:
            s[None] += y[i]

    x.fill(1)
    for write in (lambda: y.fill(0), lambda: y.from_numpy(np.zeros(3)), lambda: y.from_numpy([0, 0, 0])):
        with mt.ad.Tape(s) as tape:
            for _ in range(2):
                write()
                acc()
                add()
        assert s[None] == 6 and x.grad.to_numpy().tolist() == [2] * 3 and not y.grad.to_numpy().any()
        assert len(tape.calls) == 6


def test_fields_that_are_copied():
    x, y, s = fields(3, 3, ())

    @mt.kernel
    def add():
        for i in y:
            s[None] += y[i] * (i + 1) + x[i]

    x.fill(1)
    with mt.ad.Tape(s):
        y.copy_from(x)
        add()
    assert x.grad.to_numpy().tolist() == [2, 3, 4] and y.grad.to_numpy().tolist() == [0, 0, 0]
    with mt.ad.Tape(s):
        y.copy_from(y)
        add()
    assert x.grad.to_numpy().tolist() == [1] * 3 and y.grad.to_numpy().tolist() == [1, 2, 3]
    plain = mt.field(mt.f32, 3)
    with mt.ad.Tape(s):
        y.copy_from(plain)  # constants
        add()
    assert x.grad.to_numpy().tolist() == [1] * 3 and not y.grad.to_numpy().any()


def test_parts_of_fields_and_structs_that_are_written():
    ball = mt.types.struct(pos=mt.types.vector(2, mt.f64), mass=mt.f64)
    one, other = (ball.field(2, needs_grad=True) for _ in range(2))
    v, s = mt.Vector.field(2, mt.f64, 2, needs_grad=True, layout=mt.Layout.SOA), mt.field(mt.f64, (), needs_grad=True)

    @mt.kernel
    def add():
        for i in range(2):
            s[None] += one[i].pos.x * 2 + one[i].mass + v[i].x * 3 + v[i].y * 4

    with mt.ad.Tape(s):
        one.copy_from(other)
        one.mass.fill(0)
        v.get_scalar_field(0).fill(1)
        add()
    assert other.pos.grad.to_numpy().tolist() == [[2, 0]] * 2 and not other.mass.grad.to_numpy().any()
    assert v.grad.to_numpy().tolist() == [[0, 4]] * 2 and not one.pos.grad.to_numpy().any()


def test_whole_arrays_that_are_written_between_kernels():
    x, y, s = (mt.ndarray(mt.f64, n, needs_grad=True) for n in (3, 3, 1))

    @mt.kernel
    def acc(x: mt.types.ndarray(), y: mt.types.ndarray()):
        for i in x:
            y[i] += x[i]

    @mt.kernel
    def add(y: mt.types.ndarray(), s: mt.types.ndarray()):
        for i in y:
            s[0] += y[i]

    def run(write):
        for one in (x, y, s):
            one.grad.fill(0)
        with mt.ad.Tape(s):
            for _ in range(2):
                write()
                acc(x, y)
                add(y, s)
                y.grad.fill(0)  # of the gradient itself nothing is remembered
        return x.grad.to_numpy().tolist()

    assert run(lambda: y.fill(0)) == [2] * 3
    assert run(lambda: y.from_numpy(np.zeros(3))) == [2] * 3
    assert run(lambda: y.copy_from(x)) == [4] * 3
    torch = pytest.importorskip("torch")
    assert run(lambda: y.from_torch(torch.zeros(3))) == [2] * 3


def test_whole_fields_in_forward_mode():
    x, y, z = fields(3, 3, 3, needs_dual=True)

    @mt.kernel
    def acc():
        for i in x:
            y[i] += x[i]

    with mt.ad.FwdMode(loss=[y, z], param=x, seed=[1, 2, 3]):
        for _ in range(2):
            y.fill(0)
            acc()
        z.copy_from(y)
        y.from_numpy(np.ones(3))
    assert z.dual.to_numpy().tolist() == [1, 2, 3] and y.dual.to_numpy().tolist() == [0, 0, 0]


def test_gradients_of_ones_own():
    x, y, loss = fields((), (), ())
    said = []

    @mt.kernel
    def multiply(k: mt.f64):
        y[None] += x[None] * k

    @mt.kernel
    def total():
        loss[None] += y[None]

    @mt.ad.grad_replaced
    def forward(k, twice=False):
        multiply(k)
        multiply(k)
        return 7

    @mt.ad.grad_for(forward)
    def backward(k, twice=False):
        said.append((k, twice))
        multiply.grad(100 * k)

    @mt.ad.no_grad
    def shown():
        multiply(0.0)

    assert forward(0.0) == 7
    with mt.ad.Tape(loss) as tape:
        forward(3.0)
        forward(2.0, twice=True)
        shown()
        total()
    assert said == [(2.0, True), (3.0, False)] and x.grad[None] == 500 and len(tape.calls) == 4

    @mt.data_oriented
    class Model:
        @mt.ad.grad_replaced
        def go(self, k):
            multiply(k)

        @mt.ad.grad_for(go)
        def back(self, k):
            multiply.grad(-k)

    with mt.ad.Tape(loss):
        Model().go(5.0)
        total()
    assert x.grad[None] == -5


def test_gradients_of_ones_own_that_are_wrong():
    loss = mt.field(mt.f32, (), needs_grad=True)

    @mt.kernel
    def k():
        loss[None] += 1

    for what, text in ((k, "got a kernel: k"), (len, "got a function without @grad_replaced: len")):
        with pytest.raises(RuntimeError, match=f"grad_for: expected a function of Python.*{text}"):
            mt.ad.grad_for(what)(lambda: None)

    @mt.ad.grad_replaced
    def forward():
        k()

    with (
        pytest.raises(RuntimeError, match="Tape: 'forward' has no gradient: write one and decorate it with @grad_for"),
        mt.ad.Tape(loss),
    ):
        forward()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: mt.field(mt.f32, 3, needs_grad=True), "loss: expected one element, got <field of f32, shape"),
        (lambda: mt.field(mt.f32, ()), "loss: expected one with a gradient, made with needs_grad=True, got <field"),
        (lambda: mt.ndarray(mt.f32, 2, needs_grad=True), "loss: expected one element, got <metate.ndarray"),
        (lambda: mt.ndarray(mt.f32, 1), "loss: expected one with a gradient"),
        (lambda: 5, "loss: expected a field or an array of one element, got 5"),
    ],
)
def test_losses_that_are_none(make, text):
    with pytest.raises(RuntimeError, match=text), mt.ad.Tape(make()):
        pass
    with pytest.raises(RuntimeError, match="entered before"):
        tape = mt.ad.Tape()
        with tape, tape:
            pass


def test_validation_needs_debug_mode():
    with pytest.warns(UserWarning, match="validation: what is overwritten between kernels is not looked for without"):
        mt.ad.Tape(validation=True)


def test_gradients_are_compared_with_differences():
    x, loss = fields(3, ())

    @mt.kernel
    def f():
        for i in x:
            loss[None] += mt.sin(x[i]) * i

    x.from_numpy(np.array([0.1, 0.2, 0.3]))
    with mt.ad.Tape(loss, grad_check=[x]):
        f()
    assert x.to_numpy().tolist() == [0.1, 0.2, 0.3]

    @mt.ad.grad_replaced
    def wrong():
        f()

    @mt.ad.grad_for(wrong)
    def back():
        x.grad.fill(1)

    with pytest.raises(AssertionError, match=r"grad_check: .*the gradient gives a slope of"), mt.ad.Tape(loss, grad_check=[x]):
        wrong()
    for number in (np.nan, np.inf):

        @mt.ad.grad_for(wrong)
        def no_numbers(number=number):
            x.grad.fill(number)

        with pytest.raises(AssertionError, match=rf"gives a slope of {number}"), mt.ad.Tape(loss, grad_check=[x]):
            wrong()
    with pytest.raises(mt.TaichiRuntimeTypeError, match="grad_check: expected an f64 field for a loss"):
        mt.ad.Tape(mt.field(mt.f32, ()), grad_check=[x])


def test_forward_mode():
    x, y = fields(3, 3, needs_dual=True)

    @mt.kernel
    def f():
        for i in x:
            y[i] = x[i] * x[(i + 1) % 3]

    x.from_numpy(np.array([1.0, 2, 3]))
    f()
    for seed, expected in (([1, 0, 0], [2, 0, 3]), ([0, 1, 0], [1, 3, 0]), (np.ones(3), [3, 5, 4])):
        with mt.ad.FwdMode(loss=y, param=x, seed=seed):
            f()
        assert y.dual.to_numpy().tolist() == expected and x.dual.to_numpy().tolist() == [0, 0, 0]
    assert y.to_numpy().tolist() == [2, 6, 3]


def test_differences_begin_where_the_block_did():
    """The loss was set to 0, and what is written in the block is written again."""
    x, y, loss = fields(3, 3, ())
    before = mt.field(mt.f64, ())

    @mt.kernel
    def f():
        before[None] = loss[None]
        for i in x:
            y[i] += x[i] ** 2

    @mt.kernel
    def product():
        loss[None] += y[0] * y[1] * (1 + before[None])

    x.from_numpy(np.array([0.5, 0.25, 0.125]))
    loss[None], y[0] = 7, 9
    tape = mt.ad.Tape(loss, grad_check=[x])
    x[2] = 0.375
    with tape:
        y.fill(0)
        f()
        product()
    assert loss[None] == 0.25 * 0.0625 and x[2] == 0.375


def test_forward_mode_of_functions_with_gradients_of_their_own():
    x, y, z = fields(2, 2, 2, needs_dual=True)

    @mt.kernel
    def square(out: mt.template()):
        for i in x:
            out[i] = x[i] ** 2

    @mt.ad.grad_replaced
    def replaced(out, twice=False):
        square(out)

    @mt.ad.no_grad
    def constant(out):
        square(out)

    x.from_numpy(np.array([1.0, 2]))
    with mt.ad.FwdMode(loss=[y, z], param=x, seed=[1, 1]):
        replaced(y, twice=True)
        constant(z)
    assert y.dual.to_numpy().tolist() == [2, 4] and z.dual.to_numpy().tolist() == [0, 0]
    assert y.to_numpy().tolist() == z.to_numpy().tolist() == [1, 4]


def test_forward_mode_of_one_number_and_several_results():
    p, a, b = fields((), (), 2, needs_dual=True)

    @mt.kernel
    def f():
        a[None] = p[None] ** 3
        for i in b:
            b[i] = a[None] * i

    p[None] = 2
    with mt.ad.FwdMode([a, b], p):
        f()
    assert a.dual[None] == 12 and b.dual.to_numpy().tolist() == [0, 12]
    with mt.ad.FwdMode(a, p, clear_gradients=False):
        assert a.dual[None] == 12


def test_forward_mode_refuses_at_a_line():
    """What has no dual stops the first call, at the user's line; behind the block the kernel itself runs."""
    x, least = fields(3, (), needs_dual=True)

    @mt.real_func
    def power(a: mt.f64, n: mt.i32) -> mt.f64:
        if n == 0:
            return 1.0
        return a * power(a, n - 1)

    @mt.kernel
    def raised(n: mt.i32):
        for i in x:
            least[None] += power(x[i], n)

    x.fill(2)
    with pytest.raises(mt.TaichiCompilationError) as told, mt.ad.FwdMode(loss=least, param=x, seed=np.ones(3)):
        raised(2)
    assert told.value.line == raised.source.first_line + 3 and told.value.file == __file__
    assert "derivative of kernel 'raised': 'power' calls itself" in str(told.value)
    assert "least[None] += power(x[i], n)" in str(told.value)
    raised(2)
    assert least[None] == 12


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda y, x: mt.ad.FwdMode(y, x), "seed: expected 3 numbers, one for each element of param, got none"),
        (lambda y, x: mt.ad.FwdMode(y, x, [1]), "seed: expected 3 numbers, one for each element of param, got 1"),
        (
            lambda y, x: mt.ad.FwdMode(y, mt.field(mt.f32, 3), [1]),
            "param: expected a field with a dual, made with needs_dual=True",
        ),
        (lambda y, x: mt.ad.FwdMode([y, 5], x, [1]), "loss: expected a field with a dual, made with needs_dual=True, got 5"),
    ],
)
def test_forward_modes_that_are_none(make, text):
    x, y = fields(3, (), needs_dual=True)
    with pytest.raises(RuntimeError, match=text), make(y, x):
        pass
