"""Trees through .vdb and .nvdb files: what was written is read, by us and by the libraries' own programs."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import metate as mt
from metate.interop import vdb

HAVE = vdb.available()
needs_library = pytest.mark.skipif(not HAVE, reason="this build has no OpenVDB (libopenvdb-dev libnanovdb-dev libboost-dev)")
vec3, dvec3, ivec3 = (mt.types.vector(3, scalar) for scalar in (mt.f32, mt.f64, mt.i32))
KINDS = {
    "f32": (mt.f32, -0.75),
    "f64": (mt.f64, 0.1),
    "i32": (mt.i32, -7),
    "i64": (mt.i64, 1 << 40),
    "u1": (mt.u1, True),
    "vec3": (vec3, (1.5, -2.0, 0.25)),
    "dvec3": (dvec3, (0.1, 0.2, -0.3)),
    "ivec3": (ivec3, (1, -2, 3)),
}


def make(type_, background=0):
    """Voxels one by one, at any coordinates."""
    return mt.types.SNodeTreeBuilder().hash(mt.ijk).bitmasked(mt.ijk, 4).place(a=type_, background=background).build()


def random_tree(rng, kind, count=40):
    """A tree and what it holds: value by coordinates."""
    type_, background = KINDS[kind]
    tree = make(type_, background).new(capacity=4 * count)
    held = {}
    spread = [3, 40, 1_000_000_000]
    for _ in range(count):
        far = spread[rng.integers(3)]
        at = tuple(int(k) for k in rng.integers(-far, far, 3))
        value = rng.integers(-100, 100, 3 if "vec" in kind else None)
        value = value % 2 == 0 if kind == "u1" else value * (1 if "i" in kind else 0.3)
        tree.a[at] = value
        held[at] = tree.a[at]
    return tree, held


def as_dict(coordinates, values):
    assert len(np.unique(coordinates, axis=0)) == len(coordinates), "each voxel once"
    return {tuple(at): value for at, value in zip(coordinates.tolist(), values)}


def same(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[at], other[at]) for at in one)


def cases():
    return [(kind, ending) for kind in KINDS for ending in ("vdb", "nvdb") if ending == "vdb" or kind not in ("dvec3", "ivec3")]


@needs_library
@pytest.mark.parametrize("kind, ending", cases())
def test_a_tree_comes_back(rng, tmp_path, kind, ending):
    tree, held = random_tree(rng, kind)
    path = tmp_path / f"grid.{ending}"
    vdb.write(path, {"a grid": tree.a}, voxel_size=(0.5, 0.25, 2), origin=(1, -2, 0.125), grid_class="fog volume")
    found = vdb.read(path, "a grid")
    assert same(as_dict(found.coordinates, found.values), held)
    assert np.array_equal(found.background, tree.a.background)
    assert (found.voxel_size, found.origin, found.grid_class) == ((0.5, 0.25, 2), (1, -2, 0.125), "fog volume")
    assert np.array_equal(found.transform @ [2, 4, 1, 1], [2, -1, 2.125, 1])

    other = make(*KINDS[kind]).new(capacity=200)
    vdb.load(path, "a grid", into=other.a)
    assert same(as_dict(*other.a.cells()), held)
    assert np.array_equal(other.a[500, 500, 500], tree.a.background)


@needs_library
@pytest.mark.parametrize("ending", ["vdb", "nvdb"])
def test_several_grids_and_empty_ones(tmp_path, ending):
    first, second = make(mt.f32, 3.0).new(capacity=4), make(vec3).new(capacity=4)
    second.a[-1, -8, 7] = (1, 2, 3)
    path = tmp_path / f"two.{ending}"
    vdb.write(path, {"none": first.a, "one": second.a})
    assert vdb.grids(path) == {"none": "f32", "one": "v3f32"}
    nothing = vdb.read(path, "none")
    assert (nothing.coordinates.shape, nothing.values.shape, nothing.background) == ((0, 3), (0,), 3.0)
    assert same(as_dict(*vdb.read(path, "one")[:2]), {(-1, -8, 7): [1, 2, 3]})


@needs_library
def test_metadata_and_half(tmp_path):
    tree = make(mt.f32).new(capacity=4)
    tree.a[1, 2, 3] = 1 / 3
    path = tmp_path / "half.vdb"
    given = {"author": "somebody", "frame": 12, "time": 0.5, "final": True, "wind": (1.0, 0.5, -2.0)}
    vdb.write(path, {"a": tree.a}, half=True, metadata=given)
    found = vdb.read(path, "a")
    assert {name: tuple(value) if isinstance(value, list) else value for name, value in found.metadata.items()} == given
    assert found.values.tolist() == [float(np.float16(1 / 3))]


@needs_library
def test_dense_blocks_are_active_as_wholes_and_offsets_move_voxels(tmp_path):
    block = mt.types.SNodeTreeBuilder().pointer(mt.ijk, 4).dense(mt.ijk, 4).place(a=mt.f32, background=-1).build().new()
    block.a[5, 0, 15] = 2.0
    path = tmp_path / "block.vdb"
    vdb.write(path, {"a": block.a})
    found = vdb.read(path, "a")
    assert len(found.values) == 64 and sorted(found.values.tolist())[-2:] == [-1, 2]
    other = make(mt.f64, -1.0).new(capacity=100)
    vdb.load(path, "a", into=other.a, offset=(-6, 0, 100))
    assert (other.a[-1, 0, 115], other.a.is_active(-2, 3, 112), other.a.is_active(-3, 3, 112)) == (2.0, True, False)
    with pytest.raises(IndexError, match=r"extents \(16, 16, 16\), got \(.*\) and 63 others"):
        vdb.load(path, "a", into=block.a, offset=(100, 0, 0))
    assert len(block.a.cells()[0]) == 64


NESTINGS = {
    "dense": lambda b: b.dense(mt.ijk, 8),
    "bitmasked": lambda b: b.bitmasked(mt.ijk, 8),
    "pointer": lambda b: b.pointer(mt.ijk, 8),
    "bitmasked leaves": lambda b: b.pointer(mt.ijk, 2).bitmasked(mt.ijk, 4),
    "an odd mask": lambda b: b.pointer(mt.ijk, (4, 2, 3)).bitmasked(mt.ijk, (3, 5, 3)),
    "dense leaves": lambda b: b.pointer(mt.ijk, 4).dense(mt.ijk, 2),
    "masks of blocks": lambda b: b.bitmasked(mt.ijk, 4).dense(mt.ijk, 2),
    "three levels": lambda b: b.pointer(mt.ijk, 2).pointer(mt.ijk, 2).bitmasked(mt.ijk, 2),
    "lists": lambda b: b.pointer(mt.ij, 8).dynamic(mt.k, 8, 4),
    "hash": lambda b: b.hash(mt.ijk),
    "hash of masks": lambda b: b.hash(mt.ijk).bitmasked(mt.ijk, 4),
    "hash of blocks": lambda b: b.hash(mt.ijk).dense(mt.ijk, 2),
    "hash of pointers": lambda b: b.hash(mt.ijk).pointer(mt.ijk, 2).bitmasked(mt.ijk, 2),
}


@needs_library
@pytest.mark.parametrize("name", NESTINGS)
def test_trees_of_every_level(rng, tmp_path, name):
    """What is active is written; what was read goes back into the same levels, or into any that hold single voxels."""
    type_ = NESTINGS[name](mt.types.SNodeTreeBuilder()).place(a=mt.f32, background=-2.5).build()
    few = {"hash0": 300} if "hash" in name else None
    tree = type_.new(capacity=few)
    low = -8 if "hash" in name else 0
    for at in rng.integers(low, 8, (30, 3)).tolist():
        tree.a[tuple(at)] = float(rng.integers(100))
    wanted = as_dict(*tree.a.cells())
    path = tmp_path / "tree.vdb"
    vdb.write(path, {"a": tree.a})
    found = vdb.read(path, "a")
    assert found.background == -2.5 and same(as_dict(found.coordinates, found.values), wanted)
    again, single = type_.new(capacity=few), make(mt.f32, -2.5).new(capacity=600)
    for target in (again, single):
        vdb.load(path, "a", into=target.a)
        target.check()
        assert same(as_dict(*target.a.cells()), wanted)
        assert target.a[tuple([low] * 3)] == wanted.get((low, low, low), -2.5)


@needs_library
def test_what_is_refused(tmp_path):
    flat = mt.types.SNodeTreeBuilder().dense(mt.ij, 4).place(a=mt.f32).build().new()
    bytes_ = make(mt.u8).new(capacity=2)
    good, ints = make(mt.f32, 1.0).new(capacity=2), make(mt.i32).new(capacity=2)
    good.a[0, 0, 0] = 0.5
    path = tmp_path / "good.vdb"
    vdb.write(path, {"a": good.a})
    for error, text, call in [
        (ValueError, "a: expected a member over three axes, got 2", lambda: vdb.write(path, {"a": flat.a})),
        (TypeError, "a: expected a member of f32, f64.*, got u8", lambda: vdb.write(path, {"a": bytes_.a})),
        (TypeError, "expected a member of a tree", lambda: vdb.write(path, {"a": np.zeros((2, 2, 2))})),
        (TypeError, "grids: expected members by names", lambda: vdb.write(path, good.a)),
        (ValueError, "ends in .vdb or .nvdb, got 'x.txt'", lambda: vdb.write("x.txt", {"a": good.a})),
        (ValueError, "grid_class: expected one of", lambda: vdb.write(path, {"a": good.a}, grid_class="smoke")),
        (ValueError, "name that OpenVDB does not use", lambda: vdb.write(path, {"a": good.a}, metadata={"name": "b"})),
        (ValueError, "half: expected a .vdb file", lambda: vdb.write("x.nvdb", {"a": good.a}, half=True)),
        (TypeError, "NanoVDB makes grids of, got vector.*i32", lambda: vdb.write("x.nvdb", {"a": make(ivec3).new(capacity=2).a})),
        (ValueError, "voxel_size: expected positive", lambda: vdb.write(path, {"a": good.a}, voxel_size=0)),
        (OSError, "nowhere", lambda: vdb.write(tmp_path / "nowhere" / "a.vdb", {"a": good.a})),
        (OSError, "nowhere", lambda: vdb.read(tmp_path / "nowhere.vdb", "a")),
        (OSError, "nowhere", lambda: vdb.read(tmp_path / "nowhere.nvdb", "a")),
        (LookupError, r"expected a grid of the file \(a\), got 'b'", lambda: vdb.read(path, "b")),
        (ValueError, "at most limit=0 active voxels, got 1", lambda: vdb.read(path, "a", limit=0)),
        (TypeError, "expected a member that holds float32, got i32", lambda: vdb.load(path, "a", into=ints.a)),
        (ValueError, "background 1.0, got 0.0", lambda: vdb.load(path, "a", into=make(mt.f32).new(capacity=2).a)),
    ]:
        with pytest.raises(error, match=text):
            call()
    assert vdb.read(path, "a").values.tolist() == [0.5], "what was refused has written nothing"


def witness(program, *arguments):
    if shutil.which(program) is None:
        pytest.skip(f"no {program} on this machine (libopenvdb-tools, libnanovdb-tools)")
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_library
def test_openvdb_itself_sees_the_grid(tmp_path):
    path = tmp_path / "seen.vdb"
    tree = make(mt.f32, 2.5).new(capacity=20)
    for at in [(-9, 0, 4), (0, 0, 0), (30, 7, 8)]:
        tree.a[at] = 1
    vdb.write(path, {"density": tree.a}, voxel_size=0.5)
    shown = witness("vdb_print", "-l", path)
    for line in [
        "Name: density",
        "Type: Tree_float_5_4_3",
        "Background value: 2.5",
        "Number of active voxels:       3",
        "Bounding box of active voxels: [-9, 0, 0] -> [30, 7, 8]",
        "voxel size: 0.5",
    ]:
        assert line in shown, shown


@needs_library
def test_nanovdb_itself_accepts_the_grid(tmp_path):
    path = tmp_path / "seen.nvdb"
    tree = make(mt.f32, 2.5).new(capacity=20)
    for at in [(-9, 0, 4), (0, 0, 0), (30, 7, 8)]:
        tree.a[at] = 1
    vdb.write(path, {"density": tree.a}, voxel_size=0.5)
    assert "density" in witness("nanovdb_print", path)
    witness("nanovdb_validate", path)


@needs_library
def test_files_of_others_with_tiles_and_compression(tmp_path):
    path, compressed = tmp_path / "ball.vdb", tmp_path / "ball.nvdb"
    witness("vdb_tool", "-sphere", "dim=64", "radius=1.0", "-ls2fog", "-write", path)
    shown = witness("vdb_print", "-l", path)
    voxels, tiles = (int(re.search(rf"active {what}: +([\d,]+)", shown)[1].replace(",", "")) for what in ("voxels", "tiles"))
    assert tiles > 0
    witness("nanovdb_convert", "-b", path, compressed)
    found = [vdb.read(file, "ls2fog_sphere") for file in (path, compressed)]
    for grid in found:
        assert len(grid.values) == voxels and grid.values.max() == 1 and grid.grid_class == "fog volume"
        assert np.linalg.norm(grid.coordinates * grid.voxel_size, axis=1).max() < 1
    assert same(as_dict(*found[0][:2]), as_dict(*found[1][:2]))


@pytest.mark.skipif(HAVE, reason="this build has OpenVDB")
def test_without_the_library_an_error_says_what_to_install(tmp_path):
    with pytest.raises(ImportError, match="libopenvdb-dev"):
        vdb.read(tmp_path / "a.vdb", "a")
