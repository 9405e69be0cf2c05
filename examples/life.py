"""Conway's Game of Life, one bit a cell: a quant_array has 64 cells of a row in a 64-bit word.

The kernel counts neighbours cell by cell, as one writes it. The compiler takes the loop word by word: the counts of 64 cells
are a few words, one for each binary digit, and are added by logic. `step.report(...)` says so, and the program prints what it
is good for: generations a second, and cells a nanosecond. On a torus only the cells at the border are computed one by one.

python examples/life.py --size 1024 --frames 300 --out soup.gif
python examples/life.py --pattern examples/patterns/glider_gun.rle --border dead
python examples/life.py --size 8192 --per-frame 50        many generations between two pictures
"""

import argparse
import pathlib
import re
import time

import numpy as np
from example import Window, options

import metate as ti

WORD = 64  # cells


def more(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pattern", type=pathlib.Path, metavar="FILE", help="begin with a .rle or .cells file, not with soup")
    parser.add_argument("--border", choices=("torus", "dead"), default="torus", help="what is beyond the border (default torus)")
    parser.add_argument("--per-frame", type=int, default=1, metavar="N", help="generations between two pictures (default 1)")


chosen = options(
    __doc__, size=512, frames=200, size_help="cells along each side, rounded up to whole words of 64 cells", more=more
)
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads, random_seed=7)

n = -(-chosen.size // WORD) * WORD
around_a_cell = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
zoom, shrink = max(512 // n, 1), max(n // 1024, 1)  # pixels of a cell's side, cells of a pixel's side
picture = ti.field(ti.f32, shape=(n * zoom // shrink, n * zoom // shrink))


def bits():
    """A field of n x n bits, and the bytes of its memory."""
    cells, builder = ti.field(ti.types.quant.int(1, signed=False)), ti.FieldsBuilder()
    builder.dense(ti.ij, (n, n // WORD)).quant_array(ti.j, WORD, max_num_bits=WORD).place(cells)
    return cells, sum(type_.bytes() for type_ in builder.finalize().types)


@ti.func
def lives(was, around):
    return (around == 3) | ((around == 2) & (was == 1))


@ti.func
def on_torus(cells: ti.template(), i, j):
    around = ti.u32(0)
    for di, dj in ti.static(around_a_cell):
        around += cells[(i + di) % n, (j + dj) % n]
    return lives(cells[i, j], around)


@ti.kernel
def step(cells: ti.template(), out: ti.template(), is_torus: ti.template()):
    """A generation: of all cells, as if nothing lived beyond the border; then, on a torus, of the border itself."""
    for i, j in cells:
        around = ti.u32(0)
        for di, dj in ti.static(around_a_cell):
            if 0 <= i + di < n and 0 <= j + dj < n:
                around += cells[i + di, j + dj]
        out[i, j] = lives(cells[i, j], around)
    if ti.static(is_torus):
        for k in range(n):
            for side in ti.static((0, n - 1)):
                out[side, k] = on_torus(cells, side, k)
                out[k, side] = on_torus(cells, k, side)


@ti.kernel
def soup(cells: ti.template(), density: ti.f32):
    for i, j in cells:
        cells[i, j] = ti.random() < density


@ti.kernel
def draw(cells: ti.template()):
    """A pixel is as bright as many of its cells live."""
    for x, y in picture:
        alive = 0.0
        for a, b in ti.static(ti.ndrange(shrink, shrink)):
            alive += cells[x * shrink // zoom + a, y * shrink // zoom + b]
        picture[x, y] = alive / (shrink * shrink)


def read_pattern(text: str) -> list[list[int]]:
    """Rows of a pattern, from the top, as files with one character a cell (.cells) or with run lengths (.rle) have them."""
    lines = [line for line in text.splitlines() if not line.startswith(("!", "#"))]
    if not (lines and lines[0].startswith("x")):
        return [[int(cell in "O*") for cell in line] for line in lines]
    rows = [[]]
    for count, what in re.findall(r"(\d*)([bo$!])", "".join(lines[1:])):
        if what == "!":
            break
        if what == "$":
            rows += [[] for _ in range(int(count or 1))]
        else:
            rows[-1] += [int(what == "o")] * int(count or 1)
    return rows


def from_pattern(rows: list[list[int]]) -> np.ndarray:
    """A world that is empty but for a pattern in its middle."""
    width, height = max(map(len, rows)), len(rows)
    if max(width, height) > n:
        raise SystemExit(f"life: the pattern has {width} x {height} cells, the world {n} x {n}: give a larger --size")
    world = np.zeros((n, n), np.uint32)
    for down, row in enumerate(rows):
        world[(n - width) // 2 : (n - width) // 2 + len(row), (n + height) // 2 - 1 - down] = row
    return world


class World:
    """The cells, and how many generations were computed in how many seconds."""

    def __init__(self):
        self.cells, self.bytes = bits()
        self.next, _ = bits()
        self.generations, self.seconds = 0, 0.0

    def go_on(self, generations: int) -> None:
        start = time.perf_counter()
        for _ in range(generations):
            step(self.cells, self.next, chosen.border == "torus")
            self.cells, self.next = self.next, self.cells
        self.seconds += time.perf_counter() - start
        self.generations += generations

    def __str__(self):
        rate, plain = self.generations / self.seconds, 4 * n * n
        return (
            f"{n} x {n} cells in {self.bytes} bytes ({plain} as i32); "
            f"{rate:.0f} generations a second, {rate * n * n * 1e-9:.2f} cells a nanosecond"
        )


def main():
    world = World()
    world.go_on(2)  # of nothing: compiles
    world.generations, world.seconds = 0, 0.0
    if chosen.pattern:
        world.cells.from_numpy(from_pattern(read_pattern(chosen.pattern.read_text())))
    else:
        soup(world.cells, 0.3)
    gui = Window("Life, a bit a cell", picture.shape, chosen)
    while gui.running:
        if gui.is_pressed(ti.GUI.LMB):
            x, y = gui.get_cursor_pos()
            world.cells[min(int(x * n), n - 1), min(int(y * n), n - 1)] = 1
        draw(world.cells)
        gui.set_image(picture)
        gui.show()
        world.go_on(chosen.per_frame)
    print(world)


if __name__ == "__main__":
    main()
