"""A fit in ten lines: heights, places and widths of some bumps, such that their sum goes through noisy points. The gradient
of the sum of squares is the compiler's; each frame is one step of the descent.

python examples/fit.py --size 300 --frames 120 --out fit.gif
"""

import numpy as np
from example import Window, options

import metate as ti

chosen = options(__doc__, size=300, frames=120, size_help="points")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

x, y = ti.field(ti.f32, shape=chosen.size), ti.field(ti.f32, shape=chosen.size)
bumps = ti.Vector.field(3, ti.f32, shape=5, needs_grad=True)  # height, place, width of each
loss = ti.field(ti.f32, shape=(), needs_grad=True)


@ti.func
def curve(at):
    total = 0.0
    for k in range(bumps.shape[0]):
        total += bumps[k][0] * ti.exp(-(((at - bumps[k][1]) / bumps[k][2]) ** 2))
    return total


@ti.kernel
def measure():
    for i in x:
        loss[None] += (curve(x[i]) - y[i]) ** 2 / x.shape[0]


def learn(rate):
    """A step of the descent; the loss before it."""
    with ti.ad.Tape(loss):
        measure()
    bumps.from_numpy(bumps.to_numpy() - rate * bumps.grad.to_numpy())
    return loss[None]


@ti.kernel
def heights(at: ti.types.ndarray(ti.f32, 1), out: ti.types.ndarray(ti.f32, 1)):
    for i in at:
        out[i] = curve(at[i])


def start():
    """Points around a curve, and bumps that lie evenly."""
    random = np.random.default_rng(3)
    at = random.uniform(0, 1, chosen.size).astype(np.float32)
    bent = 0.5 + 0.35 * np.sin(9 * at) * np.exp(-at) - 0.2 * (at > 0.7) * np.sin(np.pi * (at - 0.7) / 0.3)
    x.from_numpy(at)
    y.from_numpy((bent + random.normal(0, 0.02, chosen.size)).astype(np.float32))
    bumps.from_numpy(np.array([(0.4, k / 4, 0.15) for k in range(5)], np.float32))


def main():
    start()
    gui = Window("A fit by gradient descent", 480, chosen, background_color=0x10181F)
    at = np.linspace(0, 1, 200, dtype=np.float32)
    while gui.running:
        learn(0.05)
        line = at.copy()
        heights(at, line)
        path = np.stack([at, line], 1)
        gui.circles(np.stack([x.to_numpy(), y.to_numpy()], 1), radius=2.5, color=0x5F7F8F)
        gui.lines(path[:-1], path[1:], radius=2.5, color=0xE8A33D)
        gui.text(f"loss {loss[None]:.2e}", pos=(0.03, 0.96), font_size=18)
        gui.show()


if __name__ == "__main__":
    main()
