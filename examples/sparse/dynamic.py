"""A Galton board: balls fall through rows of pins, and each is appended to the list of the bin that it ends in.

Turns at the pins are left or right with equal chance, so the piles become a bell. When a pile is full its list is emptied
as a whole, and its memory serves the other lists.

python examples/sparse/dynamic.py --size 24 --frames 150 --out board.gif
"""

from example import Window, options

import metate as ti

chosen = options(__doc__, size=24, frames=150, size_help="rows of pins, at most 30")
if chosen.size > 30:
    raise SystemExit(f"--size: expected at most 30, got {chosen.size}")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads, random_seed=5)

rows = chosen.size
highest = 512  # balls in a pile

ball = ti.types.struct(turns=ti.i32, number=ti.i32)  # bit k of turns: right at row k
balls = ball.field()
bins = ti.root.dense(ti.i, rows + 1).dynamic(ti.j, 2 * highest, chunk_size=32)
bins.place(balls)
emptied = ti.field(ti.i32, shape=rows + 1)  # balls that a bin has lost
picture = ti.Vector.field(3, ti.f32, shape=(256, 256))


@ti.kernel
def drop(first: ti.i32, n: ti.i32):
    """Lets balls `first` to `first + n - 1` fall; all at once, so their order in a list is any."""
    for number in range(first, first + n):
        turns = ti.random(ti.i32) & ((1 << rows) - 1)
        balls[ti.math.popcnt(turns)].append(ball(turns=turns, number=number))


@ti.kernel
def empty():
    for i in emptied:
        if balls[i].length() >= highest:
            emptied[i] += balls[i].length()
            balls[i].deactivate()


@ti.kernel
def draw():
    for x, y in picture:
        i, k = x * (rows + 1) // 256, y * highest // 256
        color = ti.Vector([0.07, 0.09, 0.12])
        if k < balls[i].length():
            last = ti.cast((balls[i, k].turns >> (rows - 1)) & 1, ti.f32)  # the side that the ball came from
            color = ti.Vector([0.95 - 0.6 * last, 0.6, 0.35 + 0.6 * last])
        picture[x, y] = color


def main():
    gui = Window("Dynamic", 512, chosen)
    while gui.running:
        drop(64 * gui.frame, 64)
        empty()
        draw()
        gui.set_image(ti.tools.imresize(picture, 512))
        gui.show()


if __name__ == "__main__":
    main()
