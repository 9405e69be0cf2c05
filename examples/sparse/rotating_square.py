"""A square that turns: every frame begins with nothing and activates what the square covers, level by level.

Brighter is deeper: nothing, a block of 64 x 64 cells, one of 16 x 16 within it, a cell of the square.

python examples/sparse/rotating_square.py --frames 100 --out square.gif
"""

from example import Window, options

import metate as ti

chosen = options(__doc__, size=256, frames=100, size_help="cells along each side, a multiple of 64")
if chosen.size % 64:
    raise SystemExit(f"--size: expected a multiple of 64, got {chosen.size}")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

n = chosen.size
covered = ti.field(ti.f32)
coarse = ti.root.pointer(ti.ij, n // 64, name="coarse")
fine = coarse.pointer(ti.ij, 4, name="fine")
cells = fine.bitmasked(ti.ij, 16, name="cells")
cells.place(covered)
picture = ti.field(ti.f32, shape=(n, n))


@ti.func
def inside(i, j, angle):
    """Whether the middle of a cell is in the square of half the picture's width, turned by `angle` (radians)."""
    at = ti.math.rotation2d(-angle) @ (ti.Vector([i + 0.5, j + 0.5]) / n - 0.5)
    return abs(at).max() < 0.25


@ti.kernel
def draw(angle: ti.f32):
    for i, j in ti.ndrange(n, n):
        if inside(i, j, angle):
            covered[i, j] = 1  # activates the cell and the blocks that it is in


@ti.kernel
def shade():
    for I in ti.grouped(picture):
        active = ti.is_active(coarse, ti.rescale_index(covered, coarse, I)) * 0.2
        active += ti.is_active(fine, ti.rescale_index(covered, fine, I)) * 0.2
        picture[I] = active + 0.5 * covered[I]  # a cell that is not active reads as 0


@ti.kernel
def count(level: ti.template()) -> ti.i32:
    """The active cells of a level, found without looking at the others."""
    total = 0
    for _ in ti.grouped(level):
        total += 1
    return total


def frame(angle):
    coarse.deactivate_all()
    draw(angle)
    shade()


def main():
    scale = max(512 // n, 1)
    gui = Window("Rotating square", n * scale, chosen)
    while gui.running:
        frame(0.2 + 0.05 * gui.frame)
        gui.set_image(ti.tools.imresize(picture, gui.res[0]))
        gui.show()


if __name__ == "__main__":
    main()
