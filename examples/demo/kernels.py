"""The demo's kernels: from a triangle mesh to a picture, through a sparse signed-distance tree.

Everything that runs per triangle, per voxel or per pixel is here and in the files it imports;
demo.py and demo_host.cpp only launch. Lengths are in voxels, the grid's origin is its first voxel's
centre. No result depends on the order in which threads run: ties in the distance go to the smaller
triangle number.
"""

import types

import mesh_kernels
from drawing import pixel_colour
from grid import BAND, FILL, LEAF, Faces, Image, Points, Totals, vec3
from mesh_kernels import closest_weights

import metate as mt

TIME_STEP = 0.1  # voxel^2; explicit mean-curvature flow is stable below 1/6
UNREACHED = 0x7FFFFFFF  # the distance's bits in the key of a voxel that no triangle reaches
EMPTY = (UNREACHED << 32) | 0xFFFFFFFF


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
    """Tree types and all kernels by name, for a grid of resolution^3 voxels."""
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
            colour = pixel_colour(phi, (x + 0.5) / image.shape[1], (y + 0.5) / image.shape[0], resolution)
            for channel in mt.static(range(3)):
                value = mt.sqrt(mt.min(mt.max(colour[channel], 0.0), 1.0))
                image[y, x, channel] = mt.cast(value * 255.0 + 0.5, mt.u8)

    kernels = (*mesh_kernels.KERNELS, voxelise, sign, smooth, measure, render)
    return types.SimpleNamespace(Phi=Phi, Keys=Keys, **{kernel.__name__: kernel for kernel in kernels})
