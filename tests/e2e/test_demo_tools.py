"""The demo's own parts: reading meshes, writing pictures, the tube with known area and volume."""

import importlib.util
import pathlib
import struct
import subprocess
import zlib

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "build" / "examples"
SPEC = importlib.util.spec_from_file_location("knot", ROOT / "examples" / "demo" / "knot.py")
knot = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(knot)


@pytest.fixture(scope="module")
def programs():
    if not (PROGRAMS / "build.ninja").exists():
        subprocess.run(
            ["cmake", "-S", "examples", "-B", PROGRAMS, "-G", "Ninja", f"-DMETATE_BUILD={ROOT / 'build'}"], cwd=ROOT, check=True
        )
    subprocess.run(["ninja", "-C", PROGRAMS], cwd=ROOT, check=True)
    return PROGRAMS


def edges_of(faces):
    """How often each directed edge occurs, and its opposite."""
    directed = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    return {tuple(edge) for edge in directed}, len(directed)


def mesh_volume(vertices, faces):
    a, b, c = (vertices[faces[:, k]].astype(np.float64) for k in range(3))
    return float((a * np.cross(b, c)).sum() / 6.0)


def test_tube_is_closed_oriented_and_has_the_volume_of_a_tube():
    tube = knot.knotted_tube(along=400, around=32)
    edges, count = edges_of(tube.faces)
    assert len(edges) == count, "an edge is used twice in one direction"
    assert all((b, a) in edges for a, b in edges)
    volume = mesh_volume(tube.vertices, tube.faces)
    assert volume == pytest.approx(np.pi * tube.radius**2 * tube.length, rel=2e-3)


CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 2) for z in (0, 3)], np.float32)
QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


def write_stl(path):
    """A box as an STL file, which repeats every corner of every triangle."""
    lines = ["solid box"]
    for quad in QUADS:
        for triangle in ((quad[0], quad[1], quad[2]), (quad[0], quad[2], quad[3])):
            lines += ["facet normal 0 0 0", "outer loop"]
            lines += ["vertex {} {} {}".format(*CORNERS[corner]) for corner in triangle]
            lines += ["endloop", "endfacet"]
    path.write_text("\n".join([*lines, "endsolid box"]) + "\n")


def write_obj(path):
    """The same box as an OBJ file of quads."""
    lines = ["v {} {} {}".format(*corner) for corner in CORNERS] + ["f " + " ".join(str(c + 1) for c in quad) for quad in QUADS]
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("suffix, write", [("stl", write_stl), ("obj", write_obj)])
def test_mesh_files_become_welded_triangles(programs, tmp_path, suffix, write):
    source = tmp_path / f"box.{suffix}"
    write(source)
    subprocess.run([programs / "mesh_to_npy", source, tmp_path / "v.npy", tmp_path / "f.npy"], check=True)
    vertices, faces = np.load(tmp_path / "v.npy"), np.load(tmp_path / "f.npy")
    assert (vertices.dtype, vertices.shape, faces.dtype, faces.shape) == (np.float32, (8, 3), np.int32, (12, 3))
    assert sorted(map(tuple, vertices)) == sorted(map(tuple, CORNERS))
    assert abs(mesh_volume(vertices, faces)) == pytest.approx(6.0)


def test_a_file_that_is_no_mesh_is_an_error(programs, tmp_path):
    source = tmp_path / "no.obj"
    source.write_text("nothing\n")
    for name in (source, tmp_path / "absent.ply"):
        result = subprocess.run([programs / "mesh_to_npy", name, tmp_path / "v", tmp_path / "f"], capture_output=True, text=True)
        assert result.returncode == 1 and str(name) in result.stderr


def decode_png(data):
    """A PNG of 8-bit RGB without interlacing, decoded by the specification."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind = data[at + 4 : at + 8]
        chunks[kind] = chunks.get(kind, b"") + data[at + 8 : at + 8 + length]
        at += 12 + length
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (depth, colour, interlaced) == (8, 2, 0)
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + 3 * width)
    image = np.zeros((height, width, 3), np.uint8)
    for y in range(height):
        for x in range(width):
            left = image[y, x - 1].astype(int) if x else np.zeros(3, int)
            up = image[y - 1, x].astype(int) if y else np.zeros(3, int)
            corner = image[y - 1, x - 1].astype(int) if x and y else np.zeros(3, int)
            estimate = left + up - corner
            near = np.stack([abs(estimate - left), abs(estimate - up), abs(estimate - corner)])
            paeth = np.choose(near.argmin(axis=0), [left, up, corner])
            predicted = [np.zeros(3, int), left, up, (left + up) // 2, paeth][rows[y, 0]]
            image[y, x] = (rows[y, 1 + 3 * x : 4 + 3 * x].astype(int) + predicted) % 256
    return image


def test_pictures_hold_the_given_pixels(programs, tmp_path, rng):
    image = rng.integers(0, 256, (13, 21, 3), dtype=np.uint8)
    np.save(tmp_path / "a.npy", image)
    subprocess.run([programs / "npy_to_png", tmp_path / "a.npy", tmp_path / "a.png"], check=True)
    np.testing.assert_array_equal(decode_png((tmp_path / "a.png").read_bytes()), image)
