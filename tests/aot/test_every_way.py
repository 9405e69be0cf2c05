"""One test body over every way to run a kernel (carrier_ways.py): the same results, the same failures, the same texts.

What `jit` gives is compared with NumPy, everything else with `jit`.
"""

import pathlib
import sys

import numpy as np
import pytest
from seeded import generator

import metate as mt
from metate.graph import Arg, ArgKind, GraphBuilder

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import level_kernels as kernels
from carrier_ways import OPTIONS, WAYS, Failure

X, Y = (Arg(ArgKind.NDARRAY, name, mt.f32, ndim=1) for name in "xy")
A, TIMES = Arg(ArgKind.SCALAR, "a", mt.f32), Arg(ArgKind.SCALAR, "times", mt.i32)


@mt.kernel(asserts=True)
def grow(x: mt.types.ndarray(mt.f32, ndim=1)):
    for i in x:
        assert x[i] < 100, f"x[{i}] is {x[i]}"
        x[i] = 2 * x[i] + 1


def graph():
    builder = GraphBuilder()
    builder.dispatch(kernels.axpy, A, X, Y)
    again = builder.create_sequential()
    again.dispatch(grow, Y)
    builder.append(again, count=TIMES)
    return builder.compile("steps")


@pytest.fixture(scope="module")
def steps():
    return graph()


def module(steps):
    return kernels.module(**OPTIONS).add_graph("steps", steps)


def table(steps):
    """Kernels of this process by the module's names."""
    found = {kernel.__name__: kernel for kernel in vars(kernels).values() if hasattr(kernel, "needs_specialising")}
    return {**found, "steps": steps.kernel}


TYPES = {"sparse": kernels.Sparse, "filled": kernels.Filled, "large": kernels.Large}

# ---- cases: each runs kernels one way, and returns what can be seen afterwards


def dense(way, draw):
    x, y = draw.normal(size=(2, 1000)).astype(np.float32)
    values, m = draw.normal(size=(17, 9)), draw.normal(size=(2, 2))
    by, points = draw.normal(size=3).astype(np.float32), draw.normal(size=(50, 3)).astype(np.float32)
    turned, scalars, rotated = np.zeros_like(points), np.zeros(7), np.arange(10, dtype=np.int32)
    way.run("axpy", 2.5, x, y)
    total = way.run("total", values)
    way.run("scalars", True, -5, 7, 2**50, 2**32 - 1, 0.1, 0.5 if not way.is_direct else 0x3800, scalars)
    way.run("turn", m, by, points, turned)
    way.run("rotate", rotated, rotated)
    return y, total, scalars, turned, rotated


def sparse(way, draw):
    f, filled, out = way.tree("sparse"), way.tree("filled"), np.zeros(7)
    before = f.topology_version
    way.run("paint", f, 2.0)
    way.run("paint", f, 3.0)
    way.run("untouched", filled, out)
    assert f.topology_version == before + 1  # the second one activates what is active
    return way.run("weight", f), f.a.to_numpy(), f.b.to_numpy(), out


def graphs(way, draw):
    x, y = draw.uniform(size=(2, 100)).astype(np.float32)
    way.run("steps", 2.0, x, y, 3)
    return (y,)


def failing(way, draw):
    """An assertion of a kernel, with numbers in its text; one of a graph's kernel; no room in a tree."""
    small = way.tree("sparse", capacity={"pointer0": 1, "pointer1": 1})
    y = np.full(5, 60, np.float32)
    return (
        way.run("positive", 5, 2),
        way.run("positive", -1, 2),
        way.run("steps", 1.0, y.copy(), y, 2),
        way.run("paint", small, 1.0),
        way.run("positive", 1, 1),
    )


def refused(way, draw):
    """Wrong arguments, by the levels that check them: the class of the error, and the argument that it names."""
    x, y = draw.normal(size=(2, 8)).astype(np.float32)
    outcomes = []
    for arguments, named in (
        ((1.0, x.astype(np.float64), y), "'x'"),
        ((1.0, x.reshape(2, 4), y), "'x'"),
        ((None, x, y), "'a'"),
    ):
        failure = way.run("axpy", *arguments)
        assert isinstance(failure, Failure) and named in failure.text, failure
        outcomes.append(failure.kind)
    assert way.run("positive", 2**32, 1).kind in (ValueError, TypeError, OverflowError)
    return tuple(outcomes)


CASES = (dense, sparse, graphs, failing, refused)


@pytest.fixture(scope="module")
def opened(steps, tmp_path_factory):
    """Each way, opened once."""
    ways = {}

    def get(name):
        if name not in ways:
            ways[name] = WAYS[name](module(steps), tmp_path_factory.mktemp(name.replace(" ", "-")), table(steps), TYPES)
        return ways[name]

    return get


def outcome(name, case, opened):
    return case(opened(name), generator(case.__name__))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
@pytest.mark.parametrize("name", [name for name in WAYS if name != "jit"])
def test_all_ways_agree(name, case, opened):
    if case is refused and name.endswith("direct"):
        pytest.skip("the direct level checks nothing: that is what it is for")
    wanted, found = outcome("jit", case, opened), outcome(name, case, opened)
    assert len(wanted) == len(found)
    for number, (one, other) in enumerate(zip(wanted, found, strict=True)):
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(other, one, err_msg=str(number))
        elif isinstance(one, float):  # a sum, in the order of the workers
            assert other == pytest.approx(one, rel=1e-12), number
        else:
            assert one == other, number


@pytest.mark.parametrize("name", [name for name in WAYS if name not in ("jit", "interpreter") and not name.endswith("direct")])
def test_overlapping_arguments_are_refused(name, opened):
    """Of a module; the JIT compiles for them."""
    x = np.ones(8, np.float32)
    failure = opened(name).run("axpy", 1.0, x[:5], x[3:])
    assert failure == Failure(ValueError, None) and "argument 2 'y'" in failure.text and x.sum() == 8


def test_what_they_agree_on_is_right(opened):
    """The reference itself, against NumPy."""
    draw = generator("dense")
    x, y = draw.normal(size=(2, 1000)).astype(np.float32)
    values = draw.normal(size=(17, 9))
    found = outcome("jit", dense, opened)
    np.testing.assert_allclose(found[0], 2.5 * x + y, rtol=1e-5, atol=1e-5)
    assert found[1] == pytest.approx(values.sum())
    np.testing.assert_array_equal(found[2], [1, -5, 7, 2.0**50, 2.0**32 - 1, 0.1, 0.5])
    i, j = np.indices((30, 30))
    painted = (i // 10 == j // 10) & (i >= 10)
    weight, a, *_ = outcome("jit", sparse, opened)
    np.testing.assert_allclose(a, np.where(painted, 3 * (i + 0.5 * j), 0), rtol=1e-6)
    assert weight == pytest.approx(float((3.0 * (i + 0.5 * j) + 3.0)[painted].sum()))
    good, wrong, ended, full, _ = outcome("jit", failing, opened)
    assert good == 17 and wrong.kind is AssertionError and "{x} must be positive, got -1 and 0.5, False" in wrong.text
    assert ended.kind is AssertionError and "kernel 'grow': assertion failed: x[0] is 1" in ended.text
    assert full == Failure(MemoryError, None)
    assert outcome("jit", refused, opened) == (TypeError, TypeError, TypeError)
