"""Debug mode: what stops a kernel, what its message says, and what is written when it stops.

The table runs with one thread and with four; data is compared exactly, element by element, with what a
Python loop that stops at the same access leaves.
"""

import inspect
import mmap

import numpy as np
import pytest
from device_tests import IN_ORDER

import metate as mt

I1 = mt.types.ndarray(dtype=mt.i32, ndim=1)
I2 = mt.types.ndarray(dtype=mt.i32, ndim=2)
V1 = mt.types.ndarray(dtype=mt.types.vector(3, mt.f32), ndim=1)
vec3 = mt.types.vector(3, mt.i32)
Sparse = mt.types.SNodeTreeBuilder().pointer(mt.ij, 4, name="blocks").dense(mt.ij, 8).place(
    h=mt.f32, v=mt.types.vector(3, mt.f32), background=-1.0).build()  # fmt: skip
Dense = mt.types.SNodeTreeBuilder().dense(mt.i, 8).place(a=mt.i32, m=mt.types.matrix(2, 2, mt.f32)).build()
Deep = mt.types.SNodeTreeBuilder().dense(mt.i, 4).pointer(mt.i, 4, name="leaves").dense(mt.i, 2).place(d=mt.f32).build()


@pytest.fixture(params=[1, 4], ids=["serial", "parallel"])
def debug(request):
    with mt.Context(debug=True, threads=request.param) as context:
        yield context


@mt.kernel
def load(x: I1, y: I1, i: mt.i32):
    y[0] = x[i]


@mt.kernel
def store(x: I2, i: mt.i32, j: mt.i32):
    x[i, j] = 1


@mt.kernel
def atomic(x: I1, i: mt.i64):
    x[i] += 1


@mt.kernel
def unused(x: I1, i: mt.i32):
    a = x[i]  # noqa: F841  (nothing needs it)


@mt.kernel
def element(x: V1, i: mt.i32):
    x[i] = mt.Vector([1.0, 2.0, 3.0])


@mt.kernel
def element_component(x: V1, i: mt.i32, c: mt.i32):
    x[i][c] += 1.0


@mt.kernel
def local_component(y: I1, v: vec3, c: mt.i32):
    y[0] = v[c]


@mt.kernel
def local_matrix(y: I1, r: mt.i32, c: mt.u8):
    m = mt.Matrix([[1, 2], [3, 4], [5, 6]])
    m[r, c] = 7
    y[0] = m[0, 0]


@mt.func
def helper(x, i):
    return x[i + 1]


@mt.kernel
def inlined(x: I1, y: I1, i: mt.i32):
    y[0] = helper(x, i)


@mt.kernel
def sparse_load(f: Sparse, y: I1, i: mt.i32, j: mt.i32):
    y[0] = mt.i32(f[i, j].h)


@mt.kernel
def sparse_store(f: Sparse, i: mt.i32, j: mt.i32):
    f[i, j].h = 1.0


@mt.kernel
def sparse_component(f: Sparse, i: mt.i32, c: mt.i32):
    f[i, 0].v[c] += 1.0


@mt.kernel
def active(f: Sparse, y: I1, i: mt.i32):
    y[0] = mt.is_active(f.blocks, [i, 0])


@mt.kernel
def dense_atomic(f: Dense, i: mt.i32):
    f[i].a += 2


@mt.kernel
def dense_matrix(f: Dense, i: mt.i32, r: mt.i32):
    f[i].m[r, 1] = 2.0


@mt.kernel
def divide(y: I1, a: mt.i32, b: mt.i32):
    y[0] = a // b


@mt.kernel
def remainder(y: I1, a: mt.i32, b: mt.u32):
    y[0] = mt.i32(a % b)


@mt.kernel
def divide_vector(y: I1, a: vec3, b: vec3):
    y[0] = (a // b).sum()


@mt.kernel
def divide_by_literal(y: I1, a: mt.i32):
    y[0] = a // 0


@mt.kernel
def divide_raw(y: I1, a: mt.i32, b: mt.i32):
    y[0] = mt.raw_div(a, b) + mt.raw_mod(a, b)


@mt.kernel
def check(y: I1, a: mt.i32):
    assert a > 3, "a is small"
    y[0] = a


def line_of(kernel, text):
    lines, first = inspect.getsourcelines(kernel.__wrapped__)
    return next(first + k for k, line in enumerate(lines) if text in line)


def ints(*shape):
    return np.zeros(shape, np.int32)


# kernel, right arguments, wrong arguments, the source line that stops, the message behind "kernel 'name': ", the class
CASES = [
    (load, (ints(8), ints(1), 7), (ints(8), ints(1), 8), "= x[i]", "index out of range: x[8] of shape (8,)", IndexError),
    (load, (ints(1), ints(1), 0), (ints(0), ints(1), 0), "= x[i]", "index out of range: x[0] of shape (0,)", IndexError),
    (load, (ints(8), ints(1), 0), (ints(8), ints(1), -1), "= x[i]", "index out of range: x[-1] of shape (8,)", IndexError),
    (store, (ints(8, 5), 7, 4), (ints(8, 5), 10, 3), "x[i, j]", "index out of range: x[10, 3] of shape (8, 5)", IndexError),
    (store, (ints(8, 5), 0, 0), (ints(8, 5), 0, 5), "x[i, j]", "index out of range: x[0, 5] of shape (8, 5)", IndexError),
    (atomic, (ints(4), 3), (ints(4), 2**40), "+= 1", f"index out of range: x[{2**40}] of shape (4,)", IndexError),
    (atomic, (ints(4), 3), (ints(4), -(2**63)), "+= 1", f"index out of range: x[{-(2**63)}] of shape (4,)", IndexError),
    (unused, (ints(4), 3), (ints(4), 4), "x[i]", "index out of range: x[4] of shape (4,)", IndexError),
    (element, (np.zeros((4, 3), np.float32), 3), (np.zeros((4, 3), np.float32), 4), "x[i]",
     "index out of range: x[4] of shape (4,)", IndexError),
    (element_component, (np.zeros((4, 3), np.float32), 3, 2), (np.zeros((4, 3), np.float32), 3, 3), "x[i][c]",
     "index out of range: x[3, 3] of shape (4, 3)", IndexError),
    (local_component, (ints(1), [1, 2, 3], 2), (ints(1), [1, 2, 3], 3), "v[c]",
     "index out of range: component[3] of shape (3,)", IndexError),
    (local_matrix, (ints(1), 2, 1), (ints(1), -1, 1), "m[r, c]", "index out of range: component[-1] of shape (3,)", IndexError),
    (local_matrix, (ints(1), 2, 1), (ints(1), 2, 200), "m[r, c]", "index out of range: component[200] of shape (2,)", IndexError),
    (divide, (ints(1), 7, 2), (ints(1), 7, 0), "a // b", "division by zero", ZeroDivisionError),
    (remainder, (ints(1), 7, 2), (ints(1), 7, 0), "a % b", "division by zero", ZeroDivisionError),
    (divide_vector, (ints(1), [7, 8, 9], [1, 2, 3]), (ints(1), [7, 8, 9], [1, 0, 3]), "a // b",
     "division by zero", ZeroDivisionError),
    (divide_by_literal, None, (ints(1), 7), "a // 0", "division by zero", ZeroDivisionError),
    (divide_raw, (ints(1), 7, -2), (ints(1), 7, 0), "raw_div", "division by zero", ZeroDivisionError),
    (check, (ints(1), 4), (ints(1), 3), "assert", "assertion failed: a is small", AssertionError),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "right", "wrong", "text", "message", "kind"), CASES, ids=lambda c: getattr(c, "__name__", None)
)
def test_message(debug, kernel, right, wrong, text, message, kind):
    if right is not None:
        kernel(*right)
    before = [np.copy(a) for a in wrong if isinstance(a, np.ndarray)]
    with pytest.raises(kind) as caught:
        kernel(*wrong)
    place, _, rest = str(caught.value).partition(f": kernel '{kernel.__name__}': ")
    assert rest == message
    file, line, column = place.rsplit(":", 2)
    assert (file, int(line)) == (__file__, line_of(kernel, text))
    assert int(column) > 1
    for array, copy in zip([a for a in wrong if isinstance(a, np.ndarray)], before, strict=True):
        np.testing.assert_array_equal(array, copy)


TREE_CASES = [
    (sparse_load, Sparse, (ints(1), 31, 31), (ints(1), 32, 0), "index out of range: f.h[32, 0] of shape (32, 32)"),
    (sparse_load, Sparse, (ints(1), 0, 0), (ints(1), 0, -1), "index out of range: f.h[0, -1] of shape (32, 32)"),
    (sparse_store, Sparse, (31, 31), (3, 2**31 - 1), f"index out of range: f.h[3, {2**31 - 1}] of shape (32, 32)"),
    (sparse_component, Sparse, (31, 2), (31, 3), "index out of range: f.v[31, 0, 3] of shape (32, 32, 3)"),
    (active, Sparse, (ints(1), 3), (ints(1), 4), "index out of range: f.blocks[4, 0] of shape (4, 4)"),
    (dense_atomic, Dense, (7,), (8,), "index out of range: f.a[8] of shape (8,)"),
    (dense_matrix, Dense, (7, 1), (7, 2), "index out of range: f.m[7, 2, 1] of shape (8, 2, 2)"),
]


@pytest.mark.parametrize(("kernel", "type_", "right", "wrong", "message"), TREE_CASES, ids=lambda c: getattr(c, "__name__", None))
def test_message_of_a_tree(debug, kernel, type_, right, wrong, message):
    tree = type_.new()
    kernel(tree, *right)
    before = {name: getattr(tree, name).to_numpy() for name in type_.members}
    used = {name: level.used for name, level in tree.stats().items()}
    with pytest.raises(IndexError) as caught:
        kernel(tree, *wrong)
    assert str(caught.value).endswith(f": kernel '{kernel.__name__}': {message}")
    for name, array in before.items():
        np.testing.assert_array_equal(getattr(tree, name).to_numpy(), array)
    assert used == {name: level.used for name, level in tree.stats().items()}, "nothing was activated"


def test_inlined_functions_are_named_at_their_own_line(debug):
    with pytest.raises(IndexError) as caught:
        inlined(ints(4), ints(1), 3)
    assert f"{__file__}:{line_of(helper, 'return')}:" in str(caught.value)
    assert "kernel 'inlined': index out of range: x[4] of shape (4,)" in str(caught.value)


def bound(type_, **capacity):
    memory = mmap.mmap(-1, type_.bytes(capacity))
    return type_.bind(memory, capacity=capacity)


def test_capacity_stops_at_the_access(debug):
    tree = bound(Sparse, blocks=2)
    sparse_store(tree, 0, 0)
    sparse_store(tree, 9, 9)
    sparse_store(tree, 9, 10)  # a pool that is full is no error
    with pytest.raises(mt.CapacityError) as caught:
        sparse_store(tree, 20, 21)
    assert f"{__file__}:{line_of(sparse_store, 'f[i, j].h')}:5: kernel 'sparse_store': f.h[20, 21]: level 'blocks' needs" in str(
        caught.value
    )
    assert (caught.value.level, caught.value.capacity, caught.value.needed) == ("blocks", 2, 3)
    assert (tree[9, 9].h, tree[9, 10].h, tree[20, 21].h) == (1.0, 1.0, -1.0)
    with pytest.raises(mt.CapacityError):
        sparse_store(tree, 30, 0)
    assert tree[30, 0].h == -1.0


def test_capacity_of_an_explicit_activation(debug):
    @mt.kernel
    def grow(f: Deep, n: mt.i32, y: I1):
        for _ in range(1):
            for i in range(n):
                mt.activate(f.leaves, i)
                y[0] += 1

    tree, y = bound(Deep, leaves=3), ints(1)
    grow(tree, 3, y)
    with pytest.raises(mt.CapacityError, match=r"f\.leaves\[3\]: level 'leaves' needs at least 4 slots, its capacity is 3"):
        grow(tree, 5, y)
    assert y[0] == 6


# ---- what is written -------------------------------------------------------------------------------


@mt.kernel
def scatter(index: I1, divisor: I1, out: I1, count: I1):
    for k in range(index.shape[0]):
        count[k] += 1
        out[index[k]] = k // divisor[k]
        count[k] += 10


def expected_of(index, divisor, out, count, stop):
    """What one worker leaves that runs the iterations in order up to the wrong one."""
    for k in range(stop + 1):
        count[k] += 1
        if not 0 <= index[k] < len(out) or divisor[k] == 0:
            return
        out[index[k]] = k // divisor[k]
        count[k] += 10


@pytest.mark.parametrize("wrong", ["index", "divisor"])
def test_data_is_as_before_the_wrong_write(rng, wrong):
    n = int(rng.integers(2000, 4000))
    index, divisor = rng.permutation(n).astype(np.int32), rng.integers(1, 9, n).astype(np.int32)
    stop = int(rng.integers(600, n))
    index[stop], divisor[stop] = (n + 3, 1) if wrong == "index" else (index[stop], 0)
    for threads in (1, 4):
        out, count = np.full(n, -1, np.int32), ints(n)
        with mt.Context(debug=True, threads=threads):
            with pytest.raises(IndexError if wrong == "index" else ZeroDivisionError):
                scatter(index, divisor, out, count)
        assert count[stop] == 1, "what stood before the wrong access was done, what stands behind it was not"
        if threads == 1 and IN_ORDER:
            good, counted = np.full(n, -1, np.int32), ints(n)
            expected_of(index, divisor, good, counted, stop)
            np.testing.assert_array_equal(out, good)
            np.testing.assert_array_equal(count, counted)
        else:
            done = count == 11
            assert set(np.unique(count)) <= {0, 1, 11}
            assert (count == 1).sum() == 1
            np.testing.assert_array_equal(out[index[done]], np.flatnonzero(done) // divisor[done])
            touched = np.zeros(n, bool)
            touched[index[done]] = True
            assert (out[~touched] == -1).all()


@mt.kernel
def smooth(f: Sparse, g: Sparse, shift: mt.i32):
    for i, j in f:
        if i > 0 and i < 31 and j > 0 and j < 31:
            g[i, j].h = f[i - 1, j].h + f[i + 1, j].h + f[i, j - 1].h + f[i, j + shift].h


@mt.kernel
def sow(f: Sparse, where: I2, values: mt.types.ndarray(dtype=mt.f32, ndim=1)):
    for k in range(where.shape[0]):
        f[where[k, 0], where[k, 1]].h = values[k]


def test_right_programs_give_the_same_results(rng):
    """Checks change no result and no topology, with and without the optimisations that move accesses."""
    where = rng.permutation(32 * 32)[: int(rng.integers(3, 40))]
    where = np.stack([where // 32, where % 32], 1).astype(np.int32)
    values = rng.random(len(where), np.float32)
    results = []
    for options in ({}, {"debug": True}, {"debug": True, "hoist_leaves": False}, {"debug": True, "opt_level": 0, "threads": 4}):
        with mt.Context(**options):
            f, g = Sparse.new(), Sparse.new()
            sow(f, where, values)
            smooth(f, g, 1)
            results.append((g.h.to_numpy(), f.stats()["blocks"].used, g.stats()["blocks"].used))
    for result in results[1:]:
        np.testing.assert_array_equal(result[0], results[0][0])
        assert result[1:] == results[0][1:]


def test_a_stencil_that_leaves_the_tree_stops(debug):
    """The neighbours are read through a staged tile, which itself may reach outside; only the program's own reads count."""
    f, g = Sparse.new(), Sparse.new()
    sparse_store(f, 12, 30)
    smooth(f, g, 1)
    assert g.stats()["blocks"].used == 1
    with pytest.raises(IndexError, match=r"index out of range: f\.h\[\d+, 3[2-9]\] of shape \(32, 32\)"):
        smooth(f, g, 2)


def test_nothing_is_activated_before_a_check_that_fails(debug):
    """Activations are hoisted to once per leaf: not across what may stop the kernel before the first of them."""

    @mt.kernel
    def copy(f: Sparse, g: Sparse, x: I1, i0: mt.i32):
        for i, j in f:
            x[i0 + i - i] = 1
            g[i, j].h = f[i, j].h

    f, g, x = Sparse.new(), Sparse.new(), ints(4)
    sparse_store(f, 12, 30)
    with pytest.raises(IndexError):
        copy(f, g, x, 4)
    assert g.stats()["blocks"].used == 0
    copy(f, g, x, 3)
    assert g.stats()["blocks"].used == 1


def test_an_assert_before_an_activation_activates_nothing():
    """The same for assert, which release kernels may have too."""

    @mt.kernel(asserts=True)
    def copy(f: Sparse, g: Sparse, ok: mt.i32):
        for i, j in f:
            assert ok == 1
            g[i, j].h = f[i, j].h

    f, g = Sparse.new(), Sparse.new()
    sparse_store(f, 12, 30)
    with pytest.raises(AssertionError):
        copy(f, g, 0)
    assert g.stats()["blocks"].used == 0


def test_release_kernels_do_not_stop():
    """Division gives zero, a local component the last one, a sparse tree its background."""
    y = ints(1)
    divide(y, 7, 0)
    assert y[0] == 0
    local_component(y, [1, 2, 3], 3)
    assert y[0] == 3
    sparse_load(Sparse.new(), y, 40, 0)
    assert y[0] == -1


# ---- where it is chosen ----------------------------------------------------------------------------


def test_a_kernel_may_choose_for_itself():
    @mt.kernel(debug=True)
    def checked(y: I1, b: mt.i32):
        y[0] = 1 // b

    @mt.kernel(debug=False)
    def unchecked(y: I1, b: mt.i32):
        y[0] = 1 // b

    with pytest.raises(ZeroDivisionError):
        checked(ints(1), 0)
    with mt.Context(debug=True):
        unchecked(ints(1), 0)
    assert "metate.check" in checked.stages(ints(1), 0, stop_after="simplify")["simplify"]
    assert "metate.check" not in unchecked.stages(ints(1), 0, stop_after="simplify")["simplify"]


def test_modules(tmp_path):
    module = mt.aot.Module(targets=["x86-64-v2"], debug=True)
    module.add_kernel(store).add_kernel(sparse_store)
    loaded = mt.aot.load(module.save(tmp_path / "debug.metate"))
    x = ints(8, 5)
    loaded.store(x, 1, 2)
    assert x[1, 2] == 1
    with pytest.raises(IndexError, match=rf"{__file__}:\d+:\d+: kernel 'store': index out of range: x\[8, 0\] of shape \(8, 5\)"):
        loaded.store(x, 8, 0)
    with pytest.raises(IndexError, match=r"f\.h\[0, 32\] of shape \(32, 32\)"):
        loaded.sparse_store(Sparse.new(), 0, 32)


@pytest.mark.parametrize("stage", ["import", "simplify", "activate", "offload", "layout", "map"])
def test_a_dump_fed_back_gives_the_same_module(stage):
    """Checks survive in every stage's text."""
    from metate_native import _compiler

    module = mt.aot.Module(targets=["x86-64-v2"], debug=True)
    for kernel in (scatter, smooth, dense_matrix, divide_vector):
        module.add_kernel(kernel)
    text = module.source_module("debug").text(True)
    whole = _compiler.run_stages(text, "import", "pack", module.choices())
    dump = text if stage == "import" else _compiler.run_stages(text, "import", stage, module.choices())
    assert _compiler.run_stages(dump, stage, "pack", module.choices()) == whole


def test_the_command_line(tmp_path, capsys):
    from metate.cli import main

    program = tmp_path / "build_debug.py"
    program.write_text(
        "import metate as mt\n@mt.kernel\ndef put(x: mt.types.ndarray(dtype=mt.i32, ndim=1), i: mt.i32):\n    x[i] = 1\n"
    )
    assert main(["stages", str(program), "--stop-after", "simplify", "--debug"]) == 0
    assert "metate.check out_of_range" in capsys.readouterr().out
    assert main(["stages", str(program), "--stop-after", "simplify"]) == 0
    assert "metate.check" not in capsys.readouterr().out
    assert main(["build", str(program), "-o", str(tmp_path / "build_debug.metate"), "--debug"]) == 0
    with pytest.raises(IndexError, match=r"build_debug\.py:4:5: kernel 'put': index out of range: x\[2\] of shape \(2,\)"):
        mt.aot.load(tmp_path / "build_debug.metate").put(ints(2), 2)
