"""Structs and classes of them in kernels, against NumPy."""

import pickle

import numpy as np
import pytest

import metate as ti

COUNT = 50
vec2, vec3 = ti.math.vec2, ti.types.vector(3, ti.f64)
Inner = ti.types.struct(u=ti.i32, w=vec2)
Outer = ti.types.struct(a=ti.f64, inner=Inner, v=vec3)
Scalars = ti.types.ndarray(dtype=ti.f64, ndim=1)
Rows = ti.types.ndarray(dtype=ti.f64, ndim=2)


@ti.dataclass
class Ball:
    pos: vec3
    radius: ti.f64 = 0.5
    hits: ti.i32

    def volume(self):
        return 4.0 / 3.0 * ti.math.pi * self.radius**3

    @ti.func
    def grow(self, by) -> ti.f64:
        self.radius += by
        self.hits += 1
        return self.radius

    def shifted(self, d: vec3):
        moved = self
        moved.pos += d
        return moved


@ti.dataclass
class Heavy(Ball):
    mass: ti.f64
    radius = 2.0

    def momentum(self, v):
        return self.mass * self.volume() * v


def test_construction_and_copies(rng):
    @ti.kernel
    def run(x: Scalars, out: Rows):
        for i in x:
            a = Outer(x[i], Inner(i, [x[i], 2.0]), [1.0, x[i], 3.0])
            b = Outer(a=x[i], v=x[i])
            c = a
            c.inner.w.y += x[i]
            c.inner.u *= 2
            c.v[1] = 7.0
            d = Outer(c)
            d.a = -1.0
            e = Outer({"a": 2, "inner": {"u": 5}})
            out[i, 0] = a.a + a.inner.w.y
            out[i, 1] = b.a + b.inner.u + b.v.sum()
            out[i, 2] = c.inner.w.y
            out[i, 3] = c.inner.u
            out[i, 4] = c.v.sum() + a.v.sum()
            out[i, 5] = d.a + c.a
            out[i, 6] = e.a + e.inner.u + e.inner.w.x + e.v.z
            a, c = c, a
            out[i, 7] = a.v[1] - c.v[1]

    x, out = rng.normal(0, 1, COUNT), np.zeros((COUNT, 8))
    run(x, out)
    i, single = np.arange(COUNT), x.astype(np.float32)
    wanted = [x + 2, x + 3 * x, (2 + single).astype(np.float64), 2 * i, 11 + 4 + x, x - 1, np.full(COUNT, 7), 7 - x]
    for column, want in enumerate(wanted):
        tolerance = 1e-6 if column == 2 else 1e-12
        np.testing.assert_allclose(out[:, column], want, rtol=tolerance, atol=tolerance, err_msg=f"column {column}")


def test_methods_and_inheritance(rng):
    @ti.kernel
    def run(x: Scalars, out: Rows):
        for i in x:
            ball = Ball([x[i], 0.0, 0.0], hits=3)
            out[i, 0] = ball.volume()
            out[i, 1] = ball.grow(x[i])
            ball.grow(1)
            out[i, 2] = ball.radius
            out[i, 3] = ball.hits
            out[i, 4] = ball.shifted([1, 2, 3]).pos.sum() - ball.pos.sum()
            heavy = Heavy(mass=x[i])
            heavy.grow(1.0)
            out[i, 5] = heavy.momentum(2.0)
            out[i, 6] = Ball(radius=2.0).volume()

    x, out = rng.uniform(0.1, 2, COUNT), np.zeros((COUNT, 7))
    run(x, out)
    volume = lambda r: 4 / 3 * np.pi * r**3
    for column, want in enumerate((volume(0.5), 0.5 + x, 1.5 + x, 5, 6, x * volume(3.0) * 2, volume(2.0))):
        np.testing.assert_allclose(out[:, column], np.broadcast_to(want, COUNT), rtol=1e-6, err_msg=f"column {column}")


@ti.func
def by_value(s, k):
    s.a += k
    s.v.x = 100.0
    return s.a


@ti.func
def by_reference(s: ti.template(), k):
    s.a += k
    s.inner.u = 9


@ti.func
def first_positive(a: Outer, b: Outer) -> Outer:
    if a.a > 0:
        return a
    return b


@ti.func
def pair(s):
    if s.a > 0:
        return s, s.a * 2
    return Outer(a=-1), -3.0


def test_through_functions(rng):
    @ti.kernel
    def run(x: Scalars, out: Rows):
        for i in x:
            s = Outer(a=x[i], v=[x[i], 1, 1])
            out[i, 0] = by_value(s, 2.0)
            out[i, 1] = s.a + s.v.x
            by_reference(s, 3.0)
            out[i, 2] = s.a
            out[i, 3] = s.inner.u
            t = Outer(a=x[i])
            out[i, 4] = first_positive(t, Outer(a=50)).a
            p, n = pair(t)
            out[i, 5] = p.a + n
            q = t if x[i] > 0.5 else s
            out[i, 6] = q.a
            out[i, 7] = ti.select(x[i] > 0.5, s, t).a
            if x[i] < 0:
                t = Outer(a=8)
            else:
                t.a = 4
            out[i, 8] = t.a

    x, out = rng.normal(0, 1, COUNT), np.zeros((COUNT, 9))
    run(x, out)
    wanted = [
        x + 2, 2 * x, x + 3, np.full(COUNT, 9), np.where(x > 0, x, 50), np.where(x > 0, 3 * x, -4),
        np.where(x > 0.5, x, x + 3), np.where(x > 0.5, x + 3, x), np.where(x < 0, 8, 4),
    ]  # fmt: skip
    for column, want in enumerate(wanted):
        np.testing.assert_allclose(out[:, column], want, rtol=1e-6, atol=1e-6, err_msg=f"column {column}")


def test_in_loops_and_without_a_type(rng):
    @ti.kernel
    def run(x: Scalars, out: Scalars):
        for i in x:
            total = ti.Struct(n=0, sum=ti.f64(0), pos=[x[i], x[i]])
            k = 0
            while k < 5:
                step = ti.Struct(total)
                step.n += 1
                step.sum += x[i] * k
                total = step
                if total.n > 3:
                    break
                k += 1
            out[i] = total.n * 1000 + total.sum + total.pos.y

    x, out = rng.normal(0, 1, COUNT), np.zeros(COUNT)
    run(x, out)
    np.testing.assert_allclose(out, 4000 + x * 6 + x, rtol=1e-6)


@pytest.mark.parametrize("layout", [ti.Layout.AOS, ti.Layout.SOA])
def test_fields_of_structs(rng, layout):
    balls = ti.Struct.field(Ball, shape=COUNT, layout=layout)
    other = Outer.field(shape=COUNT, layout=layout)

    @ti.kernel
    def fill(x: Scalars):
        for i in balls:
            balls[i] = Ball([x[i], i, 0], hits=i)
            balls[i].pos.yz += 1.0
            balls[i].grow(x[i])
            other[i].inner.w.xy = [3.0, 4.0]
            other[i].inner.u += i
            other[i].v[1:3] = [x[i], x[i]]

    @ti.kernel
    def read(out: Rows):
        for i in balls:
            b = balls[i]
            b.radius = -1
            out[i, 0] = balls[i].radius
            out[i, 1] = b.pos.sum()
            out[i, 2] = b.hits
            inner = other[i].inner
            out[i, 3] = inner.u + inner.w.dot(inner.w)
            out[i, 4] = other[i].v.sum()

    x, out = rng.normal(0, 1, COUNT), np.zeros((COUNT, 5))
    fill(x)
    read(out)
    i = np.arange(COUNT)
    for column, want in enumerate((0.5 + x, x + i + 2, i + 1, i + 25, 2 * x)):
        np.testing.assert_allclose(out[:, column], want, rtol=1e-6, atol=1e-12, err_msg=f"column {column}")


def test_outside_of_kernels():
    ball = Heavy([1, 2, 3], mass=2)
    assert (ball.radius, ball.hits, ball.mass, ball["radius"]) == (2.0, 0, 2.0, 2.0)
    assert ball.pos.dtype == np.float64 and ball.volume() == pytest.approx(4 / 3 * np.pi * 8)
    assert ball.grow(1) == 3.0 and ball.radius == 3.0
    with pytest.raises(AttributeError, match="no member 'speed': it has pos, radius, hits, mass"):
        ball.speed = 1
    with pytest.raises(TypeError, match="expected at most 4 members"):
        Heavy(1, 2, 3, 4, 5)
    with pytest.raises(TypeError, match="member 'hits': expected a number"):
        Ball(hits=[1, 2])
    plain = ti.Struct(a=1, b=[1.0, 2.0], c=ti.Struct(d=2))
    assert plain.to_dict()["c"] == {"d": 2} and plain.b.shape == (2,) and plain.keys == ["a", "b", "c"]
    taken = plain.to_dict()
    plain.b[1] = 7
    assert taken["b"][1] == 2 and plain.to_dict()["b"][1] == 7
    assert pickle.loads(pickle.dumps(Ball)) is Ball and Ball(hits=1) == Ball(hits=1) != Ball(hits=2)
    assert Heavy.members == {"pos": vec3, "radius": ti.f64, "hits": ti.i32, "mass": ti.f64}


def test_types_are_structural():
    again = ti.types.struct(u=ti.i32, w=vec2)
    assert again == Inner and hash(again) == hash(Inner)
    assert ti.types.struct(w=vec2, u=ti.i32) != Inner and ti.types.struct(u=ti.i64, w=vec2) != Inner
    assert Ball != ti.types.struct(Ball.members) and ti.types.struct(Ball.members).has_members_of(Ball)


def test_methods_of_struct():
    area = ti.func(lambda_area)
    Box = ti.types.struct(w=ti.f32, h=ti.f32, __struct_methods={"area": area})

    @ti.kernel
    def run(out: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        out[0] = Box(3, 4).area()

    out = np.zeros(1, np.float32)
    run(out)
    assert out[0] == 12


def lambda_area(self):
    return self.w * self.h


def test_mistakes():
    def complain(function, message, hint=None):
        with pytest.raises(ti.CompilationError) as caught:
            ti.kernel(function)(np.zeros(3))
        assert message in str(caught.value) and (hint is None or hint in str(caught.value)), caught.value

    def unknown_member(x: Scalars):
        b = Ball()
        x[0] = b.radios

    def too_many(x: Scalars):
        x[0] = Inner(1, 2, 3).u

    def unknown_keyword(x: Scalars):
        x[0] = Inner(v=1).u

    def other_type(x: Scalars):
        s = Inner(1)
        s = Outer(1)
        x[0] = s.u

    def whole(x: Scalars):
        x[0] = Inner(1)

    def operator(x: Scalars):
        s = Inner(1)
        s += 1

    def wrong_argument(x: Scalars):
        x[0] = first_positive(Inner(1), Outer(1)).a

    def vector_length(x: Scalars):
        x[0] = Outer(v=[1, 2]).a

    complain(unknown_member, "a struct Ball has no attribute 'radios'", "did you mean 'radius'?")
    complain(too_many, "expected at most 2 members (u, w), got 3", "its members are u: i32")
    complain(unknown_keyword, "no member 'v': it has u, w")
    complain(other_type, "variable 's': expected a struct of u, w with members u, w, got one with a, inner, v")
    complain(whole, "expected a value, got a struct of u, w", "take a member: .u, .w")
    complain(operator, "no operator '+=' for a struct of u, w", "assign its members one by one")
    complain(wrong_argument, "argument 'a' of 'first_positive': expected a struct of a, inner, v")
    complain(vector_length, "member 'v' of struct of a, inner, v: expected vector(3, f64), got vector(2, f64)")


def test_lambdas_as_methods():
    Pair = ti.types.struct(a=ti.f32, __struct_methods={"twice": lambda self: self.a * 2, "plus": lambda self, b=3: self.a + b})
    square = ti.func(lambda x: x * x)

    @ti.kernel
    def run() -> ti.f32:
        one = Pair(2)
        return square(one.twice()) + one.plus() * 100 + one.plus(b=1) * 10000

    assert run() == 16 + 500 + 30000 and Pair(2).twice() == 4


def test_types_made_in_kernels():
    @ti.kernel
    def run(n: ti.f64) -> ti.f64:
        one = ti.types.struct(a=ti.f64, b=ti.types.vector(2, ti.f64))(a=n, b=[n, 1])
        return one.a + one.b.sum()

    assert run(2) == 5


@ti.dataclass
class Rules:
    """Methods alone: it takes no memory."""

    @ti.func
    def half(self, x):
        return x / 2


def test_structs_of_methods_alone():
    named = ti.types.struct(rules=Rules, x=ti.f64)

    @ti.kernel
    def run(rules: Rules, pair: named) -> ti.f64:
        return rules.half(3.0) + pair.rules.half(pair.x)

    assert run(Rules(), named(Rules(), 5.0)) == 4.0
    cells = named.field(shape=3)
    cells[1].x = 7.0
    assert cells.to_numpy()["x"].tolist() == [0.0, 7.0, 0.0]

    @ti.kernel
    def back() -> Rules:
        return Rules()

    with pytest.raises(ti.TypeError_, match="struct type with members"):
        back()
    for make in (lambda: ti.ndarray(Rules, 3), lambda: ti.ndarray(ti.types.struct(a=Rules), 3)):
        with pytest.raises(ti.TaichiRuntimeTypeError, match="expected a struct type with members"):
            make()
    with pytest.raises(ti.TreeError, match="expected at least one field"):
        Rules.field(shape=3)


def test_a_struct_of_one_struct_takes_that_struct_or_another_of_its_own():
    """What the sole argument is, tells the names in it, at any depth: members of all of these are called a."""
    least = ti.types.struct(a=ti.i64, b=ti.f32)
    middle = ti.types.struct(a=least)
    whole = ti.types.struct(a=middle)

    @ti.kernel
    def run(x: ti.i64) -> whole:
        made = whole(middle(least(x, 2.0)))
        copied = whole(made)
        given = whole(ti.Struct(a=ti.Struct(a=ti.Struct(a=100, b=0.5))))
        return whole(middle(least(made.a.a.a + copied.a.a.a + given.a.a.a, given.a.a.b)))

    assert run(7) == whole(middle(least(114, 0.5))) == whole(ti.Struct(a=ti.Struct(a=ti.Struct(a=114, b=0.5))))
