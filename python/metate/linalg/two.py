"""2 x 2 matrices: closed forms, without trigonometric functions.

[[a, b], [c, d]] is taken as a pair of complex numbers: (a + d, c - b) / 2 turns, (a - d, c + b) / 2 turns and
mirrors; their lengths' sum and difference are the singular values. Angles are halved algebraically. Entries
are divided by the greatest magnitude first, so that no square leaves the type's range.
"""

from __future__ import annotations

from .. import intrinsics as ti
from ..frontend.function import func, template


@func
def half_angle(x, y, dt: template()):
    """(cos, sin) of half the angle of the unit vector (x, y), by the formula that does not cancel."""
    half, one = dt(0.5), dt(1)
    near = ti.sqrt(ti.max((one + ti.abs(x)) * half, half))
    far = ti.abs(y) * half / near
    up = ti.select(y < dt(0), -one, one)
    is_right = x >= dt(0)
    return ti.select(is_right, near, far), up * ti.select(is_right, far, near)


@func
def unit_or_x(x, y, dt: template()):
    """(length, unit vector) of (x, y); of zero the unit vector is (1, 0)."""
    length = ti.sqrt(x * x + y * y)
    is_zero = length == dt(0)
    scale = dt(1) / ti.select(is_zero, dt(1), length)
    return length, ti.select(is_zero, dt(1), x * scale), y * scale


@func
def scale_of(A, dt: template()):
    """The greatest magnitude, 1 of a zero matrix."""
    most = ti.max(ti.abs(A))
    return ti.select(most > dt(0), most, dt(1))


@func
def svd2(A, dt: template()):
    zero, half, one = dt(0), dt(0.5), dt(1)
    scale = scale_of(A, dt)
    B = A * (half / scale)
    q, ex, ey = unit_or_x(B[0, 0] + B[1, 1], B[1, 0] - B[0, 1], dt)
    r, fx, fy = unit_or_x(B[0, 0] - B[1, 1], B[1, 0] + B[0, 1], dt)
    # With the angles e and f of both: V turns by (f - e) / 2, and U by f more than V turns back.
    c, s = half_angle(ex * fx + ey * fy, ey * fx - ex * fy, dt)
    uc, us = c * fx - s * fy, c * fy + s * fx
    sign = ti.select(q < r, -one, one)  # the second column of U takes the sign of the determinant
    U = ti.Matrix([[uc, -us * sign], [us, uc * sign]])
    V = ti.Matrix([[c, s], [-s, c]])
    return U, ti.Matrix([[(q + r) * scale, zero], [zero, ti.abs(q - r) * scale]]), V


@func
def polar2(A, dt: template()):
    scale = scale_of(A, dt)
    B = A * (dt(0.5) / scale)
    q, ex, ey = unit_or_x(B[0, 0] + B[1, 1], B[1, 0] - B[0, 1], dt)
    r, fx, fy = unit_or_x(B[0, 0] - B[1, 1], B[1, 0] + B[0, 1], dt)
    turns = q >= r
    x, y = ti.select(turns, ex, fx), ti.select(turns, ey, fy)
    R = ti.Matrix([[x, ti.select(turns, -y, y)], [y, ti.select(turns, x, -x)]])
    S = R.transpose() @ A
    off = dt(0.5) * (S[0, 1] + S[1, 0])
    return R, ti.Matrix([[S[0, 0], off], [off, S[1, 1]]])


@func
def sym_eig2(A, dt: template()):
    scale = scale_of(A, dt)
    half = dt(0.5) / scale
    middle = (A[0, 0] + A[1, 1]) * half
    radius, x, y = unit_or_x((A[0, 0] - A[1, 1]) * half, A[0, 1] * dt(2) * half, dt)
    c, s = half_angle(x, y, dt)
    values = ti.Vector([middle + radius, middle - radius]) * scale
    return values, ti.Matrix([[c, -s], [s, c]])


@func
def real_eigenvector(A, value, otherwise: template(), dt: template()):
    """The longer of the two rows of A - value, turned by a quarter."""
    x0, y0 = A[0, 1], value - A[0, 0]
    x1, y1 = value - A[1, 1], A[1, 0]
    first, second = x0 * x0 + y0 * y0, x1 * x1 + y1 * y1
    is_first = first >= second
    length, x, y = unit_or_x(ti.select(is_first, x0, x1), ti.select(is_first, y0, y1), dt)
    is_zero = length == dt(0)  # every vector is one
    return ti.select(is_zero, dt(1 - otherwise), x), ti.select(is_zero, dt(otherwise), y)


@func
def eig2(A, dt: template()):
    zero, half = dt(0), dt(0.5)
    scale = scale_of(A, dt)
    B = A * (dt(1) / scale)
    middle, apart = (B[0, 0] + B[1, 1]) * half, (B[0, 0] - B[1, 1]) * half
    square = apart * apart + B[0, 1] * B[1, 0]
    root = ti.sqrt(ti.abs(square))
    is_real = square >= zero
    real, imaginary = ti.select(is_real, root, zero), ti.select(is_real, zero, root)
    px, py = real_eigenvector(B, middle + real, 0, dt)
    mx, my = real_eigenvector(B, middle - real, 1, dt)
    # Complex ones are (b, -apart +- i root), normalised; b is not zero then.
    length = ti.sqrt(B[0, 1] * B[0, 1] + apart * apart + imaginary * imaginary)
    inverse = dt(1) / ti.select(length == zero, dt(1), length)
    cx, cr, ci = B[0, 1] * inverse, -apart * inverse, imaginary * inverse
    values = ti.Matrix([[middle + real, imaginary], [middle - real, -imaginary]]) * scale
    vectors = ti.Matrix(
        [
            [ti.select(is_real, px, cx), ti.select(is_real, mx, cx)],
            [zero, zero],
            [ti.select(is_real, py, cr), ti.select(is_real, my, cr)],
            [ti.select(is_real, zero, ci), ti.select(is_real, zero, -ci)],
        ]
    )
    return values, vectors
