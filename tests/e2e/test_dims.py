"""Named extents with bounds (mt.Dim): one compilation for all of them, checked by each call, wherever the kernel runs."""

import numpy as np
import pytest

import metate as mt
from metate.errors import CompilationError, RuntimeValueError_
from metate.graph import Arg, ArgKind, GraphBuilder

n = mt.Dim("n", min=8, max=4096, multiple=8)
m = mt.Dim("m", max=64)
points = mt.types.ndarray(mt.f32, shape=(n, 3))
line = mt.types.ndarray(mt.f32, shape=(n,))


@pytest.fixture(params=[mt.cpu, mt.interp], ids=["cpu", "interp"])
def norm(request):
    with mt.Context(arch=request.param):

        @mt.kernel
        def norm(x: points, y: line):
            for i in range(x.shape[0]):
                total = 0.0
                for k in range(x.shape[1]):
                    total += x[i, k] * x[i, k]
                y[i] = total

        yield norm


def arrays(rng, count):
    return rng.random((count, 3), dtype="f4"), np.zeros(count, "f4")


def test_a_hundred_extents_are_one_compilation(norm, rng):
    for count in range(8, 808, 8):
        x, y = arrays(rng, count)
        norm(x, y)
        np.testing.assert_allclose(y, (x * x).sum(axis=1), rtol=1e-6)
    assert len(norm.instances()) == 1
    assert "x: f32[n, 3]" in str(norm.instances()[0])


REFUSED = [
    ((12, 3), (12,), r"kernel 'norm' argument 0 'x': dimension 0 \(n\): expected 8 to 4096, a multiple of 8, got 12"),
    ((0, 3), (0,), r"argument 0 'x': dimension 0 \(n\): expected 8 to 4096, a multiple of 8, got 0"),
    ((4104, 3), (4104,), r"argument 0 'x': dimension 0 \(n\): expected 8 to 4096, a multiple of 8, got 4104"),
    ((16, 3), (24,), r"argument 1 'y': dimension 0 \(n\): expected 16, as dimension 0 of argument 0 'x', got 24"),
    ((16, 4), (16,), r"argument 0 'x': dimension 1: expected 3, got 4"),
]


@pytest.mark.parametrize("shape, other, text", REFUSED)
def test_each_call_checks_extents(norm, shape, other, text):
    x, y = np.ones(shape, "f4"), np.full(other, 7, "f4")
    for _ in range(2):  # the first call compiles, the second goes the short way
        with pytest.raises(RuntimeValueError_, match=text):
            norm(x, y)
    assert (y == 7).all()


@pytest.mark.parametrize("shape, other, text", REFUSED)
def test_an_instance_that_is_there_checks_extents(norm, shape, other, text):
    norm(np.ones((8, 3), "f4"), np.zeros(8, "f4"))
    with pytest.raises(RuntimeValueError_, match=text):
        norm(np.ones(shape, "f4"), np.zeros(other, "f4"))
    assert len(norm.instances()) == 1


def test_strided_and_package_arrays(norm, rng):
    x = mt.ndarray(mt.f32, (16, 3))
    x.from_numpy(rng.random((16, 3), dtype="f4"))
    y = np.zeros(32, "f4")
    norm(x, y[::2])
    np.testing.assert_allclose(y[::2], (x.to_numpy() ** 2).sum(axis=1), rtol=1e-6)
    with pytest.raises(RuntimeValueError_, match=r"argument 1 'y': dimension 0 \(n\): expected 16, as"):
        norm(x, y)


def test_one_name_twice_in_one_array():
    @mt.kernel
    def transpose(a: mt.types.ndarray(mt.f32, shape=(m, m))):
        for i in range(a.shape[0]):
            for k in range(i):
                a[i, k], a[k, i] = a[k, i], a[i, k]

    a = np.arange(25, dtype="f4").reshape(5, 5)
    expected = a.T.copy()
    transpose(a)
    np.testing.assert_array_equal(a, expected)
    with pytest.raises(RuntimeValueError_, match=r"dimension 1 \(m\): expected 5, as dimension 0 of argument 0 'a', got 4"):
        transpose(np.zeros((5, 4), "f4"))


def test_arrays_of_vectors_and_structs(rng):
    pair = mt.types.struct(a=mt.f32, b=mt.math.vec2)

    @mt.kernel
    def add(x: mt.types.ndarray(mt.math.vec3, shape=(m, None)), s: mt.types.ndarray(pair, shape=(m,))):
        for i in range(s.shape[0]):
            for k in range(x.shape[1]):
                s[i].a += x[i, k].sum()

    x, s = rng.random((4, 5, 3), dtype="f4"), mt.ndarray(pair, 4)
    add(x, s)
    np.testing.assert_allclose(s.get_member("a").to_numpy(), x.sum(axis=(1, 2)), rtol=1e-5)
    with pytest.raises(
        RuntimeValueError_, match=r"'s.a': dimension 0 \(m\): expected 5, as dimension 0 of argument 0 'x', got 4"
    ):
        add(np.zeros((5, 5, 3), "f4"), s)


@pytest.mark.parametrize(
    "make, kind, text",
    [
        (lambda: mt.Dim("a b"), ValueError, "Dim: name: expected an identifier, got 'a b'"),
        (lambda: mt.Dim("n", min=5, max=4), ValueError, "expected 0 <= min <= max"),
        (lambda: mt.Dim("n", min=9, max=15, multiple=8), ValueError, "with a multiple of 8 between them, got min=9, max=15"),
        (lambda: mt.Dim("n", max=2**62), ValueError, "got min=0, max=4611686018427387904"),
        (lambda: mt.Dim("n", multiple=0), ValueError, "multiple: expected 1 to 2147483647, got 0"),
        (lambda: mt.Dim("n", max=1.5), TypeError, "max: expected an integer, got 1.5"),
        (lambda: mt.types.ndarray(mt.f32, 2, shape=(n,)), ValueError, "shape: expected 2 dimensions"),
        (lambda: mt.types.ndarray(mt.f32, shape=("n",)), TypeError, "expected integers, Dims and None, got 'n'"),
        (lambda: mt.types.ndarray(mt.f32, shape=(n, mt.Dim("n"))), ValueError, "'n' means two things"),
    ],
)
def test_what_is_no_dim(make, kind, text):
    with pytest.raises(kind, match=text):
        make()


def test_two_dims_of_one_name_in_a_kernel():
    @mt.kernel
    def copy(x: mt.types.ndarray(mt.f32, shape=(mt.Dim("n"),)), y: line):
        for i in range(x.shape[0]):
            y[i] = x[i]

    with pytest.raises(CompilationError, match="parameter 'y': dim 'n' means two things"):
        copy(np.zeros(8, "f4"), np.zeros(8, "f4"))


def scalar_instructions(dim):
    """How many of a kernel that doubles each element work on single numbers: what its vector loop leaves."""

    @mt.kernel
    def double(x: mt.types.ndarray(mt.f32, shape=(None, dim), contiguous=True)):
        for i in range(x.shape[0]):
            for k in range(x.shape[1]):
                x[i, k] *= 2.0

    code = double.report(target="x86-64-v3").code
    texts = [line.text for function in code for line in function.instructions]
    assert any("ps" in text.split()[0] for text in texts)
    return sum(text.split()[0] in ("vaddss", "vmulss") for text in texts)


def test_nothing_is_left_of_a_loop_over_a_multiple():
    assert scalar_instructions(mt.Dim("n", min=32, max=4096)) > 0
    assert scalar_instructions(mt.Dim("n", min=32, max=4096, multiple=32)) == 0


#  -- graphs ---------------------------------------------------------------------------------------


@mt.kernel
def scale(x: line, by: mt.f32):
    for i in range(x.shape[0]):
        x[i] *= by


def test_a_graphs_arguments_have_dims(rng):
    k = mt.Dim("k", min=16, max=128, multiple=16)
    x, z = (Arg(ArgKind.NDARRAY, name, mt.f32, shape=(k,)) for name in "xz")
    by = Arg(ArgKind.SCALAR, "by", mt.f32)
    builder = GraphBuilder()
    builder.dispatch(scale, x, by)
    builder.dispatch(scale, z, by)
    graph = builder.compile("twice")
    values, others = rng.random(32, dtype="f4"), rng.random(32, dtype="f4")
    expected = values * np.float32(3)
    graph.run({"x": values, "z": others, "by": 3.0})
    np.testing.assert_array_equal(values, expected)
    with pytest.raises(
        RuntimeValueError_, match=r"'twice' argument 0 'x': dimension 0 \(k\): expected 16 to 128, a multiple of 16"
    ):
        graph.run({"x": np.zeros(24, "f4"), "z": np.zeros(24, "f4"), "by": 3.0})
    with pytest.raises(RuntimeValueError_, match=r"argument 2 'z': dimension 0 \(k\): expected 16, as dimension 0 of argument 0"):
        graph.run({"x": np.zeros(16, "f4"), "z": np.zeros(32, "f4"), "by": 3.0})


@pytest.mark.parametrize(
    "shape, text",
    [
        (None, r"parameter 'x': dimension 0: expected n \(8..4096 by 8\), got any"),
        ((mt.Dim("k", min=8, max=64, multiple=4),), r"expected n \(8..4096 by 8\), got k \(8..64 by 4\)"),
        ((12,), r"expected n \(8..4096 by 8\), got 12"),
    ],
)
def test_a_graphs_argument_that_may_not_fit(shape, text):
    x = Arg(ArgKind.NDARRAY, "x", mt.f32, shape=shape) if shape else Arg(ArgKind.NDARRAY, "x", mt.f32, ndim=1)
    with pytest.raises(CompilationError, match=text):
        GraphBuilder().dispatch(scale, x, 2.0)


def test_a_graphs_arguments_that_may_differ():
    @mt.kernel
    def add(x: line, y: line):
        for i in range(x.shape[0]):
            y[i] += x[i]

    first, second = (mt.Dim(name, min=8, max=64, multiple=8) for name in "ab")
    x, y = Arg(ArgKind.NDARRAY, "x", mt.f32, shape=(first,)), Arg(ArgKind.NDARRAY, "y", mt.f32, shape=(second,))
    with pytest.raises(CompilationError, match=r"expected a \(8..64 by 8\), as n is in parameter 'x', got b \(8..64 by 8\)"):
        GraphBuilder().dispatch(add, x, y)


def test_a_graphs_pack_and_an_argument_that_may_differ():
    """A dim of a pack's member is the same as that of the arguments beside it."""
    k = mt.Dim("k", max=100)
    pack = mt.types.argpack(x=mt.types.ndarray(mt.i32, shape=(k,)), s=mt.i32)

    @mt.kernel
    def spread(p: pack, y: mt.types.ndarray(mt.i32, shape=(k,))):
        for i in y:
            p.x[i] = y[i] + p.s

    whole = Arg(ArgKind.ARGPACK, "p", pack)
    with pytest.raises(CompilationError, match=r"parameter 'y': dimension 0: expected k .*, as k is in parameter 'p.x', got m"):
        GraphBuilder().dispatch(spread, whole, Arg(ArgKind.NDARRAY, "y", mt.i32, shape=(mt.Dim("m", max=100),)))
    builder = GraphBuilder()
    builder.dispatch(spread, whole, Arg(ArgKind.NDARRAY, "y", mt.i32, shape=(k,)))
    graph, x = builder.compile(), np.zeros(8, np.int32)
    graph.run({"p": pack(x=x, s=3), "y": np.arange(8, dtype=np.int32)})
    assert x.tolist() == list(range(3, 11))
    with pytest.raises(RuntimeValueError_, match=r"\(k\): expected 8"):
        graph.run({"p": pack(x=x, s=3), "y": np.arange(16, dtype=np.int32)})
