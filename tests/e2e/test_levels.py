"""Levels beside dense and pointer, from kernels and from Python, against dictionaries and lists."""

import numpy as np
import pytest

import metate as ti

Points = ti.types.ndarray(dtype=ti.i32, ndim=2)
Out = ti.types.ndarray(dtype=ti.i32, ndim=1)


def tree(*levels, background=0, **members):
    node = ti.types.SNodeTreeBuilder()
    for kind, *arguments in levels:
        node = getattr(node, kind)(*arguments)
    return node.place(background=background, **(members or {"a": ti.i32})).build()


SHAPES = {
    "bitmasked": tree(("bitmasked", ti.ij, (12, 20)), background=7),
    "bitmasked below pointer": tree(("pointer", ti.ij, 4), ("bitmasked", ti.ij, (3, 5)), background=7),
    "bitmasked above dense": tree(("bitmasked", ti.ij, (4, 5)), ("dense", ti.ij, (3, 4)), background=7),
    "bitmasked above pointer": tree(("bitmasked", ti.ij, (2, 5)), ("pointer", ti.i, 2), ("dense", ti.ij, (3, 4)), background=7),
    "dense above bitmasked": tree(("dense", ti.i, 4), ("bitmasked", ti.ij, (3, 20)), background=7),
    "pointer": tree(("pointer", ti.ij, (4, 5)), ("pointer", ti.ij, (3, 4)), background=7),
}


def units(shape):
    """Cells of the last level that is not dense that share activity: how many of a along each axis."""
    below = [1, 1]
    for level in reversed(shape.levels):
        if level.kind != "dense":
            return below
        for axis, extent in zip(level.axes, level.extents):
            below["ij".index(axis)] *= extent


@pytest.mark.parametrize("name", SHAPES)
def test_cells_come_and_go(rng, name):
    shape = SHAPES[name]
    block = units(shape)

    @ti.kernel
    def write(f: shape, points: Points):
        for k in range(points.shape[0]):
            f.a[points[k, 0], points[k, 1]] = k + 100

    @ti.kernel
    def drop(f: shape, points: Points):
        for k in range(points.shape[0]):
            ti.deactivate(f.a, [points[k, 0], points[k, 1]])

    @ti.kernel
    def look(f: shape, active: Points, values: Points):
        for i, j in ti.ndrange(12, 20):
            active[i, j] = ti.is_active(f.a, [i, j])
            values[i, j] = f.a[i, j]

    @ti.kernel
    def walk(f: shape, seen: Points):
        for i, j in f.a:
            seen[i, j] += 1

    f, model, active = shape.new(), np.full((12, 20), 7), np.zeros((12, 20), bool)
    cell = lambda p: tuple(slice(k // n * n, k // n * n + n) for k, n in zip(p, block))
    for _ in range(3):
        points = np.unique(rng.integers(0, (12, 20), (30, 2)).astype(np.int32), axis=0)
        write(f, points)
        for k, p in enumerate(points.tolist()):
            model[tuple(p)] = k + 100
            active[cell(p)] = True
        dropped = rng.integers(0, (12, 20), (12, 2)).astype(np.int32)
        drop(f, dropped)
        for p in dropped.tolist():
            model[cell(p)], active[cell(p)] = 7, False
        got, values, seen = (np.zeros((12, 20), np.int32) for _ in range(3))
        look(f, got, values)
        walk(f, seen)
        assert (got == active).all() and (values == model).all() and (seen == active).all()
        assert (f.a.to_numpy() == model).all() and f.check() is None
    version = f.topology_version
    walk(f, seen)
    assert f.topology_version == version
    drop(f, np.argwhere(np.ones((12, 20), bool)).astype(np.int32))
    assert (f.a.to_numpy() == 7).all()
    last = [level for level in shape.levels if level.kind != "dense"][-1]
    assert last.kind == "bitmasked" or f.stats()[last.name].used == 0


def test_slots_in_use():
    """The host and a kernel read the same number of each level; what a task gives up counts until it ends."""
    builder = ti.types.SNodeTreeBuilder()
    builder.pointer(ti.i, 8, name="p").bitmasked(ti.i, 4).place(a=ti.i32)
    builder.dense(ti.i, 4).dynamic(ti.j, 20, 4, name="l").place(b=ti.i32)
    builder.hash(ti.ij, name="h").dense(ti.ij, 2).place(c=ti.i32)
    shape = builder.build()

    @ti.kernel
    def fill(f: shape):
        for k in range(5):
            f.a[4 * k] = 1
        for k in range(9):
            f.b[2, k] = 1
        for k in range(7):
            f.c[-2 * k, 1] = 1

    @ti.kernel
    def read(f: shape, out: ti.types.ndarray(dtype=ti.i64, ndim=1)):
        out[0] = ti.used(f.p)
        out[1] = ti.used(f.l)
        out[2] = ti.used(f.c)

    @ti.kernel
    def drop(f: shape) -> ti.i64:
        ti.deactivate(f.p, [1])
        return ti.used(f.p)

    f, out = shape.new(capacity={"h": 20}), np.zeros(3, np.int64)
    read(f, out)
    assert out.tolist() == [0, 0, 0]
    fill(f)
    read(f, out)
    assert out.tolist() == [5, 3, 7] == [f.stats()[name].used for name in "plh"]
    assert drop(f) == 5 and f.stats()["p"].used == 4
    read(f, out)
    assert out.tolist() == [4, 3, 7]


LISTS = {
    "alone": tree(("dynamic", ti.i, 40, 8)),
    "in dense": tree(("dense", ti.i, 6), ("dynamic", ti.j, 40, 8)),
    "in bitmasked": tree(("bitmasked", ti.j, 6), ("dynamic", ti.i, 40, 3)),
    "in pointer": tree(("pointer", ti.i, 3), ("dense", ti.i, 2), ("dynamic", ti.j, 40, 16)),
    "of blocks": tree(("dense", ti.i, 6), ("dynamic", ti.j, 40), ("dense", ti.k, 3)),
}


@pytest.mark.parametrize("name", ["in dense", "in bitmasked", "in pointer"])
def test_lists_grow_and_are_emptied(rng, name):
    shape = LISTS[name]
    swapped = name == "in bitmasked"

    @ti.kernel
    def push(f: shape, points: Points, at: Out):
        for k in range(points.shape[0]):
            at[k] = ti.append(f.a.parent(), points[k, 0], points[k, 1])

    @ti.kernel
    def lengths(f: shape, out: Out):
        for i in range(6):
            out[i] = f.a.parent().length(i)

    @ti.kernel
    def collect(f: shape, out: Points):
        for i, j in f.a:
            if ti.static(swapped):
                out[j, i] = f.a[i, j]
            else:
                out[i, j] = f.a[i, j]

    @ti.kernel
    def drop(f: shape, i: ti.i32):
        ti.deactivate(f.a.parent(), [i])

    f, model = shape.new(), {i: [] for i in range(6)}
    for _ in range(3):
        points = rng.integers(0, (6, 1000), (30, 2)).astype(np.int32)
        at = np.full(30, -1, np.int32)
        push(f, points, at)
        for (i, value), k in zip(points.tolist(), at.tolist()):
            model[i] += [None] * (k + 1 - len(model[i]))
            assert model[i][k] is None
            model[i][k] = value
        assert all(None not in each for each in model.values())
        gone = int(rng.integers(6))
        drop(f, gone)
        model[gone] = []
        got, out = np.zeros(6, np.int32), np.full((6, 40), -1, np.int32)
        lengths(f, got)
        collect(f, out)
        assert got.tolist() == [len(model[i]) for i in range(6)]
        for i, values in model.items():
            assert out[i].tolist() == values + [-1] * (40 - len(values))
        assert f.check() is None


def test_writing_behind_the_end_makes_the_list_longer():
    shape = tree(("dynamic", ti.i, 40, 8), background=5)

    @ti.kernel
    def write(f: shape, k: ti.i32):
        f.a[k] = k

    @ti.kernel
    def length(f: shape) -> ti.i32:
        return ti.length(f.a.parent(), [])

    f = shape.new()
    write(f, 10)
    assert length(f) == 11 and f.a.to_numpy().tolist() == [5] * 10 + [10] + [5] * 29
    write(f, 3)
    assert length(f) == 11
    write(f, 40)  # outside
    assert length(f) == 11 and f.stats()["dynamic0"].used == 2


def test_a_full_list_is_an_error():
    shape = tree(("dynamic", ti.i, 4, 2))

    @ti.kernel
    def push(f: shape, n: ti.i32, out: Out):
        for k in range(n):
            out[k] = ti.append(f.a.parent(), [], k)

    f, out = shape.new(), np.zeros(9, np.int32)
    push(f, 4, out)
    assert sorted(out[:4].tolist()) == [0, 1, 2, 3]
    with pytest.raises(ti.CapacityError):
        push(f, 1, out)


HASHES = {
    "hash": tree(("hash", ti.ij), background=3),
    "hash above dense": tree(("hash", ti.ij), ("dense", ti.ij, (4, 2)), background=3),
    "hash above bitmasked": tree(("hash", ti.ij), ("bitmasked", ti.ij, 4), background=3),
}


@pytest.mark.parametrize("name", HASHES)
def test_any_coordinates(rng, name):
    shape = HASHES[name]

    @ti.kernel
    def write(f: shape, points: Points):
        for k in range(points.shape[0]):
            f.a[points[k, 0], points[k, 1]] = k

    @ti.kernel
    def read(f: shape, points: Points, out: Out):
        for k in range(points.shape[0]):
            out[k] = f.a[points[k, 0], points[k, 1]]

    @ti.kernel
    def walk(f: shape, seen: Out):
        for I in ti.grouped(f.a):
            if f.a[I] != 3:
                seen[f.a[I]] += 1

    @ti.kernel
    def drop(f: shape, points: Points):
        for k in range(points.shape[0]):
            ti.deactivate(f.a, [points[k, 0], points[k, 1]])

    f = shape.new(capacity=4096)
    most = (1 << 31) - 1
    points = rng.integers(-most - 1, most + 1, (60, 2)).astype(np.int32)
    points[:2] = [[-most - 1, most], [0, -1]]
    points[2:30] //= 1 << 29
    points = np.unique(points, axis=0)[::-1].copy()
    write(f, points)
    out, seen = np.zeros(len(points), np.int32), np.zeros(len(points), np.int32)
    read(f, points, out)
    walk(f, seen)
    assert out.tolist() == list(range(len(points)))
    assert (np.delete(seen, 3) == 1).all()
    assert f.check() is None
    drop(f, points)
    read(f, points, out)
    assert (out == 3).all()
    write(f, points)
    read(f, points, out)
    assert out.tolist() == list(range(len(points)))


def test_the_set_at_entry_is_the_set_visited(rng):
    for shape in (SHAPES["bitmasked"], SHAPES["bitmasked below pointer"], SHAPES["pointer"]):

        @ti.kernel
        def spread(f: shape, seen: Points):
            for i, j in f.a:
                seen[i, j] += 1
                ti.deactivate(f.a, [i, j])
                f.a[(i + 5) % 12, (j + 7) % 20] = 1

        f, seen = shape.new(), np.zeros((12, 20), np.int32)
        cells = np.unique(rng.integers(0, (12, 20), (20, 2)), axis=0)
        for i, j in cells.tolist():
            f.a[i, j] = 9
        spread(f, seen)
        want = np.zeros((12, 20), np.int32)
        want[tuple(cells.T)] = 1
        assert (seen == want).all()


def test_loops_over_levels_give_their_own_coordinates():
    shape = tree(("pointer", ti.ij, 4), ("bitmasked", ti.ij, 2), ("dense", ti.ij, 3))

    @ti.kernel
    def blocks(f: shape, out: Points):
        for i, j in f.pointer0:
            out[i, j] += 1

    @ti.kernel
    def cells(f: shape, out: Points):
        for I in ti.grouped(f.bitmasked1):
            out[I] += 1

    f = shape.new()
    f.a[0, 0] = f.a[5, 6] = f.a[23, 23] = 1
    out, inner = np.zeros((4, 4), np.int32), np.zeros((8, 8), np.int32)
    blocks(f, out)
    cells(f, inner)
    assert sorted(map(tuple, np.argwhere(out == 1).tolist())) == [(0, 0), (0, 1), (3, 3)]
    assert sorted(map(tuple, np.argwhere(inner == 1).tolist())) == [(0, 0), (1, 2), (7, 7)]


def test_no_activate_leaves_cells_as_they_are():
    shape = tree(("bitmasked", ti.i, 16), background=2)

    @ti.kernel
    def add(f: shape, out: Out):
        for i in range(16):
            ti.no_activate(f)
            f.a[i] += 5
            out[i] = ti.atomic_add(f.a[i], 1)

    @ti.kernel
    def after(f: shape):
        for i in range(16):
            ti.no_activate(f.a)
            f.a[i] = 1
        for i in range(2):
            f.a[i] = 9

    f, out = shape.new(), np.zeros(16, np.int32)
    f.a[3] = 1
    add(f, out)
    assert f.a.to_numpy().tolist() == [2] * 3 + [7] + [2] * 12 and out.tolist() == [2] * 3 + [6] + [2] * 12
    after(f)
    assert f.a.to_numpy().tolist() == [9, 9, 2, 1] + [2] * 12


def test_no_activate_holds_in_functions_of_the_loop_but_not_in_real_ones():
    shape = tree(("bitmasked", ti.i, 16))

    @ti.func
    def put(f: ti.template(), i):
        f.a[i] = 1

    @ti.real_func
    def put_alone(f: ti.template(), i: ti.i32):
        f.a[i] = 2

    @ti.kernel
    def run(f: shape):
        for i in range(16):
            ti.no_activate(f)
            put(f, i)
            if i % 3 == 1:
                put_alone(f, i)
            f.a[i] += 5

    f = shape.new()
    f.a[3] = 3
    run(f)
    assert f.a.to_numpy().tolist() == [6 if i == 3 else 7 if i % 3 == 1 else 0 for i in range(16)]


def message(kernel, *arguments):
    with pytest.raises(ti.CompilationError) as caught:
        kernel(*arguments)
    return str(caught.value)


def test_what_cannot_be_is_said_with_a_caret():
    dense, block, rows = tree(("dense", ti.i, 4)), SHAPES["pointer"], LISTS["in dense"]

    @ti.kernel
    def deactivate_dense(f: dense):
        ti.deactivate(f, [0])

    @ti.kernel
    def append_to_pointer(f: block):
        ti.append(f.pointer0, [0, 0], 1)

    @ti.kernel
    def too_many(f: rows):
        ti.append(f.a.parent(), [0, 0], 1)

    @ti.kernel
    def one_of_a_list(f: rows):
        f.dynamic1.deactivate(0, 1)

    @ti.kernel
    def too_few(f: block):
        f.pointer0.deactivate(1)

    @ti.kernel
    def no_list(f: block):
        print(f.length(0))

    for kernel, shape, said in (
        (deactivate_dense, dense, "deactivate: the cells of 'a' are always active: all levels above are dense"),
        (append_to_pointer, block, "append: expected a dynamic level, got level 'pointer0' of tree 'f', a pointer level"),
        (too_many, rows, "expected 1 coordinate of the cell that list 'a@1' is in, got 2"),
        (one_of_a_list, rows, "expected 1 coordinate of the cell that list 'dynamic1' is in, got 2"),
        (too_few, block, "expected 2 coordinates for 'pointer0', got 1"),
        (no_list, block, "length: expected member 'a' of tree 'f' below a dynamic level"),
    ):
        text = message(kernel, shape.new())
        assert said in text and "^" in text


def test_trees_that_cannot_be_are_refused():
    builder = ti.types.SNodeTreeBuilder
    for build, said in (
        (lambda: builder().dense(ti.i, 4).dynamic(ti.i, 4), "expected axis i of a dynamic level in no other level"),
        (lambda: builder().dynamic(ti.i, 4).dense(ti.i, 4), "expected axis i of a dynamic level in no other level"),
        (lambda: builder().dynamic(ti.ij, 4), "dynamic: expected one axis"),
        (lambda: builder().dynamic(ti.i, 4, 0), "dynamic: expected a chunk_size of at least 1, got 0"),
        (lambda: builder().dense(ti.i, 4).hash(ti.ij), "hash: expected axes that no level above has, got i"),
        (lambda: ti.root.dense(ti.i, 4).hash(ti.ij), "hash: expected axes that no level above has, got i"),
        (lambda: ti.root.quant_array(ti.i, 4).dense(ti.i, 2), "dense: expected no level below a quant_array"),
    ):
        with pytest.raises(ti.TreeError, match=said):
            build()
    assert str(HASHES["hash"]) == '!metate.tree<#metate.hash<"ij", [#metate.place<"a" : i32, background = 3 : i32>]>>'
    assert HASHES["hash"].members["a"].shape == (None, None)
    assert "chunk = 40" in str(LISTS["of blocks"]) and LISTS["of blocks"].levels[1].chunk == 40
    assert ti.types.TreeType.from_blob(LISTS["alone"].blob) == LISTS["alone"]
    assert ti.types.TreeType.from_blob(HASHES["hash above dense"].blob) == HASHES["hash above dense"]


def test_deactivating_below_cells_without_an_ambient_slot():
    for top in [("pointer", ti.i, 2), ("hash", ti.i)]:
        shape = tree(top, ("dynamic", ti.j, 500000, 8), background=7)

        @ti.kernel
        def drop(f: shape, n: ti.i32):
            for q in range(n):
                ti.deactivate(f.dynamic1, [q])

        f = shape.new()
        f.a[0, 1], f.a[1, 2] = 5, 6
        drop(f, 1)
        assert (f.a[0, 1], f.a[1, 2]) == (7, 6)
        f.check()


BLOCKS = {
    "bitmasked dense": [("bitmasked", ti.i, 6), ("dense", ti.i, 4)],
    "bitmasked dense dense": [("bitmasked", ti.i, 6), ("dense", ti.i, 2), ("dense", ti.i, 2)],
    "pointer bitmasked dense": [("pointer", ti.i, 3), ("bitmasked", ti.i, 2), ("dense", ti.i, 4)],
    "dense bitmasked dense": [("dense", ti.i, 3), ("bitmasked", ti.i, 2), ("dense", ti.i, 4)],
    "pointer dense": [("pointer", ti.i, 6), ("dense", ti.i, 4)],
    "bitmasked": [("bitmasked", ti.i, 24)],
    "pointer bitmasked": [("pointer", ti.i, 6), ("bitmasked", ti.i, 4)],
}


@pytest.mark.parametrize("levels", BLOCKS.values(), ids=BLOCKS)
def test_a_loop_visits_what_its_own_iterations_deactivate(levels):
    """The first cell of a block gives all of it up; the others were active when the loop began."""
    shape = tree(*levels)

    @ti.kernel
    def fill(f: shape):
        for i in range(24):
            if i // 4 % 3 != 1:
                f.a[i] = i

    @ti.kernel
    def drop(f: shape, seen: ti.types.ndarray(ti.i32, 1)):
        for i in f.a:
            f.a.deactivate(i)
            seen[i] += 1

    f, seen = shape.new(), np.zeros(24, np.int32)
    fill(f)
    drop(f, seen)
    np.testing.assert_array_equal(seen, np.arange(24) // 4 % 3 != 1)
    seen[:] = 0
    drop(f, seen)
    assert not seen.any()
    f.check()


def test_debug_takes_negative_coordinates_of_a_hash():
    shape = tree(("hash", ti.i), ("dense", ti.i, 4), background=7)

    @ti.kernel
    def write(f: shape, i: ti.i64):
        f.a[i] = 5

    with ti.Context(debug=True):
        f = shape.new(capacity=16)
        for i in (3, -3, -(2**31), 2**31 - 1):
            write(f, i)
            assert f.a[i] == 5
        with pytest.raises(ti.errors.RuntimeIndexError_, match="out of range"):
            write(f, 2**31)


@pytest.mark.parametrize("serial", [True, False])
def test_a_kernel_that_stops_gives_its_slots_back(serial):
    shape = tree(("pointer", ti.i, 8), ("dense", ti.i, 4), background=7)

    @ti.kernel(asserts=True)
    def stop(f: shape, g: shape):
        if ti.static(serial):
            ti.deactivate(f.a, [0])
            ti.deactivate(g.a, [0])
            assert f.a[20] == 5
        else:
            for i in range(4):
                ti.deactivate(f.a, [i])
                ti.deactivate(g.a, [i])
                assert f.a[20] == 5

    with ti.Context(debug=True):
        f, g = shape.new(), shape.new()
        for i in range(0, 32, 4):
            f.a[i] = g.a[i] = i
        with pytest.raises(ti.errors.AssertionError_):
            stop(f, g)
        for each in (f, g):
            assert each.stats()["pointer0"].used == 7
            each.check()


def test_append_gives_the_fields_index_or_none():
    """With an offset along the list as well: -1 is nobody's index."""
    x = ti.field(ti.i32)
    ti.root.pointer(ti.i, 4).dynamic(ti.j, 2).place(x, offset=(-2, 1))

    @ti.kernel
    def add(i: ti.i32) -> ti.i32:
        return x[i].append(7)

    assert [add(-2), add(-2), add(5)] == [1, 2, -1] and [x[-2, 1], x[-2, 2]] == [7, 7]
    with pytest.raises(ti.CapacityError, match="a list is full"):
        add(-2)


def test_lists_whose_parents_go_are_walked_as_at_entry():
    shape = tree(("pointer", ti.i, 4), ("dynamic", ti.j, 10, 4), background=7)

    @ti.kernel
    def walk(f: shape, seen: Points):
        for i, j in f.a:
            seen[i, j] += 1
            ti.deactivate(f.pointer0, [(i + 1) % 4])

    f, seen = shape.new(), np.zeros((4, 10), np.int32)
    for i in range(4):
        for j in range(i + 3):
            f.a[i, j] = 1
    walk(f, seen)
    assert (seen == (np.arange(10) < np.arange(4)[:, None] + 3)).all()
    f.check()
