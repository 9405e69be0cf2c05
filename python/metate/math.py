"""`metate.math`: GLSL-like types and functions for kernels.

Vector and matrix types take default_fp's usual width: vec2, vec3, vec4, mat2, mat3, mat4 are of f32,
ivec* of i32, uvec* of u32. Everything here can be used in kernels; what is written as @func is inlined.
"""

from __future__ import annotations

from . import types as _types
from .frontend.function import func
from .intrinsics import (
    LINEAR as _LINEAR,
)
from .intrinsics import (
    floor,
    max,
    min,
    select,
)

pi = 3.141592653589793
e = 2.718281828459045
inf = float("inf")
nan = float("nan")

vec2, vec3, vec4 = (_types.vector(n, _types.f32) for n in (2, 3, 4))
ivec2, ivec3, ivec4 = (_types.vector(n, _types.i32) for n in (2, 3, 4))
uvec2, uvec3, uvec4 = (_types.vector(n, _types.u32) for n in (2, 3, 4))
mat2, mat3, mat4 = (_types.matrix(n, n, _types.f32) for n in (2, 3, 4))

dot = _LINEAR["dot"]
cross = _LINEAR["cross"]
length = _LINEAR["norm"]
normalize = _LINEAR["normalized"]
determinant = _LINEAR["determinant"]
inverse = _LINEAR["inverse"]
transpose = _LINEAR["transpose"]


@func
def mix(x, y, a):
    """x * (1 - a) + y * a."""
    return x * (1.0 - a) + y * a


@func
def clamp(x, low, high):
    """x held between low and high."""
    return max(low, min(x, high))


@func
def step(edge, x):
    """0 where x < edge, else 1."""
    return select(x < edge, 0.0, 1.0)


@func
def smoothstep(low, high, x):
    """0 below low, 1 above high, a smooth cubic between."""
    t = max(0.0, min((x - low) / (high - low), 1.0))
    return t * t * (3.0 - 2.0 * t)


@func
def distance(p, q):
    """The length of p - q."""
    return length(p - q)


@func
def reflect(v, n):
    """v mirrored at the plane with unit normal n."""
    return v - 2.0 * dot(n, v) * n


@func
def mod(x, y):
    """x - y * floor(x / y)."""
    return x - y * floor(x / y)


@func
def radians(degrees):
    """An angle in radians from degrees."""
    return degrees * (pi / 180.0)


@func
def degrees(radians):
    """An angle in degrees from radians."""
    return radians * (180.0 / pi)
