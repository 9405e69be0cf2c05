"""types.argpack: several arguments of a kernel under one name, from Python, in functions, modules and the interpreter."""

import os

import numpy as np
import pytest

import metate as ti

Inner = ti.types.argpack(scale=ti.f32, on=bool)
Ball = ti.types.struct(pos=ti.math.vec2, radius=ti.f32)
Pack = ti.types.argpack(x=ti.types.ndarray(dtype=ti.f32, ndim=1), v=ti.types.vector(3, ti.f32), ball=Ball, inner=Inner, n=ti.i32)


def pack(x, **changed):
    values = {"x": x, "v": [1, 2, 3], "ball": {"pos": [4, 5], "radius": 6}, "inner": Inner(scale=0.5, on=True), "n": 7}
    return Pack(**{**values, **changed})


@ti.kernel
def fill(p: Pack, offset: ti.f32):
    for i in p.x:
        if p.inner.on:
            p.x[i] = p.inner.scale * (p.v.sum() + p.ball.pos.x + p.ball.radius) + p.n + offset + i


def test_members_of_every_kind():
    x = np.zeros(4, np.float32)
    given = pack(x)
    fill(given, 100.0)
    np.testing.assert_array_equal(x, 0.5 * 16 + 7 + 100 + np.arange(4))
    given.n = 8
    given.inner.on = False
    fill(given, 0.0)
    assert x[0] == 115
    given.inner = Inner(2.0, True)
    fill(p=given, offset=0.0)
    assert x[0] == 2 * 16 + 8


def test_stages_and_reports_take_packs():
    given = pack(np.zeros(4, np.float32))
    assert "p.inner.scale" in fill.stages(given, 1.0, stop_after="import")["import"]
    assert any(loop.line for loop in fill.report(given, 1.0).loops)


def test_several_packs_and_results():
    Line = ti.types.argpack(x=ti.types.ndarray(ndim=1), s=ti.f32)

    @ti.kernel
    def dot(a: Line, b: Line) -> ti.types.vector(2, ti.f32):
        total = ti.Vector([0.0, 0.0])
        for i in range(a.x.shape[0]):
            total += ti.Vector([a.s * a.x[i] * b.x[i], b.s])
        return total

    x, y = np.arange(5, dtype=np.float32), np.full(5, 2, np.float32)
    np.testing.assert_array_equal(dot(Line(x, 3.0), Line(s=1.0, x=y)), [60, 5])
    np.testing.assert_array_equal(dot(Line({"x": x, "s": 1.0}), Line(x, 1.0)), [30, 5])  # the same array twice


def test_trees_and_templates():
    Tree = ti.types.SNodeTreeBuilder().pointer(ti.i, 8).dense(ti.i, 4).place(a=ti.f32).build()
    P = ti.types.argpack(tree=Tree, y=ti.template())
    y = ti.field(ti.f32, 32)

    @ti.kernel
    def copy(p: P):
        for i in range(32):
            if i % 8 < 3:
                p.tree.a[i] = p.y[i] + 1

    y.fill(2)
    tree = Tree.new()
    copy(P(tree, y))
    copy(P(tree, y))
    np.testing.assert_array_equal(tree.a.to_numpy(), np.where(np.arange(32) % 8 < 3, 3, 0))


def test_in_functions():
    @ti.func
    def scaled(p: Pack, i: ti.i32):
        return p.x[i] * p.inner.scale

    @ti.func
    def any_pack(p, i):
        return scaled(p, i) + p.n

    @ti.real_func
    def called(p: Pack, i: ti.i32) -> ti.f32:
        return p.x[i] + p.n

    @ti.kernel
    def run(p: Pack) -> ti.f32:
        return any_pack(p, 1) + called(p, 2)

    assert run(pack(np.array([1, 2, 3], np.float32))) == 2 * 0.5 + 7 + 3 + 7


def test_methods():
    @ti.data_oriented
    class Solver:
        def __init__(self):
            self.gain = 3

        @ti.kernel
        def step(self, p: Inner) -> ti.f32:
            return self.gain * p.scale

    assert Solver().step(Inner(2.0, True)) == 6


@pytest.mark.skipif("METATE_TEST_INTERP" in os.environ, reason="modules are compiled")
def test_a_module_has_the_members(tmp_path):
    module = ti.aot.Module()
    module.add_kernel(fill)
    module.save(tmp_path)
    loaded = ti.aot.load(tmp_path / "module.metate")
    names = [one["name"] for one in loaded.kernels["fill"].parameters]
    assert names == ["p.x", "p.v", "p.ball.pos", "p.ball.radius", "p.inner.scale", "p.inner.on", "p.n", "offset"]


def test_graphs_give_packs(tmp_path):
    """Packs that callers give, and packs of a graph's own arguments, numbers and objects."""
    from metate.graph import Arg, ArgKind, GraphBuilder

    Sums = ti.types.argpack(y=ti.template(), x=ti.types.ndarray(), factor=ti.i32)
    y = ti.field(ti.f32, 4)

    @ti.kernel
    def add(q: Sums):
        for i in q.x:
            q.y[i] += q.x[i] * q.factor

    p, q = Arg(ArgKind.ARGPACK, "p", Pack), Arg(ArgKind.ARGPACK, "q", Sums)
    x, n = Arg(ArgKind.NDARRAY, "x", ti.f32, ndim=1), Arg(ArgKind.SCALAR, "n", ti.i32)
    v, inner = Arg(ArgKind.MATRIX, "v", ti.types.vector(3, ti.f32)), Arg(ArgKind.ARGPACK, "inner", Inner)
    ball = Arg(ArgKind.SCALAR, "ball", Ball)
    builder = GraphBuilder()
    builder.dispatch(fill, p, 1.0)
    builder.dispatch(fill, p=Pack(x=x, v=v, ball=ball, inner=inner, n=n), offset=3.0)
    builder.dispatch(add, Sums(y, x, 2))
    builder.dispatch(add, Sums(y, x, n))
    graph = builder.compile("packs")
    assert graph.arguments == ("p", "x", "v", "ball", "inner", "n")
    one, two = np.zeros(4, np.float32), np.zeros(4, np.float32)
    given = {"p": pack(one), "x": two, "v": [3, 2, 1], "ball": {"pos": [0, 0], "radius": 1}, "inner": Inner(2.0, True), "n": 3}
    expected = 0.5 * 16 + 7 + 1 + np.arange(4), 2.0 * 7 + 3 + 3 + np.arange(4)
    graph.run(given)
    np.testing.assert_array_equal([one, two], expected)
    np.testing.assert_array_equal(y.to_numpy(), 5 * expected[1])
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"packs: argument 'p': expected a pack of argpack\(x=.*, got 3"):
        graph.run({**given, "p": 3})
    builder = GraphBuilder()
    builder.dispatch(add, q)  # what stands for a template is known at run
    builder.compile().run({"q": Sums(y, one, 1)})
    np.testing.assert_array_equal(y.to_numpy(), 5 * expected[1] + expected[0])
    if "METATE_TEST_INTERP" in os.environ:
        return
    ti.aot.Module().add_graph("packs", graph).save(tmp_path / "packs.metate")
    loaded = ti.aot.load(tmp_path / "packs.metate").graphs["packs"]
    assert "p.inner.scale: f32" in loaded.signature()
    one[:], two[:] = 0, 0
    y.fill(0)
    loaded.run({**given, "q_y": y._tree})
    np.testing.assert_array_equal([one, two], expected)
    np.testing.assert_array_equal(y.to_numpy(), 5 * expected[1])


def test_wrong_packs_are_told():
    with pytest.raises(TypeError, match="argpack: expected at least one member, got none"):
        ti.types.argpack()
    with pytest.raises(TypeError, match=r"argpack member 'a': expected a scalar, vector, .*, got 3"):
        ti.types.argpack(a=3)
    with pytest.raises(TypeError, match="argpack member name: expected an identifier without _ before it, got '_a'"):
        ti.types.argpack(_a=ti.f32)
    with pytest.raises(TypeError, match="struct member 'p': expected a scalar, vector, matrix or struct type, got argpack"):
        ti.types.struct(p=Inner)
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"argpack: expected values of scale, on, got \(1.0\)"):
        Inner(1.0)
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"argpack: expected values of scale, on, got \(scale=..., off=...\)"):
        Inner(scale=1.0, off=True)
    x = np.zeros(4, np.float32)
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"fill: argument 'p': expected a pack of argpack\(x=.*, got 3"):
        fill(3, 1.0)
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"fill: argument 'p': member 'inner': expected a pack of argpack"):
        fill(pack(x, inner=Pack), 1.0)
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"argument 'p\.x'"):
        fill(pack(5), 1.0)
    with pytest.raises(AttributeError, match="argpack: no member 'm'; it has scale, on"):
        Inner(1.0, True).m = 3
    with pytest.raises(AttributeError, match="argpack: no member 'm'; it has scale, on"):
        _ = Inner(1.0, True).m


def test_wrong_uses_in_kernels_are_told():
    @ti.kernel
    def unknown(p: Inner) -> ti.f32:
        return p.scael

    @ti.kernel
    def assigned(p: Inner):
        p.scale = 3.0

    @ti.kernel
    def replaced(p: Inner):
        p = 3  # noqa: F841

    @ti.kernel
    def returned(p: Inner) -> Inner:
        return p

    @ti.kernel
    def counted(p: Inner) -> ti.f32:
        return p + 1

    given = Inner(1.0, True)
    for kernel, text in (
        (unknown, "argument pack 'p' has no attribute 'scael'"),
        (assigned, "arguments are read-only: assign 'p.scale' to a variable first"),
        (replaced, "kernel argument 'p' is read-only"),
        (returned, "return annotation: expected a scalar, vector"),
        (counted, "expected a value, got argument pack 'p'"),
    ):
        with pytest.raises(ti.TaichiCompilationError) as caught:
            kernel(given)
        assert text in str(caught.value), str(caught.value)
