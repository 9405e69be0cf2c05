"""The kernels of the static-carrier tests: every kind of argument, saved by `save(folder)`."""

import metate as mt

vec3 = mt.types.vector(3, mt.f32)
mat2 = mt.types.matrix(2, 2, mt.f64)
cell = mt.types.Struct({"a": mt.f32, "b": vec3})
# Levels with and without an ambient slot, backgrounds that are zero and that are not.
Sparse = mt.types.SNodeTreeBuilder().pointer(mt.ij, 3).pointer(mt.ij, 2).dense(mt.ij, 5).place(cell).build()
Filled = (
    mt.types.SNodeTreeBuilder()
    .dense(mt.i, 7)
    .place(mt.types.Struct({"v": mt.i16, "w": mt.f64}), background={"v": -3, "w": 0.5})
    .build()
)
Large = mt.types.SNodeTreeBuilder().pointer(mt.i, 2).dense(mt.i, 40000).place(mt.types.Struct({"v": mt.f32})).build()
# Axes that several levels split, in other orders.
_nested = mt.types.SNodeTreeBuilder()
_nested.dense(mt.ij, (2, 3)).dense(mt.j, 4).dense(mt.ik, (5, 2)).place(mt.types.Struct({"b": mt.u8, "v": vec3}))
_nested.dense(mt.l, 6).place(mt.types.Struct({"far": mt.f64}))
_nested.pointer(mt.i, 4).place(mt.types.Struct({"sometimes": mt.i32}))
Nested = _nested.build()


@mt.kernel
def axpy(a: mt.f32, x: mt.types.ndarray(dtype=mt.f32, ndim=1), y: mt.types.ndarray(dtype=mt.f32, ndim=1)):
    """Adds a multiple of x to y.

    Both are as long as x: what y has beyond it stays as it is.
    """
    for i in range(x.shape[0]):
        y[i] = a * x[i] + y[i]


@mt.kernel
def total(x: mt.types.ndarray(dtype=mt.f64, ndim=2)) -> mt.f64:
    result = mt.cast(0.0, mt.f64)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            result += x[i, j]
    return result


@mt.kernel
def scalars(
    a: mt.u1, b: mt.i8, c: mt.u16, d: mt.i64, e: mt.u32, f: mt.f64, h: mt.f16, out: mt.types.ndarray(dtype=mt.f64, ndim=1)
):
    out[0] = mt.cast(a, mt.f64)
    out[1] = mt.cast(b, mt.f64)
    out[2] = mt.cast(c, mt.f64)
    out[3] = mt.cast(d, mt.f64)
    out[4] = mt.cast(e, mt.f64)
    out[5] = f
    out[6] = mt.cast(h, mt.f64)


@mt.kernel
def turn(m: mat2, by: vec3, points: mt.types.ndarray(dtype=vec3, ndim=1), out: mt.types.ndarray(dtype=vec3, ndim=1)):
    for i in points:
        p = points[i] + by
        x = m[0, 0] * p[0] + m[0, 1] * p[1]
        y = m[1, 0] * p[0] + m[1, 1] * p[1]
        out[i] = vec3(x, y, p[2])


@mt.kernel
def paint(f: Sparse, scale: mt.f32):
    for i, j in mt.ndrange(30, 30):
        if i // 10 == j // 10 and i >= 10:
            f[i, j].a = scale * (i + 0.5 * j)
            f[i, j].b = vec3(i, j, scale)


@mt.kernel
def weight(f: Sparse) -> mt.f32:
    result = 0.0
    for i, j in f.a:
        result += f[i, j].a + f[i, j].b[2]
    return result


@mt.kernel(asserts=True)
def positive(x: mt.i32, int: mt.i32) -> mt.i32:
    assert x > 0, f"{{x}} must be positive, got {x} and {int * 0.25}, {x > 5}"
    return x * 3 + int


@mt.kernel
def untouched(f: Filled, out: mt.types.ndarray(dtype=mt.f64, ndim=1)):
    for i in range(7):
        out[i] = f[i].w + f[i].v


@mt.kernel
def rotate(x: mt.types.ndarray(dtype=mt.i32, ndim=1), y: mt.types.ndarray(dtype=mt.i32, ndim=1)):
    for i in range(x.shape[0] - 1):
        y[i] = x[i] + 1


particle = mt.types.struct(pos=vec3, mass=mt.f64, kind=mt.i32)


@mt.kernel
def push(by: particle, all: mt.types.ndarray(dtype=particle, ndim=1)) -> particle:
    heaviest = by
    for i in range(all.shape[0]):
        all[i].pos += by.mass * by.pos
        all[i].kind += by.kind
    k = 0
    while k < all.shape[0]:
        if all[k].mass > heaviest.mass:
            heaviest = all[k]
        k += 1
    return heaviest


@mt.kernel(asserts=True)
def report(x: mt.types.ndarray(dtype=mt.f32, ndim=1)):
    for i in range(x.shape[0]):
        if i == 3:
            print("x[3] is", x[i])
        assert x[i] < 1000, "x is too large"


small = mt.types.matrix(2, 3, mt.bf16)


@mt.kernel
def nothing():
    pass


@mt.kernel
def odd(größe: mt.f32, _x: mt.i32, scratch: mt.i64, host: mt.u8, result: mt.f32, auto: mt.u1, m: small,
        h: mt.types.ndarray(dtype=mt.f16, ndim=2), b: mt.types.ndarray(dtype=small, ndim=1),
        flags: mt.types.ndarray(dtype=mt.u1, ndim=1)) -> mt.types.vector(2, mt.f32):  # fmt: skip
    for i in flags:
        flags[i] = auto
    for i in b:
        b[i] = m
    h[0, 0] = 3
    return mt.Vector([größe, result + _x + scratch + host])


def module(**options):
    made = mt.aot.Module(name="levels", **options)
    made.add_type(Sparse, "sparse").add_type(Filled, "filled").add_type(Large, "large").add_type(Nested, "nested")
    for kernel in (axpy, total, scalars, turn, paint, weight, positive, untouched, push, report):
        made.add_kernel(kernel)
    return made.add_kernel(rotate, may_alias=True)
