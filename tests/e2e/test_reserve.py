"""`t.reserve_for(kernel, ...)`: slots are counted before the kernel runs, exactly, and a launch then finds room."""

import re

import numpy as np
import pytest

import metate as mt

Places = mt.types.ndarray(dtype=mt.i32, ndim=1)
Places2 = mt.types.ndarray(dtype=mt.i32, ndim=2)

blocks = mt.types.SNodeTreeBuilder().pointer(mt.i, 64).dense(mt.i, 8).place(a=mt.i32).build()
nested = (
    mt.types.SNodeTreeBuilder().pointer(mt.ij, 8, name="outer").bitmasked(mt.ij, 2)
    .pointer(mt.ij, 4, name="inner").dense(mt.ij, 2).place(a=mt.i32).build()
)  # fmt: skip
hashed = mt.types.SNodeTreeBuilder().hash(mt.ij).pointer(mt.ij, 4).dense(mt.ij, 2).place(a=mt.i32).build()
lists = mt.types.SNodeTreeBuilder().pointer(mt.i, 32).dynamic(mt.j, 64, 4).place(a=mt.i32).build()


@mt.kernel
def scatter(f: blocks, x: Places):
    for k in range(x.shape[0]):
        f.a[x[k]] += 1


@mt.kernel
def scatter_nested(f: nested, x: Places2):
    for k in range(x.shape[0]):
        f.a[x[k, 0], x[k, 1]] += 1


@mt.kernel
def scatter_hashed(f: hashed, x: Places2):
    for k in range(x.shape[0]):
        for di, dj in mt.static(mt.ndrange(2, 2)):
            f.a[x[k, 0] + di, x[k, 1] + dj] += 1


@mt.kernel
def write_lists(f: lists, x: Places2):
    for k in range(x.shape[0]):
        f.a[x[k, 0], x[k, 1]] = k


@mt.kernel
def append_lists(f: lists, x: Places):
    for k in range(x.shape[0]):
        mt.append(f.dynamic1, [x[k]], k)


def slots(t):
    return {name: level.used for name, level in t.stats().items()}


def contents(t):
    """All that a tree holds, to compare: the bytes of its block, and on a device, where these have no view, what it says."""
    try:
        return bytes(t.block)
    except BufferError:
        return repr(t.stats()), *(part.tobytes() for part in t.a.cells())


def make_room(t, kernel, *arguments):
    """What `reserve_for` says of a tree that is too small, then room for it; nothing has changed in between."""
    before = contents(t)
    with pytest.raises(mt.CapacityError) as caught:
        t.reserve_for(kernel, *arguments)
    assert contents(t) == before
    t.migrate(capacity=caught.value.capacities)
    return t.reserve_for(kernel, *arguments)


def test_an_accumulating_kernel_finds_room(rng):
    t = blocks.new(capacity=3)
    x = rng.integers(0, 512, 300, dtype=np.int32)
    needed = make_room(t, scatter, t, x)
    assert needed == {"pointer0": len(np.unique(x // 8))}
    assert t.stats()["pointer0"].capacity == needed["pointer0"]
    scatter(t, x)
    assert slots(t) == needed
    assert (t.a.to_numpy() == np.bincount(x, minlength=512)).all()
    more = rng.integers(0, 512, 300, dtype=np.int32)
    needed = {"pointer0": len(np.unique(np.concatenate([x, more]) // 8))}
    try:
        assert t.reserve_for(scatter, t, more) == needed
    except mt.CapacityError as error:
        assert error.capacities == needed == {"pointer0": error.needed}
        t.migrate(capacity=error.capacities)
    scatter(t, more)
    assert slots(t) == needed
    assert (t.a.to_numpy() == np.bincount(x, minlength=512) + np.bincount(more, minlength=512)).all()


def test_all_levels_are_counted_at_once(rng):
    t = nested.new(capacity=2)
    x = rng.integers(-3, 130, (400, 2), dtype=np.int32)
    inside = x[((x >= 0) & (x < 128)).all(axis=1)]
    needed = make_room(t, scatter_nested, t, x)
    assert needed == {"outer": len(np.unique(inside // 16, axis=0)), "inner": len(np.unique(inside // 2, axis=0))}
    scatter_nested(t, x)
    assert slots(t) == needed
    assert t.a.to_numpy().sum() == len(inside)


def test_hash_levels_and_cells_counted_many_times(rng):
    t = hashed.new(capacity=1)
    x = rng.integers(-1000, 1000, (3000, 2), dtype=np.int32)
    cells = np.concatenate([x + [di, dj] for di in range(2) for dj in range(2)])
    needed = make_room(t, scatter_hashed, t, x)
    assert needed == {"hash0": len(np.unique(cells // 8, axis=0)), "pointer1": len(np.unique(cells // 2, axis=0))}
    scatter_hashed(t, x)
    assert slots(t) == needed


def test_chunks_of_lists(rng):
    t = lists.new(capacity=1)
    x = np.stack([rng.integers(0, 32, 40), rng.integers(0, 64, 40)], axis=1).astype(np.int32)
    longest = {}
    for i, j in x.tolist():
        longest[i] = max(longest.get(i, 0), j // 4 + 1)
    needed = make_room(t, write_lists, t, x)
    assert needed == {"pointer0": len(longest), "dynamic1": sum(longest.values())}
    write_lists(t, x)
    assert slots(t) == needed


def test_appends_are_counted_not_made(rng):
    t = lists.new(capacity=2)
    lengths = np.zeros(32, int)
    for _ in range(3):
        x = rng.integers(0, 32, 40, dtype=np.int32)
        lengths += np.bincount(x, minlength=32)
        try:
            needed = t.reserve_for(append_lists, t, x)
        except mt.CapacityError as error:
            t.migrate(capacity=error.capacities)
            needed = t.reserve_for(append_lists, t, x)
        assert needed == {"pointer0": (lengths > 0).sum(), "dynamic1": (-(-lengths // 4)).sum()}
        append_lists(t, x)
        assert slots(t) == needed
        assert [t.length(i) for i in range(32)] == lengths.tolist()


def test_a_list_that_would_be_too_long_is_no_want_of_slots():
    t = lists.new()
    with pytest.raises(mt.CapacityError, match="level 'dynamic1': a list would be longer than its 64 cells"):
        t.reserve_for(append_lists, t, np.zeros(65, np.int32))
    t.reserve_for(append_lists, t, np.zeros(64, np.int32))
    assert t.length(0) == 0


def test_a_loop_over_the_tree_that_it_grows_counts_its_cells_at_entry():
    t = blocks.new(capacity=8)
    t.a[100] = 1

    @mt.kernel
    def dilate(f: blocks):
        for i in f.a:
            f.a[i + 8] += 1
            f.a[i - 8] += 1

    for step in range(1, 4):
        assert t.reserve_for(dilate, t) == {"pointer0": 1 + 2 * step}
        dilate(t)
        assert slots(t) == {"pointer0": 1 + 2 * step}
    make_room(t, dilate, t)
    dilate(t)
    assert slots(t) == {"pointer0": 9}


def test_control_flow_and_local_variables_decide(rng):
    @mt.kernel
    def walk(f: blocks, x: Places, out: Places):
        for k in range(x.shape[0]):
            at = mt.Vector([0, 0, 0])
            total = 0
            for step in range(x[k] % 3 + 1):
                at[step] = x[k] // (step + 1)
                total += at[step]
            while total > 500:
                total //= 2
            if total % 2 == 0:
                f.a[total] += 1
            else:
                out[k] = total
            f.a[at[1]] += 1

    t = blocks.new(capacity=1)
    x = rng.integers(0, 500, 60, dtype=np.int32)
    touched = set()
    for value in x.tolist():
        at = [0, 0, 0]
        for step in range(value % 3 + 1):
            at[step] = value // (step + 1)
        total = sum(at)
        while total > 500:
            total //= 2
        if total % 2 == 0:
            touched.add(total // 8)
        touched.add(at[1] // 8)
    out = np.zeros(60, np.int32)
    try:
        needed = t.reserve_for(walk, t, x, out)
    except mt.CapacityError as error:
        t.migrate(capacity=error.capacities)
        needed = t.reserve_for(walk, t, x, out)
    assert needed == {"pointer0": len(touched)}
    assert not out.any()
    walk(t, x, out)
    assert slots(t) == needed


def test_what_an_iteration_writes_at_its_own_place_after_reading_it():
    @mt.kernel
    def move(f: blocks, x: Places):
        for k in range(x.shape[0]):
            f.a[x[k]] += 1
            x[k] += 100

    t = blocks.new()
    x = np.array([3, 9, 10], np.int32)
    assert t.reserve_for(move, t, x) == {"pointer0": 2}
    move(t, x)
    assert t.reserve_for(move, t, x) == {"pointer0": 4}


def test_several_trees_and_one_tree_twice(rng):
    @mt.kernel
    def both(f: blocks, g: blocks, x: Places):
        for k in range(x.shape[0]):
            f.a[x[k]] += 1
            g.a[511 - x[k] // 2] += 1

    t, u = blocks.new(), blocks.new()
    x = rng.integers(0, 512, 50, dtype=np.int32)
    first, second = set((x // 8).tolist()), set(((511 - x // 2) // 8).tolist())
    assert t.reserve_for(both, t, u, x) == {"pointer0": len(first)}
    assert u.reserve_for(both, t, u, x) == {"pointer0": len(second)}
    assert t.reserve_for(both, t, t, x) == {"pointer0": len(first | second)}
    with pytest.raises(mt.MetateError, match="expected a tree that is an argument of kernel 'both'"):
        blocks.new().reserve_for(both, t, u, x)


def test_templates_methods_and_results(rng):
    @mt.data_oriented
    class Scene:
        def __init__(self, step):
            self.step = step

        @mt.kernel
        def fill(self, f: blocks, n: mt.i32) -> mt.i32:
            for k in range(n):
                f.a[k * self.step] += 1
            return n

    @mt.kernel
    def stride(f: blocks, n: mt.template()):
        for k in range(n):
            f.a[8 * k] += 1

    t = blocks.new()
    assert t.reserve_for(Scene(8).fill, t, 5) == {"pointer0": 5}
    assert t.reserve_for(Scene(4).fill, t, n=5) == {"pointer0": 3}
    assert t.reserve_for(stride, t, 7) == {"pointer0": 7}
    assert slots(t) == {"pointer0": 0}


def test_random_numbers_are_those_of_the_next_launch():
    @mt.kernel
    def rain(f: blocks):
        for _ in range(40):
            f.a[mt.cast(mt.random(mt.f32) * 512, mt.i32)] += 1

    t = blocks.new()
    for _ in range(3):
        needed = t.reserve_for(rain, t)
        assert t.reserve_for(rain, t) == needed
        rain(t)
        assert slots(t) == needed


def test_a_kernel_that_activates_nothing_needs_what_is_there():
    @mt.kernel
    def double(f: blocks):
        for i in f.a:
            f.a[i] *= 2

    t = blocks.new()
    t.a[3] = 1
    assert t.reserve_for(double, t) == {"pointer0": 1}


@mt.kernel
def counted(f: blocks, count: Places):
    for _ in range(9):
        at = mt.atomic_add(count[0], 8)
        f.a[at] += 1


@mt.kernel
def twice(f: blocks, x: Places):
    for k in range(9):
        x[k] = 8 * k
    for k in range(9):
        f.a[x[k]] += 1


@mt.kernel
def asking(f: blocks, x: Places):
    for k in range(9):
        if not mt.is_active(f.a, [x[k]]):
            f.a[x[k] + 8] += 1


@mt.kernel
def after(f: blocks, x: Places):
    for k in range(9):
        f.a[x[k]] += 1
    for i in f.a:
        f.a[i + 8] += 1


@mt.kernel
def renewed(f: blocks, x: Places):
    for k in range(9):
        mt.deactivate(f.a, [x[k]])
        f.a[x[k]] += 1


REFUSED = {
    counted: (3, "what an atomic finds in 'count'"),
    twice: (4, "'x' here, which the kernel itself changes (line {2})"),
    asking: (2, "which cells of 'f.a' are active here, which the kernel itself changes (line {3})"),
    after: (3, "which cells of 'f.a' are active here, which the kernel itself changes (line {2})"),
    renewed: (3, "the order in which one task deactivates (line {2}) and activates cells of 'f.a'"),
}


@pytest.mark.parametrize("kernel", REFUSED, ids=lambda kernel: kernel.__name__)
def test_what_cannot_be_counted_is_said_with_its_line(kernel):
    first = kernel.source.first_line
    _, text = REFUSED[kernel]
    text = re.sub(r"\{(\d)\}", lambda match: str(first + 1 + int(match[1])), text)
    t = blocks.new()
    with pytest.raises(mt.MetateError) as caught:
        t.reserve_for(kernel, t, np.zeros(9, np.int32))
    assert f"kernel '{kernel.__name__}': its slots cannot be counted before it runs" in str(caught.value)
    assert f"which cells are activated depends on {text}" in str(caught.value)
    assert re.search(r"test_reserve\.py:\d+:\d+: ", str(caught.value))


def test_what_an_atomic_finds_in_a_quantised_float_cannot_be_counted():
    """A random kernel's find: the slice held the atomic, so counting changed the tree."""
    builder = mt.types.SNodeTreeBuilder()
    builder.pointer(mt.axes("i"), 64).dense(mt.axes("i"), 8).place(a=mt.f32)
    builder.dense(mt.axes("i"), 1).place(count=mt.types.quant.float(5, 11, True, mt.f32))
    both = builder.build()

    @mt.kernel
    def numbered(f: both):
        for _ in range(9):
            at = mt.atomic_add(f.count[0], 8.0)
            f.a[mt.cast(at, mt.i32)] += 1

    t = both.new()
    before = t.stats(), float(t.count[0])
    with pytest.raises(mt.MetateError, match=r"depends on what an atomic finds in 'f\.count'"):
        t.reserve_for(numbered, t)
    assert (t.stats(), float(t.count[0])) == before


def test_arguments_are_checked_as_in_a_call():
    t = blocks.new()
    with pytest.raises(mt.MetateError, match="expected a kernel, got 3"):
        t.reserve_for(3, t)
    with pytest.raises(mt.MetateError, match="missing a required argument: 'x'"):
        t.reserve_for(scatter, t)


def test_modules_bring_their_slices(tmp_path, rng):
    x = rng.integers(0, 512, 300, dtype=np.int32)
    sizes = {}
    for reserve in (True, False):
        module = mt.aot.Module(reserve=reserve).add_type(blocks, "blocks").add_kernel(scatter)
        file = module.save(tmp_path / f"m{reserve}.metate")
        sizes[reserve] = file.stat().st_size
        loaded = mt.aot.load(file)
        assert list(loaded.kernels) == ["scatter"]
        t = loaded.blocks.new(capacity=2)
        if reserve:
            assert make_room(t, loaded.scatter, t, x) == {"pointer0": len(np.unique(x // 8))}
            loaded.scatter(t, x)
            assert (t.a.to_numpy() == np.bincount(x, minlength=512)).all()
        else:
            with pytest.raises(mt.MetateError, match="its module was built without"):
                t.reserve_for(loaded.scatter, t, x)
    assert sizes[False] < sizes[True]
