"""N bodies that attract one another: a disc of stars around a heavy middle, all pairs, leapfrog steps.

python examples/nbody.py --size 2048 --frames 200 --out galaxy.gif
"""

from example import Window, options

import metate as ti

chosen = options(__doc__, size=2048, frames=150, size_help="number of stars")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads, random_seed=3)

n = chosen.size
dt = 2e-3
softening = 0.02
total_mass = 1.0
middle_mass = 1.0

position = ti.Vector.field(3, ti.f32, shape=n)
velocity = ti.Vector.field(3, ti.f32, shape=n)
acceleration = ti.Vector.field(3, ti.f32, shape=n)
mass = ti.field(ti.f32, shape=n)


@ti.kernel
def init():
    for i in range(n):
        radius = 0.05 + 0.35 * ti.sqrt(ti.random())
        angle = 2 * ti.math.pi * ti.random()
        inside = middle_mass + total_mass * (radius / 0.4) ** 2
        speed = ti.sqrt(inside / radius)
        position[i] = ti.Vector([radius * ti.cos(angle), radius * ti.sin(angle), 0.01 * ti.randn()])
        velocity[i] = speed * ti.Vector([-ti.sin(angle), ti.cos(angle), 0.0])
        mass[i] = total_mass / n
    position[0] = ti.Vector([0.0, 0.0, 0.0])
    velocity[0] = ti.Vector([0.0, 0.0, 0.0])
    mass[0] = middle_mass


@ti.kernel
def attract():
    for i in range(n):
        p = position[i]
        a = ti.Vector([0.0, 0.0, 0.0])
        for j in range(n):
            away = position[j] - p
            inverse = ti.rsqrt(away.dot(away) + softening * softening)
            a += away * (mass[j] * inverse * inverse * inverse)
        acceleration[i] = a


@ti.kernel
def kick(time: ti.f32):
    for i in range(n):
        velocity[i] += time * acceleration[i]


@ti.kernel
def drift(time: ti.f32):
    for i in range(n):
        position[i] += time * velocity[i]


@ti.kernel
def energy() -> ti.f64:
    total = ti.cast(0, ti.f64)
    for i in range(n):
        pull = 0.0
        for j in range(n):
            if i != j:
                away = position[j] - position[i]
                pull += mass[j] * ti.rsqrt(away.dot(away) + softening * softening)
        total += ti.cast(0.5 * mass[i] * (velocity[i].dot(velocity[i]) - pull), ti.f64)
    return total


def step():
    kick(dt / 2)
    drift(dt)
    attract()
    kick(dt / 2)


def main():
    init()
    attract()
    gui = Window("N-body", 512, chosen, background_color=0x06080F)
    while gui.running:
        for _ in range(2):
            step()
        points = position.to_numpy()
        gui.circles(points[:, :2] + 0.5, radius=1.5, color=0x9FC5FF)
        gui.circle(points[0, :2] + 0.5, radius=4, color=0xFFD966)
        gui.show()


if __name__ == "__main__":
    main()
