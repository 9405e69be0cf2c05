"""What kernels print, vectors' methods, and mathematics: as Taichi prints and computes them."""

import contextlib
import ctypes
import io
import os
import sys
import tempfile


def _printed(ti, kernel, *arguments):
    """What a kernel prints, by Python or by C."""
    with tempfile.TemporaryFile() as file, contextlib.redirect_stdout(io.StringIO()) as text:
        sys.__stdout__.flush()
        kept = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            kernel(*arguments)
            ti.sync()
            ctypes.CDLL(None).fflush(None)
        finally:
            os.dup2(kept, 1)
            os.close(kept)
        file.seek(0)
        return text.getvalue() + file.read().decode()


def printed_scalars(ti):
    @ti.kernel
    def go(a: ti.i32, b: ti.f32, c: ti.i64, e: ti.u8):
        print(a, f"{b:.3f}")
        print("a =", a, "c =", c, "e =", e)
        print(e, -a, c * 2, sep=", ", end=";\n")
        print()
        print("100%", "{}", 'quoted "text"')
        print(a, end=" ")
        print("done")

    return _printed(ti, go, 3, 2.5, 1 << 40, 200)


def printed_texts(ti):
    @ti.kernel
    def go(a: ti.i32, b: ti.f32):
        print(f"a is {a} and b is {b:.4f}")
        print(f"{a:05d}|{b:.2f}|{b:10.3f}|{a:d}")
        print("{} and {:.1f}".format(a, b))
        print(f"sum = {a + 1}")

    return _printed(ti, go, 42, 1.25)


def printed_vectors(ti):
    @ti.kernel
    def go(a: ti.i32):
        v = ti.Vector([1, 2, 3])
        w = ti.Vector([a, 4 * a])
        m = ti.Matrix([[1, 2], [3, 4]])
        print(v)
        print("w:", w, "m:", m)
        print(f"{v} {m}")

    return _printed(ti, go, -5)


def printed_fields(ti):
    x = ti.field(ti.i32, shape=3)
    v = ti.Vector.field(2, ti.i32, shape=2)

    @ti.kernel
    def go():
        x[1] = 7
        v[1] = [5, 2]
        for i in ti.static(range(3)):
            print("x", i, x[i])
        print(v[1], v[1].x)

    return _printed(ti, go)


def vector_methods(ti):
    out = ti.field(ti.f32, shape=24)

    @ti.kernel
    def go():
        a = ti.Vector([1.0, -2.0, 3.0])
        b = ti.Vector([0.5, 4.0, -1.0])
        c = a.cross(b)
        for k in ti.static(range(3)):
            out[k] = c[k]
        o = a.outer_product(b)
        out[3] = o[1, 2]
        out[4] = o.trace()
        out[5] = a.dot(b)
        out[6] = a.norm()
        out[7] = a.norm_sqr()
        out[8] = a.norm(1e-3)
        out[9] = a.normalized().x
        out[10] = any(a > 2)
        out[11] = all(a > -3)
        out[12] = (a < b).any()
        out[13] = a.norm_inv()
        z = ti.Vector.zero(ti.f32, 3)
        z.fill(2.5)
        out[14] = z.sum()
        out[15] = ti.Vector.one(ti.f32, 4).sum()
        out[16] = ti.Vector.unit(3, 1)[1]
        out[17] = a.max() - a.min()
        e = ti.Matrix.identity(ti.f32, 3)
        out[18] = (e @ a)[2]
        out[19] = ti.Matrix.diag(2, 3.0).determinant()
        out[20] = ti.Matrix.rows([a, b, c]).transpose()[2, 1]
        out[21] = ti.Matrix.cols([a, b, c])[2, 1]
        out[22] = abs(a).sum()
        out[23] = ti.floor(b * 0.3).sum()

    go()
    return out.to_numpy()


def matrix_methods(ti):
    out = ti.field(ti.f32, shape=16)

    @ti.kernel
    def go():
        m = ti.Matrix([[2.0, 1.0], [0.5, 3.0]])
        n = ti.Matrix([[1, 2], [3, 4]])
        inv = m.inverse()
        out[0] = inv[0, 1]
        out[1] = m.determinant()
        out[2] = (m * n)[1, 0]
        out[3] = (m @ n)[1, 0]
        out[4] = (m @ ti.Vector([1.0, 2.0]))[1]
        out[5] = m.transpose()[0, 1]
        out[6] = m.trace()
        out[7] = m.norm()
        out[8] = (m + 1).sum()
        out[9] = n.cast(ti.f32)[1, 1] / 8
        out[10] = (m**2)[0, 0]
        out[11] = (n % 2).sum()
        out[12] = (-m).max()
        m[0, 1] += 10
        out[13] = m[0, 1]
        out[14] = m[0, :].sum()
        out[15] = m[:, 1].max()

    go()
    return out.to_numpy()


def shader_functions(ti):
    tm = ti.math
    out = ti.field(ti.f32, shape=30)

    @ti.kernel
    def go(x: ti.f32):
        v = tm.vec3(0.2, -1.4, x)
        out[0] = tm.mix(1.0, 3.0, 0.25)
        out[1] = tm.clamp(x, 0, 1)
        out[2] = tm.smoothstep(0.0, 2.0, 0.7)
        out[3] = tm.step(0.5, x)
        out[4] = tm.fract(v).y
        out[5] = tm.mod(-3.5, 2.0)
        out[6] = tm.sign(v).y
        out[7] = tm.length(v)
        out[8] = tm.distance(v, tm.vec3(1))
        out[9] = tm.normalize(v).z
        out[10] = tm.reflect(v, tm.vec3(0, 1, 0)).y
        out[11] = tm.refract(tm.normalize(v), tm.vec3(0, 1, 0), 0.9).x
        out[12] = tm.radians(90.0)
        out[13] = tm.degrees(1.0)
        out[14] = tm.atan2(1.0, -2.0)
        out[15] = tm.log2(10.0)
        out[16] = tm.exp(0.5) + tm.pow(2.0, 0.5)
        out[17] = tm.floor(v).y + tm.ceil(v).x + tm.round(v).y
        out[18] = tm.dot(v, v.zyx)
        out[19] = tm.cross(v, tm.vec3(1, 0, 0)).z
        out[20] = tm.max(v, 0.0).sum() + tm.min(v, 0.0).sum()
        out[21] = tm.cmul(tm.vec2(1, 2), tm.vec2(3, -1)).y
        out[22] = tm.cdiv(tm.vec2(1, 2), tm.vec2(3, -1)).x
        out[23] = tm.cexp(tm.vec2(0.5, 1)).y
        out[24] = tm.csqrt(tm.vec2(3, 4)).x
        out[25] = tm.determinant(tm.mat2(1, 2, 3, 4))
        out[26] = tm.inverse(tm.mat2(1, 2, 3, 5))[0, 1]
        out[27] = tm.eye(3)[1, 1]
        out[28] = tm.rotation2d(0.5)[1, 0]
        out[29] = tm.ivec3(1, 2, 3).sum() + tm.uvec2(3, 4).y

    go(0.75)
    return out.to_numpy()


def swizzle_assignments(ti):
    out = ti.Vector.field(4, ti.f32, shape=4)

    @ti.kernel
    def go():
        v = ti.math.vec4(1, 2, 3, 4)
        v.xy = v.yx
        out[0] = v
        v.rgb += 10
        out[1] = v
        v.zw = [0.5, v.x]
        out[2] = v
        w = ti.math.vec4(v.xy, 7, v.w)
        out[3] = w
        out[3].xz = ti.math.vec2(-1, -2)

    go()
    return out.to_numpy()


def slices_of_vectors(ti):
    out = ti.field(ti.f32, shape=6)

    @ti.kernel
    def go():
        v = ti.Vector([1.0, 2.0, 3.0, 4.0])
        out[0] = v[1:3].sum()
        out[1] = v[:2].norm_sqr()
        out[2] = v[::2][1]
        a, b = v[0], v[1]
        out[3] = a * 10 + b
        s = 0.0
        for k in ti.static(range(4)):
            s += v[k]
        out[4] = s
        out[5] = v.n

    go()
    return out.to_numpy()


def fields_printed_in_python(ti):
    x = ti.field(ti.i32, shape=3)
    v = ti.Vector.field(2, ti.f32, shape=2)
    x[1] = 4
    v[0] = [1.5, 2]
    return str(x), str(v), str(x[1]), str(v[0][0])


def local_matrix_loops(ti):
    out = ti.field(ti.f32, shape=3)

    @ti.kernel
    def go(n: ti.i32):
        for k in range(3):
            m = ti.Matrix.zero(ti.f32, 3, 3)
            for i in range(3):
                for j in range(3):
                    m[i, j] = i * n + j
            v = ti.Vector([0.0] * 3)
            for i in range(3):
                v[i] = m[i, (i + 1) % 3]
            out[k] = m[k, 2 - k] + v[k] * 10 + m.sum()

    go(4)
    return out.to_numpy()
