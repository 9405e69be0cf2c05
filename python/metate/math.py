"""`metate.math`: GLSL-like types and functions for kernels.

vec2, vec3, vec4, mat2, mat3, mat4 are vectors and matrices of default_fp, ivec* of default_ip, uvec* of the unsigned
type of its width. Complex numbers are vectors of two: real and imaginary part. Matrices of transformations are
4 x 4 and take column vectors. What is written as @func is inlined; angles are in radians.
"""

from __future__ import annotations

from . import types as _types
from .frontend.function import func
from .intrinsics import (
    LINEAR as _LINEAR,
)
from .intrinsics import (
    Matrix,
    Vector,
    abs,
    acos,
    asin,
    atan2,
    ceil,
    clz,
    cos,
    exp,
    floor,
    fract,
    isinf,
    isnan,
    log,
    log2,
    max,
    min,
    popcnt,
    pow,
    round,
    select,
    sign,
    sin,
    sqrt,
    tan,
    tanh,
)

pi = 3.141592653589793
e = 2.718281828459045
inf = float("inf")
nan = float("nan")

vec2, vec3, vec4 = (_types.DefaultVectorType(n, "float") for n in (2, 3, 4))
ivec2, ivec3, ivec4 = (_types.DefaultVectorType(n, "int") for n in (2, 3, 4))
uvec2, uvec3, uvec4 = (_types.DefaultVectorType(n, "uint") for n in (2, 3, 4))
mat2, mat3, mat4 = (_types.DefaultMatrixType(n) for n in (2, 3, 4))

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
    """min(max(x, low), high): high where low is greater, low where x is not a number."""
    return min(max(x, low), high)


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
def refract(v, n, eta):
    """The unit vector v refracted at the plane with unit normal n, `eta` the ratio of indices; zero where all is reflected."""
    along = dot(n, v)
    k = 1.0 - eta * eta * (1.0 - along * along)
    return select(k < 0.0, 0.0, eta * v - (eta * along + sqrt(max(k, 0.0))) * n)


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


@func
def vdir(angle):
    """The unit vector (cos(angle), sin(angle))."""
    return Vector([cos(angle), sin(angle)])


#  -- matrices ------------------------------------------------------------------------------------------


@func
def eye(n):
    """The n by n identity matrix, of default_fp; n is known while compiling."""
    return Matrix.diag(n, 1.0)


@func
def translate(dx, dy, dz):
    """The 4 x 4 matrix that adds (dx, dy, dz)."""
    return Matrix([[1.0, 0.0, 0.0, dx], [0.0, 1.0, 0.0, dy], [0.0, 0.0, 1.0, dz], [0.0, 0.0, 0.0, 1.0]])


@func
def scale(sx, sy, sz):
    """The 4 x 4 matrix that multiplies by (sx, sy, sz)."""
    return Matrix([[sx, 0.0, 0.0, 0.0], [0.0, sy, 0.0, 0.0], [0.0, 0.0, sz, 0.0], [0.0, 0.0, 0.0, 1.0]])


@func
def rotation2d(angle):
    """The 2 x 2 matrix that turns counterclockwise."""
    c, s = cos(angle), sin(angle)
    return Matrix([[c, -s], [s, c]])


@func
def rot_by_axis(axis, angle):
    """The 4 x 4 matrix that turns clockwise about an axis, seen from its end, as Taichi's does."""
    c, s = cos(angle), sin(angle)
    a = normalize(axis)
    k = (1.0 - c) * a
    return Matrix(
        [
            [c + k.x * a.x, k.x * a.y + s * a.z, k.x * a.z - s * a.y, 0.0],
            [k.y * a.x - s * a.z, c + k.y * a.y, k.y * a.z + s * a.x, 0.0],
            [k.z * a.x + s * a.y, k.z * a.y - s * a.x, c + k.z * a.z, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


@func
def rot_yaw_pitch_roll(yaw, pitch, roll):
    """The 4 x 4 matrix that turns by yaw about y, then by pitch about x, then by roll about z, each clockwise seen
    from the axis' end, as Taichi's does."""
    cy, sy = cos(yaw), sin(yaw)
    cp, sp = cos(pitch), sin(pitch)
    cr, sr = cos(roll), sin(roll)
    return Matrix(
        [
            [cy * cr + sy * sp * sr, sr * cp, cy * sp * sr - sy * cr, 0.0],
            [sy * sp * cr - cy * sr, cr * cp, sy * sr + cy * sp * cr, 0.0],
            [sy * cp, -sp, cy * cp, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


@func
def rotation3d(angle_x, angle_y, angle_z):
    """rot_yaw_pitch_roll(angle_z, angle_x, angle_y), as Taichi's is."""
    return rot_yaw_pitch_roll(angle_z, angle_x, angle_y)


#  -- complex numbers -----------------------------------------------------------------------------------


@func
def cconj(z):
    """The conjugate."""
    return Vector([z.x, -z.y])


@func
def cmul(a, b):
    """a * b."""
    return Vector([a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x])


@func
def cinv(z):
    """1 / z."""
    return cconj(z) / dot(z, z)


@func
def cdiv(a, b):
    """a / b."""
    return cmul(a, cconj(b)) / dot(b, b)


@func
def csqrt(z):
    """The square root with a real part that is not negative."""
    near = sqrt((length(z) + abs(z.x)) * 0.5)
    far = abs(z.y) * 0.5 / select(near == 0.0, 1.0, near)
    up = select(z.y < 0.0, -1.0, 1.0)
    return select(z.x >= 0.0, Vector([near, up * far]), Vector([far, up * near]))


@func
def cexp(z):
    """e to the power z."""
    return exp(z.x) * vdir(z.y)


@func
def clog(z):
    """The natural logarithm; its imaginary part is in (-pi, pi]."""
    return Vector([log(length(z)), atan2(z.y, z.x)])


@func
def cpow(z, n):
    """z to the real power n; 0 of 0."""
    r = length(z)
    angle = n * atan2(z.y, z.x)
    return select(r == 0.0, 0.0, pow(r, n) * vdir(angle))


__all__ = [
    "acos", "asin", "atan2", "cconj", "cdiv", "ceil", "cexp", "cinv", "clamp", "clog", "clz", "cmul", "cos", "cpow", "cross",
    "csqrt", "degrees", "determinant", "distance", "dot", "e", "exp", "eye", "floor", "fract", "inf", "inverse", "isinf",
    "isnan", "ivec2", "ivec3", "ivec4", "length", "log", "log2", "mat2", "mat3", "mat4", "max", "min", "mix", "mod", "nan",
    "normalize", "pi", "popcnt", "pow", "radians", "reflect", "refract", "rot_by_axis", "rot_yaw_pitch_roll", "rotation2d",
    "rotation3d", "round", "scale", "sign", "sin", "smoothstep", "sqrt", "step", "tan", "tanh", "translate", "transpose",
    "uvec2", "uvec3", "uvec4", "vdir", "vec2", "vec3", "vec4",
]  # fmt: skip
