"""The demo's kernels: from a triangle mesh to a picture, through a sparse signed-distance tree.

Everything that runs per triangle, per voxel or per pixel is here; demo.py and demo_host.cpp only
launch. Lengths are in voxels, the grid's origin is its first voxel's centre. No result depends on
the order in which threads run: ties in the distance go to the smaller triangle number, and sums
whose order is open are done in integers.
"""

import math
import types

import metate as mt

LEAF = 8  # voxels along a leaf's edge
BAND = 3.0  # half width of the narrow band, the tree's background
# Triangles fill this far, so that each voxel inside the band has all its 26 neighbours: sqrt(3) more.
FILL = BAND + 1.75
MARGIN = 0.08  # of the grid that stays free on each side of the mesh
TIME_STEP = 0.1  # voxel^2; explicit mean-curvature flow is stable below 1/6
UNREACHED = 0x7FFFFFFF  # the distance's bits in the key of a voxel that no triangle reaches
EMPTY = (UNREACHED << 32) | 0xFFFFFFFF
FIXED = float(1 << 24)  # one, in the fixed-point sums of unit normals

vec3 = mt.types.vector(3, mt.f32)


def array(dtype, ndim):
    """Arrays without gaps: the same code then, whether it is compiled at a call or ahead of time."""
    return mt.types.ndarray(dtype=dtype, ndim=ndim, contiguous=True)


Points, Faces, Indices = array(vec3, 1), array(mt.i32, 2), array(mt.i32, 1)
Bounds, Totals, Image = array(mt.f32, 1), array(mt.f64, 1), array(mt.u8, 3)

# The camera looks at the grid's middle; constants of the module, so that every host draws the same.
YAW, PITCH = 0.45, 0.28
FORWARD = (-math.sin(YAW) * math.cos(PITCH), -math.sin(PITCH), -math.cos(YAW) * math.cos(PITCH))
RIGHT = (math.cos(YAW), 0.0, -math.sin(YAW))
UP = (
    RIGHT[1] * FORWARD[2] - RIGHT[2] * FORWARD[1],
    RIGHT[2] * FORWARD[0] - RIGHT[0] * FORWARD[2],
    RIGHT[0] * FORWARD[1] - RIGHT[1] * FORWARD[0],
)
LIGHT = (0.48, 0.72, 0.50)  # unit vector towards the light
DISTANCE = 2.4  # of the camera from the middle, in grid widths
ZOOM = 0.235  # half the picture's width at distance 1
COLOUR = (0.86, 0.74, 0.60)


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


@mt.func
def mix(a, b, t):
    return a + (b - a) * t


@mt.func
def sample(phi: mt.template(), p):
    """Trilinear interpolation of phi at p, which must lie at least one voxel inside the grid."""
    base = mt.floor(p)
    f = p - base
    i, j, k = mt.cast(base[0], mt.i32), mt.cast(base[1], mt.i32), mt.cast(base[2], mt.i32)
    low = mix(
        mix(phi.phi[i, j, k], phi.phi[i + 1, j, k], f[0]),
        mix(phi.phi[i, j + 1, k], phi.phi[i + 1, j + 1, k], f[0]),
        f[1],
    )
    high = mix(
        mix(phi.phi[i, j, k + 1], phi.phi[i + 1, j, k + 1], f[0]),
        mix(phi.phi[i, j + 1, k + 1], phi.phi[i + 1, j + 1, k + 1], f[0]),
        f[1],
    )
    return mix(low, high, f[2])


@mt.func
def march(phi: mt.template(), origin, direction, start, end):
    """The first t in [start, end] at which phi falls below zero along the ray, or -1."""
    t = start
    found = -1.0
    step = 0.0
    while t < end and found < 0.0:
        p = origin + direction * t
        i, j, k = mt.cast(p[0] + 0.5, mt.i32), mt.cast(p[1] + 0.5, mt.i32), mt.cast(p[2] + 0.5, mt.i32)
        if phi.phi[i, j, k] >= BAND:
            step = BAND - 1.0
            t += step
        else:
            d = sample(phi, p)
            if d < 0.0:
                found = t
            else:
                step = mt.max(0.8 * d, 0.05)
                t += step
    if found >= 0.0:
        low, high = mt.max(found - step, start), found
        for _ in range(8):
            middle = 0.5 * (low + high)
            if sample(phi, origin + direction * middle) < 0.0:
                high = middle
            else:
                low = middle
        found = high
    return found


@mt.func
def gradient(phi: mt.template(), p):
    x, y, z = vec3(1.0, 0.0, 0.0), vec3(0.0, 1.0, 0.0), vec3(0.0, 0.0, 1.0)
    return vec3(
        sample(phi, p + x) - sample(phi, p - x),
        sample(phi, p + y) - sample(phi, p - y),
        sample(phi, p + z) - sample(phi, p - z),
    )


@mt.func
def box_entry(origin, direction, size):
    """Where the ray enters and leaves the cube [2, size - 3]^3: (t_near, t_far)."""
    a = (2.0 - origin) / direction
    b = (size - 3.0 - origin) / direction
    near, far = mt.min(a, b), mt.max(a, b)
    return mt.max(mt.max(near[0], near[1]), near[2]), mt.min(mt.min(far[0], far[1]), far[2])


@mt.func
def shade(phi: mt.template(), p, direction, size):
    """The colour of the surface at p: diffuse and sky light, a shadow ray, a rim."""
    g = gradient(phi, p)
    n = g / mt.sqrt(mt.max(g.dot(g), 1e-12))
    light = vec3(LIGHT[0], LIGHT[1], LIGHT[2])
    diffuse = mt.max(n.dot(light), 0.0)
    if diffuse > 0.0:
        start = p + n * 1.5
        _, far = box_entry(start, light, size)
        if march(phi, start, light, 0.0, far) >= 0.0:
            diffuse = 0.0
    sky = 0.5 + 0.5 * n[1]
    facing = 1.0 + n.dot(direction)
    rim = facing * facing * facing * 0.12
    return vec3(COLOUR[0], COLOUR[1], COLOUR[2]) * (0.85 * diffuse + 0.22 * sky + 0.05) + rim


def tree_types(resolution):
    """(phi, keys): the tree types of a grid of resolution^3 voxels; a multiple of the leaf's edge."""
    blocks = resolution // LEAF
    if blocks * LEAF != resolution:
        raise ValueError(f"resolution: expected a multiple of {LEAF}, got {resolution}")

    def grid(**member):
        builder = mt.types.SNodeTreeBuilder()
        return builder.pointer(mt.ijk, blocks, name="blocks").dense(mt.ijk, LEAF).place(**member).build()

    return grid(phi=mt.f32, background=BAND), grid(key=mt.i64, background=EMPTY)


def kernels_for(resolution):
    """The kernels that take trees, for a grid of resolution^3 voxels, with the mesh kernels beside them."""
    Phi, Keys = tree_types(resolution)

    @mt.kernel
    def voxelise(points: Points, faces: Faces, keys: Keys):
        """keys: for each voxel within FILL of a triangle, the nearest one's distance and number.

        A distance is not negative, so its bits as an integer keep its order; the number in the low
        half breaks ties.
        """
        for t in range(faces.shape[0]):
            a, b, c = points[faces[t, 0]], points[faces[t, 1]], points[faces[t, 2]]
            n = (b - a).cross(c - a)
            if n.dot(n) > 0.0:
                low = mt.max(mt.cast(mt.floor(mt.min(mt.min(a, b), c) - FILL), mt.i32), 0)
                high = mt.min(mt.cast(mt.ceil(mt.max(mt.max(a, b), c) + FILL), mt.i32), resolution - 1)
                for i in range(low[0], high[0] + 1):
                    for j in range(low[1], high[1] + 1):
                        for k in range(low[2], high[2] + 1):
                            p = vec3(i, j, k)
                            w = closest_weights(p, a, b, c)
                            d = p - (a * w[0] + b * w[1] + c * w[2])
                            distance = mt.sqrt(d.dot(d))
                            if distance <= FILL:
                                bits = mt.cast(mt.bit_cast(distance, mt.i32), mt.i64)
                                mt.atomic_min(keys.key[i, j, k], (bits << 32) | t)

    @mt.kernel
    def sign(points: Points, faces: Faces, vertex_normals: Points, edge_normals: Points, keys: Keys, phi: Phi):
        """phi: the distance of each voxel, negative inside, clamped to the band.

        The side is told by the pseudo-normal of what is nearest: the face, an edge or a corner.
        """
        for i, j, k in keys:
            key = keys.key[i, j, k]
            bits = mt.cast(key >> 32, mt.i32)
            if bits != UNREACHED:
                t = mt.cast(key, mt.i32)
                distance = mt.bit_cast(bits, mt.f32)
                a, b, c = points[faces[t, 0]], points[faces[t, 1]], points[faces[t, 2]]
                p = vec3(i, j, k)
                w = closest_weights(p, a, b, c)
                normal = (b - a).cross(c - a)
                for corner in mt.static(range(3)):
                    if w[corner] == 0.0:
                        normal = edge_normals[3 * t + corner]
                for corner in mt.static(range(3)):
                    if w[corner] == 1.0:
                        normal = vertex_normals[faces[t, corner]]
                side = (p - (a * w[0] + b * w[1] + c * w[2])).dot(normal)
                if side < 0.0:
                    distance = -distance
                phi.phi[i, j, k] = mt.min(mt.max(distance, -BAND), BAND)

    @mt.kernel
    def smooth(src: Phi, dst: Phi):
        """One explicit step of mean-curvature flow, phi_t = curvature |grad phi|, inside the band."""
        for i, j, k in src:
            c = src.phi[i, j, k]
            value = c
            if mt.abs(c) < BAND:
                x0, x1 = src.phi[i - 1, j, k], src.phi[i + 1, j, k]
                y0, y1 = src.phi[i, j - 1, k], src.phi[i, j + 1, k]
                z0, z1 = src.phi[i, j, k - 1], src.phi[i, j, k + 1]
                dx, dy, dz = (x1 - x0) * 0.5, (y1 - y0) * 0.5, (z1 - z0) * 0.5
                dxx, dyy, dzz = x0 + x1 - 2.0 * c, y0 + y1 - 2.0 * c, z0 + z1 - 2.0 * c
                xy = src.phi[i + 1, j + 1, k] + src.phi[i - 1, j - 1, k] - src.phi[i + 1, j - 1, k] - src.phi[i - 1, j + 1, k]
                xz = src.phi[i + 1, j, k + 1] + src.phi[i - 1, j, k - 1] - src.phi[i + 1, j, k - 1] - src.phi[i - 1, j, k + 1]
                yz = src.phi[i, j + 1, k + 1] + src.phi[i, j - 1, k - 1] - src.phi[i, j + 1, k - 1] - src.phi[i, j - 1, k + 1]
                x2, y2, z2 = dx * dx, dy * dy, dz * dz
                along = dxx * (y2 + z2) + dyy * (x2 + z2) + dzz * (x2 + y2)
                across = 0.5 * (dx * dy * xy + dx * dz * xz + dy * dz * yz)
                value = c + TIME_STEP * (along - across) / (x2 + y2 + z2 + 1e-6)
                value = mt.min(mt.max(value, -BAND), BAND)
            dst.phi[i, j, k] = value

    @mt.kernel
    def measure(phi: Phi, totals: Totals):
        """totals f64[2], zero on entry: area and volume of the zero level, by a smeared delta.

        The volume is the flux of position / 3 through the surface, so only the band is read.
        """
        for i, j, k in phi:
            c = phi.phi[i, j, k]
            if mt.abs(c) < 1.5:
                g = (
                    vec3(
                        phi.phi[i + 1, j, k] - phi.phi[i - 1, j, k],
                        phi.phi[i, j + 1, k] - phi.phi[i, j - 1, k],
                        phi.phi[i, j, k + 1] - phi.phi[i, j, k - 1],
                    )
                    * 0.5
                )
                delta = (1.0 - mt.abs(c) / 1.5) / 1.5
                p = vec3(i, j, k) - (resolution - 1) * 0.5
                totals[0] += mt.cast(delta * mt.sqrt(g.dot(g)), mt.f64)
                totals[1] += mt.cast(delta * p.dot(g) / 3.0, mt.f64)

    @mt.kernel
    def render(phi: Phi, image: Image):
        """image u8[height, width, 3]: the zero level under a light, on a plain background."""
        for y, x in mt.ndrange(image.shape[0], image.shape[1]):
            size = mt.cast(resolution, mt.f32)
            forward = vec3(FORWARD[0], FORWARD[1], FORWARD[2])
            right = vec3(RIGHT[0], RIGHT[1], RIGHT[2])
            up = vec3(UP[0], UP[1], UP[2])
            u = (2.0 * (x + 0.5) / image.shape[1] - 1.0) * ZOOM
            v = (1.0 - 2.0 * (y + 0.5) / image.shape[0]) * ZOOM
            origin = vec3(1.0, 1.0, 1.0) * (0.5 * (size - 1.0)) - forward * (DISTANCE * size)
            ray = forward + right * u + up * v
            direction = ray / mt.sqrt(ray.dot(ray))
            near, far = box_entry(origin, direction, size)
            colour = mix(vec3(0.10, 0.11, 0.13), vec3(0.24, 0.26, 0.30), mt.cast(y, mt.f32) / image.shape[0])
            if near < far:
                t = march(phi, origin, direction, near, far)
                if t >= 0.0:
                    colour = shade(phi, origin + direction * t, direction, size)
            for channel in mt.static(range(3)):
                value = mt.sqrt(mt.min(mt.max(colour[channel], 0.0), 1.0))
                image[y, x, channel] = mt.cast(value * 255.0 + 0.5, mt.u8)

    return types.SimpleNamespace(
        Phi=Phi,
        Keys=Keys,
        find_bounds=find_bounds,
        normalise=normalise,
        count_incident=count_incident,
        sum_starts=sum_starts,
        list_incident=list_incident,
        find_vertex_normals=find_vertex_normals,
        find_edge_normals=find_edge_normals,
        voxelise=voxelise,
        sign=sign,
        smooth=smooth,
        measure=measure,
        render=render,
    )
