"""What goes into kernels and comes out: structs, tuples, vectors from lists and arrays, defaults and keywords."""

import typing

import numpy as np
import pytest

import metate as mt

vec2 = mt.types.vector(2, mt.f32)
Inner = mt.types.struct(b=mt.f64, c=vec2)
Outer = mt.types.struct(a=mt.i32, inner=Inner, m=mt.types.matrix(2, 2, mt.f32))


@mt.dataclass
class Ball:
    pos: vec2
    radius: mt.f32 = 2.0

    def area(self):
        return self.radius * self.radius


def test_structs_in_and_out(rng):
    c, m = rng.uniform(-2, 2, 2).astype(np.float32), rng.uniform(-2, 2, (2, 2)).astype(np.float32)

    @mt.kernel
    def turned(s: Outer, k: mt.f32) -> Outer:
        t = s
        t.a += 1
        t.inner.c = s.m @ s.inner.c * k
        t.inner.b = s.inner.b + s.m[1, 0]
        return t

    for given in (Outer(a=3, inner=Inner(b=1.5, c=c), m=m), {"a": 3, "inner": {"b": 1.5, "c": list(c)}, "m": m}):
        got = turned(given, 2.0)
        assert got.a == 4 and got.inner.b == pytest.approx(1.5 + m[1, 0])
        np.testing.assert_allclose(got.inner.c, m @ c * 2, rtol=1e-5)
        np.testing.assert_array_equal(got.m, m)
    assert [one.hits for one in turned.instances()] == [2]
    assert '"s.inner.c"' in turned.import_module().text(False) and '"return.inner.c"' in turned.import_module().text(False)


def test_structs_with_methods_and_defaults():
    @mt.kernel
    def grown(ball: Ball, by: mt.f32) -> Ball:
        return Ball(pos=ball.pos + by, radius=ball.area())

    ball = grown(Ball(pos=[1, 2]), by=0.5)
    assert ball.radius == 4 and ball.area() == 16
    np.testing.assert_array_equal(ball.pos, [1.5, 2.5])


def test_tuples_out(rng):
    a = rng.uniform(-2, 2, 2).astype(np.float32)

    @mt.kernel
    def several(v: vec2) -> (mt.i32, vec2, Ball):
        return 7, v + 1.0, Ball(v, 3.0)

    number, vector, ball = several(a)
    assert number == 7 and ball.radius == 3
    np.testing.assert_array_equal(vector, a + 1)
    np.testing.assert_array_equal(ball.pos, a)

    @mt.kernel
    def pair() -> tuple[mt.f32, mt.i64]:
        total = 0.0
        for _ in range(8):
            total += 0.5
        return total, 1 << 20

    assert pair() == (4.0, 1 << 20)

    @mt.kernel
    def old_spelling() -> typing.Tuple[mt.i32, mt.i32]:  # noqa: UP006  (as Taichi programs have it)
        return 1, 2

    assert old_spelling() == (1, 2)


def test_vectors_from_sequences_and_arrays(rng):
    m = rng.integers(-5, 5, (2, 3)).astype(np.int32)

    @mt.kernel
    def dot(m: mt.types.matrix(2, 3, mt.i32), v: mt.types.vector(3, mt.i32)) -> mt.types.vector(2, mt.i32):
        return m @ v

    expected = m @ np.array([1, 2, 3])
    for matrix in (m, m.tolist(), mt.Matrix(m.tolist()), np.asfortranarray(m)):
        for vector in ([1, 2, 3], (1, 2, 3), np.array([1, 2, 3]), mt.Vector([1, 2, 3])):
            np.testing.assert_array_equal(dot(matrix, vector), expected)
    got = dot(m, [1, 2, 3])
    assert (got.x, got[1]) == tuple(expected)


def test_defaults_and_keywords():
    x = mt.field(mt.i32, shape=3)

    @mt.kernel
    def fill(a: mt.i32, b: mt.i32 = 5, f: mt.template() = x, *, c: mt.i32 = 1):
        for i in f:
            f[i] = 100 * a + 10 * b + c

    fill(1)
    assert x.to_numpy().tolist() == [151] * 3
    fill(2, c=3)
    fill(b=4, a=2)
    assert x.to_numpy().tolist() == [241] * 3
    y = mt.field(mt.i32, shape=3)
    fill(1, 2, y, c=7)
    assert y.to_numpy().tolist() == [127] * 3
    assert [one.hits for one in fill.instances()] == [4]


def test_methods_with_structs():
    @mt.data_oriented
    class Scene:
        def __init__(self):
            self.x = mt.field(mt.f32, shape=2)
            self.scale = 2.0

        @mt.kernel
        def put(self, ball: Ball, at: mt.i32) -> Ball:
            self.x[at] = ball.radius * self.scale
            return Ball(ball.pos * self.scale, self.x[at])

    scenes = [Scene(), Scene()]
    for scene in scenes:
        assert scene.put(Ball([1, 2], 3.0), 1).radius == 6
    np.testing.assert_array_equal(scenes[1].x.to_numpy(), [0, 6])
    scenes[0].scale = 3.0
    assert scenes[0].put(Ball([1, 2], 3.0), at=0).pos.y == 6
    assert len(Scene.put.instances()) == 2


def test_wrong_values_are_named():
    @mt.kernel
    def go(s: Outer, ball: Ball) -> mt.f32:
        return s.inner.b * ball.radius

    ball = Ball([0, 0])
    for given, text in (
        (3, "go: argument 's': expected a struct or a dict of its members, got 3"),
        ({"inner": 2}, "go: argument 's': member 'inner': expected a struct or a dict of its members, got 2"),
        ({"q": 1}, "go: argument 's': no member 'q': it has a, inner, m"),
        ({"a": [1, 2]}, "kernel 'go': argument 's.a': expected i32, got list"),
        ({"m": [1, 2, 3]}, r"kernel 'go': argument 's.m': expected matrix\(2, 2, f32\), got list"),
    ):
        with pytest.raises(mt.errors.RuntimeTypeError_, match=f"^{text}"):
            go(given, ball)
    with pytest.raises(
        mt.errors.RuntimeValueError_, match=r"argument 's.a': expected i32 within its range, got int 1099511627776"
    ):
        go({"a": 1 << 40}, ball)

    @mt.kernel
    def wrong() -> (mt.i32, mt.i32):
        return 1, 2, 3

    @mt.kernel
    def no_struct() -> Ball:
        return 3

    @mt.kernel
    def annotation() -> (mt.i32, "text"):
        return 1, 2

    for kernel, text in (
        (wrong, "return value: expected 2 values, as the annotation says, got 3 values"),
        (no_struct, "return value: expected a"),
        (
            annotation,
            "return annotation: expected a scalar, vector, matrix or struct type with members or a tuple of them, got 'text'",
        ),
    ):
        with pytest.raises(mt.CompilationError, match=rf"test_kernel_values.py:\d+:\d+: {text}"):
            kernel()


def test_variables_that_loops_accumulate_in(rng):
    a = rng.uniform(-3, 3, 1000).astype(np.float32)
    b = rng.integers(-1000, 1000, 1000).astype(np.int32)
    mean, bits = mt.field(mt.f32, shape=()), mt.field(mt.i32, shape=())

    @mt.kernel
    def statistics(x: mt.types.ndarray(), y: mt.types.ndarray()) -> (mt.f32, mt.i32, vec2):
        total = 0.0
        largest = -(1 << 30)
        both = mt.Vector([0.0, 0.0])
        odd = 0
        for i in x:
            total += x[i]
            mt.atomic_max(largest, y[i])
            both += mt.Vector([x[i], 1.0])
        mean[None] = total / x.shape[0]
        for i in y:
            odd ^= y[i]
        bits[None] = odd
        total *= 2.0
        return total, largest, both

    total, largest, both = statistics(a, b)
    exact = float(a.sum(dtype=np.float64))
    assert total == pytest.approx(2 * exact, abs=1e-2) and largest == b.max()
    np.testing.assert_allclose(both, [exact, 1000], atol=1e-2)
    assert mean[None] == pytest.approx(exact / 1000, abs=1e-4) and bits[None] == np.bitwise_xor.reduce(b)

    @mt.kernel
    def average(x: mt.types.ndarray()) -> mt.f32:
        s = 0.0
        for i in x:
            s += x[i]
        return s / x.shape[0]

    @mt.kernel
    def nothing(x: mt.types.ndarray()):
        s = 0.0
        for i in x:
            s += x[i]
        for i in x:
            x[i] = s

    assert average(a) == pytest.approx(exact / 1000, abs=1e-4)
    assert nothing(a) is None
    np.testing.assert_allclose(a, exact, atol=1e-2)

    @mt.kernel
    def raced(x: mt.types.ndarray()) -> mt.f32:
        s = 0.0
        last = 0.0
        for i in x:
            s += x[i]
            last = x[i]
        return s + last

    with pytest.raises(mt.CompilationError, match="variable 'last': made outside the parallel loop that assigns it"):
        raced(a)
