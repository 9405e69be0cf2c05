"""Words that quantised fields share in kernels: floats with one exponent, atomics, and arrays of small numbers."""

import numpy as np
import pytest
import seeded
from device_tests import ARCH

import metate as ti

quant = ti.types.quant


def packed(bits, *fields, level=None, **named):
    """Places fields in one word of a level, by default of a single cell."""
    word = ti.BitpackedFields(max_num_bits=bits)
    word.place(*fields, **named)
    (level or ti.root).place(word)


#  -- floats -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [32, 64])
def test_floats_without_a_sign(bits):
    x = ti.field(quant.float(exp=6, frac=13, signed=False))
    packed(bits, x)
    assert x[None] == 0
    for value in (0, 1 / 1024, 1.75 / 1024, 0.25, 0.5, 0.75, *range(1, 8), 128, 256, 512, 1024):
        x[None] = value
        assert x[None] == value
    x[None] = -1
    assert x[None] == 0


def test_floats_with_a_sign_flush_small_ones():
    x = ti.field(quant.float(exp=6, frac=13))
    packed(32, x)
    for value in (0, 0.125, 0.5, 2, 4, 6, 7, 8, 9):
        for each in (value, -value):
            x[None] = each
            assert x[None] == each
    for value in (1e-30, 1e-20, 1e-10, 1e-2):
        for each in (value, -value):
            x[None] = each
            assert x[None] == pytest.approx(each, abs=1e-5)


@pytest.mark.parametrize("digits", [23, 24])
def test_floats_have_all_digits_of_f32(digits):
    x = ti.field(quant.float(exp=8, frac=digits))
    packed(32, x)
    for value in (np.float32(np.pi), np.float32(np.pi * 2.0**100)):
        x[None] = value
        assert (x[None] == value) == (digits == 24) and x[None] == pytest.approx(value, rel=3e-7)


def test_floats_of_two_bits():
    for signed, expected in ((True, (1, 1.5, 2, 1.5)), (False, (1, 1.5, 1.75, 1.75))):
        x = ti.field(quant.float(exp=5, frac=2, signed=signed))
        packed(32, x)
        found = []
        for value in (1, 1.5, 1.75, 1.625):
            x[None] = value
            found.append(x[None])
        assert found == list(expected)

    @ti.kernel
    def add():
        for _ in range(1):
            x[None] += 1

    x[None] = 0
    add()
    add()
    assert x[None] == 2


@pytest.mark.parametrize("exponent", [5, 6, 7, 8])
def test_floats_that_share_an_exponent(exponent):
    a, b = (ti.field(quant.float(exp=exponent, frac=frac, signed=False)) for frac in (10, 14))
    packed(32, a, b, shared_exponent=True)

    @ti.kernel
    def store(x: ti.f32, y: ti.f32):
        a[None] = x
        b[None] = y

    assert (a[None], b[None]) == (0, 0)
    a[None] = 10
    assert (a[None], b[None]) == (10, 0)
    a[None] = 0
    store(3.2, 0.25)
    assert (a[None], b[None]) == (pytest.approx(3.2, rel=1e-3), pytest.approx(0.25, rel=2e-2))
    a[None] = 100
    assert (a[None], b[None]) == (pytest.approx(100, rel=1e-3), pytest.approx(0.25, rel=1e-2))
    b[None] = 0
    assert (a[None], b[None]) == (100, 0)
    for x, y in ((0, 0), (1000, 1000), (0, 100), (512, 0.5)):
        store(x, y)
        assert (a[None], b[None]) == (x, y)
    store(1000, 1e-6)
    assert (a[None], b[None]) == (1000, 0)
    store(0, 0)
    store(1e-30, 1e-30)
    if exponent == 8:
        assert a[None] == pytest.approx(1e-30, rel=1e-2, abs=0) and b[None] == pytest.approx(1e-30, rel=1e-3, abs=0)
    else:
        assert (a[None], b[None]) == (0, 0)


def test_sums_of_floats_that_share_an_exponent():
    a, b = ti.field(quant.float(6, 10, signed=False)), ti.field(quant.float(6, 14))
    packed(32, a, b, shared_exponent=True)
    a[None], b[None] = 4, 3
    b[None] += 1
    for i in range(100):
        a[None] += 4
        b[None] += 1
        assert (a[None], b[None]) == (8 + 4 * i, 5 + i)
    a[None], b[None] = 37, -123
    assert (a[None], b[None]) == (37, -123)

    @ti.kernel
    def add(n: ti.i32):
        for _ in range(n):
            a[None] += 1
            b[None] -= 1

    a[None], b[None] = 0, 100
    add(100)
    assert (a[None], b[None]) == (100, 0)


#  -- atomics, and iterations that meet in a word ------------------------------------------------


def test_atomics_on_integers():
    x, y, z = ti.field(quant.int(13)), ti.field(quant.int(5)), ti.field(quant.int(2, False))
    packed(32, x, y, z)
    x[None], y[None], z[None] = 3, 2, 0

    @ti.kernel
    def run():
        for _ in range(10):
            x[None] += 4
        for _ in range(5):
            y[None] -= 1
        for _ in range(3):
            z[None] += 1

    run()
    assert (x[None], y[None], z[None]) == (43, -3, 3)
    run()
    assert (x[None], y[None], z[None]) == (83, -8, 2)  # modulo 4


def test_atomics_give_what_was_there():
    x, y = ti.field(quant.int(9)), ti.field(quant.fixed(9, scale=0.5))
    packed(32, x, y)
    x[None], y[None] = -5, 1.5

    @ti.kernel
    def run() -> ti.types.vector(6, ti.f32):
        a = ti.atomic_max(x[None], 7)
        b = ti.atomic_min(x[None], -200)
        c = ti.atomic_or(x[None], 1)
        d = ti.atomic_max(y[None], 20)
        e = ti.atomic_sub(y[None], 0.5)
        f = ti.atomic_add(y[None], 2)
        return ti.Vector([a, b, c, d, e, f], ti.f32)

    assert run().tolist() == [-5, 7, -200, 1.5, 20, 19.5] and (x[None], y[None]) == (-199, 21.5)


@pytest.mark.parametrize("bits", [32, 64])
def test_atomics_on_elements_of_a_word(bits):
    x = ti.field(quant.int(13))
    ti.root.quant_array(ti.i, 4, max_num_bits=bits).place(x)
    x[0], x[1], x[2] = 100, 200, 300

    @ti.kernel
    def run():
        for i in range(9):
            x[i % 3] += i

    run()
    assert x.to_numpy().tolist() == [109, 212, 315, 0]


def test_atomics_on_fixed_numbers():
    x, y = ti.field(quant.fixed(13, scale=0.1)), ti.field(quant.fixed(19, signed=False, scale=0.1))
    packed(32, x, y)

    @ti.kernel
    def run():
        x[None] = 0.7
        y[None] = 123.4
        for _ in range(10):
            x[None] -= 0.4
            y[None] += 100.1

    run()
    assert x[None] == pytest.approx(-3.3) and y[None] == pytest.approx(1124.4)


def test_sums_of_many_iterations():
    x, y = ti.field(quant.int(20)), ti.field(quant.fixed(20, scale=0.25))
    packed(64, x, y, level=ti.root.dense(ti.i, 3))

    @ti.kernel
    def run():
        for i in range(30000):
            x[i % 3] += i % 5
            y[i % 3] += 0.25

    run()
    expected = [sum(i % 5 for i in range(k, 30000, 3)) for k in range(3)]
    assert x.to_numpy().tolist() == expected and y.to_numpy().tolist() == [2500.0] * 3


#  -- arrays -------------------------------------------------------------------------------------


def test_arrays_of_bits_and_of_small_numbers():
    x, y, z = ti.field(quant.int(1, False)), ti.field(quant.int(7)), ti.field(quant.fixed(8, max_value=2))
    ti.root.quant_array(ti.ij, (4, 8), max_num_bits=32).place(x)
    ti.root.quant_array(ti.i, 4, max_num_bits=32).place(y)
    ti.root.quant_array(ti.i, 4, max_num_bits=32).place(z)

    @ti.kernel
    def run():
        for i in range(4):
            for j in range(8):
                x[i, j] = (i * 8 + j) % 3 % 2
        for i in range(4):
            y[i] = -i
            z[i] = i * 0.5

    run()
    assert x.to_numpy().ravel().tolist() == [k % 3 % 2 for k in range(32)]
    assert y.to_numpy().tolist() == [0, -1, -2, -3] and z.to_numpy().tolist() == [0, 0.5, 1, 1.5]


def test_loops_over_an_array_below_a_pointer():
    x = ti.field(quant.int(7))
    ti.root.pointer(ti.i, 4).dense(ti.i, 4).quant_array(ti.i, 4, max_num_bits=32).place(x)

    @ti.kernel
    def activate():
        for i in range(64):
            if i // 16 % 2 == 0:
                x[i] = i

    @ti.kernel
    def assign():
        for i in x:
            x[i] -= 1

    activate()
    assign()
    assert x.to_numpy().tolist() == [i - 1 if i // 16 % 2 == 0 else 0 for i in range(64)]


def bits_of_blocks(n, blocks, count):
    fields = [ti.field(quant.int(1, False)) for _ in range(count)]
    block = ti.root.pointer(ti.ij, blocks)
    for field in fields:
        block.dense(ti.ij, (n // blocks, n // (32 * blocks))).quant_array(ti.j, 32, max_num_bits=32).place(field)
    return fields


def test_shifted_reads_of_bits():
    n, border = 256, 64
    x, y, z = bits_of_blocks(n, 4, 3)
    given = seeded.generator("test_shifted_reads_of_bits").integers(0, 2, (n, n))

    @ti.kernel
    def init(values: ti.types.ndarray()):
        for i, j in ti.ndrange((border, n - border), (border, n - border)):
            x[i, j] = values[i, j]

    @ti.kernel
    def shift(dx: ti.template(), dy: ti.template()):
        ti.loop_config(bit_vectorize=True)
        for i, j in x:
            y[i, j] = x[i + dx, j + dy]
            z[i, j] = x[i + dx, j + dy]

    init(given)
    inside = np.zeros_like(given)
    inside[border:-border, border:-border] = given[border:-border, border:-border]
    assert (x.to_numpy() == inside).all()
    for dx, dy in ((0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, -1), (-1, 1)):
        shift(dx, dy)
        part = slice(border, n - border)
        expected = inside[border + dx : n - border + dx, border + dy : n - border + dy]
        assert (y.to_numpy()[part, part] == expected).all() and (z.to_numpy()[part, part] == expected).all()


def test_the_game_of_life_on_bits():
    n, border = 128, 32
    x, y = bits_of_blocks(n, 4, 2)
    given = seeded.generator("test_the_game_of_life_on_bits").integers(0, 2, (n, n))
    given[:border], given[-border:], given[:, :border], given[:, -border:] = 0, 0, 0, 0

    @ti.kernel
    def init(values: ti.types.ndarray()):
        for i, j in ti.ndrange((border, n - border), (border, n - border)):
            x[i, j] = values[i, j]
            y[i, j] = 0

    @ti.kernel
    def evolve(x: ti.template(), y: ti.template()):
        ti.loop_config(bit_vectorize=True)
        for i, j in x:
            around = ti.u32(0)
            around += ti.cast(x[i - 1, j - 1], ti.u32)
            around += ti.cast(x[i - 1, j], ti.u32)
            around += ti.cast(x[i - 1, j + 1], ti.u32)
            around += ti.cast(x[i, j - 1], ti.u32)
            around += ti.cast(x[i, j + 1], ti.u32)
            around += ti.cast(x[i + 1, j - 1], ti.u32)
            around += ti.cast(x[i + 1, j], ti.u32)
            around += ti.cast(x[i + 1, j + 1], ti.u32)
            y[i, j] = (around == 3) | ((around == 2) & (x[i, j] == 1))

    init(given)
    evolve(x, y)
    around = sum(np.roll(given, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0))
    expected = (around == 3) | ((around == 2) & (given == 1))
    part = slice(border, n - border)
    assert (y.to_numpy()[part, part] == expected[part, part]).all()


#  -- scatters ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{"threads": 4, "chunk_ns": 0}, {"private_reductions": False, "threads": 4, "chunk_ns": 0}, {"opt_level": 0}]
)
def test_scatters_into_words(options, n=96, m=5000):
    """Sums and minima of small numbers at places that data says, in members of one word and in elements of words."""
    ti.init(**options)
    rng = np.random.default_rng(5)
    at, by = rng.integers(0, n, m).astype(np.int32), rng.integers(-90, 90, m).astype(np.int32)
    count, total, least, four = (
        ti.field(t) for t in (quant.int(11), quant.fixed(13, scale=0.25), quant.int(8), quant.int(4, False))
    )
    packed(32, count, total, least, level=ti.root.dense(ti.i, n))
    ti.root.quant_array(ti.i, n, max_num_bits=32).place(four)

    @ti.kernel
    def sums(at: ti.types.ndarray(ti.i32, 1), by: ti.types.ndarray(ti.i32, 1)):
        for k in range(at.shape[0]):
            count[at[k]] += by[k]
            total[at[k]] -= by[k] * 0.25
            ti.atomic_min(least[at[k]], by[k])
            four[at[k]] += by[k]

    sums(at, by)
    exact, smallest = np.zeros(n, np.int64), np.zeros(n, np.int64)
    np.add.at(exact, at, by)
    np.minimum.at(smallest, at, by)
    wrapped = lambda x, bits: (x + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
    assert (count.to_numpy() == wrapped(exact, 11)).all()
    assert (total.to_numpy() * 4 == wrapped(-exact, 13)).all()
    assert (least.to_numpy() == smallest).all()
    assert (four.to_numpy() == exact % 16).all()
    texts = [remark.text for remark in sums.report(at, by).remarks if remark.subject == "atomics" and remark.outcome == "done"]
    assert ARCH or any("a copy of its own" in text for text in texts) == ("private_reductions" not in options)


@pytest.mark.parametrize("bits, word", [(1, 8), (4, 32), (5, 32), (7, 64), (12, 64), (20, 64)])
@pytest.mark.parametrize("shape", ["row", "blocks", "rows", "across"])
def test_counts_in_elements_of_words(bits, word, shape, m=20000):
    """Copies come back word by word where rows are whole words, and element by element along another axis than the words'."""
    ti.init(threads=4, chunk_ns=0)
    each, x = word // bits, ti.field(quant.int(bits, False))
    extents = {"row": (1100,), "blocks": (40 * each,), "rows": (6, 30 * each), "across": (6 * each, 30)}[shape]
    if shape == "blocks":
        ti.root.dense(ti.i, 40).quant_array(ti.i, each, max_num_bits=word).place(x)
    elif shape == "across":
        ti.root.dense(ti.j, 30).quant_array(ti.i, 6 * each, max_num_bits=word).place(x)
    else:
        ti.root.quant_array(ti.ij if shape == "rows" else ti.i, extents, max_num_bits=word).place(x)

    @ti.kernel
    def count(at: ti.types.ndarray(ti.i32, 2)):
        for k in range(at.shape[0]):
            if ti.static(len(extents) == 1):
                x[at[k, 0]] += k % 3
            else:
                x[at[k, 0], at[k, 1]] += k % 3

    rng = np.random.default_rng(bits)
    at = np.stack([rng.integers(0, extent, m) for extent in extents], 1).astype(np.int32)
    expected = np.zeros(extents, np.int64)
    for _ in range(2):
        count(at)
        np.add.at(expected, tuple(at.T), np.arange(m) % 3)
    assert (x.to_numpy() == expected % (1 << bits)).all()


def test_particles_add_to_words_block_by_block(n=512, m=60000):
    """Grids of packed numbers, too large for copies: iterations in the order of blocks, tiles whose words meet at the edges."""
    ti.init(threads=4)
    count, total, four = ti.field(quant.int(12)), ti.field(quant.fixed(14, scale=0.25)), ti.field(quant.int(4, False))
    packed(32, count, total, level=ti.root.dense(ti.ij, (n, n)))
    ti.root.dense(ti.ij, (n, n // 8)).quant_array(ti.j, 8, max_num_bits=32).place(four)
    at, where = ti.Vector.field(2, ti.i32, shape=m), np.random.default_rng(5).integers(0, n - 4, (m, 2)).astype(np.int32)
    at.from_numpy(where)

    @ti.kernel
    def members():
        for k in range(m):
            for p, q in ti.static(ti.ndrange(3, 3)):
                count[at[k] + ti.Vector([p, q])] += p + 1
                total[at[k] + ti.Vector([p, q])] -= 0.25 * (q + 1)

    @ti.kernel
    def elements():
        for k in range(m):
            for p, q in ti.static(ti.ndrange(4, 4)):
                four[at[k] + ti.Vector([p, q])] += p + q

    exact = [np.zeros((n, n), np.int64) for _ in range(3)]
    for p, q in np.ndindex(4, 4):
        place = tuple((where + [p, q]).T)
        if p < 3 and q < 3:
            np.add.at(exact[0], place, p + 1)
            np.add.at(exact[1], place, -(q + 1))
        np.add.at(exact[2], place, p + q)
    for kernel in (members, elements):
        kernel()
        assert ARCH or any("in the order of" in remark.text for remark in kernel.report().remarks)
    assert (count.to_numpy() == exact[0]).all()
    assert (total.to_numpy() * 4 == exact[1]).all()
    assert (four.to_numpy() == exact[2] % 16).all()


#  -- what a condition keeps from all elements of a word -------------------------------------------


def bits(rows=8):
    x = ti.field(quant.int(1, False))
    ti.root.dense(ti.ij, (rows, 4)).quant_array(ti.j, 64, max_num_bits=64).place(x)
    return x


def test_a_place_that_no_element_asks_for_is_not_touched():
    x, y, at = bits(), bits(), ti.field(ti.i32, 8)

    @ti.kernel
    def store(by: ti.i32):
        for i, j in ti.ndrange(8, 256):
            if x[i, j] == 1:
                y[i + by, j] = 1

    @ti.kernel
    def count(a: ti.types.ndarray(ti.i32, 1)):
        for i in range(8):
            k = at[i]
            for j in range(256):
                if x[i, j] == 1:
                    a[k] += 1

    store(1 << 26)  # nothing is stored: no row is there
    x[3, 5] = 1
    store(1)
    assert np.argwhere(y.to_numpy()).tolist() == [[4, 5]]
    at.from_numpy(np.array([0, 1 << 30, 1 << 30, 2, 1 << 30, 0, 0, 0], np.int32)[[0, 1, 2, 3, 4, 1, 1, 1]])
    counts = np.zeros(4, np.int32)
    count(counts)
    assert counts.tolist() == [0, 0, 1, 0]


def test_a_turn_sees_what_turns_before_it_have_added():
    x, y, count, at = bits(4), bits(4), ti.field(ti.i32, 4), ti.field(ti.i32, 4)

    @ti.kernel
    def run():
        for i in range(4):
            k = at[i]
            for j in range(256):
                y[i, j] = ti.select(count[k] > 10, 1, 0)
                count[k] += ti.cast(x[i, j], ti.i32)

    at.from_numpy(np.array([2, 0, 3, 1], np.int32))
    x.fill(1)
    run()
    assert y.to_numpy().sum(axis=1).tolist() == [245] * 4
    assert count.to_numpy().tolist() == [256] * 4
