"""Quantised fields in kernels and from Python, as Taichi's programs use them: what is read is what was stored, rounded."""

import math

import numpy as np
import pytest
import seeded

import metate as ti
from metate.errors import TreeError

quant = ti.types.quant


def packed(bits, *fields, level=None, **named):
    """Places fields in one word of a level, by default of a single cell."""
    word = ti.BitpackedFields(max_num_bits=bits)
    word.place(*fields, **named)
    (level or ti.root).place(word)


def rounded(type_, values):
    return np.array([type_(v) for v in np.ravel(values).tolist()], type_.compute.numpy).reshape(np.shape(values))


TYPES = {
    "i5": quant.int(5), "u7": quant.int(7, False), "i13": quant.int(13), "i33": quant.int(33), "u1": quant.int(1, False),
    "i8 as i8": quant.int(8, compute=ti.i8), "u64": quant.int(64, False), "fixed 11": quant.fixed(11, max_value=2.0),
    "fixed 13": quant.fixed(13, scale=0.1), "ufixed 19": quant.fixed(19, False, scale=0.1),
    "fixed 32": quant.fixed(32, max_value=2), "fixed 40": quant.fixed(40, max_value=1024), "float 14": quant.float(5, 9),
    "ufloat 19": quant.float(6, 13, False), "float 32": quant.float(8, 24), "float 5": quant.float(3, 2),
    "float 64": quant.float(11, 53, compute=ti.f64),
}  # fmt: skip


def numbers(type_, rng, count):
    """Numbers of the compute type, most of them in the range of what is stored."""
    low, high = type_.range()
    if type_.kind == "int":
        return rng.integers(low, high, count, dtype=type_.compute.numpy, endpoint=True)
    top = high if type_.kind == "fixed" else min(high, 1e4)
    given = rng.uniform(max(low, -top), top * 0.999, count)
    if type_.kind == "float":
        given[::5] = np.exp(rng.normal(size=len(given[::5])) * 3) * rng.choice([-1, 1], len(given[::5]))
    return given.astype(type_.compute.numpy)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("place", ["word", "own", "array"])
def test_stores_round_in_kernels_and_from_python(name, place):
    type_ = TYPES[name]
    rng = seeded.generator(f"test_stores_round_in_kernels_and_from_python {name} {place}")
    x, n = ti.field(type_), 50
    if place == "word":
        before, after = ti.field(quant.int(3)), ti.field(quant.int(5))
        if type_.bits > 56:
            packed(64, x, level=ti.root.dense(ti.i, n))
        else:
            packed(64, before, x, after, level=ti.root.dense(ti.i, n))
            before.fill(-3)
            after.fill(-11)
    elif place == "own":
        ti.root.dense(ti.i, n).place(x)
    else:
        ti.root.dense(ti.i, 5).quant_array(ti.i, 10, max_num_bits=64).place(x)
    assert x.dtype is type_.compute and not x.to_numpy().any()

    @ti.kernel
    def store(given: ti.types.ndarray()):
        for i in x:
            x[i] = given[i]

    @ti.kernel
    def load(found: ti.types.ndarray()):
        for i in x:
            found[i] = x[i]

    given, found = numbers(type_, rng, n), np.zeros(n, type_.compute.numpy)
    expected = rounded(type_, given)
    store(given)
    load(found)
    assert found.tolist() == expected.tolist() == x.to_numpy().tolist()
    given = numbers(type_, rng, n)
    expected = rounded(type_, given)
    for i, value in enumerate(given.tolist()):
        x[i] = value
    assert [x[i] for i in range(n)] == expected.tolist() == x.to_numpy().tolist()
    given = numbers(type_, rng, n)
    x.from_numpy(given)
    load(found)
    assert found.tolist() == rounded(type_, given).tolist() == x.to_numpy().tolist()
    x.fill(given[0].item())
    assert x.to_numpy().tolist() == [type_(given[0].item())] * n
    if place == "word" and type_.bits <= 56:
        assert set(before.to_numpy().tolist()) == {-3} and set(after.to_numpy().tolist()) == {-11}


@pytest.mark.parametrize("name", TYPES)
def test_numbers_of_any_bits_are_stored_alike(name):
    """Also those that the type cannot hold: in compiled kernels, by the host, and by the type itself."""
    type_, n = TYPES[name], 600
    compute = type_.compute.numpy
    rng = seeded.generator(f"test_numbers_of_any_bits_are_stored_alike {name}")
    given = rng.integers(0, 256, n * compute.itemsize, dtype=np.uint8).view(compute).copy()
    if type_.compute.is_float:
        given[::2] = rng.normal(size=n // 2) * np.exp(rng.normal(size=n // 2) * 8)
        given[:9] = [0, -0.0, np.nan, np.inf, -np.inf, 1e30, -1e30, 2**31, -(2.0**31)]
        given[9:100] = [type_(v) + (type_.scale or 0) / 2 for v in given[9:100].tolist()]  # halves
    x = ti.field(type_, n)

    @ti.kernel
    def store(given: ti.types.ndarray()):
        for i in x:
            x[i] = given[i]

    with np.errstate(over="ignore"):
        expected = rounded(type_, given).tobytes()
    store(given)
    assert x.to_numpy().tobytes() == expected
    x.fill(0)
    x.from_numpy(given)
    assert x.to_numpy().tobytes() == expected


def test_integers_are_cut_and_extended():
    x, y = ti.field(quant.int(5)), ti.field(quant.int(5, False))
    packed(16, x, y)

    @ti.kernel
    def run(value: ti.i32):
        x[None] = value
        y[None] = value

    for value in (-17, -16, -1, 0, 15, 16, 31, 32, 1000):
        run(value)
        assert x[None] == (value + 16) % 32 - 16 and y[None] == value % 32


@pytest.mark.parametrize(
    "bits, compute, sizes",
    [(8, ti.i8, (3, 3, 2)), (16, ti.i16, (4, 7, 5)), (32, ti.i32, (17, 11, 4)), (64, ti.i64, (32, 23, 9)),
     (32, ti.i16, (7, 12, 13)), (64, ti.i32, (18, 22, 24))],
)  # fmt: skip
def test_three_integers_in_words_of_every_size(bits, compute, sizes):
    types = [quant.int(size, signed, compute) for size, signed in zip(sizes, (True, False, True))]
    a, b, c = map(ti.field, types)
    packed(bits, a, b, c)

    @ti.kernel
    def store(given: ti.types.ndarray()):
        a[None] = given[0]
        b[None] = given[1]
        c[None] = given[2]

    rng = seeded.generator(f"test_three_integers_in_words_of_every_size {bits} {sizes}")
    for _ in range(5):
        given = [int(rng.integers(low, high, endpoint=True)) for low, high in (type_.range() for type_ in types)]
        store(np.array(given))
        assert [a[None], b[None], c[None]] == given
        for field, value in zip((c, a, b), (given[2], given[0], given[1])):
            field[None] = value
        assert [a[None], b[None], c[None]] == given


def test_casts_at_stores_and_of_loads():
    x, y = ti.field(quant.int(13)), ti.field(quant.fixed(13, scale=0.1))
    packed(32, x, y)

    @ti.kernel
    def run() -> ti.f32:
        x[None] = 10.3
        y[None] = 10
        return ti.cast(x[None], ti.f32) / 4 + ti.cast(y[None], ti.i32)

    assert run() == 12.5 and x[None] == 10 and y[None] == pytest.approx(10)


def test_fixed_numbers_of_32_bits():
    x = ti.field(quant.fixed(bits=32, max_value=2))
    packed(32, x)

    @ti.kernel
    def run():
        x[None] = 0.7
        x[None] = x[None] + 0.4

    run()
    assert x[None] == pytest.approx(1.1)
    for value in (0.64, 0.66, -1.5):
        x[None] = value
        assert x[None] == pytest.approx(value)


def test_a_matrix_in_two_words():
    x = ti.Matrix.field(2, 2, dtype=quant.fixed(bits=16, max_value=1.2))
    for row in range(2):
        packed(32, x.get_scalar_field(row, 0), x.get_scalar_field(row, 1))
    x[None] = [[1.0, 0.0], [0.0, 1.0]]

    @ti.kernel
    def rotate():
        angle = math.pi / 10
        x[None] = x[None] @ ti.Matrix([[ti.cos(angle), ti.sin(angle)], [-ti.sin(angle), ti.cos(angle)]])

    for _ in range(5):
        rotate()
    np.testing.assert_allclose(x.to_numpy(), [[0, 1], [-1, 0]], atol=3e-4)
    np.testing.assert_allclose(x[None], [[0, 1], [-1, 0]], atol=3e-4)
    x[None][1, 0] = 0.5
    assert x[None][1, 0] == x.get_scalar_field(1, 0)[None] == pytest.approx(0.5, abs=1e-4)


def test_vectors_of_several_types():
    types = [quant.float(5, 8), quant.fixed(10, max_value=4), quant.float(6, 9)]
    x = ti.Vector.field(3, dtype=types, shape=(4, 5))
    plain = ti.Vector.field(3, ti.f32, shape=(4, 5))
    rng = seeded.generator("test_vectors_of_several_types")
    given = rng.uniform(-3, 3, (4, 5, 3)).astype(np.float32)
    expected = np.stack([rounded(type_, given[..., k]) for k, type_ in enumerate(types)], axis=-1)
    plain.from_numpy(given)

    @ti.kernel
    def copy():
        for I in ti.grouped(x):
            x[I] = plain[I]

    @ti.kernel
    def back():
        for i, j in x:
            v = x[i, j]
            plain[i, j] = v.zyx + x[i, j].x
            x[i, j].y = 0.5
            x[i, j][2] += 1

    copy()
    assert (x.to_numpy() == expected).all() and (np.array(x[2, 3]) == expected[2, 3]).all()
    back()
    assert (plain.to_numpy() == expected[..., ::-1] + expected[..., :1]).all()
    expected[..., 2] = rounded(types[2], expected[..., 2] + 1)
    expected[..., 1] = 0.5
    assert (x.to_numpy() == expected).all()
    x.from_numpy(given)
    x.copy_from(plain)
    assert (x.to_numpy()[..., 0] == rounded(types[0], plain.to_numpy()[..., 0])).all()
    plain.copy_from(x)
    assert (plain.to_numpy() == x.to_numpy()).all()
    other = ti.Vector.field(3, dtype=types, shape=(4, 5))
    other.copy_from(x)
    assert (other.to_numpy() == x.to_numpy()).all()


def test_structs_of_quantised_members():
    cell = ti.types.struct(pos=ti.types.vector(2, ti.f32), kind=quant.int(4, False), mass=quant.fixed(12, False, max_value=4))
    s = cell.field(shape=6)

    @ti.kernel
    def run():
        for i in s:
            s[i] = cell(ti.Vector([i, i + 1]), i, 0.25 * i)
            s[i].mass += 0.5

    run()
    assert s.kind.to_numpy().tolist() == list(range(6)) and s.mass.to_numpy().tolist() == [0.5 + 0.25 * i for i in range(6)]
    s[2] = {"pos": [1, 2], "kind": 9, "mass": 1.2}
    assert s[2].kind == 9 and s[2].mass == np.float32(cell.mass.type(1.2)) and s[2].pos[1] == 2
    s[2].kind = 3
    assert s.kind[2] == 3 and s.to_numpy()["kind"][2] == 3


def test_loops_over_cells_that_are_active():
    x = ti.field(quant.fixed(bits=32, max_value=1024))
    block = ti.root.pointer(ti.i, 4)
    packed(32, x, level=block.dense(ti.i, 16))
    for i in range(64):
        if i // 16 % 2 == 0:
            x[i] = 0

    @ti.kernel
    def assign():
        for i in x:
            x[i] = ti.cast(i, float)

    assign()
    expected = [i if i // 16 % 2 == 0 else 0 for i in range(64)]
    np.testing.assert_allclose(x.to_numpy(), expected, atol=1e-5)
    assert x.is_active(3) and not x.is_active(20)
    block.deactivate_all()
    assert not x.to_numpy().any()


def test_several_types_in_a_word():
    p, q, r = ti.field(quant.float(exp=5, frac=10)), ti.field(quant.float(exp=5, frac=13)), ti.field(quant.int(4, False))
    word = ti.BitpackedFields(max_num_bits=32)
    word.place(p, q, shared_exponent=True)
    word.place(r)
    ti.root.dense(ti.i, 12).place(word)

    @ti.kernel
    def run():
        for i in p:
            p[i] = i * 3
            q[i] = i * 2
            r[i] = i

    run()
    for i in range(12):
        assert (p[i], q[i], r[i]) == (i * 3, i * 2, i)
    assert p.to_numpy().tolist() == [3 * i for i in range(12)]


def test_hints_of_taichi_change_nothing():
    x = ti.field(quant.fixed(bits=15, scale=0.1))
    packed(32, x)

    @ti.kernel
    def run(value: ti.f32) -> ti.i32:
        ti.cache_read_only(x)
        return x[None] == value

    for value in (0.7, 1.2):
        x[None] = value
        assert run(x[None])


def test_words_are_printed_after_each_store(capfd):
    x, y = ti.field(quant.int(16)), ti.field(quant.int(16))
    packed(32, x, y, level=ti.root.dense(ti.i, 3))

    @ti.kernel
    def run():
        ti.loop_config(serialize=True)
        for i in range(3):
            x[i] = i
            print(x[i])
            y[i] = i + 1
            print(x[i], y[i])

    run()
    ti.sync()
    assert capfd.readouterr().out == "0\n0 1\n1\n1 2\n2\n2 3\n"


def test_memory_of_quantised_fields_is_no_array():
    x = ti.field(quant.int(5), shape=4, name="x")
    with pytest.raises(TreeError, match=r"field 'x': numpy_view: its memory is no strided array: its numbers are bits of words, "
                                        r"quant\.int\(5, True\); to_numpy\(\) copies it"):  # fmt: skip
        x.numpy_view()
    assert x.is_dense
    y = ti.field(quant.int(5))
    ti.root.pointer(ti.i, 4).place(y)
    assert not y.is_dense


def test_numbers_that_are_none_of_the_compute_type_are_refused():
    x = ti.field(quant.int(5), shape=4, name="x")
    with pytest.raises(ti.MetateError, match="field 'x'"):
        x[0] = 0.5
    with pytest.raises(ti.MetateError, match="field 'x'"):
        x[0] = 1 << 40
    x[0] = 17  # an i32; its low bits are kept
    assert x[0] == -15


def test_trees_with_quantised_members(tmp_path):
    level = ti.types.SNodeTreeBuilder().pointer(ti.i, 8).dense(ti.i, 4)
    word = level.bit_struct(max_num_bits=32).place(
        a=quant.int(5), b=quant.fixed(11, max_value=2.0), background={"a": 3, "b": 0.5}
    )
    shape = word.place(u=quant.float(5, 4), v=quant.float(5, 7), shared_exponent=True).build()

    @ti.kernel
    def run(f: shape):
        for i in range(9):
            f[i].a = -i
            f[i].b += 0.25
            f[i].v = 2 * i
        for i in f.a:
            f[i].u = f[i].a

    t = shape.new()
    assert t.a[0] == 3 and t.b[31] == 0.5 and (t.a.to_numpy() == 3).all()
    run(t)
    for tree in (t, (t.save(tmp_path / "tree"), shape.load(tmp_path / "tree"))[1]):
        assert tree.a.to_numpy()[:13].tolist() == [*range(0, -9, -1), 3, 3, 3, 3]
        assert tree.b.to_numpy()[:13].tolist() == [0.75] * 9 + [0.5] * 4
        assert tree.v.to_numpy()[:9].tolist() == [2 * i for i in range(9)] and tree.u.to_numpy()[9] == 3
        where, values = tree.a.cells()
        assert dict(zip(where[:, 0].tolist(), values.tolist())) == {i: -i if i < 9 else 3 for i in range(12)}
        tree.check()
    t.b.fill(1.1)
    assert t.b[2] == quant.fixed(11, max_value=2.0)(1.1) and t.b[20] == 0.5
    t.a.from_numpy(np.arange(32))
    assert t.a[5] == 5 and t.a[11] == 11 and t.a[20] == 3
    assert t.a.field().to_numpy()[11] == 11
    t.migrate(capacity=8)
    t.deactivate_all()
    assert t.a[5] == 3 and t.b[5] == 0.5


def test_quantised_members_are_constants_to_derivatives():
    x, weight = ti.field(quant.fixed(16, max_value=4), shape=5), ti.field(ti.f32, shape=5, needs_grad=True)
    loss = ti.field(ti.f32, shape=(), needs_grad=True)
    x.from_numpy(np.linspace(-1, 1, 5))

    @ti.kernel
    def run():
        for i in x:
            loss[None] += weight[i] * x[i]

    with ti.ad.Tape(loss):
        run()
    assert (weight.grad.to_numpy() == x.to_numpy()).all()


def test_fields_of_quantised_members_are_sorted():
    x = ti.field(quant.int(9), shape=100)
    given = seeded.generator("test_fields_of_quantised_members_are_sorted").integers(-256, 256, 100)
    x.from_numpy(given)
    ti.algorithms.parallel_sort(x)
    assert x.to_numpy().tolist() == sorted(given.tolist())


def test_tensors_are_copies():
    torch = pytest.importorskip("torch")
    x = ti.field(quant.fixed(11, max_value=2.0), shape=4)
    x.from_torch(torch.tensor([0.5, 1.0, -0.25, 0.1]))
    assert (
        x.to_torch().tolist() == x.to_numpy().tolist() == rounded(quant.fixed(11, max_value=2.0), [0.5, 1, -0.25, 0.1]).tolist()
    )


@pytest.mark.parametrize("name", ["i5", "u1", "fixed 11", "float 14"])
def test_iterations_that_meet_in_a_word_lose_nothing(name):
    type_, n = TYPES[name], 6000
    x, y = ti.field(type_), [ti.field(type_) for _ in range(4)]
    ti.root.quant_array(ti.i, n, max_num_bits=64).place(x)
    packed(64, *y, level=ti.root.dense(ti.i, n // 4))
    rng = seeded.generator(f"test_iterations_that_meet_in_a_word_lose_nothing {name}")
    given = rounded(type_, numbers(type_, rng, n))

    @ti.kernel
    def store(values: ti.types.ndarray()):
        for i in range(n):
            x[i] = values[i]
        for i in range(n):
            for k in ti.static(range(4)):
                if i % 4 == k:
                    y[k][i // 4] = values[i]

    store(given)
    assert x.to_numpy().tolist() == given.tolist()
    assert np.stack([field.to_numpy() for field in y], axis=1).ravel().tolist() == given.tolist()


@pytest.mark.parametrize("arch", [ti.cpu, ti.interp])
def test_a_background_is_what_a_store_leaves(arch):
    """Also where what is stored has more digits than the type that is computed with: no number in between is rounded again."""
    ti.init(arch=arch)
    steps = quant.fixed(24, False, compute=ti.f32, scale=3.7)
    shape = ti.types.SNodeTreeBuilder().pointer(ti.i, 2).dense(ti.i, 3).place(a=steps, background=62075688.0).build()
    x = shape.new()
    x.a[1] = 62075688.0
    assert x.a[1] == x.a[2] == x.a[5]


def test_debug_stops_in_the_interpreter_too():
    ti.init(arch=ti.interp, debug=True)
    x = ti.field(quant.int(4))
    word = ti.BitpackedFields(max_num_bits=8)
    word.place(x)
    ti.root.dense(ti.i, 4).place(word)

    @ti.kernel
    def run(value: ti.i32):
        x[1] = value

    run(7)
    with pytest.raises(AssertionError, match=r"100 does not fit quant.int\(4\)"):
        run(100)
