"""3 x 3 matrices: Jacobi rotations, a fixed number of rounds of them.

svd3 turns the columns of A against each other until they are orthogonal (one-sided Jacobi): they are then U
times the singular values, which come out accurate relative to themselves, not only to the greatest. sym_eig3
turns rows and columns of a symmetric matrix. No branch depends on the values, and rounds are unrolled: a loop over many
matrices computes several at once.
"""

from __future__ import annotations

from .. import intrinsics as ti
from ..frontend.function import func, template
from .two import scale_of

_ROUNDS = {16: 3, 32: 4, 64: 6}  # bits of the type -> rounds after which random, graded and repeated ones converged


def rounds(dt):
    return _ROUNDS[dt.bits]


@func
def rotation(apart, twice, dt: template()):
    """(cos, sin, tan) of the lesser rotation that makes a product of `twice` / 2 vanish; `apart`: of squares."""
    up = ti.select(apart < dt(0), -dt(1), dt(1))
    down = ti.abs(apart) + ti.sqrt(apart * apart + twice * twice)
    t = up * twice / ti.select(down == dt(0), dt(1), down)
    c = dt(1) / ti.sqrt(dt(1) + t * t)
    return c, t * c, t


@func
def turn_columns(p: template(), q: template(), vp: template(), vq: template(), dt: template()):
    """One rotation of columns p and q, and of V's, after which p and q are orthogonal."""
    c, s, _ = rotation(q.dot(q) - p.dot(p), dt(2) * p.dot(q), dt)
    p, q = c * p - s * q, s * p + c * q
    vp, vq = c * vp - s * vq, s * vp + c * vq


@func
def order_columns(p: template(), q: template(), vp: template(), vq: template()):
    """The longer column first; one that moves up changes sign, so that V stays a rotation."""
    swap = p.dot(p) < q.dot(q)
    p, q = ti.select(swap, q, p), ti.select(swap, -p, q)
    vp, vq = ti.select(swap, vq, vp), ti.select(swap, -vp, vq)


@func
def across(v, dt: template()):
    """A unit vector at right angles to the unit vector v."""
    up = ti.select(v.z < dt(0), -dt(1), dt(1))
    a = -dt(1) / (up + v.z)
    return ti.Vector([dt(1) + up * v.x * v.x * a, up * v.x * v.y * a, -up * v.x])


@func
def unit_or(v, least, otherwise, dt: template()):
    """v / |v|, or `otherwise` where |v| is not above `least`."""
    length = ti.sqrt(v.dot(v))
    is_short = length <= least
    return ti.select(is_short, otherwise, v / ti.select(is_short, dt(1), length))


@func
def svd3_columns(A, dt: template()):
    """(u0, u1, u2, sigma, v0, v1, v2): columns of U and V, and the singular values as a vector."""
    zero, one = dt(0), dt(1)
    scale = scale_of(A, dt)
    B = A * (one / scale)
    b0, b1, b2 = B[:, 0], B[:, 1], B[:, 2]
    v0, v1, v2 = ti.Vector([one, zero, zero]), ti.Vector([zero, one, zero]), ti.Vector([zero, zero, one])
    for _ in ti.static(range(rounds(dt))):
        turn_columns(b0, b1, v0, v1, dt)
        turn_columns(b0, b2, v0, v2, dt)
        turn_columns(b1, b2, v1, v2, dt)
    order_columns(b0, b1, v0, v1)
    order_columns(b0, b2, v0, v2)
    order_columns(b1, b2, v1, v2)
    u0 = unit_or(b0, zero, ti.Vector([one, zero, zero]), dt)
    rest = b1 - u0.dot(b1) * u0
    rest = rest - u0.dot(rest) * u0
    u1 = unit_or(rest, dt(ti.static(2.0**-dt.bits)), across(u0, dt), dt)
    u2 = u0.cross(u1)
    return u0, u1, u2, ti.Vector([u0.dot(b0), u1.dot(b1), u2.dot(b2)]) * scale, v0, v1, v2


@func
def svd3(A, dt: template()):
    u0, u1, u2, sigma, v0, v1, v2 = svd3_columns(A, dt)
    zero = dt(0)
    S = ti.Matrix([[sigma.x, zero, zero], [zero, sigma.y, zero], [zero, zero, sigma.z]])
    return ti.Matrix.cols([u0, u1, u2]), S, ti.Matrix.cols([v0, v1, v2])


@func
def polar3(A, dt: template()):
    u0, u1, u2, sigma, v0, v1, v2 = svd3_columns(A, dt)
    R = u0.outer_product(v0) + u1.outer_product(v1) + u2.outer_product(v2)
    w0, w1, w2 = sigma.x * v0, sigma.y * v1, sigma.z * v2
    return R, w0.outer_product(v0) + w1.outer_product(v1) + w2.outer_product(v2)


@func
def turn_symmetric(pp: template(), qq: template(), pq: template(), pr: template(), qr: template(), dt: template()):
    """One rotation after which the entry pq is zero; (cos, sin) of it."""
    c, s, t = rotation(qq - pp, dt(2) * pq, dt)
    pp, qq, pq = pp - t * pq, qq + t * pq, dt(0)
    pr, qr = c * pr - s * qr, s * pr + c * qr
    return c, s


@func
def turn_pair(p: template(), q: template(), c, s):
    p, q = c * p - s * q, s * p + c * q


@func
def order_pair(a: template(), b: template(), p: template(), q: template()):
    """The lesser eigenvalue first."""
    swap = a > b
    a, b = ti.min(a, b), ti.max(a, b)
    p, q = ti.select(swap, q, p), ti.select(swap, -p, q)


@func
def sym_eig3(A, dt: template()):
    zero, one = dt(0), dt(1)
    scale = scale_of(A, dt)
    inverse = one / scale
    xx, yy, zz = A[0, 0] * inverse, A[1, 1] * inverse, A[2, 2] * inverse
    xy, xz, yz = A[0, 1] * inverse, A[0, 2] * inverse, A[1, 2] * inverse
    v0, v1, v2 = ti.Vector([one, zero, zero]), ti.Vector([zero, one, zero]), ti.Vector([zero, zero, one])
    for _ in ti.static(range(rounds(dt))):
        c, s = turn_symmetric(xx, yy, xy, xz, yz, dt)
        turn_pair(v0, v1, c, s)
        c1, s1 = turn_symmetric(xx, zz, xz, xy, yz, dt)
        turn_pair(v0, v2, c1, s1)
        c2, s2 = turn_symmetric(yy, zz, yz, xy, xz, dt)
        turn_pair(v1, v2, c2, s2)
    order_pair(xx, yy, v0, v1)
    order_pair(xx, zz, v0, v2)
    order_pair(yy, zz, v1, v2)
    return ti.Vector([xx, yy, zz]) * scale, ti.Matrix.cols([v0, v1, v2])
