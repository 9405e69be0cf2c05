"""B7's two sides: the demo's `smooth` kernel and the hand-written loops, over the same leaves."""

import ctypes
import pathlib
import subprocess

import kernels
import knot
import numpy as np
from harness import measure

RESOLUTION = 256
SOURCE = pathlib.Path(__file__).resolve().parent / "reference" / "mean_curvature.cpp"
VARIANTS = {"hoisted": 0, "tile": 1}
TOLERANCE = 2e-6  # voxels, one step: both sides round the same expression, contracted differently


class Reference:
    """The hand-written grid, filled with leaves (i32[n, 3]) and their values f32[n, 512]."""

    def __init__(self, library, blocks, leaves, values):
        self.library, self.shape = library, values.shape
        library.reference_create.restype = ctypes.c_void_p
        self.grid = ctypes.c_void_p(library.reference_create(blocks, len(leaves), pointer(leaves), pointer(values)))

    def step(self, variant, threads):
        self.library.reference_step(self.grid, variant, threads)

    def read(self):
        values = np.empty(self.shape, np.float32)
        self.library.reference_read(self.grid, pointer(values))
        return values


def pointer(array):
    assert array.flags.c_contiguous
    return array.ctypes.data_as(ctypes.c_void_p)


def build_references(folder):
    """{compiler: library}: the reference built by both compilers for this machine's CPU."""
    folder.mkdir(parents=True, exist_ok=True)
    libraries = {}
    for compiler in ("clang++-22", "g++"):
        path = folder / f"mean_curvature-{compiler}.so"
        subprocess.run(
            [compiler, "-std=c++20", "-O3", "-march=native", "-fopenmp-simd", "-shared", "-fPIC", "-pthread", SOURCE, "-o", path],
            check=True,
        )
        libraries[compiler] = ctypes.CDLL(str(path))
    return libraries


def make_trees():
    """The knotted tube's distance tree and a second one of the type, with the demo's kernels."""
    import demo

    ks = kernels.kernels_for(RESOLUTION)
    tube = knot.knotted_tube()
    points, vertex_normals, edge_normals, _ = demo.prepare_mesh(ks, tube.vertices, tube.faces, RESOLUTION)
    keys, phi, other = ks.Keys.new(), ks.Phi.new(), ks.Phi.new()
    ks.voxelise(points, tube.faces, keys)
    ks.sign(points, tube.faces, vertex_normals, edge_normals, keys, phi)
    return ks, phi, other


def leaves_of(tree):
    """(leaves i32[n, 3] in ascending order, values f32[n, 512]) of the tree's active leaves."""
    coordinates, values = tree.phi.cells()
    blocks = RESOLUTION // kernels.LEAF
    leaf = coordinates >> 3
    number = (leaf[:, 0] * blocks + leaf[:, 1]) * blocks + leaf[:, 2]
    local = coordinates & 7
    place = (local[:, 0] * 8 + local[:, 1]) * 8 + local[:, 2]
    numbers, row = np.unique(number, return_inverse=True)
    grouped = np.empty((len(numbers), 512), np.float32)
    grouped[row, place] = values
    leaves = np.stack([numbers // blocks**2, numbers // blocks % blocks, numbers % blocks], axis=1)
    return np.ascontiguousarray(leaves, np.int32), grouped


def measure_step(folder, threads):
    """({name: seconds of each sample}, cells); the results of one step are compared first."""
    ks, phi, other = make_trees()
    leaves, before = leaves_of(phi)
    libraries = build_references(folder)
    ks.smooth(phi, other)
    after_leaves, after = leaves_of(other)
    assert np.array_equal(leaves, after_leaves), "a step must not change which leaves are active"
    actions = {}
    for compiler, library in libraries.items():
        for variant, number in VARIANTS.items():
            grid = Reference(library, RESOLUTION // kernels.LEAF, leaves, before)
            grid.step(number, threads)
            error = float(np.abs(grid.read() - after).max())
            if not error <= TOLERANCE:
                raise SystemExit(f"{variant} by {compiler}: expected results within {TOLERANCE}, got a difference of {error}")
            actions[f"{variant}, {compiler}"] = lambda grid=grid, number=number: grid.step(number, threads)
    # Always the same step, so that every sample does the same work on both sides.
    actions = {"metate": lambda: ks.smooth(phi, other)} | actions
    return measure.interleaved(actions, 15), before.size
