"""A @ x = b for small matrices: elimination with the greatest pivot of each column, rows exchanged by selection."""

from __future__ import annotations

from .. import intrinsics as ti
from ..frontend.function import func, template


@func
def pivot(p: template(), q: template(), column: template()):
    """The row with the greater magnitude in the column first."""
    swap = ti.abs(p[column]) < ti.abs(q[column])
    p, q = ti.select(swap, q, p), ti.select(swap, p, q)


@func
def eliminate(p, q: template(), column: template()):
    q -= (q[column] / p[column]) * p


@func
def solve1(A, b, dt: template()):
    return ti.Vector([b[0] / A[0, 0]])


@func
def solve2(A, b, dt: template()):
    p, q = ti.Vector([A[0, 0], A[0, 1], b[0]]), ti.Vector([A[1, 0], A[1, 1], b[1]])
    pivot(p, q, 0)
    eliminate(p, q, 0)
    y = q[2] / q[1]
    return ti.Vector([(p[2] - p[1] * y) / p[0], y])


@func
def solve3(A, b, dt: template()):
    p = ti.Vector([A[0, 0], A[0, 1], A[0, 2], b[0]])
    q = ti.Vector([A[1, 0], A[1, 1], A[1, 2], b[1]])
    r = ti.Vector([A[2, 0], A[2, 1], A[2, 2], b[2]])
    pivot(p, q, 0)
    pivot(p, r, 0)
    eliminate(p, q, 0)
    eliminate(p, r, 0)
    pivot(q, r, 1)
    eliminate(q, r, 1)
    z = r[3] / r[2]
    y = (q[3] - q[2] * z) / q[1]
    return ti.Vector([(p[3] - p[1] * y - p[2] * z) / p[0], y, z])


@func
def solve4(A, b, dt: template()):
    p = ti.Vector([A[0, 0], A[0, 1], A[0, 2], A[0, 3], b[0]])
    q = ti.Vector([A[1, 0], A[1, 1], A[1, 2], A[1, 3], b[1]])
    r = ti.Vector([A[2, 0], A[2, 1], A[2, 2], A[2, 3], b[2]])
    s = ti.Vector([A[3, 0], A[3, 1], A[3, 2], A[3, 3], b[3]])
    pivot(p, q, 0)
    pivot(p, r, 0)
    pivot(p, s, 0)
    eliminate(p, q, 0)
    eliminate(p, r, 0)
    eliminate(p, s, 0)
    pivot(q, r, 1)
    pivot(q, s, 1)
    eliminate(q, r, 1)
    eliminate(q, s, 1)
    pivot(r, s, 2)
    eliminate(r, s, 2)
    w = s[4] / s[3]
    z = (r[4] - r[3] * w) / r[2]
    y = (q[4] - q[2] * z - q[3] * w) / q[1]
    return ti.Vector([(p[4] - p[1] * y - p[2] * z - p[3] * w) / p[0], y, z, w])
