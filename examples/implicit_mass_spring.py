"""A sheet of masses and springs that hangs from a corner and swings, by implicit steps: a sparse linear system each frame.

python examples/implicit_mass_spring.py --size 32 --frames 150 --out sheet.gif
"""

import numpy as np
from example import Window, options

import metate as ti

chosen = options(__doc__, size=24, frames=150, size_help="masses along each side of the sheet")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

n = max(chosen.size, 2)
masses = n * n
dt = 0.02  # many times what explicit steps could be
stiffness, pinning = 1.5e3, 1e6
mass = 20.0 / masses
gravity = ti.Vector([0.0, -9.8])
pinned = [0]


def links():
    """Pairs of masses: along the sheet, and across its squares."""
    number = np.arange(masses).reshape(n, n)
    pairs = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:])]
    pairs += [(number[:-1, :-1], number[1:, 1:]), (number[1:, :-1], number[:-1, 1:])]
    return np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in pairs]).astype(np.int32)


ends = links()
springs = len(ends)
link = ti.Vector.field(2, ti.i32, shape=springs)
rest = ti.field(ti.f32, shape=springs)
start = ti.Vector.field(2, ti.f32, shape=masses)
x = ti.Vector.field(2, ti.f32, shape=masses)
v = ti.Vector.field(2, ti.f32, shape=masses)
force = ti.Vector.field(2, ti.f32, shape=masses)
right = ti.field(ti.f32, shape=2 * masses)
builder = ti.linalg.SparseMatrixBuilder(2 * masses, 2 * masses, max_num_triplets=2 * masses + 16 * springs + 4)
solver = ti.linalg.SparseSolver(solver_type="LLT")
link.from_numpy(ends)


@ti.kernel
def init():
    for i in x:
        start[i] = ti.Vector([0.5 + 0.38 * (i % n) / (n - 1), 0.92 - 0.38 * (i // n) / (n - 1)])
        x[i] = start[i]
        v[i] = ti.Vector([0.0, 0.0])
    for s in link:
        rest[s] = (start[link[s][0]] - start[link[s][1]]).norm()


@ti.kernel
def pull():
    """Forces of gravity, of springs and of what holds the corner."""
    for i in force:
        force[i] = mass * gravity
    for k in ti.static(pinned):
        force[k] += pinning * (start[k] - x[k])
    for s in link:
        a, b = link[s][0], link[s][1]
        apart = x[a] - x[b]
        length = apart.norm()
        along = apart / length
        tension = stiffness * (length - rest[s])
        force[a] -= tension * along
        force[b] += tension * along


@ti.kernel
def assemble(A: ti.types.sparse_matrix_builder()):
    """mass - dt^2 * d force / d x, without what makes compressed springs give way sideways: A is positive definite."""
    for i in range(2 * masses):
        A[i, i] += mass
    for k in ti.static(pinned):
        for d in ti.static(range(2)):
            A[2 * k + d, 2 * k + d] += dt * dt * pinning
    for s in link:
        a, b = link[s][0], link[s][1]
        apart = x[a] - x[b]
        length = apart.norm()
        along = apart.outer_product(apart) / (length * length)
        across = ti.max(1 - rest[s] / length, 0) * (ti.Matrix.identity(ti.f32, 2) - along)
        block = dt * dt * stiffness * (along + across)
        for d, e in ti.static(ti.ndrange(2, 2)):
            A[2 * a + d, 2 * a + e] += block[d, e]
            A[2 * b + d, 2 * b + e] += block[d, e]
            A[2 * a + d, 2 * b + e] -= block[d, e]
            A[2 * b + d, 2 * a + e] -= block[d, e]


@ti.kernel
def weigh():
    """The right-hand side for the new velocities."""
    for i in x:
        for d in ti.static(range(2)):
            right[2 * i + d] = mass * v[i][d] + dt * force[i][d]


@ti.kernel
def move(velocity: ti.types.ndarray()):
    for i in x:
        v[i] = ti.Vector([velocity[2 * i], velocity[2 * i + 1]])
        x[i] += dt * v[i]


def matrix():
    assemble(builder)
    return builder.build()


def step():
    pull()
    weigh()
    solver.factorize(matrix())
    move(solver.solve(right))


def prepare():
    """Entries are at the same places in every step."""
    init()
    solver.analyze_pattern(matrix())


def draw(gui):
    points = x.to_numpy()
    a, b = points[ends[:, 0]], points[ends[:, 1]]
    stretch = np.linalg.norm(a - b, axis=1) / rest.to_numpy() - 1
    warm = np.clip(0.5 + 3 * stretch, 0, 1)
    red, blue = (60 + 190 * warm).astype(np.uint32), (250 - 190 * warm).astype(np.uint32)
    gui.lines(a, b, radius=1, color=red << 16 | 90 << 8 | blue)
    gui.circles(points[pinned], radius=5, color=0xFFFFFF)


def main():
    prepare()
    gui = Window("Implicit mass-spring sheet", 512, chosen, background_color=0x12161F)
    while gui.running:
        step()
        draw(gui)
        gui.show()


if __name__ == "__main__":
    main()
