"""MatrixFreeCG and MatrixFreeBICGSTAB: A @ x = b where A is a kernel. Programs over kernels; nothing of them is native."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..array_object import NDArray
from ..dtypes import f32, f64
from ..errors import RuntimeTypeError_, RuntimeValueError_
from ..fields import Field, field
from ..frontend.function import template
from ..intrinsics import grouped
from ..kernel import kernel
from ..ndarray import ndarray


class LinearOperator:
    """A matrix by what it does to vectors.

    Args:
        matvec_kernel: called with two fields (or ndarrays) x and Ax; writes A @ x to the second.
    """

    def __init__(self, matvec_kernel: Callable[..., Any]):
        if not callable(matvec_kernel):
            raise RuntimeTypeError_(f"LinearOperator: expected a kernel of x and Ax, got {matvec_kernel!r}")
        self._matvec = matvec_kernel

    def matvec(self, x: Any, Ax: Any) -> None:
        """Ax = A @ x. Raises RuntimeTypeError_, RuntimeValueError_ for vectors of different dtype or shape."""
        _check_alike("matvec", x=x, Ax=Ax)
        self._matvec(x, Ax)


def MatrixFreeCG(A: LinearOperator, b: Any, x: Any, tol: float = 1e-6, maxiter: int = 5000, quiet: bool = True) -> bool:
    """Conjugate gradients for a symmetric positive definite A.

    Args:
        A: the operator.
        b: right-hand side, a field or ndarray of f32 or f64 of any shape.
        x: of the same kind, dtype and shape: where to begin, and the result.
        tol: ends when |b - A @ x| < tol.
        maxiter: iterations at most.
        quiet: False prints the residual of each iteration.
    Returns whether it converged. Raises RuntimeTypeError_, RuntimeValueError_.
    """
    _check(A, b, x, tol, "MatrixFreeCG")
    r, p, Ap = (_like(x) for _ in range(3))
    A._matvec(x, Ap)
    _combine(r, b, -1.0, Ap)
    p.copy_from(r)
    square = _dot(r, r)
    for iteration in range(maxiter):
        if not quiet:
            print(f">>> Iter = {iteration:4}, Residual = {math.sqrt(square):e}")
        if math.sqrt(square) < tol:
            return True
        A._matvec(p, Ap)
        curvature = _dot(p, Ap)
        if not curvature > 0:  # A is not positive definite, or a number is NaN
            return False
        step = square / curvature
        _combine(x, x, step, p)
        _combine(r, r, -step, Ap)
        before, square = square, _dot(r, r)
        if not math.isfinite(square):
            return False
        _combine(p, r, square / before, p)
    return math.sqrt(square) < tol


def MatrixFreeBICGSTAB(A: LinearOperator, b: Any, x: Any, tol: float = 1e-6, maxiter: int = 5000, quiet: bool = True) -> bool:
    """Stabilised biconjugate gradients, for an A that need not be symmetric. Arguments and result are as of MatrixFreeCG.

    H. van der Vorst, Bi-CGSTAB, SIAM J. Sci. Stat. Comput. 13 (1992).
    """
    _check(A, b, x, tol, "MatrixFreeBICGSTAB")
    r, shadow, p, Ap, s, As = (_like(x) for _ in range(6))
    A._matvec(x, Ap)
    _combine(r, b, -1.0, Ap)
    shadow.copy_from(r)
    p.copy_from(r)
    residual, rho = math.sqrt(_dot(r, r)), _dot(shadow, r)
    for iteration in range(maxiter):
        if not quiet:
            print(f">>> Iter = {iteration:4}, Residual = {residual:e}")
        if residual < tol:
            return True
        A._matvec(p, Ap)
        along = _dot(shadow, Ap)
        if along == 0 or not math.isfinite(along):  # it cannot go on from here
            return False
        alpha = rho / along
        _combine(s, r, -alpha, Ap)
        A._matvec(s, As)
        length = _dot(As, As)
        omega = _dot(As, s) / length if length > 0 else 0.0
        _combine(x, x, alpha, p)
        _combine(x, x, omega, s)
        _combine(r, s, -omega, As)
        residual = math.sqrt(_dot(r, r))
        before, rho = rho, _dot(shadow, r)
        if not math.isfinite(residual):
            return False
        if residual >= tol and (omega == 0 or before == 0):
            return False
        if residual >= tol:
            _combine(p, p, -omega, Ap)
            _combine(p, r, rho / before * (alpha / omega), p)
    return residual < tol


@kernel
def _dot(a: template(), b: template()) -> f64:
    total = f64(0)
    for I in grouped(a):
        total += f64(a[I]) * f64(b[I])
    return total


@kernel(fast_math=False)
def _combine(out: template(), a: template(), factor: f64, b: template()):
    """out = a + factor * b; out may be either of them."""
    for I in grouped(out):
        out[I] = a[I] + factor * b[I]


def _like(x):
    return ndarray(x.dtype, x.shape) if isinstance(x, NDArray) else field(x.dtype, x.shape)


def _check(A, b, x, tol, what):
    if not isinstance(A, LinearOperator):
        raise RuntimeTypeError_(f"{what}: A: expected a LinearOperator, got {type(A).__name__}")
    _check_alike(what, b=b, x=x)
    if not tol >= 0:
        raise RuntimeValueError_(f"{what}: tol: expected a number from 0 on, got {tol!r}")


def _check_alike(what, **vectors):
    """Scalar fields, or scalar ndarrays, of one float type and one shape."""
    for name, given in vectors.items():
        if not isinstance(given, (Field, NDArray)) or given.dtype not in (f32, f64) or _components(given):
            raise RuntimeTypeError_(f"{what}: {name}: expected a field or ndarray of f32 or f64 numbers, got {given!r}")
    (first, one), (second, other) = vectors.items()
    if isinstance(one, NDArray) != isinstance(other, NDArray) or one.dtype is not other.dtype:
        raise RuntimeTypeError_(f"{what}: expected {first} and {second} of one kind and dtype, got {one!r} and {other!r}")
    if one.shape != other.shape:
        raise RuntimeValueError_(f"{what}: expected {first} and {second} of one shape, got {one.shape} and {other.shape}")


def _components(given):
    return given.element_shape if isinstance(given, NDArray) else tuple(getattr(given._placement.element, "shape", ()))
