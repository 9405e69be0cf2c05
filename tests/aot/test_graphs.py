"""Graphs in modules: the JIT's numbers from Python, C by each call level, C++ and metate-run."""

import pathlib
import re
import subprocess

import numpy as np
import pytest

import metate as mt
from metate.errors import CompilationError, RuntimeTypeError_, RuntimeValueError_
from metate.graph import Arg, ArgKind, GraphBuilder

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
N = 8
ASSERT = "14"  # METATE_E_ASSERT
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-O1", "-g")

weights = mt.field(mt.f32, shape=16)


@mt.kernel
def begin(x: mt.types.ndarray(mt.f32, ndim=1), v: mt.f32):
    for i in weights:
        weights[i] = 0.25 * i
    for i in x:
        x[i] = v * i


@mt.kernel
def turn(x: mt.types.ndarray(mt.f32, ndim=1)):
    total = 0.0
    for i in x:
        assert x[i] < 1e6, f"x[{i}] is {x[i]}"
        total += x[i] * weights[i]
    for i in x:
        x[i] += total / 64
    for i in weights:
        weights[i] += 1


@mt.kernel
def jitter(x: mt.types.ndarray(mt.f32, ndim=1)):
    for i in x:
        x[i] += mt.random()


X, V = Arg(ArgKind.NDARRAY, "x", mt.f32, ndim=1), Arg(ArgKind.SCALAR, "v", mt.f32)
TURNS = Arg(ArgKind.SCALAR, "turns", mt.i32)


def drawn():
    builder = GraphBuilder()
    builder.dispatch(begin, X, V)
    again = builder.create_sequential()
    again.dispatch(turn, X)
    builder.append(again, count=TURNS)
    return builder.compile("steps")


@pytest.fixture(scope="module")
def graph():
    return drawn()


@pytest.fixture(scope="module")
def expected(graph):
    x = np.zeros(N, np.float32)
    graph.run({"x": x, "v": 0.5, "turns": 3})
    return x


def module(graph, **options):
    return mt.aot.Module(name="graph", **options).add_graph("steps", graph).add_field("weights", weights)


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_loaded_graph_gives_the_same(graph, expected, tmp_path):
    loaded = mt.aot.load(module(graph).save(tmp_path / "graph.metate"))
    assert loaded.steps.signature() == "steps(x: ndarray(f32, 1), v: f32, turns: i32, weights: weights)"
    assert list(loaded.graphs) == ["steps"] and loaded.graphs["steps"] is loaded.kernels["steps"]
    x = np.zeros(N, np.float32)
    loaded.graphs["steps"].run({"x": x, "v": 0.5, "turns": 3, "weights": loaded.types["weights"].new()})
    np.testing.assert_array_equal(x, expected)
    with pytest.raises(RuntimeTypeError_, match=r"graph 'steps': expected a dict .*'turns' is missing"):
        loaded.steps.run({"x": x, "v": 0.5, "weights": None})


def test_hosts_in_c_by_each_level(graph, expected, tmp_path):
    module(graph, debug=True).save(tmp_path / "graph.o")
    library = ROOT / "build/lib"
    run("gcc", "-std=c11", *WARNINGS, f"-I{tmp_path}", f"-I{ROOT / 'include'}", f"-I{ROOT / 'abi'}", HERE / "graph_host.c",
        tmp_path / "graph.o", f"-L{library}", f"-Wl,-rpath,{library}", "-lmetate", "-lm", "-o", tmp_path / "host")  # fmt: skip
    lines = run(tmp_path / "host").splitlines()
    for way, line in zip(("direct", "packed", "standard"), lines):
        name, status, *values = line.split()
        assert (name, status) == (way, "0")
        np.testing.assert_array_equal(np.array([float.fromhex(value) for value in values], np.float32), expected)
    text = r"test_graphs.py:\d+:\d+: kernel 'turn': assertion failed: x\[1\] is 1(\.0e9|000000000|e\+09)"
    assert lines[3] == ASSERT and re.search(text, lines[4]) and re.search(text, lines[5])
    assert "/* Graph 'steps'" in (tmp_path / "graph.h").read_text()


def test_a_host_in_cpp_and_metate_run(graph, expected, tmp_path):
    file = module(graph).save(tmp_path / "graph.metate")
    library = ROOT / "build/lib"
    run("clang++-22", "-std=c++20", *WARNINGS, f"-I{ROOT / 'include'}", f"-I{ROOT / 'abi'}", HERE / "graph_host.cpp",
        f"-L{library}", f"-Wl,-rpath,{library}", "-lmetate", "-o", tmp_path / "host")  # fmt: skip
    numbers = [float.fromhex(value) for value in run(tmp_path / "host", file).split()]
    np.testing.assert_array_equal(np.array(numbers, np.float32), expected)
    tool = ROOT / "build/bin/metate-run"
    assert re.search(r"^  graph steps: \d tasks", run(tool, "inspect", file), re.MULTILINE)
    run(tool, "verify", file)
    out = tmp_path / "x.npy"
    run(tool, "run", file, "steps", "x=zeros:[8]", "v=0.5", "turns=3", "weights=new", f"--save=x={out}")
    np.testing.assert_array_equal(np.load(out), expected)


def test_random_numbers_of_a_module_are_the_jits(tmp_path):
    builder = GraphBuilder()
    twice = builder.create_sequential()
    twice.dispatch(jitter, X)
    builder.append(twice, count=TURNS)
    builder.dispatch(jitter, X)
    with mt.Context(random_seed=5):
        graph = builder.compile("noise")
        loaded = mt.aot.load(mt.aot.Module().add_graph("noise", graph).save(tmp_path / "noise.metate"))
        one, two = np.zeros(N, np.float32), np.zeros(N, np.float32)
        graph.run({"x": one, "turns": 4})
        seed = 5 * 0xD1342543DE82EF95 & (1 << 64) - 1
        loaded.noise(x=two, turns=4, random_seed=seed)
    np.testing.assert_array_equal(one, two)


def test_what_add_graph_refuses(graph):
    with pytest.raises(RuntimeTypeError_, match=r"add_graph: expected a graph, got .*begin"):
        mt.aot.Module().add_graph("g", begin)
    with pytest.raises(RuntimeValueError_, match="a name of its own for each kernel, got 'g' twice"):
        mt.aot.Module().add_graph("g", graph).add_graph("g", graph)


def test_templates_are_given_when_the_graph_is_added(tmp_path):
    @mt.kernel
    def put(a: mt.template(), x: mt.types.ndarray(mt.f32, ndim=1), k: mt.template()):
        for i in x:
            x[i] = a[i] + k

    field = Arg(ArgKind.TEMPLATE, "field")
    builder = GraphBuilder()
    builder.dispatch(put, field, X, 3)
    graph = builder.compile("put")
    with pytest.raises(CompilationError, match="parameter 'field': expected a type that is complete"):
        mt.aot.Module().add_graph("put", graph).build()
    loaded = mt.aot.load(mt.aot.Module().add_graph("put", graph, {"field": weights}).save(tmp_path / "put.metate"))
    x = np.zeros(N, np.float32)
    graph.run({"field": weights, "x": x})
    y = np.zeros(N, np.float32)
    tree = loaded.types["field"].new()
    loaded.put.run({"x": y, "field": tree})
    assert (y == 3).all() and (x == weights.to_numpy()[:N] + 3).all()


PROGRAM = """
import metate as mt

X = mt.graph.Arg(mt.graph.ArgKind.NDARRAY, "x", mt.f32, ndim=1)


@mt.kernel
def double(x: mt.types.ndarray()):
    for i in x:
        x[i] *= 2


builder = mt.graph.GraphBuilder()
builder.dispatch(double, X)
builder.dispatch(double, X)
quadruple = builder.compile()
"""


def test_metate_build_takes_graphs(tmp_path, capsys):
    from metate.cli import main

    (tmp_path / "program.py").write_text(PROGRAM)
    assert main(["build", str(tmp_path / "program.py"), "-o", str(tmp_path / "program.metate")]) == 0
    assert "kernels quadruple," in capsys.readouterr().out
    x = np.arange(4, dtype=np.float32)
    mt.aot.load(tmp_path / "program.metate").quadruple(x)
    assert x.tolist() == [0, 4, 8, 12]
