"""Kernels on the triangle mesh alone: into the grid, triangles at each vertex, pseudo-normals.

No result depends on the order in which threads run: sums whose order is open are done in integers.
"""

from grid import Bounds, Faces, Indices, Points, vec3

import metate as mt

MARGIN = 0.08  # of the grid that stays free on each side of the mesh
FIXED = float(1 << 24)  # one, in the fixed-point sums of unit normals


@mt.func
def closest_weights(p, a, b, c):
    """Barycentric weights of the point of triangle abc nearest to p (Ericson 2005, section 5.1.5).

    A weight is exactly zero where the nearest point lies on the opposite edge or corner.
    """
    ab, ac = b - a, c - a
    ap, bp, cp = p - a, p - b, p - c
    d1, d2 = ab.dot(ap), ac.dot(ap)
    d3, d4 = ab.dot(bp), ac.dot(bp)
    d5, d6 = ab.dot(cp), ac.dot(cp)
    va = d3 * d6 - d5 * d4
    vb = d5 * d2 - d1 * d6
    vc = d1 * d4 - d3 * d2
    w = vec3(1.0, 0.0, 0.0)
    if d1 <= 0.0 and d2 <= 0.0:
        w = vec3(1.0, 0.0, 0.0)
    elif d3 >= 0.0 and d4 <= d3:
        w = vec3(0.0, 1.0, 0.0)
    elif d6 >= 0.0 and d5 <= d6:
        w = vec3(0.0, 0.0, 1.0)
    elif vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        s = d1 / (d1 - d3)
        w = vec3(1.0 - s, s, 0.0)
    elif vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        s = d2 / (d2 - d6)
        w = vec3(1.0 - s, 0.0, s)
    elif va <= 0.0 and d4 >= d3 and d5 >= d6:
        s = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        w = vec3(0.0, 1.0 - s, s)
    else:
        s = vb / (va + vb + vc)
        r = vc / (va + vb + vc)
        w = vec3(1.0 - s - r, s, r)
    return w


@mt.func
def face_normal(points: mt.template(), faces: mt.template(), t):
    """The unit normal of triangle t; zero for a triangle without area."""
    a, b, c = points[faces[t, 0]], points[faces[t, 1]], points[faces[t, 2]]
    n = (b - a).cross(c - a)
    length = mt.sqrt(n.dot(n))
    result = vec3(0.0, 0.0, 0.0)
    if length > 0.0:
        result = n / length
    return result


@mt.func
def angle_between(u, v):
    cosine = u.dot(v) / mt.sqrt(mt.max(u.dot(u) * v.dot(v), 1e-30))
    return mt.acos(mt.min(mt.max(cosine, -1.0), 1.0))


@mt.func
def corner_angle(points: mt.template(), faces: mt.template(), t, corner):
    p = points[faces[t, corner]]
    return angle_between(points[faces[t, (corner + 1) % 3]] - p, points[faces[t, (corner + 2) % 3]] - p)


@mt.func
def to_fixed(x):
    return mt.cast(x * FIXED, mt.i64)


@mt.kernel
def find_bounds(vertices: Points, bounds: Bounds):
    """bounds f32[6]: least and greatest x, y, z; the caller fills it with +inf and -inf."""
    for v in range(vertices.shape[0]):
        for axis in mt.static(range(3)):
            mt.atomic_min(bounds[axis], vertices[v][axis])
            mt.atomic_max(bounds[axis + 3], vertices[v][axis])


@mt.kernel
def normalise(vertices: Points, bounds: Bounds, resolution: mt.i32, points: Points):
    """points: the vertices, scaled and moved into a grid of resolution^3 voxels."""
    for v in range(vertices.shape[0]):
        low = vec3(bounds[0], bounds[1], bounds[2])
        high = vec3(bounds[3], bounds[4], bounds[5])
        extent = mt.max(mt.max(high[0] - low[0], high[1] - low[1]), high[2] - low[2])
        scale = (1.0 - 2.0 * MARGIN) * (resolution - 1) / extent
        points[v] = (vertices[v] - (low + high) * 0.5) * scale + (resolution - 1) * 0.5


@mt.kernel
def count_incident(faces: Faces, starts: Indices):
    """starts i32[vertices + 1], zero on entry: starts[v + 1] = triangles at vertex v."""
    for t in range(faces.shape[0]):
        for corner in mt.static(range(3)):
            starts[faces[t, corner] + 1] += 1


@mt.kernel
def sum_starts(starts: Indices, cursors: Indices):
    """Turns the counts into first positions; cursors becomes a copy of them."""
    for _ in range(1):
        total = 0
        for v in range(cursors.shape[0]):
            total += starts[v]
            starts[v] = total
            cursors[v] = total
        starts[cursors.shape[0]] += total


@mt.kernel
def list_incident(faces: Faces, cursors: Indices, incident: Indices):
    """incident[starts[v] : starts[v + 1]] = the triangles at vertex v, in any order."""
    for t in range(faces.shape[0]):
        for corner in mt.static(range(3)):
            position = mt.atomic_add(cursors[faces[t, corner]], 1)
            incident[position] = t


@mt.kernel
def find_vertex_normals(points: Points, faces: Faces, starts: Indices, incident: Indices, normals: Points):
    """Angle-weighted pseudo-normals (Baerentzen and Aanaes 2005) of the vertices."""
    for v in range(points.shape[0]):
        x, y, z = mt.cast(0, mt.i64), mt.cast(0, mt.i64), mt.cast(0, mt.i64)
        for at in range(starts[v], starts[v + 1]):
            t = incident[at]
            n = face_normal(points, faces, t)
            angle = 0.0
            for corner in mt.static(range(3)):
                if faces[t, corner] == v:
                    angle = corner_angle(points, faces, t, corner)
            x += to_fixed(n[0] * angle)
            y += to_fixed(n[1] * angle)
            z += to_fixed(n[2] * angle)
        normals[v] = vec3(mt.cast(x, mt.f32), mt.cast(y, mt.f32), mt.cast(z, mt.f32)) / FIXED


@mt.kernel
def find_edge_normals(points: Points, faces: Faces, starts: Indices, incident: Indices, normals: Points):
    """normals[3 t + e]: the sum over the triangles at edge e of triangle t, the edge opposite corner e."""
    for t in range(faces.shape[0]):
        for edge in mt.static(range(3)):
            first = faces[t, (edge + 1) % 3]
            second = faces[t, (edge + 2) % 3]
            x, y, z = mt.cast(0, mt.i64), mt.cast(0, mt.i64), mt.cast(0, mt.i64)
            for at in range(starts[first], starts[first + 1]):
                other = incident[at]
                if faces[other, 0] == second or faces[other, 1] == second or faces[other, 2] == second:
                    n = face_normal(points, faces, other)
                    x += to_fixed(n[0])
                    y += to_fixed(n[1])
                    z += to_fixed(n[2])
            normals[3 * t + edge] = vec3(mt.cast(x, mt.f32), mt.cast(y, mt.f32), mt.cast(z, mt.f32)) / FIXED


KERNELS = (
    find_bounds,
    normalise,
    count_incident,
    sum_starts,
    list_incident,
    find_vertex_normals,
    find_edge_normals,
)
