"""Real functions in modules: `add_function` gives them the entries of kernels, in every carrier."""

import pathlib
import re
import sys

import numpy as np
import pytest

import metate as mt
from metate import cli
from metate.errors import CompilationError, RuntimeTypeError_, RuntimeValueError_

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from carrier_ways import WAYS, Failure

vec3 = mt.types.vector(3, mt.f32)
Line = mt.types.SNodeTreeBuilder().dense(mt.i, 8).place(mt.types.Struct({"h": mt.f32})).build()


@mt.real_func
def binomial(n: mt.i32, k: mt.i32) -> mt.i64:
    """Ways to choose k of n."""
    if k == 0 or k == n:
        return 1
    return binomial(n - 1, k - 1) + binomial(n - 1, k)


@mt.real_func
def mixed(a: mt.f32, v: vec3, on: mt.u1) -> vec3:
    result = v * a
    if not on:
        result = -result
    return result


@mt.real_func
def spread(x: mt.types.ndarray(mt.f32, 1)) -> mt.f32:
    low, high = x[0], x[0]
    for i in range(x.shape[0]):
        low, high = min(low, x[i]), max(high, x[i])
    return high - low


@mt.real_func
def height(line: Line, i: mt.i32) -> mt.f32:
    assert i < 8, f"{i} is outside"
    return 2 * line[i].h


@mt.kernel
def rise(line: Line):
    for i in line:
        line[i].h = i


@mt.real_func
def changes(x: mt.ref(mt.f32)) -> mt.f32:
    x += 1
    return x


@mt.real_func
def nothing_said(x: mt.f32):
    return x


def module():
    made = mt.aot.Module(name="calls", asserts=True).add_type(Line, "line").add_kernel(rise)
    for function in (binomial, mixed, spread, height):
        made.add_function(function)
    return made


@pytest.mark.parametrize("name", [name for name in WAYS if not name.startswith(("jit", "interpreter"))])
def test_every_entry(name, tmp_path, rng):
    """The same by each carrier and level: scalars, vectors, arrays, trees; recursion and failures."""
    way = WAYS[name](module(), tmp_path, {}, {})
    x, line = rng.normal(size=40).astype(np.float32), way.tree("line")
    assert way.run("binomial", 10, 4) == 210
    np.testing.assert_allclose(way.run("mixed", 2.0, np.array([1, 2, 3], np.float32), False), [-2, -4, -6])
    assert way.run("spread", x) == pytest.approx(x.max() - x.min())
    way.run("rise", line)
    assert way.run("height", line, 3) == 6
    failure = way.run("height", line, 9)
    assert isinstance(failure, Failure) and failure.kind is AssertionError
    if failure.text is not None:
        assert re.match(
            r".*test_real_function_entries\.py:\d+:\d+: kernel 'height': assertion failed: 9 is outside$", failure.text
        ), failure


def test_hosts_see_the_function(tmp_path):
    loaded = mt.aot.load(module().save(tmp_path / "calls.so"))
    assert loaded.binomial.signature() == "binomial(n: i32, k: i32) -> i64"
    header = (tmp_path / "calls.h").read_text()
    lines = pathlib.Path(__file__).read_text().splitlines()
    place = re.search(r"Kernel 'binomial', \S*test_real_function_entries\.py:(\d+)\.", header)
    assert place and lines[int(place[1]) - 1] in ("@mt.real_func", "def binomial(n: mt.i32, k: mt.i32) -> mt.i64:")
    assert " *   Ways to choose k of n.\n" in header
    assert "int32_t calls_binomial(int32_t n, int32_t k, int64_t *result, void *const *pools," in header


def test_the_command_line_takes_functions_by_name(tmp_path, capsys):
    source = tmp_path / "app.py"
    source.write_text("""import metate as mt


@mt.real_func
def twice(x: mt.i32) -> mt.i32:
    return 2 * x


@mt.kernel
def four(x: mt.i32) -> mt.i32:
    return twice(twice(x))
""")
    assert cli.main(["build", str(source), "-o", str(tmp_path / "all.metate")]) == 0
    assert list(mt.aot.load(tmp_path / "all.metate").kernels) == ["four"]
    assert cli.main(["build", str(source), "-o", str(tmp_path / "one.metate"), "--kernel", "twice"]) == 0
    assert mt.aot.load(tmp_path / "one.metate").twice(21) == 42
    capsys.readouterr()


def test_what_is_refused():
    made = mt.aot.Module()
    with pytest.raises(
        RuntimeTypeError_, match=r"add_function: expected a real function, got 3; decorate it with @mt\.real_func"
    ):
        made.add_function(3)
    with pytest.raises(
        RuntimeTypeError_, match=r"real_func 'changes': parameter 'x': expected .*, got ref\(\.\.\.\), the caller"
    ):
        made.add_function(changes)
    with pytest.raises(RuntimeTypeError_, match="real_func 'nothing_said': expected an annotation of its result, got none"):
        made.add_function(nothing_said)
    with pytest.raises(RuntimeValueError_, match="a name of its own for each kernel, got 'binomial' twice"):
        made.add_function(binomial).add_function(binomial)
    with pytest.raises(CompilationError, match="module 'a-b'"):
        mt.aot.Module(name="a-b").add_function(binomial).build_library()
