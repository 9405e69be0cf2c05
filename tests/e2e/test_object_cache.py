"""The cache of compiled kernels: what is loaded from it and what is compiled anew, in programs that change between two starts.

A start is a new context here, with the program's text executed anew; what only another process can show runs in one.
"""

import json
import os
import re
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import metate as mt

pytestmark = pytest.mark.skipif("METATE_TEST_INTERP" in os.environ, reason="the reference interpreter's code is not cached")
LOADED, KEPT = "loaded", "compiled and cached"


class Program:
    """A program's text, run anew at each start with one cache."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, str(name)

    def start(self, text, **options):
        """(what its `main` gives, what became of its kernels)."""
        text = textwrap.dedent(text)
        mt.attach_source(self.name, text)
        with mt.Context(offline_cache=True, offline_cache_file_path=self.folder, **options):
            names = {"ti": mt, "np": np, "__name__": "program"}
            exec(compile(text, self.name, "exec"), names)
            result = names["main"]()
            owners = [names, *(vars(thing) for thing in names.values() if hasattr(thing, "_metate_data_oriented"))]
            kernels = [thing for owner in owners for thing in owner.values() if hasattr(type(thing), "__metate_kernel__")]
            found = [one.cache for kernel in kernels for one in kernel.instances()]
        return result, found

    def entries(self):
        return sorted(self.folder.glob("*.entry"))


@pytest.fixture
def program(tmp_path):
    return Program(tmp_path / "cache", tmp_path / "program.py")


CONSTANTS = """
    N = 3
    class Settings:
        gain = 2.0
        names = {"unused": 1}
    settings = Settings()
    def twice(x):
        return 2 * x
    @ti.func
    def shifted(x):
        return twice(x) + N
    @ti.func
    def unused(x):
        return x
    x = ti.field(ti.f32, shape=4)
    @ti.kernel
    def fill(a: ti.i32):
        for i in x:
            x[i] = shifted(i) * settings.gain + a / 2
    def main():
        fill(1)
        return x.to_numpy().tolist()
"""


def reference(n=3, gain=2.0, factor=2, quotient=0.5):
    return [(factor * i + n) * gain + quotient for i in range(4)]


def test_a_second_start_loads(program):
    assert program.start(CONSTANTS) == (reference(), [KEPT])
    assert program.start(CONSTANTS) == (reference(), [LOADED])


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("N = 3", "N = 5", reference(n=5)),
        ("gain = 2.0", "gain = 4.0", reference(gain=4.0)),
        ("return 2 * x", "return 3 * x", reference(factor=3)),
        ("twice(x) + N", "twice(x) + N + 1", reference(n=4)),
        ("ti.f32, shape=4", "ti.f64, shape=4", reference()),
        ("a / 2", "a // 2", reference(quotient=0)),
        ("a: ti.i32", "a: ti.f32", reference()),
    ],
)
def test_what_a_kernel_reads_is_part_of_its_key(program, before, after, expected):
    assert program.start(CONSTANTS)[1] == [KEPT]
    changed = CONSTANTS.replace(before, after)
    assert changed != CONSTANTS
    assert program.start(changed) == (expected, [KEPT])
    assert program.start(changed) == (expected, [LOADED])
    assert program.start(CONSTANTS) == (reference(), [LOADED])  # both are kept


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("N = 3", "# a comment\n\n    N = 3"),
        ("return x\n", "return x + 1\n"),
        ("def main", "OTHER = 7\n    def main"),
        ("gain = 2.0", "gain = 2.0\n        other = 3.0"),
        ('"unused": 1', '"unused": 2'),
    ],
)
def test_an_unrelated_change_keeps_what_is_cached(program, before, after):
    program.start(CONSTANTS)
    changed = CONSTANTS.replace(before, after)
    assert changed != CONSTANTS
    assert program.start(changed) == (reference(), [LOADED])


@pytest.mark.parametrize(
    "option", [{"default_fp": mt.f64}, {"default_ip": mt.i64}, {"opt_level": 1}, {"debug": True}, {"fast_math": True}]
)
def test_options_that_code_depends_on_are_part_of_the_key(program, option):
    program.start(CONSTANTS)
    assert program.start(CONSTANTS, **option) == (reference(), [KEPT])
    assert program.start(CONSTANTS, **option) == (reference(), [LOADED])
    assert program.start(CONSTANTS, threads=2, random_seed=3) == (reference(), [LOADED])


ASSERTION = """
    x = ti.field(ti.i32, shape=4)
    @ti.kernel
    def check(n: ti.i32):
        for i in x:
            assert x[i] < n, "too large"
    def main():
        try:
            check(0)
        except ti.AssertionError_ as error:
            return str(error)
"""


OF_A_GRAPH = """
    builder = ti.graph.GraphBuilder()
    builder.dispatch(check, 0)
    graph = builder.compile()
    _, check = check, graph.kernel
    def main():
        try:
            graph.run({})
"""


@pytest.mark.parametrize("text", [ASSERTION, re.sub(r"    def main.*check\(0\)\n", OF_A_GRAPH[1:], ASSERTION, flags=re.DOTALL)])
def test_lines_in_messages_are_right_after_they_moved(program, text):
    line = lambda text: int(re.search(r"program\.py:(\d+)", text)[1])
    first, (*_, state) = program.start(text, debug=True)
    assert state == KEPT and line(first) == 6
    assert program.start(text, debug=True) == (first, [LOADED])
    moved, state = program.start("\n\n\n" + text, debug=True)
    assert state == [KEPT] and line(moved) == 9
    assert program.start("\n\n\n" + text, debug=True) == (moved, [LOADED])


OBJECTS = """
    @ti.dataclass
    class Ball:
        centre: ti.math.vec2
        radius: ti.f32
        @ti.func
        def area(self):
            return 3 * self.radius ** 2
    @ti.data_oriented
    class Grid:
        def __init__(self, n, scale):
            self.n, self.scale, self.unread = n, scale, 0
            self.block = ti.root.pointer(ti.i, 8)
            self.x = ti.field(ti.f32)
            self.block.dense(ti.i, 4).place(self.x)
            self.balls = Ball.field(shape=4)
        @property
        def half(self):
            return self.scale / 2
        @ti.func
        def weight(self, i):
            return self.half * i
        @ti.kernel
        def fill(self):
            for i in range(self.n):
                self.x[i] = self.weight(i)
            for k in self.balls:
                self.balls[k].radius = k
        @ti.kernel
        def total(self, factor: ti.template(), out: ti.types.ndarray(dtype=ti.f32, ndim=1)) -> ti.f32:
            found = 0.0
            for i in self.x:
                found += self.x[i] * factor
            for k in self.balls:
                out[k] = self.balls[k].area() + ti.random()
            return found
        @ti.kernel
        def count(self) -> ti.i32:
            cells = 0
            for i in self.block:
                cells += 1
            return cells
    def main(n=10, scale=4.0, factor=3):
        grid, out = Grid(n, scale), np.zeros(4, np.float32)
        grid.fill()
        first = grid.total(factor, out)
        cells = grid.count()
        grid.n, grid.unread = 5, 1
        grid.x.fill(0)
        grid.fill()
        return first, cells, grid.x.to_numpy().sum().item(), out.tolist()
"""


def test_objects_trees_structs_templates_and_random_numbers(program):
    first, states = program.start(OBJECTS, random_seed=3)
    assert first[:3] == (sum(2.0 * i for i in range(10)) * 3, 3, sum(2.0 * i for i in range(5)))
    assert states == [KEPT] * 4  # fill is compiled again for another n
    assert program.start(OBJECTS, random_seed=3) == (first, [LOADED] * 4)
    other, states = program.start(OBJECTS, random_seed=4)
    assert states == [LOADED] * 4 and other[3] != first[3] and other[:3] == first[:3]
    changed, states = program.start(OBJECTS.replace("factor=3", "factor=5"), random_seed=3)
    assert states == [LOADED, LOADED, KEPT, LOADED] and changed[0] == first[0] / 3 * 5
    changed, states = program.start(OBJECTS.replace("scale / 2", "scale / 4"), random_seed=3)
    assert changed[2] == first[2] / 2 and states.count(LOADED) == 2  # total and count do not ask for half


SHARED = """
    tree = ti.root.dense(ti.i, 4)
    a, b = ti.field(ti.i32), ti.field(ti.i32)
    tree.place(a, b)
    c = a if SAME else ti.field(ti.i32, shape=4)
    @ti.kernel
    def add():
        for i in a:
            a[i] += i
            c[i] += b[i] + 10
    def main():
        b.fill(5)
        add()
        return a.to_numpy().tolist(), c.to_numpy().tolist()
"""


def test_which_fields_are_one_is_part_of_the_key(program):
    same, apart = ("    SAME = True" + SHARED, "    SAME = False" + SHARED)
    expected_same = ([15 + i for i in range(4)],) * 2
    expected_apart = (list(range(4)), [15] * 4)
    for state in (KEPT, LOADED):
        assert program.start(same) == (expected_same, [state])
        assert program.start(apart) == (expected_apart, [state])


@pytest.mark.parametrize(
    ("constant", "use", "reason"),
    [
        ("ITEMS = (k for k in range(3))", "sum(ITEMS)", "an object of builtins.generator cannot be described"),
        ("import time\n    NOW = time", "ti.static(NOW.time() > 0)", "time of time is not known to give the same result"),
        ("import sys\n    SYSTEM = sys", "len(ti.static(getattr(SYSTEM, 'path')))", "the module sys is used as a value"),
        ("N = 1", "ti.static_print(N)", "compiling it says something each time: static_print"),
        (
            "import functools\n    def f(x):\n        return x\n    @functools.wraps(f)\n    def around(x):\n        return x",
            "ti.static(around(2))",
            "is a function around another one",
        ),
        ("BIG = np.zeros(1 << 22)", "BIG[1]", "is not compared by its contents"),
    ],
)  # fmt: skip
def test_what_cannot_be_described_is_not_cached_and_says_so(program, constant, use, reason, capsys):
    text = f"""
    {constant}
    @ti.kernel
    def run() -> ti.i32:
        {use}
        return 4
    def main():
        return run()
    """
    for _ in range(2):
        result, (state,) = program.start(text)
        assert result == 4 and state.startswith("not cached: ") and reason in state


def test_a_kernel_that_warns_warns_each_time(program):
    text = """
    @ti.func
    def pair(x) -> ti.f32:
        return ti.Vector([x, x])
    @ti.kernel
    def run(a: ti.f64) -> ti.f32:
        return pair(a).x
    def main():
        return run(2.5), run(3.5)
    """
    told = []
    for start, state in ((text, KEPT), (text, LOADED), ("\n\n" + text, KEPT), ("\n\n" + text, LOADED)):
        with pytest.warns(UserWarning, match="its annotation says f32") as warned:
            assert program.start(start) == ((2.5, 3.5), [state])
        told.append([(str(one.message), one.category, one.filename, one.lineno) for one in warned])
    assert told[0] == told[1] and told[2] == told[3] and [one[3] for one in told[0]] == [4]
    assert [(*one[:3], one[3] + 2) for one in told[0]] == told[2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(UserWarning, match="its annotation says f32"):
                program.start(text)


def test_damaged_entries_count_as_absent(program, rng):
    program.start(CONSTANTS)
    kernel = max(program.entries(), key=lambda path: path.stat().st_size)
    good = kernel.read_bytes()
    bad = [b"", good[:20], good[:-1], good + b"\0", good[::-1]]
    for _ in range(3):
        data = bytearray(good)
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)
        bad.append(bytes(data))
    for data in bad:
        kernel.write_bytes(data)
        assert program.start(CONSTANTS) == (reference(), [KEPT])
        assert kernel.read_bytes() == good


def test_a_cleared_folder_and_one_that_cannot_be_written(program, tmp_path):
    program.start(CONSTANTS)
    for path in program.entries():
        path.unlink()
    assert program.start(CONSTANTS) == (reference(), [KEPT])
    program.folder = tmp_path / "file"
    program.folder.write_text("no folder")
    result, (state,) = program.start(CONSTANTS)
    assert result == reference() and state.startswith("not cached: ") and "file" in state


def test_with_the_cache_off_nothing_is_written(program):
    assert program.start(CONSTANTS.replace("N = 3", "N = 3"), print_ir=False)[1] == [KEPT]
    with mt.Context(offline_cache=False, offline_cache_file_path=program.folder / "other"):
        run = mt.kernel(_plain)
        assert run() == 1 and run.instances()[0].cache == "not cached: the cache is off"
    assert not (program.folder / "other").exists()


def _plain() -> mt.i32:
    return 1


def test_reserving_is_cached_too(program):
    text = """
    block = ti.root.pointer(ti.i, 8)
    x = ti.field(ti.i32)
    block.dense(ti.i, 4).place(x)
    @ti.kernel
    def fill(n: ti.i32):
        for i in range(n):
            x[i] = i
    def main():
        x._tree.reserve_for(fill, 10)
        fill(10)
        return int(x.to_numpy().sum())
    """
    for state in (KEPT, LOADED):
        assert program.start(text) == (45, [state])
    assert len(program.entries()) == 3  # the tree's layout, the kernel, the slice that counts


GRAPH = """
    rate = 2.0
    y = ti.field(ti.f32, shape=4)
    Ends = ti.types.argpack(x=ti.types.ndarray(ti.f32, 1), n=ti.i32)
    @ti.kernel
    def scale(x: ti.types.ndarray(ti.f32, 1), by: ti.f32):
        for i in x:
            x[i] = x[i] * rate + by
    @ti.kernel
    def noise(x: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            x[i] += ti.random()
    @ti.kernel
    def store(p: Ends, into: ti.template()):
        for i in p.x:
            into[i] = p.x[i] + p.n
    def drawn():
        Arg, kind = ti.graph.Arg, ti.graph.ArgKind
        x, turns = Arg(kind.NDARRAY, "x", ti.f32, ndim=1), Arg(kind.SCALAR, "turns", ti.i32)
        builder = ti.graph.GraphBuilder()
        turn = builder.create_sequential()
        turn.dispatch(scale, x, 0.5)
        turn.dispatch(noise, x)
        builder.append(turn, count=turns)
        builder.dispatch(store, Ends(x, turns), y)
        builder.dispatch(scale, x, 1.0)
        return builder.compile("steps")
    steps = drawn().kernel
    def main():
        found = []
        for _ in range(2):
            x = np.ones(4, np.float32)
            steps.run({"x": x, "turns": 2})
            found += [*x.tolist(), *y.to_numpy().tolist()]
        return found
"""


def test_graphs_are_cached(program):
    first, state = program.start(GRAPH, random_seed=3)
    assert state == [KEPT]
    assert np.floor(first[4]) in (7, 8, 9, 10) and first[:8] != first[8:]
    assert program.start(GRAPH, random_seed=3) == (first, [LOADED])
    other, state = program.start(GRAPH, random_seed=4)
    assert state == [LOADED] and other != first
    unrelated = GRAPH.replace("rate = 2.0", "# a comment\n    unused = 3\n    rate = 2.0")
    assert program.start(unrelated, random_seed=3) == (first, [LOADED])
    for before, after in (
        ("rate = 2.0", "rate = 3.0"),
        ("x[i] += ti.random()", "x[i] += 2 * ti.random()"),
        ("x, 0.5)", "x, 0.75)"),
        ("count=turns", "count=3"),
        ("builder.dispatch(scale, x, 1.0)", "builder.dispatch(noise, x)"),
        ("Ends(x, turns)", "Ends(x, 5)"),
        ('"steps"', '"other"'),
    ):
        changed = GRAPH.replace(before, after)
        assert changed != GRAPH
        result, state = program.start(changed, random_seed=3)
        assert state == [KEPT] and (result != first or after == '"other"')
        assert program.start(changed, random_seed=3) == (result, [LOADED])


PROCESS = """
    import json, sys
    import metate as ti
    ti.init(arch=ti.cpu)
    x = ti.Vector.field(2, ti.f32, shape=8)
    y = ti.field(ti.f32, shape=())
    x.fill(1)
    @ti.kernel
    def fill(a: ti.f32):
        for i in x:
            x[i] = [a, i]
    @ti.kernel
    def norms() -> ti.f32:
        s = y[None]
        for i in x:
            s += x[i].norm_sqr()
        return s
    fill(2)
    x[0] = [2, 3]
    y[None] = x.get_scalar_field(1)[5] + ti.f32(0.5)
    cells = y[None]
    slow = {"numpy", "dataclasses", "inspect", "pathlib", "hashlib", "argparse"} & sys.modules.keys()
    n = ti.graph.Arg(ti.graph.ArgKind.SCALAR, "n", ti.f32)
    builder = ti.graph.GraphBuilder()
    builder.dispatch(fill, n)
    graph = builder.compile()
    graph.run({"n": 2})
    x[0] = [2, 3]
    slow |= {"numpy"} & sys.modules.keys()
    mapped = open("/proc/self/maps").read()
    print(json.dumps({
        "sum": norms(), "cells": [cells, *x[0]], "slow": sorted(slow),
        "cache": [one.cache for kernel in (fill, norms, graph.kernel) for one in kernel.instances()],
        "compiler": "metate_native._compiler" in sys.modules or "libLLVM" in mapped or "libMLIR" in mapped,
    }))
"""


def test_processes_share_the_cache_and_load_neither_compiler_nor_what_is_slow(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(PROCESS))
    environment = os.environ | {"METATE_OFFLINE_CACHE": "1", "METATE_OFFLINE_CACHE_FILE_PATH": str(tmp_path / "cache")}
    begin = lambda: subprocess.Popen([sys.executable, file], env=environment, stdout=subprocess.PIPE, text=True)
    expected = sum(4.0 + i * i for i in range(8)) + 9 + 5.5
    both = [begin(), begin()]  # at once, in an empty cache
    for process in both:
        found = json.loads(process.communicate()[0])
        assert found["sum"] == expected and set(found["cache"]) <= {KEPT, LOADED}
    found = json.loads(begin().communicate()[0])
    assert found == {"sum": expected, "cells": [5.5, 2, 3], "cache": [LOADED] * 3, "slow": [], "compiler": False}
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700


def test_a_loaded_kernel_sees_what_changes(program):
    """A value read through a template argument is looked at again at each call."""
    text = """
    @ti.data_oriented
    class Counter:
        def __init__(self):
            self.n, self.table = 1, {"a": 2}
        @ti.kernel
        def get(self) -> ti.i32:
            return self.n + self.table["a"]
    def main():
        counter = Counter()
        found = [counter.get()]
        counter.n = 5
        found.append(counter.get())
        counter.table["a"] = 7
        found.append(counter.get())
        counter.n, counter.table["a"] = 1, 2
        return [*found, counter.get()]
    """
    for state in (KEPT, LOADED):
        assert program.start(text) == ([3, 7, 12, 3], [state] * 3)


def test_warnings_of_nothing(program):
    """Describing what kernels name calls nothing of the program."""
    text = """
    class Loud:
        n = 3
        @property
        def other(self):
            raise RuntimeError("called")
        def __eq__(self, other):
            raise RuntimeError("compared")
        __hash__ = None
    loud = Loud()
    @ti.kernel
    def run() -> ti.i32:
        other = 1
        return loud.n + other
    def main():
        return run()
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for state in (KEPT, LOADED):
            assert program.start(text) == (4, [state])
