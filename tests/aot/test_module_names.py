"""Names of kernels, graphs, types and fields that meet in one module: refused where the kernel is defined, or told apart."""

import numpy as np
import pytest

import metate as mt
from metate.errors import CompilationError
from metate.graph import Arg, ArgKind, GraphBuilder

T = mt.types.SNodeTreeBuilder().dense(mt.i, 4).place(a=mt.f32).build()
line = mt.types.ndarray(mt.f32, 1)
heat = mt.field(mt.f32, shape=4)


@mt.kernel
def grow(x: line):
    for i in x:
        x[i] += 1


@mt.kernel
def warm(x: mt.f32):
    for i in heat:
        heat[i] += x


LINE = grow.__wrapped__.__code__.co_firstlineno + 1
TEXT = "kernel 'grown': expected a name of its own in the module, got that of a tree type"


def graph():
    builder = GraphBuilder()
    builder.dispatch(grow, Arg(ArgKind.NDARRAY, "x", mt.f32, ndim=1))
    return builder.compile()


@pytest.mark.parametrize("emit", ["metate", "o", "c"])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_kernel_and_a_type(tmp_path, emit, is_first):
    made = mt.aot.Module()
    made = (
        made.add_type(T, "grown").add_kernel(grow, name="grown")
        if is_first
        else made.add_kernel(grow, name="grown").add_type(T, "grown")
    )
    with pytest.raises(CompilationError) as refused:
        made.save(tmp_path / f"m.{emit}")
    assert str(refused.value).startswith(f"{__file__}:{LINE}:") and TEXT in str(refused.value)
    assert "hint: give the kernel another name (name=), or the type" in str(refused.value) and not list(tmp_path.iterdir())


def test_a_graph_and_a_type():
    made = graph()
    with pytest.raises(CompilationError, match=rf"{__file__}:\d+:.*{TEXT}"):
        mt.aot.Module().add_type(T, "grown").add_graph("grown", made).build()


def test_a_field_and_a_kernel():
    """Whose type was given a name."""
    with pytest.raises(CompilationError, match=TEXT):
        mt.aot.Module().add_field("grown", heat).add_kernel(grow, name="grown").build()


@pytest.mark.parametrize("is_first", [True, False])
def test_a_hidden_field_and_a_kernel(tmp_path, is_first):
    """Nobody said the name of the type: it gets another one, whichever kernel comes first."""
    made = mt.aot.Module()
    made = (
        made.add_kernel(grow, name="heat").add_kernel(warm) if is_first else made.add_kernel(warm).add_kernel(grow, name="heat")
    )
    opened = mt.aot.load(made.save(tmp_path / "m.metate"))
    assert list(opened.types) == ["warm_heat"] and set(opened.kernels) == {"heat", "warm"}
    tree, x = opened.types["warm_heat"].new(), np.zeros(3, np.float32)
    opened.warm(2.0, tree)
    opened.kernels["heat"](x)
    assert x[2] == 1


def test_names_of_their_own_are_taken(tmp_path):
    made = mt.aot.Module().add_type(T, "grown").add_kernel(grow).add_graph("both", graph())
    opened = mt.aot.load(made.save(tmp_path / "m.metate"))
    assert list(opened.types) == ["grown"] and set(opened.kernels) == {"grow", "both"}
