"""A soft body that learns to throw itself: with which velocity of each of its layers does a block of jelly hit the mark?
Gradient descent finds them, through a material point method; each frame is one try, its path in grey, its end in colour.

Moving least squares MPM (Y. Hu et al., 2018) in two dimensions. The particles' states are kept for all times, the grid's
are computed again on the way back (`ti.ad.grad_replaced`), as in difftaichi (Y. Hu et al., 2020).

python examples/diffmpm.py --size 900 --frames 60 --out throw.gif
"""

import numpy as np
from example import Window, options

import metate as ti

chosen = options(__doc__, size=900, frames=60, size_help="particles")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

side = max(int(chosen.size**0.5), 4)
count = side * side
layers = 4
n, steps, dt = 48, 160, 1.5e-3
dx = 1 / n
mass, volume = 1.0, (0.16 / side) ** 2
young, gravity = 60.0, 3.0
mark = ti.Vector([0.74, 0.62])

vectors = lambda *shape: ti.Vector.field(2, ti.f32, shape=shape, needs_grad=True)
matrices = lambda *shape: ti.Matrix.field(2, 2, ti.f32, shape=shape, needs_grad=True)
x, v = vectors(steps + 1, count), vectors(steps + 1, count)
C, F = matrices(steps + 1, count), matrices(steps + 1, count)
grid_in, grid_out = vectors(n, n), vectors(n, n)
grid_mass = ti.field(ti.f32, shape=(n, n), needs_grad=True)
push = vectors(layers)
middle = vectors()
loss = ti.field(ti.f32, shape=(), needs_grad=True)


@ti.func
def quadratic(fx):
    """Weights of three nodes along each axis."""
    return ti.Matrix.rows([0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2])


@ti.kernel
def place():
    for p in range(count):
        x[0, p] = ti.Vector([0.12 + 0.16 * (p // side + 0.5) / side, 0.12 + 0.16 * (p % side + 0.5) / side])
        F[0, p] = ti.Matrix([[1.0, 0.0], [0.0, 1.0]])


@ti.kernel
def begin():
    for p in range(count):
        v[0, p] = push[p % side * layers // side]


@ti.kernel
def clear():
    for i, j in grid_mass:
        grid_in[i, j] = [0.0, 0.0]
        grid_mass[i, j] = 0.0
        grid_in.grad[i, j] = [0.0, 0.0]
        grid_mass.grad[i, j] = 0.0
        grid_out.grad[i, j] = [0.0, 0.0]


@ti.kernel
def p2g(t: ti.i32):
    for p in range(count):
        base = ti.cast(x[t, p] / dx - 0.5, ti.i32)
        fx = x[t, p] / dx - ti.cast(base, ti.f32)
        w = quadratic(fx)
        one = ti.Matrix([[1.0, 0.0], [0.0, 1.0]])
        deformed = (one + dt * C[t, p]) @ F[t, p]
        F[t + 1, p] = deformed
        J = deformed.determinant()
        stress = young * (deformed @ deformed.transpose() - one) + young * J * (J - 1) * one
        affine = -dt * volume * 4 / (dx * dx) * stress + mass * volume * C[t, p]
        for i, j in ti.static(ti.ndrange(3, 3)):
            apart = (ti.Vector([i, j]) - fx) * dx
            weight = w[i, 0] * w[j, 1]
            grid_in[base + ti.Vector([i, j])] += weight * (mass * volume * v[t, p] + affine @ apart)
            grid_mass[base + ti.Vector([i, j])] += weight * mass * volume


@ti.kernel
def move_grid():
    for i, j in grid_mass:
        velocity = grid_in[i, j] / (grid_mass[i, j] + 1e-10)
        velocity[1] -= dt * gravity
        if i < 3:
            velocity[0] = ti.max(velocity[0], 0.0)
        if i > n - 3:
            velocity[0] = ti.min(velocity[0], 0.0)
        if j < 3:
            velocity[1] = ti.max(velocity[1], 0.0)
        if j > n - 3:
            velocity[1] = ti.min(velocity[1], 0.0)
        grid_out[i, j] = velocity


@ti.kernel
def g2p(t: ti.i32):
    for p in range(count):
        base = ti.cast(x[t, p] / dx - 0.5, ti.i32)
        fx = x[t, p] / dx - ti.cast(base, ti.f32)
        w = quadratic(fx)
        velocity = ti.Vector([0.0, 0.0])
        spin = ti.Matrix([[0.0, 0.0], [0.0, 0.0]])
        for i, j in ti.static(ti.ndrange(3, 3)):
            here = grid_out[base + ti.Vector([i, j])]
            weight = w[i, 0] * w[j, 1]
            velocity += weight * here
            spin += 4 / dx * weight * here.outer_product(ti.Vector([i, j]) - fx)
        v[t + 1, p] = velocity
        C[t + 1, p] = spin
        x[t + 1, p] = x[t, p] + dt * velocity


@ti.kernel
def find_middle():
    for p in range(count):
        middle[None] += x[steps, p] / count


@ti.kernel
def measure():
    loss[None] += (middle[None] - mark).norm_sqr()


@ti.ad.grad_replaced
def advance(t):
    clear()
    p2g(t)
    move_grid()
    g2p(t)


@ti.ad.grad_for(advance)
def advance_back(t):
    clear()
    p2g(t)
    move_grid()
    g2p.grad(t)
    move_grid.grad()
    p2g.grad(t)


def throw():
    middle[None] = [0.0, 0.0]
    begin()
    for t in range(steps):
        advance(t)
    find_middle()
    measure()


def learn(rate):
    """A throw, and a step of the descent; the loss."""
    with ti.ad.Tape(loss):
        throw()
    for k in range(layers):
        push[k] = push[k] - rate * layers * push.grad[k]
    return loss[None]


def start():
    place()
    for k in range(layers):
        push[k] = [0.5, 0.5]


def main():
    start()
    gui = Window("A throw that is learned", 480, chosen, background_color=0x10181F)
    while gui.running:
        learn(2.0)
        states = x.to_numpy()
        gui.lines(states[:-4:4].mean(1), states[4::4].mean(1), radius=1.5, color=0x5F7F8F)
        gui.circles(states[0], radius=2, color=0x4F6070)
        gui.circles(states[-1], radius=2.5, color=0xE8A33D)
        gui.circle(np.array([mark[0], mark[1]]), radius=7, color=0xF25C54)
        gui.text(f"distance {loss[None] ** 0.5:.3f}", pos=(0.03, 0.96), font_size=18)
        gui.show()


if __name__ == "__main__":
    main()
