"""`x.grad` and `x.dual` in kernels, and `kernel.grad`: of fields, arrays, structs, objects, with every kind of argument."""

import gc

import numpy as np
import pytest

import metate as mt


@pytest.fixture(autouse=True)
def begin():
    mt.init()


def test_kernels_read_and_write_gradients_of_fields():
    x = mt.field(mt.f32, 3, needs_grad=True, needs_dual=True, offset=1)
    v = mt.Vector.field(2, mt.f32, (), needs_grad=True, layout=mt.Layout.SOA)

    @mt.kernel
    def move(rate: mt.f32):
        for i in x:
            x[i] -= rate * x.grad[i]
            x.dual[i] = i
        v.grad[None] += [1, 2]
        v.grad[None].x = 5

    x.grad.from_numpy(np.array([1, 2, 3], np.float32))
    move(2)
    assert x.to_numpy().tolist() == [-2, -4, -6] and x.dual.to_numpy().tolist() == [1, 2, 3]
    assert v.grad[None].tolist() == [5, 2]
    assert "x.grad: field(f32, (3,), offset=(1,))" in move.instances()[0].signature


def test_of_template_arguments_and_objects():
    @mt.kernel
    def scale(x: mt.template(), k: mt.f32):
        for i in x.grad:
            x.grad[i] = x[i] * k

    @mt.data_oriented
    class Solver:
        def __init__(self, n):
            self.x = mt.field(mt.f64, n, needs_grad=True)

        @mt.kernel
        def set(self):
            for i in self.x:
                self.x.grad[i] = i

    one, other, plain = (mt.field(mt.f32, 2, needs_grad=needed) for needed in (True, True, False))
    for x in (one, other, one):
        x.fill(3)
        scale(x, 2)
        assert x.grad.to_numpy().tolist() == [6, 6]
    assert len(scale.instances()) == 1
    with pytest.raises(mt.TaichiCompilationError, match="field 'x' has no gradient"):
        scale(plain, 2)
    solver = Solver(3)
    solver.set()
    assert solver.x.grad.to_numpy().tolist() == [0, 1, 2]


def test_of_struct_fields():
    s = mt.Struct.field({"pos": mt.math.vec2, "m": mt.f32, "id": mt.i32}, 2, needs_grad=True)

    @mt.kernel
    def fill():
        for i in s:
            s.pos.grad[i] = [1, 2]
            s.grad.m[i] = 3
            s.grad[i].pos += 1

    fill()
    assert s.grad.pos.to_numpy().tolist() == [[2, 3], [2, 3]] and s.m.grad.to_numpy().tolist() == [3, 3]


def test_of_array_arguments():
    @mt.kernel
    def double(x: mt.types.ndarray(), y: mt.types.ndarray(ndim=1)):
        for i in x:
            x.grad[i] = 2 * x[i] + y[i]

    x, y = mt.ndarray(mt.f32, 3, needs_grad=True), np.ones(3, np.float32)
    x.fill(3)
    double(x, y)
    double(x, y)
    assert x.grad.to_numpy().tolist() == [7, 7, 7]
    x.grad = mt.from_dlpack(np.zeros(6, np.float32)[::2])  # with gaps
    double(x, y)
    assert x.grad.to_numpy().tolist() == [7, 7, 7] and len(double.instances()) == 2
    with pytest.raises(mt.TaichiCompilationError, match=r"array 'x' of 1 dimensions has no gradient"):
        double(mt.ndarray(mt.f32, 3), y)
    x.grad = None
    with pytest.raises(mt.TaichiCompilationError, match=r"array 'x' of 1 dimensions has no gradient"):
        double(x, y)


def test_errors_name_the_line():
    x, n = mt.field(mt.f32, 3), mt.field(mt.i32, 3)

    @mt.kernel
    def a():
        x.grad[0] = 1

    @mt.kernel
    def b():
        n.dual[0] = 1

    with pytest.raises(mt.TaichiCompilationError, match=r":\d+:\d+: field 'x' has no gradient\n.*x.grad\[0\] = 1"):
        a()
    with pytest.raises(mt.TaichiCompilationError, match=r":\d+:\d+: field 'n' has no dual"):
        b()

    @mt.kernel
    def reads(y: mt.types.ndarray(mt.f32, 1)):
        for i in y:
            y[i] += y.grad[i]

    with pytest.raises(RuntimeError, match=r"'y.grad' is used: a kernel that uses an array's derivatives has none itself"):
        reads.grad(mt.ndarray(mt.f32, 3, needs_grad=True))
    with pytest.raises(RuntimeError, match=r"reads.grad: a derivative has no derivative itself"):
        reads.grad.grad(1)


def test_the_gradient_of_a_kernel():
    x, y, s = (mt.field(mt.f64, shape, needs_grad=True) for shape in (3, 3, ()))
    start = mt.math.vec2(2, 3)

    @mt.kernel
    def f(k: mt.f64, v: mt.math.vec2 = start):
        for i in x:
            y[i] = k * x[i] ** 2
        for i in y:
            s[None] += y[i] * v.x

    x.from_numpy(np.array([1.0, 2, 3]))
    f(0.5)
    s.grad[None] = 1
    f.grad(0.5)
    assert x.grad.to_numpy().tolist() == [2, 4, 6] and y.grad.to_numpy().tolist() == [0, 0, 0] and s[None] == 14
    x.grad.fill(0)
    f.grad(0.5, v=mt.math.vec2(1, 0))
    assert x.grad.to_numpy().tolist() == [1, 2, 3]
    assert f.grad is f.grad and f.grad.__name__ == "f.grad" and len(f.instances()) == len(f.grad.instances()) == 1


def test_a_field_without_a_gradient_is_a_constant():
    x, c, s = mt.field(mt.f32, 2, needs_grad=True), mt.field(mt.f32, 2), mt.field(mt.f32, (), needs_grad=True)

    @mt.kernel
    def f(c: mt.template()):
        for i in x:
            s[None] += x[i] * c[i]

    c.fill(4)
    s.grad[None] = 1
    f.grad(c)
    assert x.grad.to_numpy().tolist() == [4, 4]
    d = mt.field(mt.f32, 2, needs_grad=True)
    x.fill(3)
    f.grad(d)
    assert d.grad.to_numpy().tolist() == [3, 3] and len(f.grad.instances()) == 2


def test_methods_of_objects():
    @mt.data_oriented
    class Model:
        def __init__(self, k):
            self.k = k
            self.x, self.loss = mt.field(mt.f32, 2, needs_grad=True), mt.field(mt.f32, (), needs_grad=True)

        @mt.kernel
        def forward(self, w: mt.f32):
            for i in self.x:
                self.loss[None] += self.k * w * self.x[i]

    one, other = Model(2), Model(3)
    for model in (one, other, one):
        model.loss.grad[None] = 1
        model.forward.grad(10.0)
    assert one.x.grad.to_numpy().tolist() == [40, 40] and other.x.grad.to_numpy().tolist() == [30, 30]
    assert one.forward == one.forward != other.forward and hash(one.forward) == hash(one.forward)
    assert one.forward.__self__ is one and one.forward.__func__ is Model.forward and one.forward.__name__ == "forward"
    held = one.forward.grad
    del one
    gc.collect()
    held(1.0)


def test_arrays_and_their_annotations():
    @mt.kernel
    def f(x: mt.types.ndarray(), w: mt.types.ndarray(needs_grad=False), out: mt.types.ndarray()):
        for i in x:
            out[0] += w[i] * x[i]

    x, w, out = (mt.ndarray(mt.f32, n, needs_grad=True) for n in (3, 3, 1))
    w.from_numpy(np.array([1, 2, 3], np.float32))
    out.grad.fill(1)
    f.grad(x, w, out)
    assert x.grad.to_numpy().tolist() == [1, 2, 3] and w.grad.to_numpy().tolist() == [0, 0, 0]
    plain = mt.ndarray(mt.f32, 3)
    f.grad(plain, w, out)  # a constant
    x.grad.fill(0)
    f.grad(x, w, out)  # is none, though it is of the same type
    assert x.grad.to_numpy().tolist() == [1, 2, 3]


def test_fields_of_every_layout():
    v = mt.Vector.field(2, mt.f32, 3, needs_grad=True, layout=mt.Layout.SOA)
    m, loss = mt.Matrix.field(2, 2, mt.f32), mt.field(mt.f32)
    mt.root.dense(mt.i, 3).place(m)
    mt.root.place(loss)
    mt.root.lazy_grad()

    @mt.kernel
    def f():
        for i in v:
            loss[None] += (m[i] @ v[i]).sum() * 2

    m.fill(3)
    v.fill(1)
    loss.grad[None] = 1
    f.grad()
    assert v.grad.to_numpy().tolist() == [[12, 12]] * 3 and m.grad.to_numpy().tolist() == [[[2, 2], [2, 2]]] * 3


def test_sparse_fields():
    x, loss = mt.field(mt.f32), mt.field(mt.f32, (), needs_grad=True)
    mt.root.pointer(mt.i, 4).dense(mt.i, 2).place(x)
    mt.root.lazy_grad()
    x[5] = 3

    @mt.kernel
    def f():
        for i in x:
            loss[None] += x[i] * x[i]

    loss.grad[None] = 1
    f.grad()
    assert x.grad.to_numpy().tolist() == [0, 0, 0, 0, 0, 6, 0, 0] and not x.is_active(0)


def test_stop_grad():
    x, s = mt.field(mt.f32, 3, needs_grad=True), mt.field(mt.f32, (), needs_grad=True)

    @mt.kernel
    def value():
        for i in x:
            s[None] += mt.stop_grad(x[i]) * x[i]

    @mt.kernel
    def loops():
        for i in range(3):
            mt.stop_grad(x)
            s[None] += x[i]
        for i in range(3):
            s[None] += 2 * x[i]

    x.fill(5)
    s.grad[None] = 1
    value.grad()
    assert x.grad.to_numpy().tolist() == [5, 5, 5]
    loops.grad()
    assert x.grad.to_numpy().tolist() == [7, 7, 7]
    loops()
    assert s[None] == 45


def test_a_variable_that_is_used_and_returned():
    x, loss = (mt.field(mt.f64, shape, needs_grad=True, needs_dual=True) for shape in (3, ()))

    @mt.kernel
    def f() -> mt.f64:
        total = 0.0
        for i in x:
            total += x[i]
        loss[None] += total * total
        return total

    x.from_numpy(np.array([1.0, 2, 3]))
    loss.grad[None] = 1
    f.grad()
    assert x.grad.to_numpy().tolist() == [12, 12, 12]
    with mt.ad.FwdMode(loss=loss, param=x, seed=[1, 0, 0]):
        assert f() == 6
    assert loss.dual[None] == 12


def test_stop_grad_of_places():
    """What is a constant to derivatives is still a place that can be written, whole and by its parts."""
    x, s = mt.field(mt.f32, 3, needs_grad=True), mt.field(mt.f32, (), needs_grad=True)
    v = mt.Vector.field(2, mt.f32, 3, needs_grad=True)
    split = mt.Vector.field(2, mt.f32, 3, needs_grad=True, layout=mt.Layout.SOA)

    @mt.func
    def double(place: mt.template()):
        place *= 2

    @mt.kernel
    def write():
        for i in range(3):
            mt.stop_grad(x)
            mt.stop_grad(v)
            mt.stop_grad(split)
            v[i][0] = 5.0
            v[i].y += 7
            split[i].x = 3
            x[i] = 1
            mt.atomic_add(x[i], 1.0)
            double(x[i])

    @mt.kernel
    def read():
        for i in range(3):
            mt.stop_grad(v)
            mt.stop_grad(split)
            s[None] += x[i] * v[i].x + v[i][1] * v[i].norm_sqr() + split[i].sum()

    write()
    assert x.to_numpy().tolist() == [4] * 3 and v.to_numpy().tolist() == [[5, 7]] * 3
    assert split.to_numpy().tolist() == [[3, 0]] * 3
    s.grad[None] = 1
    read.grad()
    assert x.grad.to_numpy().tolist() == [5] * 3
    assert not v.grad.to_numpy().any() and not split.grad.to_numpy().any()


def test_stop_grad_of_structs_and_arrays():
    ball = mt.types.struct(pos=mt.math.vec2, mass=mt.f32)
    balls, s = ball.field(3, needs_grad=True), mt.field(mt.f32, (), needs_grad=True)
    a = mt.ndarray(mt.f32, 3, needs_grad=True)

    @mt.kernel
    def f(a: mt.types.ndarray()):
        for i in range(3):
            mt.stop_grad(balls.mass)
            s[None] += balls[i].mass * a[i] * balls[i].pos.x
        for i in range(3):
            mt.stop_grad(balls)
            mt.stop_grad(a)
            s[None] += balls[i].mass * a[i] * balls[i].pos.x
            b = mt.stop_grad(balls[i])
            s[None] += b.mass

    balls.fill(2)
    a.fill(3)
    s.grad[None] = 1
    f(a)
    f.grad(a)
    assert not balls.mass.grad.to_numpy().any()
    assert balls.pos.grad.to_numpy().tolist() == [[6, 0]] * 3 and a.grad.to_numpy().tolist() == [4] * 3


def test_derivatives_come_from_the_cache(tmp_path):
    def run():
        with mt.Context(offline_cache_file_path=str(tmp_path), offline_cache=True):
            x, s = mt.field(mt.f32, 3, needs_grad=True), mt.field(mt.f32, (), needs_grad=True)
            a = mt.ndarray(mt.f32, 3, needs_grad=True)

            @mt.kernel
            def f(a: mt.types.ndarray()):
                for i in x:
                    s[None] += x[i] * a[i]

            x.fill(2)
            s.grad[None] = 1
            f(a)
            f.grad(a)
            assert a.grad.to_numpy().tolist() == [2, 2, 2]
            return [f.instances()[0].cache, f.grad.instances()[0].cache]

    assert run() == ["compiled and cached"] * 2
    assert run() == ["loaded"] * 2


INTERPRETED = [{"arch": mt.interp, "interp_stage": stage} for stage in mt.context.INTERP_STAGES]


@pytest.mark.parametrize("options", [*INTERPRETED, {"debug": True}])
def test_in_the_interpreter_and_in_debug_mode(options):
    with mt.Context(**options):
        x, s = (mt.field(mt.f32, shape, needs_grad=True, needs_dual=True) for shape in (3, ()))
        a = mt.ndarray(mt.f32, 3, needs_grad=True)

        @mt.kernel
        def f(a: mt.types.ndarray()):
            for i in x:
                s[None] += x[i] ** 2 * a[i]

        a.fill(2)
        x.from_numpy(np.array([1, 2, 3], np.float32))
        with mt.ad.Tape(s):
            f(a)
        assert s[None] == 28 and x.grad.to_numpy().tolist() == [4, 8, 12] and a.grad.to_numpy().tolist() == [1, 4, 9]
        with mt.ad.FwdMode(s, x, [1, 0, 0]):
            f(a)
        assert s.dual[None] == 4


def test_what_has_no_derivative_is_refused_at_its_line():
    x, y = (mt.field(mt.f32, 3, needs_grad=True) for _ in range(2))

    @mt.kernel
    def extreme():
        for i in x:
            mt.atomic_max(y[0], x[i] * x[i] + x[0])

    with pytest.raises(mt.TaichiCompilationError) as raised:
        extreme.grad()
    line = extreme.source.first_line + 3
    assert isinstance(raised.value, RuntimeError) and raised.value.line == line and raised.value.file == __file__
    assert "mt.atomic_max(y[0], x[i] * x[i] + x[0])" in str(raised.value) and "gradient of kernel 'extreme'" in str(raised.value)


def test_functions_that_call_themselves():
    """What they compute of constants is a constant; of variables it is refused, at the call."""
    x, y = (mt.field(mt.f64, 3, needs_grad=True) for _ in range(2))

    @mt.real_func
    def gcd(a: mt.i32, b: mt.i32) -> mt.i32:
        if b == 0:
            return a
        return gcd(b, a % b)

    @mt.real_func
    def power(a: mt.f64, n: mt.i32) -> mt.f64:
        if n == 0:
            return 1.0
        return a * power(a, n - 1)

    @mt.kernel
    def scale(n: mt.i32):
        for i in x:
            y[i] = x[i] * gcd(n, 12 + 2 * i) * power(0.5, i)

    @mt.kernel
    def raised():
        for i in x:
            y[i] = power(x[i], 3)

    scale(8)
    y.grad.fill(1)
    scale.grad(8)
    assert x.grad.to_numpy().tolist() == [4, 1, 2]
    with pytest.raises(mt.TaichiCompilationError, match=r"'power' calls itself, .* compute with variables") as told:
        raised.grad()
    assert told.value.line == raised.source.first_line + 3


def test_a_gradient_that_is_placed_after_a_derivative():
    x, c, s = mt.field(mt.f32), mt.field(mt.f32, 3), mt.field(mt.f32, (), needs_grad=True)
    mt.root.dense(mt.i, 3).place(x)

    @mt.kernel
    def f():
        for i in x:
            s[None] += x[i] + c[i]

    f.grad()
    said = "a derivative was computed in which its field is a constant; place it before the first derivative"
    for place in (lambda: mt.root.dense(mt.i, 3).place(x.grad), mt.root.lazy_grad):
        with pytest.raises(mt.TreeError, match=said):
            place()


@pytest.mark.parametrize("offset, extent, said", [(0, 4, r"shape \(4,\)"), (-4, 8, r"shape \(8,\) from \(-4,\) on")])
def test_a_gradient_with_other_cells_than_its_field(offset, extent, said):
    x, s = mt.field(mt.f32), mt.field(mt.f32, (), needs_grad=True)
    mt.root.dense(mt.i, 8).place(x)
    mt.root.dense(mt.i, extent).place(x.grad, offset=offset)

    @mt.kernel
    def f():
        for i in x:
            s[None] += x[i]

    with pytest.raises(
        mt.TaichiCompilationError, match=rf":\d+:\d+: 'x.grad' is placed in cells of {said}: expected those of 'x', \(8,\)"
    ):
        f.grad()


def test_a_kernel_that_uses_a_gradient_has_none():
    x, y = (mt.field(mt.f32, 3, needs_grad=True, needs_dual=True) for _ in range(2))

    @mt.kernel
    def f():
        for i in x:
            y[i] += x[i] * x.grad[i]

    with pytest.raises(mt.TaichiCompilationError, match=r"'x.grad' is used here, and is where the derivative is computed"):
        f.grad()
    f.fwd()


def cells(*names, levels=lambda: mt.root.pointer(mt.i, 8)):
    """Fields beside their gradients in the cells of a tree, and what they are placed in."""
    made = [mt.field(mt.f64, name=name) for name in names]
    level = levels()
    level.place(*made)
    mt.root.lazy_grad()
    return *made, level


def test_the_gradient_of_a_read_activates_nothing():
    p, loss = (mt.field(mt.f64, (), needs_grad=True) for _ in range(2))
    x, _ = cells("x")
    x[2], x[5], p[None] = 1, 2, 3

    @mt.kernel
    def f():
        for _ in x:
            loss[None] += p[None] * p[None]
        for i in x:
            loss[None] += x[i] * x[i + 1] + x[i + 1]

    loss.grad[None] = 1
    f.grad()
    assert p.grad[None] == 12 and x.grad.to_numpy().tolist() == [0] * 8
    assert [x.is_active(i) for i in range(8)] == [False, False, True, False, False, True, False, False]
    x[3] = 4
    p.grad.fill(0)
    f.grad()
    assert p.grad[None] == 18 and x.grad.to_numpy().tolist() == [0, 0, 4, 2, 0, 0, 0, 0]


def test_cells_that_are_deactivated():
    y, c = mt.field(mt.f64, 8, needs_grad=True), mt.field(mt.f64)
    x, level = cells("x")
    constants = mt.root.pointer(mt.i, 8)
    constants.place(c)

    @mt.kernel
    def f():
        for i in range(8):
            y[i] += x[i] * x[i]
            mt.deactivate(level, i)

    @mt.kernel
    def g():
        for i in range(8):
            y[i] *= c[i]
            mt.deactivate(constants, i)

    with pytest.raises(mt.TaichiCompilationError, match="cells are deactivated here whose members have derivatives"):
        f.grad()
    with pytest.raises(mt.TaichiCompilationError, match="'c' that is read here is needed again, but may have been deactivated"):
        g.grad()


def test_loops_over_cells_that_write_their_own():
    x, y, z, _ = cells("x", "y", "z")
    x[2], x[3] = 1, 2

    @mt.kernel
    def f():
        for i in x:
            y[i] = x[i] * x[i]
        for i in x:
            z[i] = y[i] * y[i]

    f()
    z.grad[2] = z.grad[3] = 1
    f.grad()
    assert x.grad.to_numpy().tolist() == [0, 0, 4, 32, 0, 0, 0, 0]


def test_a_loop_over_blocks_that_activates_others():
    p, loss = (mt.field(mt.f64, (), needs_grad=True) for _ in range(2))
    x, level = cells("x", levels=lambda: mt.root.pointer(mt.i, 4).dense(mt.i, 2))
    blocks = level.parent()

    @mt.kernel
    def f():
        for i in blocks:
            loss[None] += p[None] * p[None]
            x[i] = 1.0  # of another block

    with pytest.raises(mt.TaichiCompilationError, match=r"which cells of '.*pointer0' are active is asked here"):
        f.grad()
