"""A stroke that is learned: from where, and how fast, must the cue ball go, so that one ball of the triangle that it breaks ends
on a mark? Gradient descent finds out, through all collisions; each frame is one try, the paths of the first one in grey.

Balls slow down as they roll and lose speed along the line of centers when they meet; cushions mirror them. They meet at their
time of impact within a step: did they at its end, what follows would jump while the cue ball's beginning is moved, and gradients,
which see no jumps, would be wrong with respect to positions. After billiards.py of difftaichi (Y. Hu et al., 2020).

python examples/billiards.py --size 4 --frames 40 --out stroke.gif
"""

import numpy as np
from example import Window, options

import metate as ti

chosen = options(__doc__, size=4, frames=40, size_help="rows of the triangle")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads, default_fp=ti.f64)

rows = chosen.size
balls = 1 + rows * (rows + 1) // 2  # the cue ball is the first one, and the last one has to come to the mark
steps, dt = 300, 0.014
radius, drag, bounce = 0.05, 1.0, 0.8
table = (2.0, 1.0)
mark = ti.Vector([1.6, 0.6])

x = ti.Vector.field(2, ti.f64, shape=(steps + 1, balls), needs_grad=True)
v = ti.Vector.field(2, ti.f64, shape=(steps + 1, balls), needs_grad=True)
loss = ti.field(ti.f64, shape=(), needs_grad=True)


@ti.func
def time_of_impact(apart, speed):
    """When two balls meet that are so far apart; dt if not in this step. What overlaps has met before it, at a time below 0."""
    a, b, c = speed.norm_sqr(), speed.dot(apart), apart.norm_sqr() - (2 * radius) ** 2
    time = dt
    if b < 0 and b * b > a * c:
        time = ti.min((-b - ti.sqrt(b * b - a * c)) / a, dt)
    return time


@ti.kernel
def roll(t: ti.i32):
    for i in range(balls):
        place, speed = x[t, i] + dt * v[t, i], v[t, i]
        for j in range(balls):  # itself as well, which it does not come nearer to
            apart, approach = x[t, i] - x[t, j], v[t, i] - v[t, j]
            time = time_of_impact(apart, approach)
            if time < dt:
                along = (apart + time * approach).normalized()
                kick = -0.5 * (1 + bounce) * approach.dot(along) * along
                speed += kick
                place += (dt - time) * kick
        for axis in ti.static(range(2)):
            inside = ti.min(ti.max(place[axis], radius), table[axis] - radius)
            if place[axis] != inside:
                place[axis] = 2 * inside - place[axis]
                speed[axis] = -speed[axis]
        x[t + 1, i] = place
        v[t + 1, i] = ti.exp(-drag * dt) * speed


@ti.kernel
def measure():
    loss[None] += (x[steps, balls - 1] - mark).norm_sqr()


def strike():
    for t in range(steps):
        roll(t)
    measure()


def learn(most=0.05):
    """A stroke, and a step of the descent; the loss. If the loss fell evenly, the step would end at 0; it is at most so long."""
    with ti.ad.Tape(loss):
        strike()
    gradient = np.array([x.grad[0, 0], v.grad[0, 0]])
    scale = np.array([1, 0.03])  # all depends much more on what lies across the stroke: smaller steps there
    scaled = scale * gradient
    step = loss[None] * scaled / max((scaled**2).sum(), 1e-30)
    step *= scale * most / max(np.linalg.norm(step), most)
    x[0, 0], v[0, 0] = x[0, 0] - step[0], v[0, 0] - step[1]
    return loss[None]


def start():
    """A triangle with small gaps, and a stroke that hits it a little above its middle."""
    x.fill(0)
    v.fill(0)
    x[0, 0], v[0, 0] = [0.5, 0.54], [2.5, 0.0]
    places = [(k * 3**0.5 / 2, j - k / 2) for k in range(rows) for j in range(k + 1)]
    for i, place in enumerate(places):
        x[0, i + 1] = [1.1 + 2.05 * radius * place[0], 0.5 + 2.05 * radius * place[1]]


def main():
    start()
    gui = Window("A stroke that is learned", (640, 320), chosen, background_color=0x10281F)
    colors = [0xF2EFE6] + [0x4F8F9F] * (balls - 2) + [0xE8A33D]
    first = None
    while gui.running:
        learn()
        states = x.to_numpy() / table
        first = states if first is None else first
        gui.circle((mark[0] / table[0], mark[1] / table[1]), radius=22, color=0xF25C54)
        gui.circle((mark[0] / table[0], mark[1] / table[1]), radius=18, color=0x10281F)
        gui.circles(states[-1], radius=320 * radius, color=np.array(colors))
        for paths, tints in ((first, [0x7F9088] * balls), (states, colors)):
            for i, tint in enumerate(tints):
                gui.lines(paths[:-3:3, i], paths[3::3, i], radius=1.2, color=tint)
        gui.circles(states[0], radius=4, color=np.array(colors))
        gui.text(f"loss {loss[None]:.1e}", pos=(0.02, 0.96), font_size=18)
        gui.show()


if __name__ == "__main__":
    main()
