"""B13: Poisson's equation by conjugate gradients behind a multigrid V-cycle; the grids of all levels dense, or sparse.

Seven points, zero around the domain. The V-cycle smooths by Gauss-Seidel in two colours, twice as often on each coarser
level; a coarse cell's right side is half the sum of its eight cells' residuals, and its correction is added to all of them.
"""

import numpy as np
import ti

LEVELS, SMOOTHING, BOTTOM = 4, 2, 50


def solver(r, z, x, p, q, bounded):
    """A function that solves A x = r[0], from x = 0, in a number of iterations; r[0] is the residual then.

    Args:
        r, z: residual and correction, a field a level, the finest first; x: the solution, p: the direction, q: A p.
        bounded: the fields end where the domain does; else what is outside of it reads as 0.
    """
    total, old, alpha, beta = (ti.field(ti.f32, shape=()) for _ in range(4))

    @ti.func
    def around(f: ti.template(), i, j, k):
        total = 0.0
        if ti.static(not bounded):
            total = f[i - 1, j, k] + f[i + 1, j, k] + f[i, j - 1, k] + f[i, j + 1, k] + f[i, j, k - 1] + f[i, j, k + 1]
        else:
            n = f.shape[0]
            if i > 0:
                total += f[i - 1, j, k]
            if i < n - 1:
                total += f[i + 1, j, k]
            if j > 0:
                total += f[i, j - 1, k]
            if j < n - 1:
                total += f[i, j + 1, k]
            if k > 0:
                total += f[i, j, k - 1]
            if k < n - 1:
                total += f[i, j, k + 1]
        return total

    @ti.kernel
    def clear(f: ti.template()):
        for i, j, k in f:
            f[i, j, k] = 0.0

    @ti.kernel
    def smooth(l: ti.template(), colour: ti.template()):
        for i, j, k in r[l]:
            if (i + j + k) % 2 == colour:
                z[l][i, j, k] = (r[l][i, j, k] + around(z[l], i, j, k)) / 6.0

    @ti.kernel
    def restrict(l: ti.template()):
        for i, j, k in r[l]:
            left = r[l][i, j, k] - (6.0 * z[l][i, j, k] - around(z[l], i, j, k))
            r[l + 1][i // 2, j // 2, k // 2] += 0.5 * left

    @ti.kernel
    def prolongate(l: ti.template()):
        for i, j, k in z[l]:
            z[l][i, j, k] += z[l + 1][i // 2, j // 2, k // 2]

    @ti.kernel
    def apply():
        for i, j, k in p:
            q[i, j, k] = 6.0 * p[i, j, k] - around(p, i, j, k)

    @ti.kernel
    def dot(a: ti.template(), b: ti.template()):
        total[None] = 0.0
        for i, j, k in a:
            total[None] += a[i, j, k] * b[i, j, k]

    @ti.kernel
    def advance():
        for i, j, k in p:
            x[i, j, k] += alpha[None] * p[i, j, k]
        for i, j, k in p:
            r[0][i, j, k] -= alpha[None] * q[i, j, k]

    @ti.kernel
    def turn():
        for i, j, k in p:
            p[i, j, k] = z[0][i, j, k] + beta[None] * p[i, j, k]

    @ti.kernel
    def begin():
        old[None] = total[None]
        beta[None] = 0.0

    @ti.kernel
    def measure_step():
        alpha[None] = old[None] / total[None]

    @ti.kernel
    def measure_turn():
        beta[None] = total[None] / old[None]
        old[None] = total[None]

    def precondition():
        clear(z[0])
        for l in range(LEVELS - 1):
            for _ in range(SMOOTHING << l):
                smooth(l, 0)
                smooth(l, 1)
            clear(z[l + 1])
            clear(r[l + 1])
            restrict(l)
        for _ in range(BOTTOM):
            smooth(LEVELS - 1, 0)
            smooth(LEVELS - 1, 1)
        for l in reversed(range(LEVELS - 1)):
            prolongate(l)
            for _ in range(SMOOTHING << l):
                smooth(l, 1)
                smooth(l, 0)

    def solve(iterations):
        precondition()
        dot(z[0], r[0])
        begin()
        clear(p)
        turn()
        for _ in range(iterations):
            apply()
            dot(p, q)
            measure_step()
            advance()
            precondition()
            dot(z[0], r[0])
            measure_turn()
            turn()

    return solve


def sparse(inputs, n, leaf, masked, apart, iterations):
    """Leaves of leaf^3 cells; those of the domain, n^3 in a grid of (2n)^3, are there on each level.

    apart: a leaf has an array for each field in place of an array of cells with all of them.
    """
    r, z = ([ti.field(ti.f32) for _ in range(LEVELS)] for _ in range(2))
    x, p, q, b = (ti.field(ti.f32) for _ in range(4))

    def place(size, *fields):
        block = ti.root.pointer(ti.ijk, size // leaf)
        level = block.bitmasked if masked else block.dense
        for group in [[field] for field in fields] if apart else [fields]:
            level(ti.ijk, leaf).place(*group)

    place(2 * n, x, p, q, b)
    for l in range(LEVELS):
        place(2 * n >> l, r[l], z[l])

    @ti.kernel
    def load(values: ti.types.ndarray(dtype=ti.f32, ndim=3)):
        for i, j, k in ti.ndrange(n, n, n):
            at = ti.Vector([i, j, k]) + n // 2
            for field in ti.static((x, p, q)):
                field[at] = 0.0
            b[at] = values[i, j, k]
            for l in ti.static(range(LEVELS)):
                r[l][at // 2**l] = 0.0
                z[l][at // 2**l] = 0.0

    @ti.kernel
    def store(values: ti.types.ndarray(dtype=ti.f32, ndim=3)):
        for i, j, k in ti.ndrange(n, n, n):
            values[i, j, k] = x[i + n // 2, j + n // 2, k + n // 2]

    def values():
        out = np.zeros((n, n, n), np.float32)
        store(out)
        return out

    load(np.ascontiguousarray(inputs["b"]))
    return made(r, z, x, p, q, b, iterations, False, values)


def made(r, z, x, p, q, b, iterations, bounded, values):
    solve = solver(r, z, x, p, q, bounded)

    @ti.kernel
    def start():
        for i, j, k in b:
            x[i, j, k] = 0.0
        for i, j, k in b:
            r[0][i, j, k] = b[i, j, k]

    def step():
        start()
        solve(iterations)

    return {"step": step, "outputs": lambda: {"x": values()}}


def dense(inputs, n, iterations):
    """Arrays of the domain's cells."""
    r, z = ([ti.field(ti.f32, shape=(n >> l,) * 3) for l in range(LEVELS)] for _ in range(2))
    x, p, q, b = (ti.field(ti.f32, shape=(n,) * 3) for _ in range(4))
    b.from_numpy(np.ascontiguousarray(inputs["b"]))
    return made(r, z, x, p, q, b, iterations, True, x.to_numpy)
