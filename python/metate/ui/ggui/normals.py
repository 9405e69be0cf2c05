"""Normals of a mesh that has none: of each triangle, or at each vertex the mean of its triangles'. Must not draw."""

from __future__ import annotations

import numpy as np


def of_triangles(vertices: np.ndarray, indices: np.ndarray | None) -> np.ndarray:
    """Normals of vertices, (n, 3) of f32.

    Args:
        vertices: (n, 3) of f32.
        indices: three for each triangle; None: a triangle after the other, each flat; vertices left over have none.
    """
    whole = len(vertices) // 3 * 3
    corners = vertices[:whole].reshape(-1, 3, 3) if indices is None else vertices[indices.reshape(-1, 3)]
    flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(flat, axis=1, keepdims=True)
    flat = np.divide(flat, length, out=np.zeros_like(flat), where=length > 0)
    normals = np.zeros_like(vertices)
    if indices is None:
        normals[:whole] = np.repeat(flat, 3, axis=0)
        return normals
    each = np.repeat(flat, 3, axis=0)
    for axis in range(3):
        normals[:, axis] = np.bincount(indices, weights=each[:, axis], minlength=len(vertices))
    return normals
