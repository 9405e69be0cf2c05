"""Julia set: how fast z -> z*z + c grows, for each pixel's z, while c moves.

python examples/fractal.py --frames 100 --out julia.gif
"""

from example import Window, options

import metate as ti

chosen = options(__doc__, size=320, frames=100, size_help="height of the picture in pixels; it is twice as wide")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

n = chosen.size
pixels = ti.field(dtype=float, shape=(n * 2, n))


@ti.func
def complex_sqr(z):
    return ti.Vector([z[0] ** 2 - z[1] ** 2, z[1] * z[0] * 2])


@ti.kernel
def paint(t: float):
    for i, j in pixels:  # parallel over all pixels
        c = ti.Vector([-0.8, ti.cos(t) * 0.2])
        z = ti.Vector([i / n - 1, j / n - 0.5]) * 2
        iterations = 0
        while z.norm() < 20 and iterations < 50:
            z = complex_sqr(z) + c
            iterations += 1
        pixels[i, j] = 1 - iterations * 0.02


def main():
    gui = Window("Julia set", (n * 2, n), chosen)
    while gui.running:
        paint(gui.frame * 0.03)
        gui.set_image(pixels)
        gui.show()


if __name__ == "__main__":
    main()
