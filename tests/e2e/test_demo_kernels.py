"""The demo's kernels against NumPy: a box's distance field, a smoothing step, any number of threads."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

DEMO = pathlib.Path(__file__).resolve().parents[2] / "examples" / "demo"
RESOLUTION = 64
CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 2) for z in (0, 3)], np.float32)
QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
FACES = np.array([corners for a, b, c, d in QUADS for corners in ((a, b, c), (a, c, d))], np.int32)


@pytest.fixture(scope="module")
def demo():
    """(demo.py, kernels.py, the kernels of a small grid), imported from the example's folder."""
    sys.path.insert(0, str(DEMO))
    try:
        import demo
        import kernels
    finally:
        sys.path.remove(str(DEMO))
    return demo, kernels, kernels.kernels_for(RESOLUTION)


@pytest.fixture(scope="module")
def box(demo):
    """(phi tree of a box, its half extents and middle in voxels)."""
    program, _, ks = demo
    points, vertex_normals, edge_normals, scale = program.prepare_mesh(ks, CORNERS, FACES, RESOLUTION)
    keys, phi = ks.Keys.new(), ks.Phi.new()
    ks.voxelise(points, FACES, keys)
    ks.sign(points, FACES, vertex_normals, edge_normals, keys, phi)
    return phi, scale * np.array([1, 2, 3]) / 2, (RESOLUTION - 1) / 2


def box_distance(half, middle):
    """The exact signed distance f64[n, n, n] of a box."""
    axes = np.meshgrid(*[np.arange(RESOLUTION)] * 3, indexing="ij")
    q = np.abs(np.stack(axes, axis=-1) - middle) - half
    return np.linalg.norm(np.maximum(q, 0), axis=-1) + np.minimum(q.max(axis=-1), 0)


def test_distance_and_side_of_a_box(demo, box):
    _, kernels, _ = demo
    phi, half, middle = box
    exact, got = box_distance(half, middle), phi.phi.to_numpy()
    # Faces, edges and corners all occur; where the surface is nearer than rounding the side is open.
    band = (np.abs(exact) < kernels.BAND) & (np.abs(exact) > 1e-3)
    assert band.sum() > 10_000
    np.testing.assert_allclose(got[band], exact[band], atol=2e-4)
    outside = exact > kernels.BAND + 1e-3
    assert (got[outside] == kernels.BAND).all()


def numpy_step(kernels, c):
    def at(*offset):
        return np.roll(c, tuple(-o for o in offset), (0, 1, 2))

    dx, dy, dz = ((at(*e) - at(*-e)) / 2 for e in np.eye(3, dtype=int))
    dxx, dyy, dzz = (at(*e) + at(*-e) - 2 * c for e in np.eye(3, dtype=int))
    xy = at(1, 1, 0) + at(-1, -1, 0) - at(1, -1, 0) - at(-1, 1, 0)
    xz = at(1, 0, 1) + at(-1, 0, -1) - at(1, 0, -1) - at(-1, 0, 1)
    yz = at(0, 1, 1) + at(0, -1, -1) - at(0, 1, -1) - at(0, -1, 1)
    along = dxx * (dy**2 + dz**2) + dyy * (dx**2 + dz**2) + dzz * (dx**2 + dy**2)
    across = (dx * dy * xy + dx * dz * xz + dy * dz * yz) / 2
    moved = c + kernels.TIME_STEP * (along - across) / (dx**2 + dy**2 + dz**2 + 1e-6)
    return np.where(np.abs(c) < kernels.BAND, np.clip(moved, -kernels.BAND, kernels.BAND), c)


def test_smoothing_steps_against_numpy(demo, box):
    _, kernels, ks = demo
    phi, other, expected = box[0], ks.Phi.new(), box[0].phi.to_numpy().astype(np.float64)
    third = ks.Phi.new()
    for src, dst in ((phi, other), (other, third)):
        ks.smooth(src, dst)
        expected = numpy_step(kernels, expected)
        np.testing.assert_allclose(dst.phi.to_numpy(), expected, atol=2e-5)
    assert third.stats()["blocks"].used == phi.stats()["blocks"].used


THREADS = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np, types
import demo, kernels, knot
tube = knot.knotted_tube(along=200, around=16)
arguments = types.SimpleNamespace(resolution=64, steps=3, size=96)
image, _ = demo.run_in_python(kernels.kernels_for(64), tube.vertices, tube.faces, arguments)
np.save(sys.argv[2], image)
"""


def test_picture_does_not_depend_on_the_number_of_threads(tmp_path, monkeypatch):
    pictures = []
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("METATE_NUM_THREADS", threads)
        file = tmp_path / f"{threads}.npy"
        subprocess.run([sys.executable, "-c", THREADS, DEMO, file], check=True, timeout=300)
        pictures.append(np.load(file))
    assert len(np.unique(pictures[0])) > 32
    for picture in pictures[1:]:
        np.testing.assert_array_equal(pictures[0], picture)
