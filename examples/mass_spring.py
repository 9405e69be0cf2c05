"""A robot of masses and springs that learns to walk: how does each spring become longer and shorter with time? Gradient descent
finds out, through the whole walk; each frame shows a moment of the walk that the robot knows so far.

Symplectic Euler, springs whose lengths at rest follow a few waves, a ground that pushes and holds what sinks into it. After
mass_spring.py of difftaichi (Y. Hu et al., 2020). The states are kept for all times, as `ti.ad.Tape` wants them.

python examples/mass_spring.py --size 3 --frames 160 --out walk.gif
"""

import numpy as np
from example import Window, options

import metate as ti

chosen = options(__doc__, size=3, frames=160, size_help="squares of its body")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

steps, dt, waves = 500, 4e-3, 4
stiffness, drag, gravity, square = 15000.0, 8.0, 4.8, 0.09
ground, push, grip = 0.1, 6000.0, 20000.0  # its height, and how strongly it pushes and holds what is below

# The body is a row of squares on legs: at each other place below it stands a triangle.
rows = [(0.15 + square * (k // 2), ground + square * (1 + k % 2)) for k in range(2 * chosen.size + 2)]
legs = [(0.15 + square * (k + 0.5), ground) for k in range(0, chosen.size, 2)]
places = np.array(rows + legs, np.float32)
apart = np.linalg.norm(places[:, None] - places, axis=2)
pairs = np.argwhere(np.triu((apart > 0) & (apart < 1.5 * square))).astype(np.int32)
masses, springs = len(places), len(pairs)

x = ti.Vector.field(2, ti.f32, shape=(steps + 1, masses), needs_grad=True)
v = ti.Vector.field(2, ti.f32, shape=(steps + 1, masses), needs_grad=True)
force = ti.Vector.field(2, ti.f32, shape=(steps, masses), needs_grad=True)
ends = ti.Vector.field(2, ti.i32, shape=springs)
rest = ti.field(ti.f32, shape=springs)
swing = ti.field(ti.f32, shape=(springs, waves), needs_grad=True)
loss = ti.field(ti.f32, shape=(), needs_grad=True)


@ti.kernel
def pull(t: ti.i32):
    for s in range(springs):
        a, b = ends[s][0], ends[s][1]
        beat = 0.0
        for k in range(waves):
            beat += swing[s, k] * ti.sin(15.0 * t * dt + 2 * np.pi / waves * k)
        length = rest[s] * (1 + 0.15 * ti.tanh(beat))
        across = x[t, a] - x[t, b]
        tension = stiffness * (1 - length / across.norm(1e-6)) * across
        force[t, a] -= tension
        force[t, b] += tension


@ti.kernel
def move(t: ti.i32):
    for i in range(masses):
        speed = ti.exp(-dt * drag) * v[t, i] + dt * (force[t, i] + ti.Vector([0.0, -gravity]))
        depth = ti.max(ground - x[t, i][1], 0.0)
        speed = ti.Vector([speed[0] * ti.exp(-dt * grip * depth), speed[1] + dt * push * depth])
        v[t + 1, i] = speed
        x[t + 1, i] = x[t, i] + dt * speed


@ti.kernel
def measure():
    for i in range(masses):
        loss[None] -= (x[steps, i][0] - x[0, i][0]) / masses


def walk():
    force.fill(0)
    for t in range(steps):
        pull(t)
        move(t)
    measure()


def learn(rate):
    """A walk, and a step of the descent; how far it came."""
    with ti.ad.Tape(loss):
        walk()
    gradient = swing.grad.to_numpy()
    swing.from_numpy(swing.to_numpy() - rate * gradient / (1e-6 + np.linalg.norm(gradient)))
    return -loss[None]


def start():
    x.fill(0)
    for i, place in enumerate(places):
        x[0, i] = place
    ends.from_numpy(pairs)
    rest.from_numpy(apart[pairs[:, 0], pairs[:, 1]])
    swing.from_numpy(np.random.default_rng(1).normal(0, 0.05, (springs, waves)).astype(np.float32))


def main():
    start()
    gui = Window("A robot that learns to walk", (640, 320), chosen, background_color=0x10181F)
    moments = np.linspace(0, steps, 20).astype(int)
    while gui.running:
        if gui.frame % len(moments) == 0:
            for _ in range(4):
                far = learn(0.05)
            states = x.to_numpy()
        now = states[moments[gui.frame % len(moments)]] * [0.8, 1.6]
        gui.line((0, 1.6 * ground), (1, 1.6 * ground), radius=1.5, color=0x4F6070)
        gui.lines(now[pairs[:, 0]], now[pairs[:, 1]], radius=2, color=0x5F9FAF)
        gui.circles(now, radius=5, color=0xE8A33D)
        gui.text(f"it comes {far:.2f} far", pos=(0.03, 0.95), font_size=18)
        gui.show()


if __name__ == "__main__":
    main()
