"""Bitmasked, dynamic and hash levels in shipped modules: a C host's own memory, a loaded file, and the JIT agree."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

import metate as mt

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
import sparse_kernels as kernels  # noqa: E402


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sparse")
    kernels.module().save(folder / "sparse.o")
    kernels.module().save(folder / "sparse.metate")
    return folder


class Instance:
    """Trees of the three types; `run` is where the kernels come from."""

    def __init__(self, run, types):
        self.run = run
        self.trees = [type_.new(capacity={"hash0": 500} if "hash" in str(type_) else None) for type_ in types]

    def scatter(self, points):
        self.run.scatter(points, *self.trees)

    def thin(self):
        self.run.thin(*self.trees[:2])

    def measure(self):
        out = np.zeros(7, np.int64)
        self.run.measure(*self.trees, out)
        for tree in self.trees:
            tree.check()
        return out.tolist()


def story(make, points):
    """What the C host does, in Python."""
    half = len(points) // 2
    a, b = make(), make()
    a.scatter(points[:half])
    b.scatter(points[half:])
    lines = [a.measure(), b.measure()]
    a.thin()
    lines.append(a.measure())
    a.scatter(points[half:])
    return [*lines, a.measure(), b.measure()]


def model(points):
    """The same from dictionaries."""

    def fresh():
        return {}, {i: [] for i in range(8)}, {}

    def scatter(state, some):
        cells, lists, bins = state
        for i, j in some.tolist():
            cells[i % 32, j % 32] = i * 100 + j
            lists[i % 8].append(j)
            bins[i, j] = bins.get((i, j), 0) + 1

    def thin(state):
        cells, lists, _ = state
        for i, j in [at for at in cells if sum(at) % 3 == 0]:
            del cells[i, j]
        for i in range(1, 8, 2):
            lists[i].clear()

    def measure(state):
        cells, lists, bins = state
        return [
            len(cells),
            sum(cells.values()),
            sum(map(len, lists.values())),
            sum(map(sum, lists.values())),
            len(bins),
            sum(count * (3 * i + 5 * j) for (i, j), count in bins.items()),
            sum(cells.values()) + 7 * (1024 - len(cells)),
        ]

    half = len(points) // 2
    a, b = fresh(), fresh()
    scatter(a, points[:half])
    scatter(b, points[half:])
    lines = [measure(a), measure(b)]
    thin(a)
    lines.append(measure(a))
    scatter(a, points[half:])
    return [*lines, measure(a), measure(b)]


@pytest.fixture
def points(rng):
    """Distinct cells, so that no two writes meet in one."""
    chosen = rng.choice(1024, size=160, replace=False)
    return (np.stack([chosen // 32, chosen % 32], axis=1) + 32 * rng.integers(-3, 4, (160, 2))).astype(np.int32)


def test_at_once(points):
    assert story(lambda: Instance(kernels, (kernels.Cells, kernels.Lists, kernels.Bins)), points) == model(points)


def test_from_a_file(built, points):
    loaded = mt.aot.load(built / "sparse.metate")
    types = [loaded.types[name] for name in ("cells", "lists", "bins")]
    assert types == [kernels.Cells, kernels.Lists, kernels.Bins]
    assert story(lambda: Instance(loaded, types), points) == model(points)


def test_a_module_shares_the_types_of_another(built, points, tmp_path):
    """Trees that one module filled are measured by a second one that has the same types."""
    other = mt.aot.Module()
    other.add_kernel(kernels.measure)
    other = mt.aot.load(other.save(tmp_path / "other.metate"))
    loaded = mt.aot.load(built / "sparse.metate")
    instance = Instance(loaded, [loaded.types[name] for name in ("cells", "lists", "bins")])
    instance.scatter(points)
    here = instance.measure()
    instance.run = other
    assert instance.measure() == here


@pytest.mark.parametrize("with_metate", [False, True])
def test_a_c_host_in_its_own_memory(built, points, tmp_path, with_metate):
    (tmp_path / "points").write_bytes(points.tobytes())
    library = ["-DWITH_METATE", f"-I{ROOT / 'include'}", f"-I{ROOT / 'abi'}", f"-L{ROOT / 'build/lib'}",
               f"-Wl,-rpath,{ROOT / 'build/lib'}", "-lmetate"] if with_metate else []  # fmt: skip
    command = ["gcc", "-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", f"-I{built}", HERE / "sparse_host.c",
               built / "sparse.o", "-o", tmp_path / "host", *library]  # fmt: skip
    for words in (command, [tmp_path / "host", tmp_path / "points"]):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert [list(map(int, line.split())) for line in done.stdout.splitlines()] == model(points)


def test_a_cpp_host_with_two_modules(built, points, tmp_path):
    """Trees in the host's memory, filled by one module's kernels, measured by another's and by the host's own walk."""
    (tmp_path / "points").write_bytes(points.tobytes())
    other = mt.aot.Module()
    other.add_kernel(kernels.measure)
    other.save(tmp_path / "other.metate")
    library = ROOT / "build/lib"
    command = ["clang++-22", "-std=c++20", "-O1", "-g", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}",
               f"-I{ROOT / 'abi'}", HERE / "sparse_host.cpp", f"-L{library}", "-lmetate", f"-Wl,-rpath,{library}",
               "-o", tmp_path / "host"]  # fmt: skip
    for words in (command, [tmp_path / "host", built / "sparse.metate", tmp_path / "other.metate", tmp_path / "points"]):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert [list(map(int, line.split())) for line in done.stdout.splitlines()] == model(points)
