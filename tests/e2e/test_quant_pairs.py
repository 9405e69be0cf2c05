"""Quantised members with each other capability that no other test has them with: docs/coverage.md names these."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import metate as mt
from metate.interop import vdb

quant = mt.types.quant
is_interpreted = "METATE_TEST_INTERP" in os.environ


def packed_type():
    """Bits, counts and floats that share an exponent, in dense and in sparse cells."""
    builder = mt.types.SNodeTreeBuilder()
    builder.dense(mt.i, 8).quant_array(mt.i, 64, max_num_bits=64).place(bit=quant.int(1, False))
    word = builder.pointer(mt.i, 16, name="blocks").dense(mt.i, 8).bit_struct(max_num_bits=64)
    word.place(count=quant.int(9), share=quant.fixed(14, max_value=4.0)).place(
        u=quant.float(6, 15), v=quant.float(6, 15), shared_exponent=True
    )
    return builder.build()


Packed = packed_type()
Values = mt.types.ndarray(mt.f32, 1)


@mt.kernel
def fill(t: Packed, values: Values):
    for i in t.bit:
        t.bit[i] = (i // 3) % 2
    for k in values:
        t.count[k] += 3
        t.share[k] = values[k]
        t.u[k] = values[k]
        t.v[k] = -2 * values[k]


def arrays(tree):
    return {name: tree[name].to_numpy().tolist() for name in ("bit", "count", "share", "u", "v")}


@pytest.fixture
def values(rng):
    return rng.uniform(-3.9, 3.9, 40).astype(np.float32)


@pytest.fixture
def filled(values):
    """What a tree holds once the kernel has run."""
    tree = Packed.new()
    fill(tree, values)
    found = arrays(tree)
    assert found["share"][:40] == [Packed.members["share"].type(v) for v in values.tolist()] and found["count"][39:41] == [3, 0]
    return found


def test_graphs(values, filled):
    builder, tree = mt.graph.GraphBuilder(), Packed.new()
    given = mt.graph.Arg(mt.graph.ArgKind.TREE, "t", Packed), mt.graph.Arg(mt.graph.ArgKind.NDARRAY, "values", mt.f32, ndim=1)
    builder.dispatch(fill, *given)
    builder.dispatch(fill, *given)
    builder.compile("filled_twice").run({"t": tree, "values": values})
    twice = Packed.new()
    fill(twice, values)
    fill(twice, values)
    assert arrays(tree) == arrays(twice) and arrays(tree)["count"] == [2 * count for count in filled["count"]]


def test_modules(values, filled, tmp_path):
    module = mt.aot.Module()
    module.add_type(Packed, "packed")
    module.add_kernel(fill)
    loaded = mt.aot.load(module.save(tmp_path / "packed.metate"))
    assert loaded.types["packed"] == Packed
    tree = loaded.types["packed"].new()
    loaded.kernels["fill"](tree, values)
    assert arrays(tree) == filled
    tree.save(tmp_path / "tree")
    assert arrays(Packed.load(tmp_path / "tree", read_only=True)) == filled


def test_interpreted_and_compiled(values, filled):
    for context in (mt.Context(mt.interp), mt.Context(opt_level=0), mt.Context(debug=True)):
        with context:
            tree = Packed.new()
            fill(tree, values)
            assert arrays(tree) == filled


def test_profiles_reports_and_the_cache(values, filled, tmp_path):
    with mt.Context(offline_cache=True, offline_cache_file_path=str(tmp_path), profile=True) as kept:
        found = []
        for _ in range(2):
            tree = Packed.new()
            fill(tree, values)
            assert arrays(tree) == filled
            whole, *tasks = mt.profiler.kernel_profiles()
            assert whole.name == "fill" and len(tasks) == 2
            found.append(fill.instances()[0].cache)
            kept.reset()
    assert found == ["compiled and cached", "loaded"]
    report = fill.report(tree, values)
    assert report.trees[0].bytes == Packed.bytes() and ("quant_array1", "quant_array i 64", 8) in report.trees[0].levels


@pytest.mark.parametrize("is_deterministic", [False, True])
def test_sums_of_integers_do_not_depend_on_threads(is_deterministic):
    found = []
    for threads in (1, 2, 4):
        with mt.Context(threads=threads, deterministic=is_deterministic, chunk_ns=0):
            x, y = mt.field(quant.int(24)), mt.field(quant.fixed(30, max_value=1024.0, compute=mt.f64))
            word = mt.BitpackedFields(max_num_bits=64)
            word.place(x, y)
            mt.root.dense(mt.i, 3).place(word)

            @mt.kernel
            def add(x: mt.template(), y: mt.template()):
                for i in range(3000):
                    x[i % 3] += i % 11
                    y[i % 3] += 0.001 * (i % 7)

            add(x, y)
            found.append((x.to_numpy().tolist(), y.to_numpy().tolist()))
    assert found[0][0] == [sum(i % 11 for i in range(k, 3000, 3)) for k in range(3)] and found[0] == found[1] == found[2]


def test_sums_of_floats_are_the_same_bits_in_deterministic_mode():
    found = []
    for threads in (1, 3):
        with mt.Context(threads=threads, deterministic=True, chunk_ns=0):
            x, y = mt.field(quant.float(6, 12)), mt.field(quant.float(6, 12))
            word = mt.BitpackedFields(max_num_bits=32)
            word.place(x, y, shared_exponent=True)
            mt.root.dense(mt.i, 2).place(word)

            @mt.kernel
            def add(x: mt.template(), y: mt.template()):
                for i in range(600):
                    x[i % 2] += 0.37 * (i % 13)
                    y[i % 2] -= 0.21 * (i % 5)

            add(x, y)
            found.append((x.to_numpy().tolist(), y.to_numpy().tolist()))
    assert found[0] == found[1] and found[0][0][0] > 100


def test_random_bits_do_not_depend_on_threads():
    found = []
    for options in ({"threads": 1}, {"threads": 3, "chunk_ns": 0}, {"arch": mt.interp}):
        with mt.Context(random_seed=3, **options):
            x = mt.field(quant.int(1, False))
            mt.root.dense(mt.i, 4).quant_array(mt.i, 64, max_num_bits=64).place(x)

            @mt.kernel
            def draw(x: mt.template()):
                for i in x:
                    x[i] = mt.random() < 0.5

            draw(x)
            found.append(x.to_numpy().tolist())
    assert found[0] == found[1] == found[2] and 80 < sum(found[0]) < 176


def test_debug_mode_names_what_does_not_fit():
    types = {"a": quant.int(5), "b": quant.fixed(11, scale=0.001), "u": quant.float(5, 9)}
    a, b, u = (mt.field(type_, name=name) for name, type_ in types.items())
    word = mt.BitpackedFields(max_num_bits=32)
    word.place(a, b)
    mt.root.dense(mt.i, 4).place(word, u)

    @mt.kernel
    def store(number: mt.i32, share: mt.f32, value: mt.f32):
        for i in range(2, 3):
            a[i] = number
            b[i] = share
            u[i] = value

    @mt.kernel
    def add(number: mt.i32):
        for i in range(2, 3):
            a[i] += number

    with mt.Context(debug=True):  # compiled: what is interpreted has the check quant-range
        store(-16, 1.0233, 1e-30)  # what is rounded is no mistake
        assert (a[2], b[2], u[2]) == (-16, pytest.approx(1.023), 0)
        for kernel, arguments, text in (
            (store, (20, 0, 0), r"a\[2\] = 20: quant\.int\(5\) holds -16 to 15"),
            (store, (0, 1.5, 0), r"b\[2\] = 1\.5: quant\.fixed\(11, scale=0\.001\) holds -1\.024 to 1\.023"),
            (store, (0, 0, 1e9), r"u\[2\] = 1000000000\.0: quant\.float\(5, 9\) holds -130816 to 130816"),
            (store, (0, 0, float("nan")), r"u\[2\] = nan: quant\.float\(5, 9\) holds"),
            (add, (20,), r"a\[2\] = 20: quant\.int\(5\) holds -16 to 15"),
        ):
            with pytest.raises(AssertionError, match=text):
                kernel(*arguments)


def test_slots_are_counted(values):
    tree = Packed.new(capacity={"blocks": 1})
    with pytest.raises(mt.CapacityError) as caught:
        tree.reserve_for(fill, tree, values)
    assert caught.value.capacities == {"blocks": 5}
    tree.migrate(capacity=caught.value.capacities)
    fill(tree, values)
    assert tree.stats()["blocks"].used == 5


def test_real_functions_change_members(filled):
    tree = Packed.new()

    @mt.real_func
    def put(t: Packed, i: mt.i32, value: mt.f32) -> mt.f32:
        t.u[i] = value
        t.count[i] += 500
        return t.u[i] + t.count[i]

    @mt.kernel
    def run(t: Packed) -> mt.f32:
        total = 0.0
        for i in range(4):
            total += put(t, i, 0.5 * i)
        return total

    assert run(tree) == 3 - 4 * 12 and tree.count.to_numpy()[:5].tolist() == [-12, -12, -12, -12, 0], "500 in 9 bits"


def test_templates_closures_structs_and_offsets():
    cell = mt.types.struct(kind=quant.int(4, False), at=mt.types.vector(2, mt.f32))
    cells = cell.field(shape=(4, 4), offset=(-2, -2))
    bits = [mt.field(quant.int(1, False)) for _ in range(2)]
    for field in bits:
        mt.root.dense(mt.ij, (4, 1)).quant_array(mt.j, 64, max_num_bits=64).place(field, offset=(-2, -32))

    @mt.kernel
    def run(x: mt.template(), y: mt.template(), turn: mt.template()):
        for i, j in x:
            x[i, j] = (i + j + turn) % 2
        for i, j in y:
            y[i, j] = 1 - x[i, j]
        for i, j in cells:
            cells[i, j] = cell(i + j + 16, mt.Vector([i, x[i, j]]))

    for turn in (0, 1):
        run(*bits, turn)
        i, j = np.mgrid[-2:2, -32:32]
        assert (bits[0].to_numpy() == (i + j + turn) % 2).all() and (bits[1].to_numpy() == 1 - (i + j + turn) % 2).all()
        assert cells[-1, -2].kind == 13 and cells[1, 1].kind == 2 and cells[1, -2].at[1] == (1 - 2 + turn) % 2
    assert bits[0][-2, -32] == 1 and bits[1][1, 31] == 1 - bits[0][1, 31]


PROGRAM = """
import numpy as np
import metate as mt

quant = mt.types.quant
builder = mt.types.SNodeTreeBuilder()
builder.dense(mt.i, 2).quant_array(mt.i, 64, max_num_bits=64).place(bit=quant.int(1, False))
T = builder.build()

@mt.kernel
def put(t: T, begin: mt.i32, end: mt.i32):
    for i in range(begin, end):
        t.bit[i] = 1

for options in ({}, {"opt_level": 0}):
    with mt.Context(sanitizer="address", **options):
        memory = np.zeros(T.bytes() + 64, np.uint8)
        start = -memory.ctypes.data % 64
        tree = T.bind(memory[start : start + T.bytes()])
        put(tree, 3, 128)
        assert tree.bit.to_numpy().sum() == 125
        print("inside", flush=True)
behind = -(-(memory.nbytes - start - tree._root_offset()) // 8) * 64  # the bit of the first word behind the memory
with mt.Context(sanitizer="address"):
    put(tree, behind, behind + 1)
print("outside", flush=True)
"""


def test_address_sanitizer(tmp_path):
    runtime = subprocess.run(
        ["clang-22", "-print-file-name=libclang_rt.asan-x86_64.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if is_interpreted or not pathlib.Path(runtime).is_file():
        pytest.skip("clang-22 has no shared AddressSanitizer runtime for this machine, or nothing is compiled")
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    environment = {**os.environ, "LD_PRELOAD": runtime, "PYTHONMALLOC": "malloc", "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert done.stdout == "inside\ninside\n", done.stderr[-2000:]
    assert done.returncode != 0 and "AddressSanitizer" in done.stderr


def test_openvdb_has_the_numbers(tmp_path):
    if not vdb.available():
        pytest.skip("this build has no OpenVDB")
    shape = mt.types.SNodeTreeBuilder().pointer(mt.ijk, 4).dense(mt.ijk, 8)
    shape = shape.place(a=quant.int(5), b=quant.fixed(11, max_value=2.0), background={"b": 0.3}).build()
    tree, again = shape.new(), shape.new()
    tree.a[1, 2, 3], tree.b[1, 2, 3] = 7, 1.3
    vdb.write(tmp_path / "x.vdb", {"a": tree.a, "b": tree.b})
    assert vdb.grids(tmp_path / "x.vdb") == {"a": "i32", "b": "f32"}
    for name in "ab":
        vdb.load(tmp_path / "x.vdb", name, into=again[name])
    assert again.a[1, 2, 3] == 7 and again.b[1, 2, 3] == tree.b[1, 2, 3] == shape.members["b"].type(1.3)
    assert again.b[30, 30, 30] == shape.members["b"].type(0.3) and again.is_active(0, 0, 0)
