"""The memory of a graph's intermediates, brought by a host in C: no byte more than planned, and nothing is allocated."""

import pathlib
import subprocess

import numpy as np
import pytest

import metate as mt
from metate import cli
from metate.graph import Arg, ArgKind, GraphBuilder

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
n = mt.Dim("n", min=1, max=1000)
line = mt.types.ndarray(mt.f32, ndim=1, contiguous=True)


@mt.kernel
def square(x: line, y: line):
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]


@mt.kernel
def add(x: line, y: line, z: line):
    for i in range(x.shape[0]):
        z[i] = x[i] + y[i]


def drawn():
    x, y = (Arg(ArgKind.NDARRAY, name, mt.f32, shape=(n,)) for name in "xy")
    builder = GraphBuilder()
    a, b, c, d = (builder.intermediate(name, mt.f32, (n,)) for name in "abcd")
    builder.dispatch(square, x, a)
    builder.dispatch(square, a, b)
    builder.dispatch(add, a, b, c)
    builder.dispatch(square, b, d)
    builder.dispatch(add, c, d, y)
    return builder.compile()


@mt.kernel
def where_large(x: line, y: line):
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            y[i] = 0.25 * x[i]


def turning():
    """`kept` goes from turn to turn; a, b and d are written anew in each, so that b takes the place that d has later."""
    x, y = (Arg(ArgKind.NDARRAY, name, mt.f32, shape=(n,)) for name in "xy")
    builder = GraphBuilder()
    kept, a, b, d = (builder.intermediate(name, mt.f32, (n,)) for name in ("kept", *"abd"))
    builder.dispatch(square, x, kept)
    turn = builder.create_sequential()
    turn.dispatch(square, kept, b)
    turn.dispatch(add, b, x, a)
    turn.dispatch(add, a, x, d)
    turn.dispatch(where_large, d, kept)
    builder.append(turn, count=3)
    builder.dispatch(add, kept, x, y)
    return builder.compile()


def turned(x):
    kept = x * x
    for _ in range(3):
        d = kept * kept + x + x
        kept = np.where(d > 0.5, np.float32(0.25) * d, kept)
    return kept + x


GRAPHS = pytest.mark.parametrize(
    "drawing, bytes_, wanted", [(drawn, 12096, lambda x: x**2 + x**4 + x**8), (turning, 12096, turned)], ids=["drawn", "turning"]
)


@GRAPHS
@pytest.mark.parametrize("flags", [[], ["-fsanitize=undefined", "-fno-sanitize-recover=all"]], ids=["", "ubsan"])
def test_a_host_brings_exactly_what_is_planned(tmp_path, flags, drawing, bytes_, wanted):
    mt.aot.Module(name="graph").add_graph("g", drawing()).save(tmp_path / "graph.o")
    assert f"graph_g_intermediates_BYTES_MAX UINT64_C({bytes_})" in (tmp_path / "graph.h").read_text()
    traps = [f"-Wl,--wrap={name}" for name in ("malloc", "free", "abort", "exit")]
    command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-g", *flags, f"-I{ROOT / 'abi'}", f"-I{tmp_path}"]
    subprocess.run([*command, HERE / "intermediates_host.c", tmp_path / "graph.o", "-o", tmp_path / "host", *traps], check=True)
    done = subprocess.run([tmp_path / "host"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    x = np.float32(0.25) * (np.arange(1000) % 5).astype("f4")
    for number, line_ in enumerate(lines):
        way, status, *values = line_.split()
        assert (way, status) == (("first", "last", "static")[number % 3], "0")
        count = (1, 63, 1000)[number // 3]
        found = np.array([float.fromhex(value) for value in values], "f4")
        np.testing.assert_allclose(found, wanted(x)[:count], rtol=1e-5)
    assert len(lines) == 9


def test_inspect_shows_the_pool(tmp_path):
    file = mt.aot.Module(name="graph").add_graph("g", drawn(), place={"intermediates": "sram"}).save(tmp_path / "graph.metate")
    shown = subprocess.run([ROOT / "build/bin/metate-run", "inspect", file], capture_output=True, text=True, check=True).stdout
    assert "    | intermediates: 4 arrays in 12096 bytes, 0 more than are needed at once; 16128 without sharing\n" in shown
    assert "    pool intermediates 12096 bytes, aligned to 64, in sram\n" in shown
    assert "    dim n          1 to 1000\n" in shown


def test_build_says_what_graphs_take(tmp_path, capsys):
    (tmp_path / "heat.py").write_text(
        f"import sys\nsys.path.insert(0, {str(HERE)!r})\nfrom test_graph_memory import drawn\npower = drawn()\n"
    )
    assert cli.main(["build", str(tmp_path / "heat.py"), "-o", f"{tmp_path}/", "--emit", "o"]) == 0
    note = "intermediates: 4 arrays in 12096 bytes, 0 more than are needed at once; 16128 without sharing"
    assert capsys.readouterr().out.splitlines()[-1] == f"graph power: {note}"
    assert f" *   {note}\n" in (tmp_path / "module.h").read_text()
