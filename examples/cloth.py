"""Mass-spring cloth that falls on a ball: structural, shear and bending springs, small explicit steps.

python examples/cloth.py --size 48 --frames 120 --out cloth.gif
"""

from example import SceneWindow, options

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
triangles = ti.field(ti.i32, shape=6 * (n - 1) ** 2)
colors = ti.Vector.field(3, ti.f32, shape=n * n)
ball = ti.Vector.field(3, ti.f32, shape=1)
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


@ti.kernel
def connect():
    for i, j in ti.ndrange(n - 1, n - 1):
        corner = ti.Vector([i * n + j, (i + 1) * n + j, (i + 1) * n + j + 1, i * n + j + 1])
        for k, at in ti.static(enumerate([0, 1, 2, 0, 2, 3])):
            triangles[6 * (i * (n - 1) + j) + k] = corner[at]
    for i, j in ti.ndrange(n, n):
        stripe = (i + j) // ti.max(n // 8, 1) % 2
        colors[i * n + j] = ti.Vector([0.95, 0.32, 0.24]) if stripe == 1 else ti.Vector([0.97, 0.95, 0.87])


def draw(window):
    canvas, scene = window.get_canvas(), window.get_scene()
    canvas.set_background_color((0.106, 0.122, 0.165))
    scene.set_camera(window.camera)
    scene.ambient_light((0.25, 0.25, 0.25))
    scene.point_light(pos=(1.5, 3, 2), color=(0.7, 0.7, 0.7))
    scene.mesh(x, indices=triangles, per_vertex_color=colors, two_sided=True)
    scene.particles(ball, radius=ball_radius - 0.01, color=(0.29, 0.435, 0.647))
    canvas.scene(scene)


def main():
    init()
    connect()
    ball[0] = ball_center
    window = SceneWindow("Cloth", (512, 512), chosen, position=(0.9, 0.9, 1.7), lookat=(0, 0.05, 0))
    while window.running:
        for _ in range(substeps):
            pull()
            move()
        draw(window)
        window.show()


if __name__ == "__main__":
    main()
