"""Heat that spreads on a plane of blocks: the program says itself which blocks there are.

Before a step, the blocks around those with heat at their edge are activated; after it, cold ones are deactivated. A step
computes the active cells only, and what is outside reads as cold.

python examples/sparse/explicit_activation.py --size 512 --frames 150 --out heat.gif
"""

from example import Window, options

import metate as ti

block = 16
chosen = options(__doc__, size=256, frames=150, size_help=f"cells along each side, a multiple of {block}")
if chosen.size % block:
    raise SystemExit(f"--size: expected a multiple of {block}, got {chosen.size}")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

n = chosen.size
rate = 0.2
coldest = 1e-4  # a block with nothing above it is given up

Plate = (
    ti.types.SNodeTreeBuilder()
    .pointer(ti.ij, n // block, name="blocks")
    .dense(ti.ij, block)
    .place(now=ti.f32, after=ti.f32)
    .build()
)
Pixels = ti.types.ndarray(dtype=ti.f32, ndim=2)


@ti.kernel
def warm(plate: Plate, x: ti.f32, y: ti.f32):
    """A hot point at (x, y), in cells; it makes its block."""
    for _ in range(1):
        i, j = ti.i32(x), ti.i32(y)
        ti.activate(plate.blocks, [i // block, j // block])
        plate.now[i, j] = 50


@ti.kernel
def widen(plate: Plate):
    for i, j in plate.now:
        if plate.now[i, j] > coldest:
            for k, l in ti.static(((-1, 0), (1, 0), (0, -1), (0, 1))):
                a, b = i + k, j + l
                other = a // block != i // block or b // block != j // block
                if other and a >= 0 and a < n and b >= 0 and b < n:
                    ti.activate(plate.blocks, [a // block, b // block])


@ti.kernel
def spread(plate: Plate):
    for i, j in plate.now:
        around = plate.now[i - 1, j] + plate.now[i + 1, j] + plate.now[i, j - 1] + plate.now[i, j + 1]
        plate.after[i, j] = plate.now[i, j] + rate * (around - 4 * plate.now[i, j])
    for i, j in plate.now:
        plate.now[i, j] = plate.after[i, j] * 0.995


@ti.kernel
def narrow(plate: Plate):
    for i, j in plate.blocks:
        warmest = 0.0
        for k, l in ti.ndrange(block, block):
            warmest = max(warmest, plate.now[i * block + k, j * block + l])
        if warmest <= coldest:
            ti.deactivate(plate.blocks, [i, j])


@ti.kernel
def draw(plate: Plate, picture: Pixels):
    for i, j in ti.ndrange(n, n):
        heat = ti.math.clamp(1 + 0.25 * ti.log(max(plate.now[i, j], 1e-9)) / ti.log(10.0), 0.0, 1.0)
        picture[i, j] = 0.12 * ti.is_active(plate.blocks, [i // block, j // block]) + 0.88 * heat * heat


def step(plate):
    widen(plate)
    spread(plate)
    narrow(plate)


def main():
    plate, picture = Plate.new(), ti.ndarray(ti.f32, (n, n))
    gui = Window("Explicit activation", n * max(512 // n, 1), chosen)
    while gui.running:
        for k in range(3):
            turn = 0.07 * gui.frame + 2.1 * k
            warm(plate, n * (0.5 + 0.3 * ti.cos(turn)), n * (0.5 + 0.3 * ti.sin(2 * turn)))
        step(plate)
        draw(plate, picture)
        gui.set_image(ti.tools.imresize(picture, gui.res[0]))
        gui.show()


if __name__ == "__main__":
    main()
