"""Sparse trees on a device, mt.simt or METATE_TEST_ARCH, against NumPy and the CPU; many invocations at once; modules."""

import json
import os
import pathlib
import subprocess
import sys

import device_tests
import numpy as np
import pytest

import metate as mt

ARCH = device_tests.ARCH or mt.simt
TREE = mt.types.SNodeTreeBuilder
I1, I2 = mt.types.ndarray(dtype=mt.i32, ndim=1), mt.types.ndarray(dtype=mt.i32, ndim=2)
GRIDS = {
    "dense": TREE().dense(mt.ij, 8).dense(mt.ij, 4).place(a=mt.i32).build(),
    "pointer": TREE().pointer(mt.ij, 8).dense(mt.ij, 4).place(a=mt.i32).build(),
    "pointers": TREE().pointer(mt.ij, 4).pointer(mt.ij, 4).dense(mt.ij, 2).place(a=mt.i32).build(),
    "bitmasked": TREE().bitmasked(mt.ij, 8).dense(mt.ij, 4).place(a=mt.i32).build(),
    "bits of a pointer": TREE().pointer(mt.ij, 8).bitmasked(mt.ij, 4).place(a=mt.i32).build(),
    "hash": TREE().hash(mt.ij).dense(mt.ij, 4).place(a=mt.i32).build(),
    "list": TREE().pointer(mt.i, 8).dense(mt.i, 4).dynamic(mt.j, 32, 8).place(a=mt.i32).build(),
}
Pool = TREE().pointer(mt.i, 64, name="blocks").dense(mt.i, 4).place(a=mt.i32).build()
Lists = TREE().dense(mt.i, 8).dynamic(mt.j, 256, 16, name="list").place(a=mt.i32).build()


def on(arch, **options):
    return mt.Context(arch=arch, **options)


@pytest.fixture
def device():
    with on(ARCH) as context:
        yield context


def cells_of(member):
    """{coordinates: value} of the active cells."""
    places, values = member.cells()
    found = {tuple(place): value for place, value in zip(places.tolist(), values.tolist(), strict=True)}
    assert len(found) == len(places)
    return found


# ---- trees come and go


def life_of(tree_type, points, dropped=None):
    """What a tree and its kernels show through their life, on the machine of the current context."""

    @mt.kernel
    def write(f: tree_type, x: I2):
        for k in range(x.shape[0]):
            f.a[x[k, 0], x[k, 1]] += k + 1

    @mt.kernel
    def walk(f: tree_type, out: I1):
        for i, j in f:
            out[0] += 1
            out[1] += f.a[i, j]
            out[2] ^= (i * 37 + j) * (f.a[i, j] + 1)

    @mt.kernel
    def double(f: tree_type):
        for i, j in f:
            f.a[i, j] = 2 * f.a[i, j] + i - j

    @mt.kernel
    def look(f: tree_type, active: I2):
        for i, j in active:
            active[i, j] = 2 * f.a[i, j] + mt.is_active(f.a, [i, j])

    @mt.kernel
    def drop(f: tree_type, x: I2):
        for k in range(x.shape[0]):
            mt.deactivate(f.a, [x[k, 0], x[k, 1]])

    shown, tree = [], tree_type.new()

    def show():
        out, active = np.zeros(3, np.int32), np.zeros((32, 32), np.int32)
        walk(tree, out)
        look(tree, active)
        stats = {name: level.used for name, level in tree.stats().items()}
        shown.append((cells_of(tree.a), out.tolist(), active.tolist(), stats))

    drops = [] if dropped is None else [(drop, dropped)]
    for kernel, *arguments in ((write, points), (double,), *drops, (write, points[::2])):
        show()
        kernel(tree, *arguments)
    show()
    tree.deactivate_all()
    show()
    write(tree, points[:5])
    show()
    tree.check()
    return shown


@pytest.mark.parametrize("name", GRIDS)
def test_a_tree_lives_as_on_the_cpu(rng, name):
    points, dropped = (rng.integers(0, 32, (count, 2)).astype(np.int32) for count in (200, 40))
    shown = []
    for arch in (mt.cpu, ARCH):
        with on(arch):
            shown.append(life_of(GRIDS[name], points, *(() if name in ("dense", "list") else (dropped,))))
    assert shown[0] == shown[1]
    assert sum(shown[1][1][0].values()) == sum(range(1, 201)), "each element was added once"


def test_appends(device, rng):
    @mt.kernel
    def append(f: Lists, x: I1, old: I1):
        for k in x:
            old[k] = mt.append(f.list, [x[k]], k)

    @mt.kernel
    def lengths(f: Lists, out: I1):
        for i in out:
            out[i] = mt.length(f.list, [i])

    tree, x = Lists.new(), rng.integers(0, 8, 900).astype(np.int32)
    old, out = np.full(900, -1, np.int32), np.zeros(8, np.int32)
    append(tree, x, old)
    lengths(tree, out)
    assert np.array_equal(out, np.bincount(x, minlength=8))
    values = tree.a.to_numpy()
    for i in range(8):
        mine = np.flatnonzero(x == i)
        assert sorted(old[mine].tolist()) == list(range(len(mine)))  # each place once
        assert np.array_equal(values[i, old[mine]], mine)
    with pytest.raises(mt.CapacityError):
        append(tree, np.zeros(300, np.int32), np.zeros(300, np.int32))
    tree.deactivate_all()
    append(tree, x[:100], old)
    assert len(cells_of(tree.a)) == 100


# ---- a pool that is full


def test_a_full_pool_is_an_error_and_the_rest_is_written(device):
    @mt.kernel
    def fill(f: Pool, out: I1):
        for i in range(256):
            f.a[i] = i
            out[i] = i

    tree, out = Pool.new(capacity=10), np.zeros(256, np.int32)
    with pytest.raises(mt.CapacityError, match="level 'blocks' needs at least"):
        fill(tree, out)
    assert out.tolist() == list(range(256))
    cells = cells_of(tree.a)
    assert len(cells) >= 40 and all(value in (0, i) for (i,), value in cells.items())
    tree.check()
    tree.migrate(capacity=64)
    fill(tree, out)
    assert cells_of(tree.a) == {(i,): i for i in range(256)}


@pytest.mark.parametrize("options", [{}, {"debug": True}], ids=["release", "debug"])
def test_errors_of_a_full_pool_are_the_cpus(options):
    @mt.kernel
    def one(f: Pool, i: mt.i32):
        f.a[i] = i

    said = []
    for arch in (mt.cpu, ARCH):
        with on(arch, threads=1, **options):
            tree = Pool.new(capacity=2)
            for i in (0, 4, 5):
                one(tree, i)
            with pytest.raises(mt.CapacityError) as caught:
                one(tree, 100)
            error = caught.value
            said.append((str(error), error.level, error.capacity, error.needed))
            assert (tree.a[4], tree.a[5]) == (4, 5)
            if options:  # it has stopped before the store; otherwise there are a few slots more
                assert tree.a[100] == 0
    assert said[0] == said[1] and said[0][1:] == ("blocks", 2, 3)


def test_places_outside_stop_in_debug_mode():
    @mt.kernel
    def store(f: Pool, i: mt.i32):
        f.a[i] = 1

    said = []
    for arch in (mt.cpu, ARCH):
        with on(arch, debug=True):
            tree = Pool.new()
            store(tree, 255)
            with pytest.raises(IndexError, match=r"kernel 'store': index out of range: f\.a\[256\] of shape \(256,\)") as caught:
                store(tree, 256)
            said.append(str(caught.value))
            assert len(tree.a.cells()[0]) == 4
    assert said[0] == said[1]


def test_what_was_read_before_a_loop_is_from_before(device):
    """A bit of a mask that is read between two tasks, and that the second one sets."""
    x, out = mt.field(mt.i32), mt.field(mt.i32, shape=64)
    cells = mt.root.bitmasked(mt.i, 64)
    cells.place(x)

    @mt.kernel
    def run():
        was = mt.is_active(cells, [3])
        for i in range(64):
            x[i] = 1
            out[i] = mt.i32(was)

    run()
    assert not out.to_numpy().any()
    run()
    assert out.to_numpy().all()


def test_what_lies_below_goes_with_it(device):
    """Three levels of slots, which one invocation gives back, one level after the other."""
    cells, value = [mt.root.pointer(mt.i, 2)], mt.field(mt.i32)
    cells.append(cells[0].pointer(mt.i, 2))
    cells.append(cells[1].pointer(mt.i, 8))
    cells[2].place(value)

    @mt.kernel
    def fill(n: mt.i32):
        for i in range(n):
            value[i] = i + 1

    @mt.kernel
    def drop(level: mt.template(), first: mt.i32, last: mt.i32):
        for i in range(first, last):
            mt.deactivate(level, [i])

    @mt.kernel
    def total() -> mt.i32:
        n = 0
        for i in value:
            n += value[i]
        return n

    fill(32)
    drop(cells[2], 0, 5)
    assert total() == sum(range(6, 33))
    drop(cells[1], 1, 2)
    assert total() == sum(range(6, 9)) + sum(range(17, 33))
    drop(cells[0], 1, 2)
    assert total() == sum(range(6, 9))
    fill(32)  # in slots that came back
    assert total() == sum(range(1, 33))


def test_reserved_slots_are_enough(device, rng):
    @mt.kernel
    def write(f: Pool, x: I1):
        for k in x:
            f.a[x[k]] += 1

    x, tree = rng.integers(0, 256, 90).astype(np.int32), Pool.new(capacity=64)
    needed = tree.reserve_for(write, tree, x)
    assert needed == {"blocks": len(np.unique(x // 4))}
    write(tree, x)
    assert tree.stats()["blocks"].used == needed["blocks"]


# ---- many invocations at once

AT_ONCE = """
import json, sys
import numpy as np
import metate as mt

TREE = mt.types.SNodeTreeBuilder
Grid = TREE().pointer(mt.ij, 16).bitmasked(mt.ij, 8).place(a=mt.i32).build()
Hash = TREE().hash(mt.ij).dense(mt.ij, 2).place(a=mt.i32).build()
Lists = TREE().pointer(mt.i, 4).dynamic(mt.j, 1 << 16, 64, name="list").place(a=mt.i32).build()
I1 = mt.types.ndarray(dtype=mt.i32, ndim=1)

@mt.kernel
def count(x: I1, out: mt.types.ndarray(dtype=mt.i64, ndim=1)) -> mt.f64:
    total = mt.f64(0)
    for i in x:
        total += x[i]
        old = mt.atomic_add(out[x[i] % 8], 1)
        mt.atomic_max(out[8 + x[i] % 8], old)
        mt.atomic_xor(out[16], mt.i64(x[i]) << 20)
    return total

@mt.kernel
def grow(f: Grid, h: Hash, l: Lists, x: I1):
    for k in x:
        i, j = x[k] % 128, x[k] // 128 % 128
        f.a[i, j] += 1
        h.a[i - 64, j - 64] += 1
        mt.append(l.list, [x[k] % 4], k)

@mt.kernel
def walk(f: Grid, out: mt.types.ndarray(dtype=mt.i64, ndim=1)):
    for i, j in f:
        out[0] += 1
        out[1] += f.a[i, j]

mt.init(arch=sys.argv[1], enable_fallback=False)
n = 60_000
x = np.random.default_rng(3).integers(0, 1 << 20, n).astype(np.int32)
said = {"failed": []}
def same(name, a, b):
    if not np.array_equal(a, b):
        said["failed"].append(name)
for turn in range(4):
    out = np.zeros(17, np.int64)
    same("sum", count(x, out), float(x.sum(dtype=np.int64)))
    bins = np.bincount(x % 8, minlength=8)
    same("counts", out[:8], bins)
    same("old values", out[8:16], bins - 1)
    same("xor", out[16], np.bitwise_xor.reduce(x.astype(np.int64) << 20))
    f, h, l = Grid.new(), Hash.new(), Lists.new()
    grow(f, h, l, x)
    want = np.zeros((128, 128), np.int32)
    np.add.at(want, (x % 128, x // 128 % 128), 1)
    same("grid", f.a.to_numpy(), want)
    places, values = h.a.cells()
    hashed = np.zeros((128, 128), np.int32)
    hashed[tuple((places + 64).T)] = values
    same("hash", hashed, want)
    same("no place twice", len(np.unique(places, axis=0)), len(places))
    lists = l.a.cells()
    for i in range(4):
        same("list", np.sort(lists[1][lists[0][:, 0] == i]), np.flatnonzero(x % 4 == i))
    out = np.zeros(2, np.int64)
    walk(f, out)
    same("walk", out, [(want > 0).sum(), n])
    for tree in (f, h, l):
        tree.check()
print(json.dumps(said))
"""


def test_many_invocations_at_once_lose_nothing():
    """On mt.simt four threads, more than the usual one; on a GPU there are always many."""
    environment = {**os.environ, "METATE_SIMT_THREADS": "4", "METATE_OFFLINE_CACHE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", f"{AT_ONCE}", ARCH], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"failed": []}


# ---- modules


@mt.kernel
def check(x: I1, at: mt.i32):
    for i in x:
        assert x[i] != 77, f"77 at {i}"
        assert i != at, "stopped"
        x[i] += 1


@mt.kernel
def grow(f: Pool, x: I1) -> mt.i32:
    n = 0
    for k in x:
        assert x[k] >= 0, "a negative place"
        f.a[x[k]] += 1
        n += 1
    print("grown by", n)
    return n


@mt.kernel
def walk(f: Pool) -> mt.i64:
    total = mt.i64(0)
    for i in f:
        assert i < 256
        total += i * f.a[i]
    return total


@mt.kernel
def say(v: mt.types.vector(3, mt.f32), n: mt.i32):
    print("v =", v, f"{n:04d}")
    assert n < 5, f"n is {n}"
    print("end")


@pytest.mark.parametrize("options", [{}, {"asserts": True}, {"debug": True}, {"debug": True, "opt_level": 0}], ids=str)
def test_one_module_for_several_machines(tmp_path, rng, capfd, options):
    """All variants describe the module in one way; each machine opens its own, and they do the same."""
    module = mt.aot.Module(targets=["simt", "x86-64-v2", "cuda:compute_80"], **options)
    for kernel in (check, grow, walk, say):
        module.add_kernel(kernel)
    path = module.save(tmp_path / "m.metate")
    found = []
    for arch in dict.fromkeys([mt.cpu, mt.simt, ARCH]):
        with on(arch, threads=1):
            loaded = mt.aot.load(path)
            assert [one["cpu"] for one in loaded.variants] == ["simt", "x86-64-v2", "compute_80"]
            (tree_type,) = loaded.types.values()
            tree, x = tree_type.new(), np.arange(100, dtype=np.int32)
            grown = loaded.grow(tree, x % 64), loaded.walk(tree)
            errors = []
            for kernel, *arguments in (
                (loaded.check, x[:70], 5),
                (loaded.check, x[77:78], -1),
                (loaded.say, [1, 2, 3], 9),
                (loaded.grow, tree, np.full(1, -1, np.int32)),
            ):
                try:
                    kernel(*arguments)
                except mt.AssertionError_ as error:
                    errors.append(str(error))
            mt.sync()
            found.append((grown, errors, capfd.readouterr().out))
    assert all(one == found[0] for one in found[1:])
    assert found[0][0] == (100, sum(k % 64 for k in range(100)))
    expected = ["stopped", "77 at 0", "n is 9", "a negative place"] if options else []
    assert len(found[0][1]) == len(expected)
    assert all(text in error for text, error in zip(expected, found[0][1], strict=True))


def test_a_module_without_a_variant_of_the_device_says_so(device, tmp_path):
    path = mt.aot.Module(targets=["x86-64-v2"]).add_kernel(walk).save(tmp_path / "m.metate")
    with pytest.raises(mt.errors.RuntimeError_, match=r"module 'm' has no variant that this machine can run: .*x86-64-v2"):
        mt.aot.load(path)


def test_modules_for_devices_alone(tmp_path):
    path = mt.aot.Module(targets=["simt", "cuda:compute_80"], name="alone").add_kernel(walk).save(tmp_path / "m.metate")
    assert pathlib.Path(path).stat().st_size > 1000
    with on(mt.cpu), pytest.raises(mt.errors.RuntimeError_, match="module 'alone' has no variant that this machine can run"):
        mt.aot.load(path)
    with on(ARCH):
        assert mt.aot.load(path).walk(Pool.new()) == 0
