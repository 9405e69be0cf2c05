"""Random numbers: Philox itself, which numbers an iteration gets, their independence of threads, their distribution.

The twin computes the words of Philox4x32-10 with NumPy's 64-bit integers and counts as docs/manual/random.md says.
"""

import numpy as np
import pytest

import metate as mt
from metate.context import RandomKeys

_MASK = np.uint64(0xFFFFFFFF)


def philox(counter, key):
    """Four words for each row of counters; key: 64 bits."""
    c = [np.asarray(column, np.uint64) for column in np.broadcast_arrays(*counter)]
    k = [np.uint64(key & 0xFFFFFFFF), np.uint64(key >> 32)]
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> np.uint64(32)) ^ c[1] ^ k[0], b & _MASK, (a >> np.uint64(32)) ^ c[3] ^ k[1], a & _MASK]
        k = [(k[0] + np.uint64(0x9E3779B9)) & _MASK, (k[1] + np.uint64(0xBB67AE85)) & _MASK]
    return np.stack(c, -1).astype(np.uint32)


def context(**options):
    """A context like the current one, with options of its own."""
    now = mt.context.current().options
    mode = {"arch": now.arch, **({"interp_stage": now.interp_stage} if now.arch == mt.interp else {})}
    return mt.Context(**mode, **options)


# Random123 1.14, examples/kat_vectors, "philox4x32 10": counter, key, words.
@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_published_words(counter, key, words):
    from metate_native import _compiler, _runtime

    place = 'loc("k.py":1:1)\n'
    lines = [f"%w{k} = arith.constant {np.uint32(v).astype(np.int32)} : i32 {place}" for k, v in enumerate((*counter, *key))]
    lines.append(f"%r = metate.philox counter(%w0, %w1, %w2, %w3) key(%w4, %w5) : vector<4xi32> {place}")
    for k in range(4):
        lines.append(f"%i{k} = arith.constant {k} : index {place}%r{k} = vector.extract %r[{k}] : i32 from vector<4xi32> {place}")
        lines.append(f"memref.store %r{k}, %x[%i{k}] : memref<4xi32> {place}")
    body = "".join(lines)
    text = f'metate.kernel @k(%x: memref<4xi32> {{metate.name = "x"}}) {{\n{body}metate.return {place}}} {place}'
    for compiler, options in ((_compiler.Jit(), {}), (_compiler.Interpreter(), {"stage": "import", "checks": [], "stop": True})):
        module = _compiler.SourceModule("k")
        module.parse(text)
        choices = _compiler.Choices()
        choices.targets = ["native"]
        code = compiler.compile(module, choices, **options)
        opened = _runtime.Module.open_static(_runtime.Device(1), code.descriptor, code.entries, code)
        dispatcher, found = _runtime.Dispatcher(), np.zeros(4, np.int32)
        dispatcher.add(opened.kernels[0])
        dispatcher(found)
        assert found.view(np.uint32).tolist() == list(words)
    assert philox([np.array([c]) for c in counter], key[0] | key[1] << 32)[0].tolist() == list(words)


def test_numbers_of_a_range(rng):
    @mt.kernel
    def draw(x: mt.types.ndarray(dtype=mt.u32, ndim=2), first: mt.i32):
        for i in range(first, first + x.shape[0]):
            for k in mt.static(range(6)):
                x[i - first, k] = mt.random(mt.u32)
        for i in range(first, first + x.shape[0]):
            x[i - first, 6] = mt.random(mt.u32)

    seed, first = int(rng.integers(-(2**40), 2**40)), int(rng.integers(-10, 1000))
    keys, x = RandomKeys(seed), np.zeros((37, 7), np.uint32)
    with context(random_seed=seed):
        for _ in range(2):
            draw(x, first)
            key, index = keys.next(), np.arange(first, first + 37, dtype=np.int64)
            low, high = index & 0xFFFFFFFF, (index >> 32) & 0xFFFFFFFF
            want = np.concatenate([philox((low, high, 1, 0), key), philox((low, high, 1, 1), key)[:, :2]], 1)
            np.testing.assert_array_equal(x[:, :6], want)
            np.testing.assert_array_equal(x[:, 6], philox((low, high, 2, 0), key)[:, 0])


def test_numbers_of_a_box_and_of_64_bits(rng):
    @mt.kernel
    def draw(x: mt.types.ndarray(dtype=mt.u64, ndim=3)):
        for i, j, k in x:
            x[i, j, k] = mt.random(mt.u64)
            x[i, j, k] ^= mt.random(mt.u64)

    shape = tuple(map(int, rng.integers(1, 8, 3)))
    x = np.zeros(shape, np.uint64)
    with context(random_seed=3):
        draw(x)
    words = philox((np.arange(x.size), 0, 1, 0), RandomKeys(3).next()).astype(np.uint64)
    want = (words[:, 0] | words[:, 1] << np.uint64(32)) ^ (words[:, 2] | words[:, 3] << np.uint64(32))
    np.testing.assert_array_equal(x.ravel(), want)


def test_numbers_of_loops_in_order_and_of_statements():
    @mt.kernel
    def draw(x: mt.types.ndarray(dtype=mt.u32, ndim=2), n: mt.i32):
        for i in range(x.shape[0]):
            for k in range(n):
                x[i, k] = mt.random(mt.u32)

    @mt.kernel
    def once() -> mt.u32:
        first = mt.random(mt.u32)
        return first ^ mt.random(mt.u32)

    x, keys = np.zeros((5, 9), np.uint32), RandomKeys(0)
    with context():
        draw(x, 9)
        found = once()
    key = keys.next()
    want = np.concatenate([philox((np.arange(5), 0, 1, block), key) for block in range(3)], 1)[:, :9]
    np.testing.assert_array_equal(x, want)
    first, second = philox((np.zeros(1), 0, 0, 0), keys.next())[0, :2]
    assert found == first ^ second


def test_numbers_of_a_struct_for_follow_cells(rng):
    build = mt.SNodeTreeBuilder()
    build.pointer(mt.ij, 4).dense(mt.ij, 8).place(v=mt.u32)
    type_ = build.build()

    @mt.kernel
    def draw(f: type_, x: mt.types.ndarray(dtype=mt.u32, ndim=2)):
        for i, j in f:
            x[i, j] = mt.random(mt.u32)

    x = np.zeros((32, 32), np.uint32)
    with context(random_seed=11):
        tree = type_.new()
        for i, j in rng.integers(0, 32, (3, 2)):
            tree.v[int(i), int(j)] = 1
        draw(tree, x)
    want = philox((np.arange(1024), 0, 1, 0), RandomKeys(11).next())[:, 0].reshape(32, 32)
    drawn = x != 0
    assert drawn.sum() >= 64
    np.testing.assert_array_equal(x[drawn], want[drawn])


@mt.func
def walk(limit):
    steps, total = 0, 0.0
    while mt.random() < 0.8 and steps < limit:
        if mt.random() < 0.5:
            total += mt.random()
        else:
            total -= mt.f32(mt.random(mt.f64)) * mt.random()
        steps += 1
    return total + mt.random()


@mt.kernel
def wander(x: mt.types.ndarray(dtype=mt.f32, ndim=2), limit: mt.i32):
    for i, j in x:
        x[i, j] = walk(limit)
    for i, j in x:
        x[i, j] += walk(limit)


def test_numbers_do_not_depend_on_threads_nor_on_who_computes_them(rng):
    found = []
    contexts = [mt.Context(threads=n, opt_level=level, contract=False, random_seed=7) for n in (1, 4) for level in (0, 2)]
    contexts += [mt.Context(mt.interp, interp_stage=stage, random_seed=7) for stage in ("import", "offload")]
    for one in contexts:
        x = np.zeros((21, 30), np.float32)
        with one:
            wander(x, 5)
        found.append(x)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)
    assert len(np.unique(found[0])) > 500


def test_launches_differ_and_seeds_repeat():
    @mt.kernel
    def one() -> mt.f64:
        return mt.random(mt.f64)

    runs = []
    for seed in (1, 2, 1):
        with context(random_seed=seed) as now:
            runs.append([one() for _ in range(4)])
            now.reset()
            assert [one() for _ in range(4)] == runs[-1]
    assert runs[0] == runs[2] and runs[0] != runs[1]
    assert len({*runs[0], *runs[1]}) == 8


def test_seed_of_init_and_its_type():
    assert mt.Context(random_seed=5).options.random_seed == 5
    with pytest.raises(mt.errors.RuntimeTypeError_, match="random_seed: expected an integer, got 'x'"):
        mt.Context(random_seed="x")


@pytest.mark.parametrize(("dtype", "digits"), [(mt.f16, 11), (mt.bf16, 8), (mt.f32, 24), (mt.f64, 53)])
def test_floats_are_in_the_half_open_interval(dtype, digits):
    n = 4000

    @mt.kernel
    def draw(x: mt.types.ndarray(dtype=mt.f64, ndim=1)):
        for i in x:
            x[i] = mt.random(dtype)

    x = np.zeros(n)
    with context(random_seed=1):
        draw(x)
    assert x.min() >= 0 and x.max() < 1
    scaled = x * 2.0**digits
    np.testing.assert_array_equal(scaled, np.floor(scaled))
    assert (scaled % 2 == 1).any(), "all bits of the fraction are drawn"
    mean, variance = x.mean(), x.var()
    assert abs(mean - (0.5 - 2.0**-digits / 2)) < 5 * np.sqrt(1 / 12 / n)
    assert abs(variance - 1 / 12) < 5 * np.sqrt(1 / 180 / n)
    counts = np.histogram(x, 16, (0, 1))[0]
    assert ((counts - n / 16) ** 2 / (n / 16)).sum() < 40, "chi-square with 15 degrees of freedom: p < 5e-4 beyond"


@pytest.mark.parametrize("dtype", [mt.i8, mt.u8, mt.i16, mt.u16, mt.i32, mt.u32, mt.i64, mt.u64, mt.u1])
def test_integers_take_every_value(dtype):
    n = 4000

    @mt.kernel
    def draw(x: mt.types.ndarray(dtype=dtype, ndim=1)):
        for i in x:
            x[i] = mt.random(dtype)

    x = np.zeros(n, dtype.numpy)
    with context(random_seed=2):
        draw(x)
    bits = x.view(np.uint8).reshape(n, -1) if dtype is not mt.u1 else x.astype(np.uint8)[:, None]
    ones = np.unpackbits(bits, axis=1).mean(0)[-dtype.bits :] if dtype is not mt.u1 else bits.mean(0)
    assert np.abs(ones - 0.5).max() < 5 * 0.5 / np.sqrt(n)


def test_types_by_position_and_name():
    @mt.kernel
    def draw(x: mt.types.ndarray(dtype=mt.f64, ndim=1)):
        for _ in range(1):
            x[0] = mt.random()
            x[1] = mt.random(float)
            x[2] = mt.random(dtype=mt.f64)
            x[3] = mt.random(int)
            x[4] = mt.randn(dt=mt.f64)

    x = np.zeros(5)
    draw(x)
    assert np.float32(x[0]) == x[0] and np.float32(x[1]) == x[1] and np.float32(x[2]) != x[2] and x[3] == int(x[3])


@pytest.mark.parametrize("dtype", [mt.f32, mt.f64, mt.f16])
def test_normal_numbers(dtype):
    n = 6000

    @mt.kernel
    def draw(x: mt.types.ndarray(dtype=mt.f64, ndim=1)):
        for i in x:
            x[i] = mt.randn(dtype)

    x = np.zeros(n)
    with context(random_seed=4):
        draw(x)
    assert np.isfinite(x).all()
    assert abs(x.mean()) < 5 / np.sqrt(n) and abs(x.var() - 1) < 5 * np.sqrt(2 / n)
    assert abs((x**4).mean() - 3) < 5 * np.sqrt(96 / n), "the tails"
    counts = np.histogram(x, [-9, -1, -0.5, 0, 0.5, 1, 9])[0]
    want = n * np.array([0.158655, 0.149882, 0.191462, 0.191462, 0.149882, 0.158655])
    assert ((counts - want) ** 2 / want).sum() < 25


def test_a_jump_in_a_branch_that_is_left_out_begins_no_block():
    """Statements that follow each other share four words, whatever stands in a branch that is decided while compiling."""

    @mt.kernel
    def plain(x: mt.types.ndarray(dtype=mt.i32, ndim=1)):
        for i in x:
            x[i] = mt.random(mt.i32)
            x[i] ^= mt.random(mt.i32)

    @mt.kernel
    def branched(x: mt.types.ndarray(dtype=mt.i32, ndim=1)):
        for i in x:
            if mt.static(False):
                if i > 3:
                    continue
            else:
                x[i] = mt.random(mt.i32)
            x[i] ^= mt.random(mt.i32)

    found = []
    for kernel in (plain, branched):
        with context(random_seed=5):
            x = np.zeros(8, np.int32)
            kernel(x)
            found.append(x)
    assert np.array_equal(*found)


def test_pi(rng):
    @mt.kernel
    def inside(n: mt.i32) -> mt.i32:
        count = 0
        for _ in range(n):
            p = mt.Vector([mt.random(), mt.random()])
            if p.norm() < 1:
                count += 1
        return count

    n = 20000
    with context(random_seed=6):
        assert abs(4 * inside(n) / n - np.pi) < 5 * 4 * 0.41 / np.sqrt(n)
