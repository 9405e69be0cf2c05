"""Loops over sparse fields that run in order, compiled, in debug mode, interpreted and from a module, against NumPy."""

import numpy as np
import pytest

import metate as ti


@pytest.fixture(autouse=True, params=["cpu", "debug", "interp"])
def context(request):
    with ti.Context(ti.interp if request.param == "interp" else ti.cpu, debug=request.param == "debug"):
        yield request.param


def in_order(active, *leaves):
    """The active cells of a plane, level by level: `leaves` are the extents of the cells of each level, from the outermost."""
    key = lambda at: tuple(c // extent for extent in (*leaves, 1) for c in at)
    return sorted(map(tuple, np.argwhere(active).tolist()), key=key)


def test_a_sweep_in_place(rng):
    """Gauss and Seidel's: each cell sees what the sweep has written before it."""
    x = ti.field(ti.f64)
    ti.root.pointer(ti.ij, 4).bitmasked(ti.ij, 4).place(x, offset=(-8, -8))

    @ti.kernel
    def fill(start: ti.types.ndarray(ti.f64, 2)):
        for i, j in start:
            if start[i, j] > 0:
                x[i - 8, j - 8] = start[i, j]

    @ti.kernel
    def sweep():
        ti.loop_config(serialize=True)
        for i, j in x:
            x[i, j] = 0.25 * (x[i - 1, j] + x[i, j - 1] + x[i + 1, j]) + x[i, j]

    start = np.where(rng.random((16, 16)) < 0.6, rng.random((16, 16)), 0.0)
    start[[0, -1]] = start[:, [0, -1]] = 0
    start[4:8, 8:12] = 0  # a whole leaf
    fill(start)
    sweep()
    want = np.pad(start, 1)
    for i, j in in_order(start > 0, 4):
        want[i + 1, j + 1] += 0.25 * (want[i, j + 1] + want[i + 1, j] + want[i + 2, j + 1])
    np.testing.assert_allclose(x.to_numpy(), want[1:-1, 1:-1], rtol=1e-12)


def test_the_order_of_cells(rng):
    tree = ti.types.SNodeTreeBuilder()
    outer = tree.dense(ti.i, 2).pointer(ti.ij, (2, 3), name="blocks")
    outer.bitmasked(ti.ij, (2, 2)).dense(ti.j, 2).place(a=ti.i32)
    outer.dynamic(ti.k, 10, 4).place(b=ti.i32)
    tree_type = tree.build()

    @ti.kernel
    def walk(t: tree_type, cells: ti.types.ndarray(ti.i32, 2), most: ti.i32) -> (ti.i32, ti.i32, ti.i32):
        n = 0
        ti.loop_config(serialize=True)
        for i, j in t.a:
            if n == most:
                break
            cells[n, 0] = 100 * i + j
            n += 1
        m = 0
        ti.loop_config(serialize=True)
        for I in ti.grouped(t.b):
            if I[2] == 1:
                continue
            cells[m, 1] = 100 * I[0] + 10 * I[1] + I[2]
            m += 1
        k = 0
        ti.loop_config(serialize=True)
        for i, j in t.blocks:
            cells[k, 2] = 10 * i + j
            k += 1
        return n, m, k

    active = rng.random((8, 12)) < 0.3
    active[2:4] = False
    t = tree_type.new()
    for i, j in rng.permutation(np.argwhere(active)).tolist():
        t.a[i, j] = 1
    cells = np.full((100, 3), -1, np.int32)
    lengths = {block: 1 + sum(block) for block in in_order(active.reshape(4, 2, 3, 4).any((1, 3)))}
    for (i, j), length in lengths.items():
        t.b[i, j, length - 1] = 1
    whole = np.repeat(active.reshape(8, 6, 2).any(2), 2, 1)  # pairs are active together
    # Along i halves, blocks, rows; along j blocks, pairs.
    key = lambda at: (at[0] // 4, at[0] // 2, at[1] // 4, at[0], at[1] // 2, at[1])
    want = sorted(map(tuple, np.argwhere(whole).tolist()), key=key)
    listed = [100 * i + 10 * j + k for (i, j), length in lengths.items() for k in range(length) if k != 1]
    for most in (1000, 7):
        n, m, k = walk(t, cells, most)
        assert cells[:n, 0].tolist() == [100 * i + j for i, j in want][:most]
        assert cells[:m, 1].tolist() == listed
        assert cells[:k, 2].tolist() == [10 * i + j for i, j in lengths]


def test_what_an_iteration_changes_ahead_is_seen():
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    ti.root.pointer(ti.i, 32).place(x)
    ti.root.bitmasked(ti.i, 8).dynamic(ti.j, 16, 4).place(y)

    @ti.kernel
    def run() -> ti.i32:
        x[3] = 1
        x[9] = 1
        x[20] = 1
        turns = 0
        ti.loop_config(serialize=True)
        for i in x:
            turns += 1
            if i < 8:
                x[i + 2] = x[i] + 1
            if i == 9:
                ti.deactivate(x.parent(), 20)
        return turns

    @ti.kernel
    def grow() -> ti.i32:
        y[2].append(1)
        y[2].append(2)
        y[5].append(3)
        turns = 0
        ti.loop_config(serialize=True)
        for i, j in y:  # a list's end is the one that it has when the loop comes to it
            turns += 1
            y[i].append(i)
            y[5].append(j)
        return turns

    assert run() == 4  # 3, 5, 7, 9
    assert [i for i in range(32) if x[i]] == [3, 5, 7, 9] and x[9] == 4
    assert grow() == 2 + 3
    assert [ti.length(y.parent(), 5), ti.length(y.parent(), 2)] == [9, 4]


def test_functions_and_modules(tmp_path, context):
    tree = ti.types.SNodeTreeBuilder()
    tree.pointer(ti.i, 8).dense(ti.i, 4).place(a=ti.i32)
    tree_type = tree.build()

    @ti.func
    def last(t):
        found = -1
        for i in t.a:  # in order, for the order matters
            if t.a[i] > 0:
                found = i
        return found

    @ti.real_func
    def first(t: ti.template()) -> ti.i32:
        for i in t.a:
            if t.a[i] > 0:
                return i
        return -1

    @ti.kernel
    def sum_up(t: tree_type) -> (ti.i32, ti.i32):
        ti.loop_config(serialize=True)
        for i in t.a:
            if i > 0:
                t.a[i] += t.a[i - 1]
        return first(t), last(t)

    given = np.array([0, 0, 3, 0, 5, 0, 0, 1] + 8 * [0] + [2, 0, 0, -9])
    want = given.copy()
    want[16:] = np.cumsum(given[16:])
    want[:8] = np.cumsum(given[:8])
    ways = [sum_up]
    if context == "cpu":
        module = ti.aot.Module()
        module.add_kernel(sum_up)
        module.save(tmp_path / "sums.metate")
        ways.append(ti.aot.load(tmp_path / "sums.metate").sum_up)
    for way in ways:
        t = tree_type.new()
        for i in np.flatnonzero(given)[::-1].tolist():
            t.a[i] = int(given[i])
        result = tuple(way(t))
        assert [t.a[i] for i in range(20)] == want.tolist()
        assert result == (2, int(np.flatnonzero(want > 0)[-1]))


def test_a_hash_level_has_no_order():
    x = ti.field(ti.i32)
    ti.root.hash(ti.i).place(x)

    @ti.kernel
    def run():
        ti.loop_config(serialize=True)
        for i in x:
            x[i] = 1

    with pytest.raises(ti.CompilationError, match=r"a loop over field .x. cannot run in order"):
        run()
