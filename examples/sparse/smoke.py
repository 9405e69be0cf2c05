"""Smoke that rises into still air: only the cells with smoke in them, and a margin around these, are computed or stored.

Cells are bitmasked within blocks that come and go with the smoke. Air outside of it does not resist: its pressure is 0.

python examples/sparse/smoke.py --size 256 --frames 200 --out smoke.gif
"""

from example import Window, options

import metate as ti

block = 16
chosen = options(__doc__, size=192, frames=150, size_help=f"cells along each side, a multiple of {block}")
if chosen.size % block:
    raise SystemExit(f"--size: expected a multiple of {block}, got {chosen.size}")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

n = chosen.size
margin = 4  # cells of air around smoke, which move with it
fastest = 2.0  # cells in a step
least = 0.02  # what is thinner than this is no smoke
dt = 1.0  # lengths are in cells, times in steps
lift = 0.03  # acceleration of smoke of density 1
thinning = 0.995
pressure_rounds = 20

Smoke = (
    ti.types.SNodeTreeBuilder()
    .pointer(ti.ij, n // block, name="blocks")
    .bitmasked(ti.ij, block, name="cells")
    .place(density=ti.f32, velocity=ti.math.vec2, density_after=ti.f32, velocity_after=ti.math.vec2)
    .place(pressure=ti.f32, pressure_after=ti.f32, divergence=ti.f32)
    .build()
)
Pixels = ti.types.ndarray(dtype=ti.f32, ndim=2)


@ti.kernel
def blow(smoke: Smoke, x: ti.f32, y: ti.f32, radius: ti.f32):
    """Fills a disc with smoke that moves upwards; writing makes its cells."""
    for i, j in ti.ndrange(n, n):
        if (ti.Vector([i, j]) - ti.Vector([x, y])).norm() < radius:
            smoke.density[i, j] = 1
            smoke.velocity[i, j] = [0, 0.6]


@ti.kernel
def widen(smoke: Smoke):
    for i, j in smoke.density:
        if smoke.density[i, j] >= least:
            for k, l in ti.ndrange((-margin, margin + 1), (-margin, margin + 1)):
                a, b = i + k, j + l
                if a >= 0 and a < n and b >= 0 and b < n and not ti.is_active(smoke.cells, [a, b]):
                    ti.activate(smoke.cells, [a, b])


@ti.func
def corners(at):
    """The cell below a place, and the place's distance from it."""
    low = ti.cast(ti.floor(at), ti.i32)
    return low, at - low


@ti.kernel
def carry(smoke: Smoke):
    """Semi-Lagrangian: what comes to a cell is what was where its velocity points back to."""
    for i, j in smoke.density:
        low, f = corners(ti.Vector([i, j]) - dt * smoke.velocity[i, j])
        density, velocity = 0.0, ti.Vector([0.0, 0.0])
        for k, l in ti.static(ti.ndrange(2, 2)):
            weight = (f.x if k else 1 - f.x) * (f.y if l else 1 - f.y)
            density += weight * smoke.density[low.x + k, low.y + l]  # 0 where there is no smoke
            velocity += weight * smoke.velocity[low.x + k, low.y + l]
        smoke.density_after[i, j] = thinning * density
        smoke.velocity_after[i, j] = velocity + ti.Vector([0.0, dt * lift * density])
    for i, j in smoke.density:
        smoke.density[i, j] = smoke.density_after[i, j]
        smoke.velocity[i, j] = ti.math.clamp(smoke.velocity_after[i, j], -fastest, fastest)


@ti.kernel
def diverge(smoke: Smoke):
    for i, j in smoke.density:
        along = smoke.velocity[i + 1, j].x - smoke.velocity[i - 1, j].x
        smoke.divergence[i, j] = 0.5 * (along + smoke.velocity[i, j + 1].y - smoke.velocity[i, j - 1].y)
        smoke.pressure[i, j] = 0


@ti.kernel
def relax(smoke: Smoke):
    """Two rounds of Jacobi's method for the pressure."""
    for i, j in smoke.density:
        around = smoke.pressure[i + 1, j] + smoke.pressure[i - 1, j] + smoke.pressure[i, j + 1] + smoke.pressure[i, j - 1]
        smoke.pressure_after[i, j] = 0.25 * (around - smoke.divergence[i, j])
    for i, j in smoke.density:
        right, left = smoke.pressure_after[i + 1, j], smoke.pressure_after[i - 1, j]
        around = right + left + smoke.pressure_after[i, j + 1] + smoke.pressure_after[i, j - 1]
        smoke.pressure[i, j] = 0.25 * (around - smoke.divergence[i, j])


@ti.kernel
def project(smoke: Smoke):
    for i, j in smoke.density:
        smoke.velocity[i, j].x -= 0.5 * (smoke.pressure[i + 1, j] - smoke.pressure[i - 1, j])
        smoke.velocity[i, j].y -= 0.5 * (smoke.pressure[i, j + 1] - smoke.pressure[i, j - 1])


@ti.kernel
def narrow(smoke: Smoke):
    for i, j in smoke.density:
        densest = smoke.density[i, j]
        if densest < least:
            for k, l in ti.ndrange((-margin, margin + 1), (-margin, margin + 1)):
                densest = max(densest, smoke.density[i + k, j + l])
        if densest < least:  # no smoke within the margin
            ti.deactivate(smoke.cells, [i, j])


@ti.kernel
def give_up_blocks(smoke: Smoke):
    for i, j in smoke.blocks:
        used = 0
        for k, l in ti.ndrange(block, block):
            used += ti.is_active(smoke.cells, [i * block + k, j * block + l])
        if used == 0:
            ti.deactivate(smoke.blocks, [i, j])


@ti.kernel
def draw(smoke: Smoke, picture: Pixels):
    for i, j in ti.ndrange(n, n):
        there = ti.is_active(smoke.blocks, [i // block, j // block])
        picture[i, j] = 0.08 * there + 0.92 * ti.sqrt(ti.math.clamp(smoke.density[i, j], 0.0, 1.0))


def step(smoke):
    widen(smoke)
    carry(smoke)
    diverge(smoke)
    for _ in range(pressure_rounds // 2):
        relax(smoke)
    project(smoke)
    narrow(smoke)
    give_up_blocks(smoke)


def main():
    smoke, picture = Smoke.new(), ti.ndarray(ti.f32, (n, n))
    gui = Window("Sparse smoke", n * max(512 // n, 1), chosen)
    while gui.running:
        for _ in range(2):
            swing = ti.sin(0.1 * gui.frame)
            blow(smoke, n * (0.5 + 0.05 * swing), 0.12 * n, 0.05 * n)
            step(smoke)
        draw(smoke, picture)
        gui.set_image(ti.tools.imresize(picture, gui.res[0]))
        gui.show()


if __name__ == "__main__":
    main()
