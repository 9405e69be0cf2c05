"""The electric potential in a grounded cave, between charges that go round: Poisson's equation on the cave's cells only.

Conjugate gradients; the preconditioner is a V-cycle of multigrid, whose every grid is a sparse tree with the cells of the
cave at its resolution. Iterations hardly depend on the resolution.

python examples/sparse/mgpcg.py --size 512 --frames 120 --out potential.gif
python examples/sparse/mgpcg.py --dim 3 --size 128 --frames 30 --out slice.gif      in three dimensions, the middle slice
"""

import argparse
import sys
import time

from example import Window, options

import metate as ti

parser = argparse.ArgumentParser(add_help=False)
parser.add_argument("--dim", type=int, choices=(2, 3), default=2)
ahead, sys.argv[1:] = parser.parse_known_args()

leaf = 8
coarsest = 16  # cells along each side of the last grid
chosen = options(__doc__, size=256, frames=120, size_help=f"cells along each side, a power of two from {2 * coarsest} on")
if chosen.size < 2 * coarsest or chosen.size & (chosen.size - 1):
    raise SystemExit(f"--size: expected a power of two from {2 * coarsest} on, got {chosen.size}")
ti.init(arch=ti.cpu, cpu_max_num_threads=chosen.threads)

dim, n = ahead.dim, chosen.size
smoothing = 2  # rounds of Gauss-Seidel before and after a coarser grid has its turn, twice as many on each coarser one
bottom = 40  # rounds on the last grid
accuracy = 1e-5  # of the residual, relative to the right side
axes, corners = (ti.ij, ti.ijk)[dim - 2], (2,) * dim
units = [tuple(sign * (a == axis) for a in range(dim)) for axis in range(dim) for sign in (-1, 1)]


@ti.func
def is_cave(at):
    """Whether a place, in [0, 1]^dim, lies in the cave."""
    away = at - 0.5
    turn = ti.atan2(away[1], away[0])
    return away.norm() < 0.36 + 0.06 * ti.sin(5 * turn) and (at - 0.35).norm() > 0.07


@ti.data_oriented
class Potential:
    """-Laplace x = b on the cave's cells of a grid of n^dim, x = 0 around it; lengths are in cells.

    r and z are the residual and its correction, rest what a V-cycle leaves of the residual: one field for each grid, the
    finest first.
    """

    def __init__(self):
        self.grids = (n // coarsest).bit_length()
        self.r, self.z, self.rest = ([ti.field(ti.f32) for _ in range(self.grids)] for _ in range(3))
        self.x, self.b, self.p, self.q = (ti.field(ti.f32) for _ in range(4))  # p: the direction, q: A p
        self.cells = []
        for l in range(self.grids):
            cells = ti.root.pointer(axes, (n >> l) // leaf).bitmasked(axes, leaf)
            cells.place(self.r[l], self.z[l], self.rest[l])
            self.cells.append(cells)
        self.cells[0].place(self.x, self.b, self.p, self.q)
        self.iterations = 0  # of all solutions
        self.dig()

    @ti.kernel
    def dig(self):
        """Makes the cells of each grid: those that have cells of the cave in them."""
        for I in ti.grouped(ti.ndrange(*(n,) * dim)):
            if is_cave((I + 0.5) / n):
                for l in ti.static(range(self.grids)):
                    ti.activate(self.cells[l], I // 2**l)

    @ti.kernel
    def charge(self, time: ti.f32):
        """b: two charges on their ways."""
        for I in ti.grouped(self.b):
            total = 0.0
            for k in ti.static(range(2)):
                at = ti.Vector([0.5] * dim)
                at[0] += (0.26 - 0.1 * k) * ti.cos(time * (k + 1) + 3.14 * k)
                at[1] += (0.26 - 0.1 * k) * ti.sin(time * (k + 1) + 3.14 * k)
                total += (1 - 2 * k) * ti.exp(-0.5 * (I + 0.5 - n * at).norm_sqr() / (1 + 0.01 * n) ** 2)
            self.b[I] = total

    @ti.func
    def around(self, f: ti.template(), I):
        """The sum over a cell's neighbours; what is outside of the cave reads as 0."""
        total = 0.0
        for unit in ti.static(units):
            total += f[I + ti.Vector(unit)]
        return total

    @ti.kernel
    def smooth(self, l: ti.template(), colour: ti.i32):
        """Gauss-Seidel on every other cell, as a chessboard has them: none of these is another's neighbour."""
        for I in ti.grouped(self.r[l]):
            if I.sum() % 2 == colour:
                self.z[l][I] = (self.r[l][I] + self.around(self.z[l], I)) / (2 * dim)

    @ti.kernel
    def leave(self, l: ti.template()):
        """rest = r - A z."""
        for I in ti.grouped(self.r[l]):
            self.rest[l][I] = self.r[l][I] - (2 * dim * self.z[l][I] - self.around(self.z[l], I))

    @ti.kernel
    def restrict(self, l: ti.template()):
        """The next grid's right side: the mean of the rest in its cells, which are twice as long."""
        for I in ti.grouped(self.r[l + 1]):
            total = 0.0
            for corner in ti.static(ti.grouped(ti.ndrange(*corners))):
                total += self.rest[l][2 * I + corner]
            self.r[l + 1][I] = total * 4 / 2**dim
            self.z[l + 1][I] = 0

    @ti.kernel
    def prolongate(self, l: ti.template()):
        for I in ti.grouped(self.z[l]):
            self.z[l][I] += self.z[l + 1][I // 2]

    def precondition(self):
        """z[0]: about the solution for the right side r[0]; symmetric and positive, as conjugate gradients need it."""
        self.z[0].fill(0)
        for l in range(self.grids - 1):
            for k in range(2 * smoothing << l):
                self.smooth(l, k % 2)
            self.leave(l)
            self.restrict(l)
        for k in range(2 * bottom):
            self.smooth(self.grids - 1, k % 2)
        for k in range(2 * bottom):
            self.smooth(self.grids - 1, 1 - k % 2)
        for l in reversed(range(self.grids - 1)):
            self.prolongate(l)
            for k in range(2 * smoothing << l):
                self.smooth(l, 1 - k % 2)

    @ti.kernel
    def begin(self):
        """r = b - A x; p = 0."""
        for I in ti.grouped(self.x):
            self.r[0][I] = self.b[I] - (2 * dim * self.x[I] - self.around(self.x, I))
            self.p[I] = 0

    @ti.kernel
    def turn(self, beta: ti.f32):
        for I in ti.grouped(self.p):
            self.p[I] = self.z[0][I] + beta * self.p[I]

    @ti.kernel
    def apply(self) -> ti.f64:
        """q = A p; the product of p and q."""
        total = ti.cast(0, ti.f64)
        for I in ti.grouped(self.p):
            q = 2 * dim * self.p[I] - self.around(self.p, I)
            self.q[I] = q
            total += ti.cast(q * self.p[I], ti.f64)
        return total

    @ti.kernel
    def advance(self, alpha: ti.f32):
        for I in ti.grouped(self.p):
            self.x[I] += alpha * self.p[I]
            self.r[0][I] -= alpha * self.q[I]

    @ti.kernel
    def dot(self, f: ti.template(), g: ti.template()) -> ti.f64:
        total = ti.cast(0, ti.f64)
        for I in ti.grouped(f):
            total += ti.cast(f[I] * g[I], ti.f64)
        return total

    def solve(self):
        """From what x is; returns the residual's norm before each iteration and after the last, relative to b's."""
        self.begin()
        scale = self.dot(self.b, self.b)
        residuals, before = [(self.dot(self.r[0], self.r[0]) / scale) ** 0.5], 0.0
        while residuals[-1] > accuracy and len(residuals) <= 50:
            self.precondition()
            product = self.dot(self.z[0], self.r[0])
            self.turn(product / before if before else 0.0)
            before = product
            self.advance(product / self.apply())
            residuals.append((self.dot(self.r[0], self.r[0]) / scale) ** 0.5)
        self.iterations += len(residuals) - 1
        return residuals

    @ti.kernel
    def draw(self, picture: ti.types.ndarray(dtype=ti.math.vec3, ndim=2), greatest: ti.f32):
        """Colours by sign, lines of equal potential; in three dimensions, of the middle slice."""
        for i, j in picture:
            I = ti.Vector([n // 2] * dim)
            I[0], I[1] = i, j
            colour = ti.Vector([0.13, 0.13, 0.15])
            if ti.is_active(self.cells[0], I):
                x = self.x[I] / greatest
                strength = ti.sqrt(ti.min(abs(x), 1.0))
                step = 12 * strength
                line = ti.math.smoothstep(0.0, 0.15, abs(step - ti.round(step)))
                warm, cold = ti.Vector([0.95, 0.45, 0.2]), ti.Vector([0.2, 0.55, 0.95])
                colour = (0.55 + 0.45 * line) * ti.math.mix(ti.Vector([0.95, 0.95, 0.92]), warm if x > 0 else cold, strength)
            picture[i, j] = colour


def main():
    potential = Potential()
    picture = ti.Vector.ndarray(3, ti.f32, (n, n))
    gui = Window("Multigrid-preconditioned conjugate gradients", n * max(512 // n, 1), chosen)
    greatest, start = 0.0, time.perf_counter()
    while gui.running:
        potential.charge(0.08 * gui.frame)
        residuals = potential.solve()
        if gui.frame == 0:
            print("residual:", " ".join(f"{residual:.1e}" for residual in residuals), file=sys.stderr)
        greatest = greatest or float(abs(potential.x.to_numpy()).max())
        potential.draw(picture, greatest)
        gui.set_image(ti.tools.imresize(picture, gui.res[0]))
        gui.show()
    seconds = time.perf_counter() - start
    print(f"{potential.iterations} iterations, {1e3 * seconds / max(potential.iterations, 1):.1f} ms each", file=sys.stderr)


if __name__ == "__main__":
    main()
