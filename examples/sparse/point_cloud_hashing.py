"""Points that a flow carries anywhere: the neighbours of each within a radius, found through hashed bins of indices.

Space has no bounds: a bin is a list at any integer coordinates, and there is memory for those with points in them.
Colours tell how many neighbours a point has.

python examples/sparse/point_cloud_hashing.py --size 20000 --frames 150 --out cloud.gif
"""

from example import Window, options

import metate as ti

chosen = options(__doc__, size=8000, frames=150, size_help="number of points")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads, random_seed=9)

n = chosen.size
dt = 0.02
radius = 0.2  # of the picture's neighbourhoods

# One point, and its index in the array of points, is an element; an empty bin has no memory.
Bins = ti.types.SNodeTreeBuilder().hash(ti.ijk, name="bins").dynamic(ti.l, 4096, 8, name="lists").place(index=ti.i32).build()
Points = ti.types.ndarray(dtype=ti.math.vec3, ndim=1)
Counts = ti.types.ndarray(dtype=ti.i32, ndim=1)


@ti.func
def bin_of(at, radius):
    """The bin that a point is in. Bins are 1 % wider than the radius, so that rounding cannot hide a neighbour as long
    as coordinates stay below 50 000 radii."""
    return ti.cast(ti.floor(at / (1.01 * radius)), ti.i32)


@ti.kernel
def init(points: Points):
    for p in range(n):
        angle = 2 * ti.math.pi * ti.random()
        ring = ti.Vector([ti.cos(angle), ti.sin(angle), 0.0])
        points[p] = 1.5 * ring + 0.25 * ti.Vector([ti.randn(), ti.randn(), ti.randn()])


@ti.kernel
def carry(points: Points, time: ti.f32):
    """Moves points with the flow of Arnold, Beltrami and Childress, which mixes them and takes some far away."""
    for p in range(points.shape[0]):
        x = points[p]
        points[p] += time * (ti.sin(x.zxy) + 0.8 * ti.cos(x.yzx))


@ti.kernel
def insert(bins: Bins, points: Points, radius: ti.f32):
    for p in range(points.shape[0]):
        ti.append(bins.lists, bin_of(points[p], radius), p)


@ti.kernel
def count(bins: Bins, points: Points, radius: ti.f32, found: Counts):
    """found[p]: the other points that are nearer to point p than the radius."""
    for p in range(points.shape[0]):
        middle, total = bin_of(points[p], radius), 0
        for offset in ti.grouped(ti.ndrange((-1, 2), (-1, 2), (-1, 2))):
            at = middle + offset
            for k in range(ti.length(bins.lists, at)):
                other = bins.index[at, k]
                away = points[other] - points[p]
                if other != p and away.dot(away) < radius * radius:
                    total += 1
        found[p] = total


def neighbours(bins, points, radius, found):
    bins.deactivate_all()
    insert(bins, points, radius)
    count(bins, points, radius, found)


def main():
    points, found = ti.Vector.ndarray(3, ti.f32, n), ti.ndarray(ti.i32, n)
    bins = Bins.new(capacity=2 * n)
    init(points)
    gui = Window("Point cloud", 512, chosen, background_color=0x06080F)
    palette = [0x263A66, 0x3E6FB0, 0x55B0C8, 0x9BD98B, 0xF2D45C, 0xF08A3C, 0xE5484D]
    while gui.running:
        carry(points, dt)
        neighbours(bins, points, radius, found)
        shades = (found.to_numpy().clip(1) ** 0.5 / 2).astype(int).clip(0, len(palette) - 1)
        gui.circles(points.to_numpy()[:, :2] / 8 + 0.5, radius=1.5, palette=palette, palette_indices=shades)
        gui.show()


if __name__ == "__main__":
    main()
