"""A knotted tube: a closed mesh whose area and volume are known exactly (Pappus, for a tube of radius
r around a closed curve of length L with curvature below 1/r: 2 pi r L and pi r^2 L).
"""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Tube:
    """vertices f32[n, 3], faces i32[m, 3] (seen from outside counter-clockwise), and the curve's data."""

    vertices: np.ndarray
    faces: np.ndarray
    radius: float
    length: float


def knot_curve(t):
    """Points f64[n, 3] of a (2, 3) torus knot at the angles t f64[n]."""
    ring = 2.0 + np.cos(3.0 * t)
    return np.stack([ring * np.cos(2.0 * t), 1.3 * np.sin(3.0 * t), ring * np.sin(2.0 * t)], axis=1)


def knotted_tube(radius=0.42, along=900, around=48) -> Tube:
    """The tube of that radius around the knot, with `along` rings of `around` vertices.

    The polygon of a ring has the circle's area, so that the mesh's volume is the tube's to O(1/along^2).
    """
    t = np.linspace(0.0, 2.0 * np.pi, along, endpoint=False)
    points = knot_curve(t)
    tangents = unit(np.roll(points, -1, axis=0) - np.roll(points, 1, axis=0))
    normals = transported_normals(tangents)
    binormals = np.cross(tangents, normals)
    ring_radius = radius * np.sqrt(2.0 * np.pi / (around * np.sin(2.0 * np.pi / around)))
    phi = 2.0 * np.pi * np.arange(around) / around
    offsets = normals[:, None, :] * np.cos(phi)[None, :, None] + binormals[:, None, :] * np.sin(phi)[None, :, None]
    vertices = points[:, None, :] + ring_radius * offsets
    fine = knot_curve(np.linspace(0.0, 2.0 * np.pi, 200_001))
    length = float(np.linalg.norm(np.diff(fine, axis=0), axis=1).sum())
    return Tube(vertices.reshape(-1, 3).astype(np.float32), ring_faces(along, around), radius, length)


def transported_normals(tangents):
    """Normals f64[n, 3] carried along the closed curve without twist, the closing angle spread evenly."""
    normals = np.empty_like(tangents)
    start = np.cross(tangents[0], [0.0, 1.0, 0.0])
    normals[0] = start / np.linalg.norm(start)
    for i in range(1, len(tangents)):
        projected = normals[i - 1] - tangents[i] * (normals[i - 1] @ tangents[i])
        normals[i] = projected / np.linalg.norm(projected)
    closing = normals[-1] - tangents[0] * (normals[-1] @ tangents[0])
    angle = np.arctan2(np.cross(closing, normals[0]) @ tangents[0], closing @ normals[0])
    turn = angle * np.arange(len(tangents)) / len(tangents)
    return normals * np.cos(turn)[:, None] + np.cross(tangents, normals) * np.sin(turn)[:, None]


def ring_faces(along, around):
    """Two triangles i32[2 along around, 3] for each quad between neighbouring rings."""
    i, j = np.meshgrid(np.arange(along), np.arange(around), indexing="ij")
    a = i * around + j
    b = i * around + (j + 1) % around
    c = (i + 1) % along * around + j
    d = (i + 1) % along * around + (j + 1) % around
    quads = np.stack([np.stack([a, b, d], -1), np.stack([a, d, c], -1)], axis=2)
    return quads.reshape(-1, 3).astype(np.int32)


def unit(v):
    return v / np.linalg.norm(v, axis=-1, keepdims=True)
