"""The narrow band around a mesh, and what trees take to hold it: Metate's of some shapes, OpenVDB's."""

import ctypes
import pathlib

import kernels
import knot
import numpy as np
from grid import BAND
from harness import references

import metate as mt

BUNNY = pathlib.Path("/usr/share/glmark2/models/bunny.obj")  # Debian: glmark2-data
LEAF = 8


def mesh():
    """(what it is, vertices f32[n, 3], faces i32[m, 3]): the Stanford bunny where it is installed, else the demo's knot."""
    if not BUNNY.exists():
        tube = knot.knotted_tube()
        return "knotted tube (no bunny: Debian's glmark2-data)", tube.vertices, tube.faces
    vertices, faces = [], []
    for line in BUNNY.read_text().splitlines():
        kind, *rest = line.split() or [""]
        if kind == "v":
            vertices.append([float(text) for text in rest[:3]])
        elif kind == "f":
            faces.append([int(text.split("/")[0]) - 1 for text in rest])
    return "Stanford bunny", np.array(vertices, np.float32), np.array(faces, np.int32)


def band(resolution):
    """(the mesh's name, cells i32[n, 3], values f32[n]): the voxels nearer than the demo's band to the mesh, leaf by leaf."""
    name, vertices, faces = mesh()
    ks = kernels.kernels_for(resolution)
    bounds, points = np.array([np.inf] * 3 + [-np.inf] * 3, np.float32), np.empty_like(vertices)
    ks.find_bounds(vertices, bounds)
    ks.normalise(vertices, bounds, resolution, points)
    keys = ks.Keys.new()
    ks.voxelise(points, faces, keys)
    coordinates, found = keys.key.cells()
    distance = (found >> 32).astype(np.int32).view(np.float32)
    near = distance < BAND  # what no triangle reached is not a number
    cells, values = coordinates[near].astype(np.int32), distance[near]
    order = np.lexsort((*(cells & 7).T[::-1], *(cells >> 3).T[::-1]))
    return name, np.ascontiguousarray(cells[order]), np.ascontiguousarray(values[order])


def shapes(resolution):
    """{what it is: a tree type}; each has leaves of 8^3 with a mask, as OpenVDB has."""
    blocks = resolution // LEAF
    new = mt.types.SNodeTreeBuilder
    return {
        "pointer, pointer 16^3, bitmasked 8^3": new()
        .pointer(mt.ijk, blocks // 16, name="nodes").pointer(mt.ijk, 16, name="leaves"),
        "hash, pointer 16^3, bitmasked 8^3": new()
        .hash(mt.ijk, name="nodes").pointer(mt.ijk, 16, name="leaves"),
        "pointer, bitmasked 8^3": new().pointer(mt.ijk, blocks, name="leaves"),
    }  # fmt: skip


def metate_bytes(builder, cells, values):
    """Bytes of a whole block, header and slack slots included, that was made with as many slots as the cells need."""
    Tree = builder.bitmasked(mt.ijk, LEAF).place(value=mt.f32).build()

    @mt.kernel
    def load(tree: Tree, cells: mt.types.ndarray(dtype=mt.i32, ndim=2), values: mt.types.ndarray(dtype=mt.f32, ndim=1)):
        for c in range(values.shape[0]):
            tree.value[cells[c, 0], cells[c, 1], cells[c, 2]] = values[c]

    growing = Tree.new()
    load(growing, cells, values)
    tree = Tree.new(capacity={name: level.used for name, level in growing.stats().items()})
    load(tree, cells, values)
    _, held = tree.value.cells()
    assert len(held) == len(values), f"expected {len(values)} active voxels, got {len(held)}"
    assert np.isclose(held.sum(dtype=np.float64), values.sum(dtype=np.float64)), "the values are not those that were stored"
    return tree.bytes


def openvdb_bytes(cells, values):
    """OpenVDB's own count of its tree's bytes, of the FloatTree of levels 5, 4, 3."""
    library = ctypes.CDLL(str(references.build("vdb_memory", references.UNTIMED)))
    found = np.zeros(3)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (cells, values, found)]
    library.vdb_memory(ctypes.c_int64(len(values)), *pointers)
    assert found[1] == len(values), f"OpenVDB: expected {len(values)} active voxels, got {found[1]:.0f}"
    return found[0]
