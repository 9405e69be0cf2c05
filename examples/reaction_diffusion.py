"""Reaction and diffusion: two substances of the Gray-Scott model, u + 2 v -> 3 v; u is fed, v decays. Spots divide, stripes
grow.

Forward Euler with steps of 1, the Laplacian over nine cells, a domain without edges (J. Pearson, Complex Patterns in a Simple
System, 1993).

python examples/reaction_diffusion.py --size 256 --frames 100 --out patterns.gif
"""

from example import Window, options

import metate as ti

chosen = options(__doc__, size=256, frames=100, size_help="cells along each side")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

n = chosen.size
steps = 24
spread = ti.Vector([1.0, 0.5])  # how fast u and v diffuse
around = [(di, dj, 0.2 if abs(di) + abs(dj) == 1 else 0.05) for di in (-1, 0, 1) for dj in (-1, 0, 1) if (di, dj) != (0, 0)]

now = ti.Vector.field(2, ti.f32, shape=(n, n))
later = ti.Vector.field(2, ti.f32, shape=(n, n))
picture = ti.Vector.field(3, ti.f32, shape=(n, n))


@ti.kernel
def seed(drops: ti.i32):
    """Only u, but for squares of v in random places."""
    for i, j in now:
        now[i, j] = ti.Vector([1.0, 0.0])
    side = ti.max(n // 24, 2)
    for _ in range(drops):
        at = ti.Vector([int(ti.random() * n), int(ti.random() * n)])
        for i, j in ti.ndrange(side, side):
            now[(at[0] + i) % n, (at[1] + j) % n] = ti.Vector([0.5, 0.5])


@ti.kernel
def step(x: ti.template(), out: ti.template(), feed: ti.f32, kill: ti.f32):
    for i, j in x:
        here = x[i, j]
        laplacian = -here
        for di, dj, weight in ti.static(around):
            laplacian += weight * x[(i + di + n) % n, (j + dj + n) % n]
        reaction = here[0] * here[1] * here[1]
        change = ti.Vector([feed * (1.0 - here[0]) - reaction, reaction - (feed + kill) * here[1]])
        out[i, j] = here + spread * laplacian + change


@ti.kernel
def color():
    for i, j in picture:
        v = ti.min(3.0 * now[i, j][1], 1.0)
        u = now[i, j][0]
        picture[i, j] = ti.math.mix(ti.Vector([0.03, 0.06, 0.16]), ti.Vector([1.0, 0.75, 0.35]), v) * (1.2 - 0.6 * u)


def advance(feed, kill):
    """Two steps, so that the state is in `now` again."""
    step(now, later, feed, kill)
    step(later, now, feed, kill)


def main():
    seed(12)
    gui = Window("Reaction and diffusion", n, chosen)
    while gui.running:
        for _ in range(steps // 2):
            advance(0.0545, 0.062)
        color()
        gui.set_image(picture)
        gui.show()


if __name__ == "__main__":
    main()
