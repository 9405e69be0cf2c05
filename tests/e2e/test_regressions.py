"""What once went wrong, one test each, named after what broke."""

import numpy as np
import pytest

import metate as ti

I32 = ti.types.ndarray(dtype=ti.i32, ndim=1)
Line = ti.types.SNodeTreeBuilder().pointer(ti.i, 4).dense(ti.i, 8).place(h=ti.i32).build()
Unsigned = ti.types.SNodeTreeBuilder().pointer(ti.i, 4).dense(ti.i, 8).place(u=ti.u32, background=7).build()
Pair = ti.types.vector(2, ti.i32)
Pairs = ti.types.SNodeTreeBuilder().pointer(ti.i, 4).dense(ti.i, 8).place(p=Pair, background=(5, 6)).build()
Single = ti.types.SNodeTreeBuilder().pointer(ti.i, 16).dense(ti.i, 1).place(h=ti.i32).build()


@ti.kernel
def cells_as_values(f: Line, out: I32):
    for _ in range(1):
        f[0] = 1
        f[1] = 2
        old = f[0]
        f[0] = 5
        out[0] = old
        f[0], f[1] = f[1], f[0]
        out[1] = f[0]
        out[2] = f[1]
        listed = [f[k] for k in ti.static(range(2))]
        f[0] = 77
        out[3] = listed[0]


def test_a_variable_keeps_the_value_of_a_cell_with_one_member():
    out = np.zeros(4, np.int32)
    cells_as_values(Line.new(), out)
    assert out.tolist() == [1, 2, 5, 2]


@ti.kernel
def elements_listed(x: I32, out: I32):
    for _ in range(1):
        listed = [x[k] for k in ti.static(range(2))]
        x[0] = 77
        out[0] = listed[0]


def test_a_comprehension_keeps_the_values_of_elements():
    out = np.zeros(1, np.int32)
    elements_listed(np.array([1, 2], np.int32), out)
    assert out[0] == 1


@ti.kernel
def failed_atomics(f: Unsigned, g: Pairs, out: I32):
    for _ in range(1):
        out[0] = ti.atomic_add(f[-1].u, 3)
        old = ti.atomic_add(g[-1].p, 1)
        out[1] = old[0]
        out[2] = old[1]
        out[3] = ti.atomic_add(g[32].p[1], 1)


def test_an_atomic_outside_a_sparse_tree_gives_the_background_of_any_type():
    out = np.zeros(4, np.int32)
    failed_atomics(Unsigned.new(), Pairs.new(), out)
    assert out.tolist() == [7, 5, 6, 6]


@ti.kernel
def counting_condition(x: I32, out: I32):
    for _ in range(1):
        n = 0
        while ti.atomic_add(x[0], 1) < 100:
            n += 1
            if n >= 3:
                break
        out[0] = n


def test_the_condition_of_while_is_not_asked_after_a_break():
    x, out = np.zeros(1, np.int32), np.zeros(1, np.int32)
    counting_condition(x, out)
    assert (x[0], out[0]) == (3, 3)


@ti.kernel
def wide_shifts(x: ti.types.ndarray(dtype=ti.i8, ndim=1), amount: I32, out: I32):
    for i in range(amount.shape[0]):
        out[2 * i] = x[0] << amount[i]
        out[2 * i + 1] = x[1] >> amount[i]


def test_a_shift_of_a_narrow_integer_by_256():
    out = np.full(6, 9, np.int32)
    wide_shifts(np.array([5, -5], np.int8), np.array([256, 2**31 - 1, 1], np.int32), out)
    assert out.tolist() == [0, -1, 0, -1, 10, -3]


@ti.kernel
def to_u64(x: ti.types.ndarray(dtype=ti.f32, ndim=1), out: ti.types.ndarray(dtype=ti.u64, ndim=1)):
    for i in range(x.shape[0]):
        out[i] = ti.u64(x[i])


def test_negative_floats_wrap_in_u64():
    x = np.array([-1, -300, -2.5, 5, 1e19] * 5, np.float32)
    out = np.zeros(len(x), np.uint64)
    to_u64(x, out)
    assert out.tolist() == [int(v) % 2**64 for v in x.tolist()]


@ti.kernel
def wrapping_bound(x: I32, out: I32):
    for _ in range(1):
        n = 0
        for _ in range(x[0] + 1):
            n += 1
            if n > 5:
                break
        out[0] = n


def test_the_bound_of_a_loop_wraps():
    out = np.full(1, -1, np.int32)
    wrapping_bound(np.array([2**31 - 1], np.int32), out)
    assert out[0] == 0


@ti.kernel
def fill(f: Single):
    for i in range(16):
        f[i] = 1


@ti.kernel
def count_new(f: Single, g: Single, out: I32):
    for i in f:
        if not ti.is_active(g, i):
            out[0] += 1
        g[i] = 1


def test_a_cell_is_inactive_before_the_store_that_activates_it():
    f, g, out = Single.new(), Single.new(), np.zeros(1, np.int32)
    fill(f)
    count_new(f, g, out)
    count_new(f, g, out)
    assert out[0] == 16


@ti.kernel
def two_sums(a: I32, b: I32):
    for i in range(a.shape[0]):
        a[i] += 1
        b[i] += 1


def test_atomics_of_overlapping_arguments_stay_atomic():
    x = np.zeros(100001, np.int32)
    two_sums(x[:-1], x[1:])
    assert x.tolist() == [1] + [2] * 99999 + [1]
    (aliased,) = [instance for instance in two_sums.instances() if instance.may_alias]
    assert aliased


TwoInLeaf = ti.types.SNodeTreeBuilder().pointer(ti.i, 3).pointer(ti.i, 2).place(a=ti.i32, b=ti.i32, background=7).build()


@ti.kernel
def copy_own(f: TwoInLeaf, g: TwoInLeaf):
    for i in f.a:
        g[i].b = f[i].b + 1
        g[i].a = 10 * i


@ti.kernel
def fill_two(f: TwoInLeaf):
    for i in range(5):
        f[i].b = i


@ti.kernel
def read_own(f: TwoInLeaf, g: TwoInLeaf, out: I32):
    for i in f.a:
        out[i] = g[i].b


def test_the_second_member_of_a_pointer_leaf_of_another_tree():
    f, g, out = TwoInLeaf.new(), TwoInLeaf.new(), np.zeros(6, np.int32)
    fill_two(f)
    read_own(f, g, out)
    assert out.tolist() == [7] * 5 + [0]
    copy_own(f, g)
    read_own(f, g, out)
    assert out.tolist() == [1, 2, 3, 4, 5, 0]
    assert [g[i].a for i in range(6)] == [0, 10, 20, 30, 40, 7]
    g.check()


def add_one(o):
    o[0] += 1
    return o[0]


def digits(a, b):
    return a * 100 + b


def in_order(o, one, two):
    o[1] = two(o[0], one(o))
    o[2] = max(o[0], one(o) * 0)
    o[3] = two(b=o[0], a=one(o))
    o[4] //= one(o)
    o[0] //= one(o) - 1


add_one_func, digits_func = ti.func(add_one), ti.func(digits)


@ti.kernel
def argument_order(o: I32):
    for _ in range(1):
        o[1] = digits_func(o[0], add_one_func(o))
        o[2] = max(o[0], add_one_func(o) * 0)
        o[3] = digits_func(b=o[0], a=add_one_func(o))
        o[4] //= add_one_func(o)
        o[0] //= add_one_func(o) - 1


def test_an_argument_is_read_before_the_next_one_writes_to_it():
    start = [10, 0, 0, 0, 1000]
    expected, out = list(start), np.array(start, np.int32)
    in_order(expected, add_one, digits)
    argument_order(out)
    assert out.tolist() == expected


def test_a_written_array_whose_elements_overlap_is_refused():
    """Iterations own the elements they index: two indices of one element would race."""

    @ti.kernel
    def bump(x: ti.types.ndarray(ti.i32, 2)):
        for i, j in ti.ndrange(x.shape[0], x.shape[1]):
            x[i, j] += 1

    base = np.zeros(20, np.int32)
    windows = np.lib.stride_tricks.as_strided(base, (8, 4), (4, 4))
    with pytest.raises(ti.RuntimeError_, match=r"argument 0 'x'.*may overlap each other"):
        bump(windows)
    assert not base.any()
    apart = np.zeros((6, 10), np.int32)
    for view in (apart[::2, 1::3], apart.T[3:8], apart[::-1, ::-2]):
        bump(view)
        assert (view == 1).all() and apart.sum() == view.size
        apart[:] = 0


def test_starred_and_named_arguments_of_built_in_functions_count():
    bounds, choice = (1, 5), (False, 1.0, 2.0)

    @ti.kernel
    def k(x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in range(*bounds):
            x[i] = len(x)
        x[5] = ti.select(*choice)
        x[6] = sum(ti.Vector([1.0, 2.0]), start=5.0)
        x[7] = ti.Vector([1.0, 2.0]).normalized(eps=20.0)[0]

    x = np.zeros(8, np.float32)
    k(x)
    np.testing.assert_allclose(x, [0, 8, 8, 8, 8, 2, 8, 0.2], rtol=1e-6)


def test_checks_of_two_accesses_with_indices_of_their_own_stay_apart(rng):
    """Their ends were merged into one block whose parameters were no LLVM values: a debug kernel with two did not compile."""
    T = ti.types.SNodeTreeBuilder().pointer(ti.i, 64).dense(ti.i, 8).place(a=ti.f64, n=ti.i32).build()

    @ti.kernel
    def scatter(t: T, at: ti.types.ndarray(ti.i32, 1)):
        for i in range(at.shape[0]):
            t.n[at[i]] += 1
            t.a[at[i]] = 0.5 * at[i]

    at = rng.integers(0, 512, 100).astype(np.int32)
    with ti.Context(debug=True):
        tree = T.new()
        scatter(tree, at)
    assert (tree.n.to_numpy() == np.bincount(at, minlength=512)).all()


def test_a_loop_over_a_level_whose_parent_has_a_namesake_in_another_branch():
    builder = ti.types.SNodeTreeBuilder()
    builder.pointer(ti.ij, (3, 8)).dense(ti.j, 2, name="rows").place(a=ti.i32)
    builder.pointer(ti.j, 7).dense(ti.ij, 2).place(b=ti.i32)  # its pointer is named pointer0 as well
    Twins = builder.build()

    @ti.kernel
    def mark(f: Twins):
        for i, j in f.rows:
            f.a[i, j] = 10 * i + j

    tree = Twins.new()
    tree.a[1, 3] = -1
    mark(tree)
    assert tree.a[1, 2] == 12 and tree.a[1, 3] == 13 and not tree.a.is_active(0, 3)


def test_a_vector_of_the_module_that_is_changed_under_a_condition():
    start = ti.Vector([1.0, 2.0])

    @ti.kernel
    def run(out: ti.types.ndarray(dtype=ti.f32, ndim=2)):
        for i in range(out.shape[0]):
            v = start
            if i > 1:
                v += ti.Vector([1.0, 1.0])
            out[i, 0], out[i, 1] = v[0], v[1]

    out = np.zeros((4, 2), np.float32)
    run(out)
    assert out.tolist() == [[1, 2], [1, 2], [2, 3], [2, 3]]
    assert list(start) == [1, 2]


def test_a_loop_over_blocks_of_a_hash_level_that_writes_cells_of_other_blocks():
    builder = ti.types.SNodeTreeBuilder()
    builder.hash(ti.ij).pointer(ti.ij, (2, 1), name="blocks").dense(ti.ij, (1, 3)).place(a=ti.i32)
    T = builder.build()

    @ti.kernel
    def mark(f: T):
        for i, j in f.blocks:
            f.a[i, j] = 7  # the coordinates of a block, but of a cell of another one

    tree = T.new()
    tree.a[4, 8] = 1  # block (4, 2)
    mark(tree)
    assert tree.a[4, 2] == 7 and tree.a.is_active(4, 0) and not tree.a.is_active(4, 3)


def test_debug_mode_looks_where_lists_and_cells_that_are_given_up_are():
    builder = ti.types.SNodeTreeBuilder()
    builder.dense(ti.i, 2).dynamic(ti.j, 8, chunk_size=2).place(a=ti.i32)
    builder.bitmasked(ti.i, 4).place(b=ti.i32)
    T = builder.build()

    @ti.kernel
    def length(f: T, i: ti.i32) -> ti.i32:
        return ti.length(f.a, [i])

    @ti.kernel
    def append(f: T, i: ti.i32):
        for _ in range(1):
            ti.append(f.a, [i], 5)

    @ti.kernel
    def deactivate(f: T, i: ti.i32):
        for _ in range(1):
            ti.deactivate(f.b, [i])

    with ti.Context(debug=True):
        tree = T.new()
        append(tree, 1)
        assert length(tree, 1) == 1
        for kernel, end in ((length, 2), (append, 2), (deactivate, 4)):
            for i in (-1, end):
                with pytest.raises(IndexError, match=rf"test_regressions.py:\d+.*\[{i}\] of shape \({end},\)"):
                    kernel(tree, i)
