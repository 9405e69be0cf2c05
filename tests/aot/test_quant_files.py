"""Quantised members in module files and saved trees: processes without the compiler go on from each other."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

import metate as mt

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
import quant_kernels as kernels  # noqa: E402

# What a process does that has the module and no compiler; its words: module, input, output.
WITHOUT_COMPILER = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "metate_native._compiler":
            raise ImportError("the compiler is absent")

sys.meta_path.insert(0, Absent())
import numpy as np
import metate as mt

module = mt.aot.load(sys.argv[1])
"""
FILL = """
tree = module.sparse.new()
module.scatter(tree, np.load(sys.argv[2]))
print(module.total(tree))
tree.save(sys.argv[3])
"""
READ = """
tree = module.sparse.load(sys.argv[2])
tree.check()
print(module.total(tree))
np.savez(sys.argv[3], **{name: tree[name].to_numpy() for name in ("v0", "v1", "mass", "kind", "bit")})
"""
NUMBERS = """
tree = module.numbers.new()
with np.load(sys.argv[2]) as given:
    for name, values in given.items():
        tree[name].from_numpy(values)
module.mix(tree, 0.375)
np.savez(sys.argv[3], **{name: tree[name].to_numpy() for name in tree.type.members})
"""


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def without_compiler(story, *words):
    return run(sys.executable, "-c", WITHOUT_COMPILER + story, *words)


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    return kernels.module().save(tmp_path_factory.mktemp("quant") / "quant.metate")


@pytest.fixture
def points(rng):
    """Distinct cells, so that no two writes meet in one."""
    chosen = rng.choice(256, size=40, replace=False)
    return np.stack([chosen // 16, chosen % 16], axis=1).astype(np.int32)


def total_of(points):
    """What scatter leaves; all of it can be stored."""
    k, (i, j) = np.arange(len(points)), points.T.astype(np.int64)
    return float((0.75 * 6 - k + 1000 + 100 * i + j).sum())


def test_types_come_back(module):
    loaded = mt.aot.load(module)
    assert loaded.types["numbers"] == kernels.Numbers and loaded.types["sparse"] == kernels.Sparse
    assert {name: loaded.numbers.members[name].type for name in kernels.TYPES} == kernels.TYPES
    assert loaded.sparse.members["mass"].background == 0.5 and loaded.nested.members["a"].background == -7
    assert loaded.mix.signature() == "mix(t: numbers, by: f32)"


def test_numbers_without_the_compiler(module, tmp_path, rng):
    given = {name: kernels.numbers(rng, name) for name in kernels.names()}
    np.savez(tmp_path / "given.npz", **given)
    without_compiler(NUMBERS, module, tmp_path / "given.npz", tmp_path / "found.npz")
    tree = kernels.Numbers.new()
    for name, values in given.items():
        tree[name].from_numpy(values)
    kernels.mix(tree, 0.375)
    with np.load(tmp_path / "found.npz") as found:
        assert set(found) == set(kernels.Numbers.members)
        for name in found:
            assert found[name].tobytes() == tree[name].to_numpy().tobytes(), name


def test_a_tree_goes_through_three_processes(module, tmp_path, points):
    """Filled in Python, changed in C++, read in Python; the first and the last have no compiler."""
    np.save(tmp_path / "points.npy", points)
    assert float(without_compiler(FILL, module, tmp_path / "points.npy", tmp_path / "first.tree")) == total_of(points)
    library = ROOT / "build/lib"
    run("g++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", f"-I{ROOT / 'abi'}",
        HERE / "quant_host.cpp", f"-L{library}", "-lmetate", f"-Wl,-rpath,{library}", "-o", tmp_path / "host")  # fmt: skip
    said = run(tmp_path / "host", module, tmp_path / "first.tree", tmp_path / "second.tree").splitlines()
    assert said[:5] == [
        "v0 f32 14 bits from 6 of 64, 0, 0",
        "mass f32 14 bits from 34 of 64, 0.000244140625, 0",
        "kind u32 3 bits from 48 of 64, 0, 0",
        "bit u32 1 bits from 0 of 32, 0, 32",
        "item i32 20 bits from 0 of 32, 0, 0",
    ]
    assert float(said[5].split()[1]) == total_of(points)
    mass = kernels.Sparse.members["mass"].type(1.3)
    assert [float(word) for word in said[6].split()[1:]] == [1, mass]
    total = float(said[7].split()[1])
    assert said[8:] == []  # damaged level tables are refused
    assert float(without_compiler(READ, module, tmp_path / "second.tree", tmp_path / "found.npz")) == total
    tree = kernels.Sparse.load(tmp_path / "second.tree")
    assert kernels.total(tree) == total
    active, rows = np.zeros((16, 16), bool), np.zeros(16, bool)
    active[tuple(points.T)] = active[15, 15] = True
    rows[points[:, 0]] = True
    n = 2 * np.arange(256, dtype=np.float32).reshape(16, 16)
    with np.load(tmp_path / "found.npz") as found:
        np.testing.assert_array_equal(found["v0"], np.where(active, -n, 0))
        np.testing.assert_array_equal(found["v1"], np.where(active, 0.5 * (n + 1), 0))
        assert found["mass"][15, 15] == np.float32(mass) and found["kind"][15, 15] == 1
        assert (found["kind"] == 5).sum() == 255  # the background, and what active cells begin with
        bits = np.zeros((16, 32), np.uint32)
        bits[points[:, 0], 2 * points[:, 1]] = 1
        pairs = np.repeat(rows.reshape(8, 2).any(axis=1), 2)  # two rows a block
        np.testing.assert_array_equal(found["bit"], np.where(pairs[:, None], bits ^ 1, 0))
        for name in found:
            np.testing.assert_array_equal(tree[name].to_numpy(), found[name])


def test_the_command_line_shows_the_members(module):
    shown = run(ROOT / "build/bin/metate-run", "inspect", module)
    rows = [" ".join(line.split()) for line in shown.splitlines()]
    assert "s1 place f32 4 unsigned float, bits 19 to 32 of 64, shared exponent bits 0 to 5" in rows
    assert "x13 place f32 4 fixed, bits 11 to 23 of 32, scale 0.1" in rows
    assert "f37 place f64 8 float, bits 19 to 55 of 64, exponent bits 46 to 54" in rows
    assert "i5 place i32 4 int, bits 1 to 5 of 8" in rows
    assert "quant_array0 quant_array il [7, 6] 1 1 in a word" in rows


def test_damaged_files_are_refused(module, tmp_path, rng):
    data = module.read_bytes()
    tree = kernels.Sparse.new()
    tree.mass[3, 3] = 1
    tree.save(tmp_path / "tree")
    saved = (tmp_path / "tree").read_bytes()
    scale = np.float64(kernels.Sparse.members["mass"].type.scale).tobytes()  # in a level table of both
    for whole, load, said in (
        (data, mt.aot.load, "module file: its hash does not match: the file is damaged"),
        (saved, kernels.Sparse.load, "is a tree of another type than"),
    ):
        at = whole.index(scale)
        for byte in (at, at - 32, at + 3):  # its scale, its kind
            damaged = bytearray(whole)
            damaged[byte] ^= 1 << int(rng.integers(8))
            (tmp_path / "damaged").write_bytes(damaged)
            with pytest.raises(mt.MetateError, match=said):
                load(tmp_path / "damaged")
