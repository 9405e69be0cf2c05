"""Carriers of code for others' linkers and compilers with what kernels may hold.

What libmetate runs of an object, of C source and of a shared object has the bits that a module file has. Hosts are those of
test_static.py, test_c_source.py and others. Sums stay in the order that is written, and nothing is fused
(docs/decisions/20261126-c-source.md).
"""

import pathlib
import sys

import numpy as np
import pytest

import metate as mt
from metate.graph import Arg, ArgKind, GraphBuilder

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from carrier_ways import LINKED, at_level

array = mt.types.ndarray
f32, i32 = mt.f32, mt.i32
OPTIONS = {"contract": False, "reassociate_sums": False, "private_reductions": False}
n = mt.Dim("n", min=8, max=64, multiple=8)


@pytest.fixture(params=LINKED)
def both(request, tmp_path):
    """A module as a file and as a carrier, opened: (kernels, types) of each."""

    def opened(module):
        file = mt.aot.load(module.save(tmp_path / "file.metate"))
        linked = at_level(request.param, "standard")(module, tmp_path, None, None)
        return (file.kernels, file.types), (linked._kernels, linked._types)

    return opened


def module(**options):
    return mt.aot.Module(name="pairs", **OPTIONS, **options)


def alike(both, built, run):
    """Both ways give the same bits; the results."""
    (kernels, types), (linked, linked_types) = both(built)
    first, second = run(kernels, types), run(linked, linked_types)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
    return first


def test_gradients(both, rng):
    @mt.kernel
    def loss(x: array(f32, 1), y: array(f32, 1), total: array(f32, 1)):
        for i in x:
            total[0] += mt.sin(x[i]) * y[i] ** 2

    x, y = rng.random((2, 50)).astype(np.float32)

    def run(kernels, _):
        by_x, by_y = np.zeros_like(x), np.zeros_like(y)
        kernels["loss"].grad(x, y, np.zeros(1, np.float32), by_x, by_y, np.ones(1, np.float32))
        return by_x, by_y

    by_x, by_y = alike(both, module().add_kernel(loss, grad=True), run)
    np.testing.assert_allclose(by_x, np.cos(x) * y**2, rtol=1e-5)
    np.testing.assert_allclose(by_y, 2 * np.sin(x) * y, rtol=1e-5)


def test_random_numbers(both):
    @mt.kernel
    def draw(x: array(f32, 1)):
        for i in x:
            x[i] = mt.random() + mt.randn()

    def run(kernels, _):
        x = np.zeros(1000, np.float32)
        kernels["draw"](x, random_seed=7)
        return (x,)

    (x,) = alike(both, module().add_kernel(draw), run)
    assert len(np.unique(x)) > 990


def test_functions_that_call_themselves_and_debug_mode(both):
    @mt.real_func
    def fibonacci(k: i32) -> i32:
        result = k
        if k > 1:
            result = fibonacci(k - 1) + fibonacci(k - 2)
        return result

    @mt.kernel
    def fill(x: array(i32, 1), at: i32):
        for i in x:
            x[i] = fibonacci(i)
        x[at] = -1

    def run(kernels, _):
        x, said = np.zeros(15, np.int32), []
        kernels["fill"](x, 3)
        with pytest.raises(IndexError) as error:
            kernels["fill"](np.zeros(15, np.int32), 15)
        said.append(str(error.value).partition("\n")[0])
        return x, said

    x, said = alike(both, module(debug=True).add_kernel(fill), run)
    assert x.tolist() == [0, 1, 1, -1, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377] and "15" in said[0]


def test_trees_of_every_level_in_order(both, rng):
    """In deterministic mode: slots are visited in the order of their coordinates, cells come and go, lists grow."""
    builder = mt.types.SNodeTreeBuilder()
    block = builder.hash(mt.ij)
    block.bitmasked(mt.ij, 4).place(a=f32)
    block.dynamic(mt.k, 32, 8).place(b=i32)
    tree_type = builder.build()

    @mt.kernel
    def run_it(t: tree_type, at: array(i32, 2), sums: array(f32, 1)):
        for p in range(at.shape[0]):
            t.a[at[p, 0], at[p, 1]] += mt.cast(p, f32)
            t.b[at[p, 0] // 4, at[p, 1] // 4].append(p)
        for i, j in t.a:
            if (i + j) % 3 == 0:
                mt.deactivate(t.a.parent(), [i, j])
        for i, j in t.a:
            sums[0] += t.a[i, j] * 0.1

    at = rng.integers(-100, 100, (300, 2)).astype(np.int32)

    def run(kernels, types):
        t, sums = types["t"].new(capacity=400), np.zeros(1, np.float32)
        kernels["run_it"](t, at, sums)
        t.check()
        return sums, np.array([t.a.is_active(i, j) for i, j in at])

    sums, _ = alike(both, module(deterministic=True).add_type(tree_type, "t").add_kernel(run_it), run)
    assert sums[0] > 0


def test_extents_with_names(both):
    @mt.kernel
    def scale(x: array(f32, shape=(n, 3)), by: array(f32, shape=(n,))):
        for i, j in x:
            x[i, j] *= by[i]

    def run(kernels, _):
        x, by = np.linspace(0, 1, 48, dtype=np.float32).reshape(16, 3), np.linspace(2, 3, 16, dtype=np.float32)
        kernels["scale"](x, by)
        for rows in (12, 72):  # no multiple; too many
            with pytest.raises(mt.errors.RuntimeValueError_, match="n"):
                kernels["scale"](np.ones((rows, 3), np.float32), np.ones(rows, np.float32))
        return (x,)

    alike(both, module().add_kernel(scale), run)


def test_graphs_with_memory_of_their_own(both):
    @mt.kernel
    def twice(x: array(f32, 1), y: array(f32, 1)):
        for i in x:
            y[i] = 2 * x[i] + 1

    builder = GraphBuilder()
    x = Arg(ArgKind.NDARRAY, "x", f32, ndim=1, shape=(n,))
    y = Arg(ArgKind.NDARRAY, "y", f32, ndim=1, shape=(n,))
    h, g = (builder.intermediate(name, f32, (n,)) for name in "hg")
    for one, other in ((x, h), (h, g), (g, y)):
        builder.dispatch(twice, one, other)
    steps = builder.compile("steps")

    def run(kernels, _):
        found = np.zeros(24, np.float32)
        kernels["steps"](np.arange(24, dtype=np.float32), found)
        return (found,)

    (found,) = alike(both, module().add_graph("steps", steps), run)
    assert found.tolist() == [8 * k + 7 for k in range(24)]


def test_quantised_members(both, rng):
    q = mt.types.quant
    builder = mt.types.SNodeTreeBuilder()
    builder.pointer(mt.i, 8).quant_array(mt.i, 32, max_num_bits=32).place(a=q.int(5, False))
    tree_type = builder.build()

    @mt.kernel
    def count(t: tree_type, at: array(i32, 1)):
        for p in at:
            t.a[at[p]] += 1

    at = rng.integers(0, 256, 500).astype(np.int32)

    def run(kernels, types):
        t = types["t"].new()
        kernels["count"](t, at)
        return (t.a.to_numpy(),)

    (found,) = alike(both, module().add_type(tree_type, "t").add_kernel(count), run)
    assert (found == np.bincount(at, minlength=256) % 32).all()
