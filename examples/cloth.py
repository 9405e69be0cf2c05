"""Mass-spring cloth that falls on a ball: structural, shear and bending springs, small explicit steps.

python examples/cloth.py --size 48 --frames 120 --out cloth.gif
"""

import numpy as np
from example import Window, options

import metate as ti

chosen = options(__doc__, size=40, frames=120, size_help="masses along each side of the cloth")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

n = chosen.size
spacing = 1.0 / n
dt = 0.02 / max(n, 40)
substeps = max(int(1 / 60 / dt), 1)
stiffness = 3e4
spring_damping = 30.0
drag = 1.0
gravity = ti.Vector([0.0, -9.8, 0.0])
ball_center = ti.Vector([0.0, 0.0, 0.0])
ball_radius = 0.3

x = ti.Vector.field(3, ti.f32, shape=(n, n))
v = ti.Vector.field(3, ti.f32, shape=(n, n))
force = ti.Vector.field(3, ti.f32, shape=(n, n))
links = [(i, j) for i in range(-2, 3) for j in range(-2, 3) if (i, j) != (0, 0) and abs(i) + abs(j) <= 2]


@ti.kernel
def init():
    for i, j in x:
        x[i, j] = ti.Vector([i * spacing - 0.5, 0.6, j * spacing - 0.45])
        v[i, j] = ti.Vector([0.0, 0.0, 0.0])


@ti.kernel
def pull():
    for i, j in x:
        total = gravity
        for di, dj in ti.static(links):
            k, l = i + di, j + dj
            if 0 <= k < n and 0 <= l < n:
                between = x[i, j] - x[k, l]
                length = between.norm()
                rest = spacing * ti.sqrt(float(di * di + dj * dj))
                along = between / length
                total -= stiffness * along * (length / rest - 1)
                total -= (v[i, j] - v[k, l]).dot(along) * along * spring_damping
        force[i, j] = total


@ti.kernel
def move():
    for i, j in x:
        v[i, j] = (v[i, j] + dt * force[i, j]) * ti.exp(-drag * dt)
        away = x[i, j] - ball_center
        if away.norm() <= ball_radius:
            normal = away.normalized()
            v[i, j] -= ti.min(v[i, j].dot(normal), 0) * normal
        x[i, j] += dt * v[i, j]


def draw(gui):
    """Shaded triangles, the farthest ones first."""
    points = x.to_numpy()
    turn = np.array([[0.9, 0.0, 0.44], [-0.2, 0.88, 0.42], [-0.39, -0.47, 0.79]])
    seen = points @ turn.T
    corners = [seen[:-1, :-1], seen[1:, :-1], seen[1:, 1:], seen[:-1, 1:]]
    a, b, c = (np.concatenate([corners[p].reshape(-1, 3), corners[q].reshape(-1, 3)]) for p, q in ((0, 0), (1, 2), (2, 3)))
    normal = np.cross(b - a, c - a)
    light = np.abs(normal @ [0.3, 0.8, 0.52]) / np.maximum(np.linalg.norm(normal, axis=1), 1e-12)
    shade = (60 + 195 * np.clip(light, 0, 1)).astype(np.uint32)
    even = np.tile((np.add.outer(np.arange(n - 1), np.arange(n - 1)) // max(n // 8, 1) % 2 == 0).reshape(-1), 2)
    color = np.where(even, shade << 16 | (shade // 3) << 8 | shade // 4, shade << 16 | shade << 8 | shade * 9 // 10)
    depth = (a + b + c)[:, 2]
    order = np.argsort(depth)
    front = depth[order] > 0  # before the ball's middle
    for part, ball in ((order[~front], True), (order[front], False)):
        gui.triangles(*(0.55 * corner[part, :2] + 0.5 for corner in (a, b, c)), color=color[part])
        if ball:
            gui.circle((0.5, 0.5), color=0x4A6FA5, radius=0.55 * (ball_radius - 0.01) * gui.res[0])


def main():
    init()
    gui = Window("Cloth", 512, chosen, background_color=0x1B1F2A)
    while gui.running:
        for _ in range(substeps):
            pull()
            move()
        draw(gui)
        gui.show()


if __name__ == "__main__":
    main()
