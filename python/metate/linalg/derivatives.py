"""Derivatives of decompositions and solutions, written in the language: no iteration is differentiated.

With A = U S V^T and P = U^T dA V, the turns of U and V in the plane of two singular values come of P's symmetric part over their
difference and its antisymmetric part over their sum. Where two are equal each basis of their plane is as good as another: the
decomposition has no derivative there, but what is made of it and does not depend on the basis has one (U V^T, U f(S) V^T). Both
modes give it. In reverse mode the kernel goes on with values that stand apart by the root of the type's precision (`_apart`):
derivatives are those of a matrix that lies beside. In forward mode the basis is turned into the one that the direction asks for.
Eigenvalues and eigenvectors of symmetric matrices are treated alike. R of A = R S asks for no differences: its turn comes of a
linear system with the sums of singular values.

Where a sum is zero too (of a singular value and its mirror image, in the matrices next to which R jumps), the turn is zero.
"""

from __future__ import annotations

from .. import intrinsics as ti
from ..frontend.function import func, template
from . import solving, three, two
from .composite import Rule
from .two import scale_of

_ROOTS = {16: 2.0**-4, 32: 2.0**-11.5, 64: 2.0**-26}  # bits of the type -> root of its precision
_ROUNDS = {16: 2, 32: 3, 64: 4}  # of rotations after which a direction's matrix is diagonal to within that root
_LEAST = {16: 2.0**-6, 32: 2.0**-90, 64: 2.0**-900}  # what smaller matrices count as: no quotient leaves the range


def root(dt):
    return _ROOTS[dt.bits]


def precision(dt):
    return root(dt) ** 2


def least(dt):
    return _LEAST[dt.bits]


@func
def size_of(A, dt: template()):
    """The greatest magnitude, 1 of a zero matrix, never too small to divide by."""
    return ti.max(scale_of(A, dt), dt(ti.static(least(dt))))


@func
def quotient(a, b, size, dt: template()):
    """a / b, or 0 where b is zero but for rounding."""
    is_zero = ti.abs(b) <= size * dt(ti.static(32 * precision(dt)))
    return ti.select(is_zero, dt(0), a / ti.select(is_zero, dt(1), b))


#  -- A = U S V^T --------------------------------------------------------------------------------------------------


@func
def svd2_apart(A, dt: template()):
    gap = dt(ti.static(root(dt))) * size_of(A, dt)
    U, S, V = two.svd2(A, dt)
    return U, ti.Matrix([[ti.max(S[0, 0], S[1, 1] + gap), dt(0)], [dt(0), S[1, 1]]]), V


@func
def svd3_apart(A, dt: template()):
    """Also apart from the last one's mirror image: sums are not zero."""
    gap = dt(ti.static(root(dt))) * size_of(A, dt)
    U, S, V = three.svd3(A, dt)
    zero, last = dt(0), S[2, 2]
    middle = ti.max(S[1, 1], ti.abs(last) + gap)
    first = ti.max(S[0, 0], middle + gap)
    return U, ti.Matrix([[first, zero, zero], [zero, middle, zero], [zero, zero, last]]), V


@func
def svd_reverse(A, U, S, V, dU, dS, dV, dt: template()):
    X, Y = U.transpose() @ dU, V.transpose() @ dV
    G = ti.Matrix.zero(dt, A.n, A.n)
    for i in ti.static(range(A.n)):
        G[i, i] = dS[i, i]
        for j in ti.static(range(i)):
            x, y = X[j, i] - X[i, j], Y[j, i] - Y[i, j]
            even = dt(0.5) * (x + y) / (S[i, i] - S[j, j])
            odd = dt(0.5) * (x - y) / (S[i, i] + S[j, j])
            G[j, i] = even + odd
            G[i, j] = even - odd
    return U @ G @ V.transpose()


@func
def are_equal(a, b, size, dt: template()):
    return ti.abs(a - b) <= size * dt(ti.static(32 * precision(dt)))


@func
def turn_equal(M: template(), Q: template(), p: template(), q: template(), equal, dt: template()):
    """Where the values p and q are equal: one rotation of M, symmetric, and of the basis, after which M[p, q] is zero."""
    twice = ti.select(equal, dt(2) * M[p, q], dt(0))
    c, s, _ = three.rotation(M[q, q] - M[p, p], twice, dt)
    for k in ti.static(range(M.n)):
        M[k, p], M[k, q] = c * M[k, p] - s * M[k, q], s * M[k, p] + c * M[k, q]
        Q[k, p], Q[k, q] = c * Q[k, p] - s * Q[k, q], s * Q[k, p] + c * Q[k, q]
    for k in ti.static(range(M.n)):
        M[p, k], M[q, k] = c * M[p, k] - s * M[q, k], s * M[p, k] + c * M[q, k]


@func
def turned_basis(values, P, size, dt: template()):
    """A rotation in the planes of equal values: of their bases it makes those in which P's symmetric part is diagonal."""
    M = dt(0.5) * (P + P.transpose())
    Q = ti.Matrix([[dt(1 if i == j else 0) for i in ti.static(range(P.n))] for j in ti.static(range(P.n))])
    for _ in ti.static(range(_ROUNDS[dt.bits] if P.n > 2 else 1)):
        for p in ti.static(range(P.n)):
            for q in ti.static(range(p + 1, P.n)):
                turn_equal(M, Q, p, q, are_equal(values[p], values[q], size, dt), dt)
    return Q


@func
def svd_forward(A, dA, dt: template()):
    size = size_of(A, dt)
    U0, S, V0 = ti.static(three.svd3 if A.n == 3 else two.svd2)(A, dt)
    values = ti.Vector([S[k, k] for k in ti.static(range(A.n))])
    Q = turned_basis(values, U0.transpose() @ dA @ V0, size, dt)
    U, V = U0 @ Q, V0 @ Q
    P = U.transpose() @ dA @ V
    turnU, turnV, dS = ti.Matrix.zero(dt, A.n, A.n), ti.Matrix.zero(dt, A.n, A.n), ti.Matrix.zero(dt, A.n, A.n)
    for i in ti.static(range(A.n)):
        dS[i, i] = P[i, i]
        for j in ti.static(range(i)):
            even = quotient(P[j, i] + P[i, j], values[i] - values[j], size, dt)
            odd = quotient(P[j, i] - P[i, j], values[i] + values[j], size, dt)
            turnU[j, i], turnV[j, i] = dt(0.5) * (even + odd), dt(0.5) * (even - odd)
            turnU[i, j], turnV[i, j] = -turnU[j, i], -turnV[j, i]
    return U, S, V, U @ turnU, dS, V @ turnV


#  -- A = R S ------------------------------------------------------------------------------------------------------


@func
def odd_part2(M):
    return M[1, 0] - M[0, 1]


@func
def odd_part3(M):
    """The vector w with w x v = (M - M^T) v."""
    return ti.Vector([M[2, 1] - M[1, 2], M[0, 2] - M[2, 0], M[1, 0] - M[0, 1]])


@func
def turn2(w, S, size, dt: template()):
    """The antisymmetric matrix T with T S + S T = the one of w."""
    t = quotient(w, S[0, 0] + S[1, 1], size, dt)
    return ti.Matrix([[dt(0), -t], [t, dt(0)]])


@func
def turn3(w, S, size, dt: template()):
    """Of the vector t with (trace(S) - S) t = w; zero where that matrix is singular but for rounding."""
    B = S * (dt(1) / size)
    k0 = ti.Vector([B[1, 1] + B[2, 2], -B[0, 1], -B[0, 2]])
    k1 = ti.Vector([-B[0, 1], B[0, 0] + B[2, 2], -B[1, 2]])
    k2 = ti.Vector([-B[0, 2], -B[1, 2], B[0, 0] + B[1, 1]])
    c0, c1, c2 = k1.cross(k2), k2.cross(k0), k0.cross(k1)
    det = k0.dot(c0)
    inverse = quotient(dt(1), det, dt(1), dt) / size
    x, y, z = c0.dot(w) * inverse, c1.dot(w) * inverse, c2.dot(w) * inverse
    return ti.Matrix([[dt(0), -z, y], [z, dt(0), -x], [-y, x, dt(0)]])


@func
def polar_reverse(A, R, S, dR, dS, dt: template()):
    even = dt(0.5) * (dS + dS.transpose())
    M = R.transpose() @ dR - even @ S
    w = ti.static(odd_part3 if A.n == 3 else odd_part2)(M)
    return R @ (ti.static(turn3 if A.n == 3 else turn2)(w, S, size_of(A, dt), dt) + even)


@func
def polar_forward(A, dA, dt: template()):
    R, S = ti.static(three.polar3 if A.n == 3 else two.polar2)(A, dt)
    P = R.transpose() @ dA
    w = ti.static(odd_part3 if A.n == 3 else odd_part2)(P)
    T = ti.static(turn3 if A.n == 3 else turn2)(w, S, size_of(A, dt), dt)
    dS = P - T @ S
    return R, S, R @ T, dt(0.5) * (dS + dS.transpose())


#  -- symmetric matrices -------------------------------------------------------------------------------------------


@func
def sym_eig2_apart(A, dt: template()):
    gap = dt(ti.static(root(dt))) * size_of(A, dt)
    values, Q = two.sym_eig2(A, dt)
    return ti.Vector([ti.max(values[0], values[1] + gap), values[1]]), Q


@func
def sym_eig3_apart(A, dt: template()):
    gap = dt(ti.static(root(dt))) * size_of(A, dt)
    values, Q = three.sym_eig3(A, dt)
    middle = ti.max(values[1], values[0] + gap)
    return ti.Vector([values[0], middle, ti.max(values[2], middle + gap)]), Q


@func
def sym_eig_reverse(A, values, Q, dvalues, dQ, dt: template()):
    """Of the upper triangle, which is what was read: an entry there stands for two."""
    X, G = Q.transpose() @ dQ, ti.Matrix.zero(dt, A.n, A.n)
    for i in ti.static(range(A.n)):
        G[i, i] = dvalues[i]
        for j in ti.static(range(i)):
            G[j, i] = dt(0.5) * (X[j, i] - X[i, j]) / (values[i] - values[j])
            G[i, j] = G[j, i]
    M = Q @ G @ Q.transpose()
    for i in ti.static(range(A.n)):
        for j in ti.static(range(i)):
            M[j, i] += M[i, j]
            M[i, j] = dt(0)
    return M


@func
def sym_eig_forward(A, dA, dt: template()):
    size = size_of(A, dt)
    values, Q0 = ti.static(three.sym_eig3 if A.n == 3 else two.sym_eig2)(A, dt)
    D = ti.Matrix([[dA[min(i, j), max(i, j)] for j in ti.static(range(A.n))] for i in ti.static(range(A.n))])
    Q = Q0 @ turned_basis(values, Q0.transpose() @ D @ Q0, size, dt)
    P, turn, dvalues = Q.transpose() @ D @ Q, ti.Matrix.zero(dt, A.n, A.n), ti.Vector.zero(dt, A.n)
    for i in ti.static(range(A.n)):
        dvalues[i] = P[i, i]
        for j in ti.static(range(i)):
            turn[j, i] = quotient(P[j, i], values[i] - values[j], size, dt)
            turn[i, j] = -turn[j, i]
    return values, Q, dvalues, Q @ turn


#  -- A x = b ------------------------------------------------------------------------------------------------------


@func
def solution(A, b, dt: template()):
    return ti.static([solving.solve1, solving.solve2, solving.solve3, solving.solve4][A.n - 1])(A, b, dt)


@func
def solve_reverse(A, b, x, dx, dt: template()):
    db = solution(A.transpose(), dx, dt)
    return -db.outer_product(x), db


@func
def solve_forward(A, b, dA, db, dt: template()):
    x = solution(A, b, dt)
    return x, solution(A, db - dA @ x, dt)


svd2, svd3 = Rule(svd_reverse, svd_forward, svd2_apart), Rule(svd_reverse, svd_forward, svd3_apart)
polar = Rule(polar_reverse, polar_forward)
sym_eig2 = Rule(sym_eig_reverse, sym_eig_forward, sym_eig2_apart)
sym_eig3 = Rule(sym_eig_reverse, sym_eig_forward, sym_eig3_apart)
solve = Rule(solve_reverse, solve_forward)
