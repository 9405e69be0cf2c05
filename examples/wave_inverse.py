"""A wave that becomes a picture: which heights has water to begin with, so that after some time its waves draw a spiral?
Gradient descent finds them; each frame is one step of it, the beginning on the left, what becomes of it on the right.

The wave equation with a little friction, explicit in time, fixed edges. The height at each time is kept, so that its
gradient can run backwards (`ti.ad.Tape`); the descent has momentum.

python examples/wave_inverse.py --size 96 --frames 100 --out spiral.gif
"""

import math

from example import Window, options

import metate as ti

chosen = options(__doc__, size=96, frames=100, size_help="cells along each side")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

n = chosen.size
steps = max(n // 2, 8)
speed = 0.3  # squared, in cells a step
friction = 0.01

u = ti.field(ti.f32, shape=(steps + 2, n, n), needs_grad=True)
target = ti.field(ti.f32, shape=(n, n))
loss = ti.field(ti.f32, shape=(), needs_grad=True)
momentum = ti.field(ti.f32, shape=(n, n))
picture = ti.Vector.field(3, ti.f32, shape=(2 * n, n))


@ti.kernel
def draw_target():
    for i, j in target:
        x, y = 2 * i / n - 1, 2 * j / n - 1
        r, angle = ti.sqrt(x * x + y * y), ti.atan2(y, x)
        arm = ti.cos(2 * angle - 14 * r)
        target[i, j] = ti.max(arm, 0.0) * ti.exp(-6 * r * r) if r < 0.85 else 0.0


@ti.kernel
def step(t: ti.i32):
    for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
        around = u[t - 1, i + 1, j] + u[t - 1, i - 1, j] + u[t - 1, i, j + 1] + u[t - 1, i, j - 1]
        pull = speed * (around - 4 * u[t - 1, i, j])
        u[t, i, j] = u[t - 1, i, j] + (1 - friction) * (u[t - 1, i, j] - u[t - 2, i, j]) + pull


@ti.kernel
def measure():
    for i, j in target:
        loss[None] += (u[steps + 1, i, j] - target[i, j]) ** 2 / (n * n)


def run():
    """The wave from its beginning, which is at rest, and how far it is from the target then."""
    for t in range(2, steps + 2):
        step(t)
    measure()


@ti.kernel
def descend(rate: ti.f32):
    """u[0] and u[1] are one state at rest."""
    for i, j in momentum:
        momentum[i, j] = 0.9 * momentum[i, j] - rate * (u.grad[0, i, j] + u.grad[1, i, j])
        u[0, i, j] += momentum[i, j]
        u[1, i, j] = u[0, i, j]


@ti.kernel
def color():
    for i, j in picture:
        height = u[steps + 1, i - n, j] if i >= n else u[0, i, j]
        up, down = ti.min(ti.max(height, 0.0), 1.0), ti.min(ti.max(-height, 0.0), 1.0)
        base = ti.Vector([0.04, 0.08, 0.16])
        picture[i, j] = base + up * ti.Vector([0.9, 0.7, 0.4]) + down * ti.Vector([0.1, 0.4, 0.7])


def learn():
    """One step of the descent; the loss before it."""
    with ti.ad.Tape(loss):
        run()
    descend(0.06 * n * n)
    return loss[None]


def main():
    draw_target()
    gui = Window("A wave that becomes a picture", (2 * n, n), chosen)
    while gui.running:
        learn()
        color()
        gui.set_image(picture)
        gui.text(f"loss {loss[None]:.2e}", pos=(0.02, 0.97), font_size=16)
        gui.show()
    assert not math.isnan(loss[None])


if __name__ == "__main__":
    main()
