"""What the interpreter finds: small wrong programs with their findings, right programs with none."""

import pathlib
import re
import sys

import check_programs as programs
import numpy as np
import pytest

import metate as mt
from metate import context
from metate.errors import MetateError

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
SOURCE = pathlib.Path(programs.__file__).read_text().splitlines()
LINES = {line.rsplit("#: ", 1)[1]: number for number, line in enumerate(SOURCE, 1) if "  #: " in line}


def findings_of(run, checks="all", stage="import"):
    checks = checks.split(",") if checks not in ("", "all") else checks or ()
    with mt.Context(mt.interp, interp_stage=stage, checks=checks, stop=False) as ctx:
        run()
    return ctx.take_findings()


def _line_numbers(text):
    """`{NAME}` and `{NAME-2}` as lines of check_programs.py."""
    return re.sub(r"\{(\w+)(-\d)?\}", lambda match: str(LINES[match[1]] + int(match[2] or 0)), text)


@pytest.mark.parametrize(("name", "stage"), [(name, stage) for name, case in programs.CASES.items() for stage in case.stages])
def test_wrong_programs(name, stage):
    case = programs.CASES[name]
    found = findings_of(case.run, case.checks, stage)
    got = sorted((f.kind, f.line, f.iteration, f.message, f.count) for f in found)
    hint = "; which one stays is not defined: write a place from one iteration only, or with an atomic in all of them"
    expected = sorted(
        (kind, LINES[line], iteration, _line_numbers(message) + hint * (kind == "conflict"), count)
        for kind, line, iteration, message, count in case.findings
    )
    assert got == expected
    assert all(f.file == programs.__file__ for f in found)


@pytest.mark.parametrize("stage", programs.STAGES)
@pytest.mark.parametrize("name", programs.ORDERS)
def test_results_that_depend_on_the_order(name, stage):
    run, line, place = programs.ORDERS[name]
    number = r"-?[\d.]+"
    pattern = (
        f"{place} depends on the order of the iterations, {number} in order and {number} in another one"
        r"(, and so with \d+ more)?; an iteration needs what others write"
    )
    found = [f for f in findings_of(run, "order", stage) if "active cells" not in f.message]
    assert [(f.kind, f.line) for f in found] == [("order", LINES[line])]
    assert re.fullmatch(r"\(\d+\)", found[0].iteration)  # that wrote it last
    assert re.fullmatch(pattern, found[0].message), found[0].message


def test_the_set_of_active_cells_may_depend_on_the_order():
    messages = [f.message for f in findings_of(lambda: programs.spread(programs.Sparse.new()), "order")]
    assert any(m.startswith("the set of active cells of t depends on the order of the iterations") for m in messages)


def test_an_assert_that_fails_in_another_order():
    (found,) = findings_of(lambda: programs.falls_behind(programs.ints(0)), "order")
    assert (found.kind, found.line) == ("order", LINES["falls_behind"]) and found.iteration
    assert found.message == "depends on the order of the iterations; in another one: assertion failed: not in order"


def test_looking_for_the_order_leaves_the_result_of_the_first_run(rng):
    x, start = rng.integers(0, 9, 50).astype(np.int32), None
    start = x.copy()
    findings_of(lambda: programs.running_sum(x), "order")
    np.testing.assert_array_equal(x, np.cumsum(start))
    tree = programs.Sparse.new()
    findings_of(lambda: programs.spread(tree), "order")
    assert [tree[i, i].a for i in range(8)] == [-1.5, 1, 2, 3, 4, 5, 6, -1.5]


@pytest.mark.parametrize("stage", programs.STAGES)
@pytest.mark.parametrize("name", programs.RIGHT)
def test_right_programs(name, stage):
    assert findings_of(programs.RIGHT[name], ",".join(c for c in context.CHECKS if c != "overflow"), stage) == []


def test_only_what_the_user_wrote_overflows():
    """Floor division, powers and shifts are made of operations that wrap on the way."""
    x = programs.ints(3, -(2**31), 2**31 - 1, -1)

    @mt.kernel
    def work(x: programs.Ints, y: programs.Ints):
        for i in x:
            y[i] = x[i] // 3 + x[i] % 5 + (3 ** (i + 16) >> 20) + (x[i] << 7) % 3

    assert findings_of(lambda: work(x, np.zeros_like(x)), "overflow") == []


def test_where_a_function_was_called():
    (found,) = findings_of(lambda: programs.calls(programs.ints(2000)), "overflow")
    assert found.callers == [f"{programs.__file__}:{LINES['calls']}:16"] and found.kernel == "calls"
    assert repr(found).startswith(f"<finding overflow at {programs.__file__}:{LINES['cube']}:")


def test_calls_are_counted_at_one_place():
    def run():
        for _ in range(3):
            programs.column(np.zeros((2, 3), np.float32))

    (found,) = findings_of(run, "conflict")
    assert found.count == 9


def test_the_first_finding_stops_a_launch_if_asked():
    x = programs.ints(1, 2, 3, 4)
    with mt.Context(mt.interp, checks=["overflow"], stop=True) as ctx:
        with pytest.raises(MetateError, match=re.escape("2 * 2000000000 is 4000000000, which does not fit i32")):
            programs.grow(x, np.zeros(4, np.uint8), programs.Dense.new())
    assert [f.count for f in ctx.take_findings()] == [1]
    assert x.tolist() == [2000000000, 2, 3, 4]


def test_every_check_has_a_wrong_program():
    kinds = {kind for case in programs.CASES.values() for kind, *_ in case.findings} | {"order"}
    assert kinds == {*context.CHECKS, "bounds"}


def test_derivatives_that_are_zero():
    """All of a variable goes through what has the derivative zero: not where more is computed of it, or stop_grad."""

    def run():
        x, y, w, u, s = (mt.field(mt.f32, 4, needs_grad=True) for _ in range(5))
        loss = mt.field(mt.f32, (), needs_grad=True)

        @mt.kernel
        def count():
            for i in x:
                if x[i] > 0.5:  # all of x
                    loss[None] += 1.0
                loss[None] += mt.floor(y[i]) * 2 + mt.select(u[i] > 0, 1.0, 2.0)
                k = mt.cast(w[i], mt.i32)
                loss[None] += w[i] - k + mt.cast(mt.stop_grad(s[i]), mt.i32)

        for _ in range(2):
            with mt.ad.Tape(loss):
                count()

    first = next(k for k, line in enumerate(open(__file__), 1) if "# all of x" in line)
    found = [(f.kind, f.line, f.kernel, f.message.partition(",")[0], f.count) for f in findings_of(run, "")]
    words = "all that the kernel computes of '{}' goes through this {}"
    assert found == [
        ("gradient", first, "count", words.format("x", "comparison"), 1),
        ("gradient", first + 2, "count", words.format("y", "rounding"), 1),
        ("gradient", first + 2, "count", words.format("u", "comparison"), 1),
    ]


def test_debug_mode_does_not_end_what_goes_on():
    @mt.kernel(debug=True)
    def beyond(x: programs.Ints):
        for i in range(3):
            x[i + 1] = i

    for stage in programs.STAGES:
        (found,) = findings_of(lambda: beyond(programs.ints(0, 0)), "nan", stage)
        assert (found.kind, found.count, found.message) == ("bounds", 2, "index out of range: x[2] of shape (2,)")


# -- the examples -------------------------------------------------------------


def import_from(folder, *names):
    sys.path.insert(0, str(folder))
    try:
        return [__import__(name) for name in names]
    finally:
        sys.path.remove(str(folder))


def test_the_rfc_example_has_no_mistakes(capsys):
    (rfc,) = import_from(EXAMPLES / "rfc", "rfc")

    def run():
        one, two = rfc.sn1.new(), rfc.sn2.new()
        rfc.fill1(one, 2.0), rfc.fill2(two, 2.0), rfc.run1(one), rfc.run2(two)

    assert findings_of(run) == []


def test_the_demo_has_no_mistakes():
    demo, kernels = import_from(EXAMPLES / "demo", "demo", "kernels")
    size = 16
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 2) for z in (0, 3)], np.float32)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = np.array([three for a, b, c, d in quads for three in ((a, b, c), (a, c, d))], np.int32)

    def run():
        ks = kernels.kernels_for(size)
        points, vertex_normals, edge_normals, _ = demo.prepare_mesh(ks, corners, faces, size)
        keys, phi = ks.Keys.new(), ks.Phi.new()
        ks.voxelise(points, faces, keys)
        ks.sign(points, faces, vertex_normals, edge_normals, keys, phi)

    found = {(f.kernel, f.kind) for f in findings_of(run)}
    # Honest: triangles around a vertex are listed in any order, packed keys are cut apart by casts, and keys that
    # nobody has written are the background that `sign` asks for.
    # A sum of normals in fixed point has one bit more than f32.
    sums = {("find_vertex_normals", "lossy-cast")}
    assert found == {("list_incident", "order"), ("sign", "lossy-cast"), ("sign", "unwritten-read"), *sums}
