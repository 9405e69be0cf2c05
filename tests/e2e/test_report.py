"""kernel.report(): what the compiler did of each loop and why it declined, each outcome both ways, in two compilations."""

import numpy as np
import pytest

import metate as mt


@pytest.fixture(scope="module", autouse=True)
def context():
    with mt.Context(offline_cache=False) as made:
        yield made


@pytest.fixture(scope="module")
def arrays(context):
    """The report of a kernel over arrays, and the first line of its loops by their number."""
    histogram = mt.field(mt.i32, shape=64)

    @mt.kernel
    def over_arrays(a: mt.types.ndarray(mt.f32, 1), b: mt.types.ndarray(mt.f32, 1), n: mt.i32) -> mt.f32:
        total = 0.0
        for i in a:
            a[i] += 2.0
        for i in a:
            histogram[int(a[i])] += 1
        for i in a:
            total += a[i]
        for i in b:
            b[i] = a[i]
        for i in a:
            product = 0.0
            for k in range(n):
                product += a[k] * b[i]
            b[i] = product
        for i in a:
            shared = 0.0
            for k in range(n):
                if a[k] > 0.5:
                    shared += a[k]
            b[i] = shared
        for i in a:
            place = i
            while a[place] < 0.5:
                place = int(b[place])
            b[i] = place
        return total

    report = over_arrays.report(np.ones(64, np.float32), np.ones(64, np.float32), 4, target="x86-64-v3")
    return report, over_arrays.source.first_line


@pytest.fixture(scope="module")
def trees(context):
    x, y, near, sums = mt.field(mt.f32), mt.field(mt.f32), mt.field(mt.f32), mt.field(mt.f32)
    mt.root.pointer(mt.ij, 32).bitmasked(mt.ij, 16).place(x, y)
    mt.root.pointer(mt.ij, 32).dense(mt.ij, 16).place(near, sums)

    @mt.kernel
    def over_trees():
        for i, j in x:
            y[i, j] = x[i, j] + 1.0
        for i, j in near:
            sums[i, j] = near[i - 1, j] + near[i, j + 1]
        for i, j in near:
            near[i, j + 1] = near[i, j] + near[i + 40, j]
        for i, b, c in mt.ndrange(512, 32, 16):
            x[i, 16 * b + c] = 1.0
        for i, j in y:
            if y[i, j] > 2.0:
                mt.deactivate(y.parent(), [i, j])

    return over_trees.report(target="x86-64-v3"), over_trees.source.first_line


def outcomes(loop):
    return {(one.subject, one.outcome) for one in loop.remarks}


def test_atomics_and_reductions(arrays):
    report, first = arrays
    own, shared, total = (report.loop(first + line) for line in (3, 5, 7))
    assert {("atomics", "done"), ("vectors", "done")} <= outcomes(own)
    assert own.vector_width == 8 and own.kind == "parallel loop" and own.source == "for i in a:"
    assert {("atomics", "declined"), ("reductions", "declined"), ("atomics", "done")} <= outcomes(shared)
    assert "at most 16 pieces, each of which adds to a copy of its own" in shared.of("atomics")[1].text
    assert [one.text for one in shared.declined if one.subject == "reductions"] == [
        "no partial results for the atomic operation on 'histogram': its place depends on the iteration"
    ]
    assert ("reductions", "done") in outcomes(total) and total.vector_width == 8


def test_chunks_stores_and_lanes(arrays):
    report, first = arrays
    copy, product, walk = (report.loop(first + line) for line in (9, 11, 22))
    assert {("nontemporal stores", "done"), ("chunks", "done")} <= outcomes(copy)
    assert copy.of("chunks")[0].numbers["chunk_ns"] == 20000
    assert copy.of("chunks")[0].numbers["iterations"] > 1000
    assert ("lanes", "done") in outcomes(product) and product.vector_width == 16
    assert ("nontemporal stores", "declined") in outcomes(walk)
    assert walk.vector_width == 0
    [branches] = report.loop(first + 16).of("lanes")
    assert branches.text == "16 iterations run their inner loops side by side, as lanes of vectors"
    [far] = walk.of("lanes")
    assert far.text.startswith("iterations do not run their inner loops side by side: by the estimate")
    inner = report.loop(first + 13)
    assert (inner.kind, inner.line) == ("loop", first + 13)
    assert not inner.of("vectors")  # of its turns nobody makes vectors: of the iterations around it


def test_work_of_an_iteration(arrays):
    report, first = arrays
    own, copy = (report.loop(first + line).of("work")[0].numbers for line in (3, 9))
    assert {name: own[name] for name in ("read", "written", "operations", "cells", "row")} == {
        "read": 4, "written": 4, "operations": 1, "cells": 1, "row": 1,
    }  # fmt: skip
    assert (copy["read"], copy["written"], copy["operations"]) == (4, 4, 0)
    assert report.loop(first + 5).of("work")[0].numbers["gathered"] == 2
    assert not report.loop(first + 3).of("strides")  # contiguous arrays


def test_leaves_of_trees(trees):
    report, first = trees
    masked, staged, kept, made, given = (report.loop(first + line) for line in (2, 4, 6, 8, 10))
    assert {("masks", "done"), ("full leaves", "done"), ("rows", "declined"), ("conditionals", "done")} <= outcomes(masked)
    assert {("activity", "done")} <= outcomes(masked) and ("activity", "declined") not in outcomes(staged)
    assert staged.of("rows")[0].outcome == "done" and staged.of("rows")[0].numbers["loads"] == 2
    assert staged.of("work")[0].numbers["cells"] == 256
    assert {one.text.partition("staged: ")[2] for one in kept.of("rows")} == {
        "the loop writes it elsewhere than at its own cell, or changes which cells are active",
        "it is read beyond the neighbouring leaves",
    }
    assert ("slots", "done") in outcomes(made)
    assert ("deactivations", "done") in outcomes(given)


def test_stages_trees_and_code(trees):
    report, _ = trees
    assert [one.name for one in report.stages] == [
        "import", "simplify", "activate", "offload", "layout.x86-64-v3", "map.x86-64-v3", "emit",
    ]  # fmt: skip
    assert all(one.milliseconds > 0 for one in report.stages)
    assert report.compile_ms == pytest.approx(sum(one.milliseconds for one in report.stages))
    assert [one.members for one in report.trees] == [("x", "y"), ("near", "sums")]
    assert report.trees[0].levels[1][1:] == ("bitmasked ij 16x16", 8)
    entry = next(one for one in report.code if one.name == "metate_entry_over_trees")
    assert entry.bytes > 0 and any(one.text.startswith("ret") for one in entry.instructions)
    labels = {one.label for function in report.code for one in function.instructions if one.label}
    targets = {one.text.split()[-1] for function in report.code for one in function.instructions if one.text.startswith("j")}
    assert {one for one in targets if one.startswith(".")} <= labels
    lines = {one.line for function in report.code for one in function.instructions if one.file == report.file}
    assert {loop.line for loop in report.loops if loop.kind == "parallel loop"} <= lines


def test_it_prints_well(arrays):
    report, first = arrays
    lines = str(report).splitlines()
    assert lines[0].startswith("over_arrays(a: f32[:], b: f32[:], n: i32)") and "histogram" in lines[0]
    assert f"  line {first + 3}: for i in a:    (parallel loop, vectors of 8)" in lines
    assert any(line.startswith("    - reductions: no partial results for") for line in lines)
    assert repr(report).startswith("<report of kernel over_arrays for x86-64-v3: 11 loops")
    with pytest.raises(LookupError, match=r"line 1: expected one of a loop; loops begin at \d+"):
        report.loop(1)


def test_trees_that_are_arguments():
    cells = mt.SNodeTreeBuilder()
    cells.dense(mt.i, 4).place(value=mt.f32)
    Cells = cells.build()

    @mt.kernel
    def clear(f: Cells):
        for i in f.value:
            f.value[i] = 0.0

    [tree] = clear.report().trees
    assert (tree.name, tree.members, tree.bytes) == ("f", ("value",), Cells.bytes())


def test_a_context_keeps_reports():
    @mt.kernel
    def double(a: mt.types.ndarray()):
        for i in a:
            a[i] *= 2

    with mt.Context(reports=True, opt_level=1):
        with pytest.raises(mt.MetateError, match="complete without an argument"):
            double.report()
        double(np.ones(4, np.float32))
        assert double.report().signature == "double(a: f32[:])"
        double(np.ones(4, np.int32))
        assert double.report().trees == ()
        assert double.report().signature == "double(a: i32[:])"
        assert double.instances()[0].cache.startswith("not cached")
    with mt.Context(mt.interp, reports=True) as context:  # nothing is compiled there
        double(np.ones(4, np.float32))
        assert not context.holdings.reports


def test_what_an_index_depends_on_is_looked_at_once():
    @mt.kernel
    def scatter(a: mt.types.ndarray(mt.f32, 1)):
        for i in a:
            place = i
            for _ in mt.static(range(40)):  # the places by which it depends on i double with each
                place = (place ^ (place + 3)) + place
            a[place & 7] = 1.0

    assert len(scatter.report().loops) == 1
