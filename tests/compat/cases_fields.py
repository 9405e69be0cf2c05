"""Programs about fields, as a Taichi user writes them: each takes the module `ti` and returns what it computed."""

import numpy as np


def scalar_field(ti):
    n = 16
    x = ti.field(ti.f32, shape=n)

    @ti.kernel
    def fill(a: ti.f32):
        for i in x:
            x[i] = a * i

    fill(0.5)
    return x.to_numpy()


def zero_dimensional(ti):
    total = ti.field(dtype=ti.i32, shape=())

    @ti.kernel
    def sum_up(n: ti.i32):
        for i in range(n):
            total[None] += i

    sum_up(100)
    return total[None]


def vector_field(ti):
    v = ti.Vector.field(3, dtype=ti.f32, shape=(4, 5))

    @ti.kernel
    def fill():
        for i, j in v:
            v[i, j] = ti.Vector([i, j, i + j]) * 0.5
            v[i, j].y += 1.0
            v[i, j][2] -= 2.0

    fill()
    return v.to_numpy()


def matrix_field(ti):
    m = ti.Matrix.field(2, 3, dtype=ti.f64, shape=(3,))

    @ti.kernel
    def fill():
        for i in m:
            for r, c in ti.static(ti.ndrange(2, 3)):
                m[i][r, c] = i * 10 + r * 3 + c

    fill()
    return m.to_numpy()


def soa_vector(ti):
    v = ti.Vector.field(2, dtype=ti.i32, shape=8, layout=ti.Layout.SOA)

    @ti.kernel
    def fill():
        for i in v:
            v[i] = [i, -i]

    fill()
    return v.to_numpy()


def placed_fields(ti):
    x = ti.field(ti.f32)
    y = ti.Vector.field(2, ti.f32)
    block = ti.root.dense(ti.ij, (2, 3)).dense(ti.ij, (4, 2))
    block.place(x, y)

    @ti.kernel
    def fill():
        for I in ti.grouped(x):
            x[I] = I[0] * 100 + I[1]
            y[I] = I

    fill()
    return x.to_numpy(), y.to_numpy(), list(x.shape)


def pointer_field(ti):
    x = ti.field(ti.i32)
    ti.root.pointer(ti.i, 8).dense(ti.i, 4).place(x)
    count = ti.field(ti.i32, shape=())

    @ti.kernel
    def activate():
        x[5] = 1
        x[21] = 2

    @ti.kernel
    def visit():
        for i in x:
            count[None] += 1
            x[i] += i

    activate()
    visit()
    return count[None], x.to_numpy()


def offset_field(ti):
    x = ti.field(ti.i32, shape=(4, 4), offset=(-2, -1))

    @ti.kernel
    def fill():
        for i, j in x:
            x[i, j] = i * 10 + j

    fill()
    return x[-2, -1], x[1, 2], x.to_numpy()


def column_major(ti):
    x = ti.field(ti.i32, shape=(3, 4), order="ji")

    @ti.kernel
    def fill():
        for i, j in x:
            x[i, j] = i * 4 + j

    fill()
    return x.to_numpy()


def python_access(ti):
    x = ti.field(ti.f32, shape=(2, 2))
    v = ti.Vector.field(2, ti.f32, shape=3)
    x[0, 1] = 3.5
    v[1] = [1.0, 2.0]
    v[2][0] = 7.0
    x.fill(1.25) if x[0, 1] == 0 else None
    return x[0, 1], v[1][1], v[2][0], v[0].to_numpy().tolist()


def whole_field_operations(ti):
    x = ti.field(ti.i32, shape=(2, 3))
    y = ti.field(ti.i32, shape=(2, 3))
    x.from_numpy(np.arange(6, dtype=np.int32).reshape(2, 3))
    y.copy_from(x)
    x.fill(9)
    return x.to_numpy(), y.to_numpy(), list(y.shape)


def struct_field(ti):
    particle = ti.types.struct(pos=ti.types.vector(3, ti.f32), mass=ti.f32)
    p = particle.field(shape=4)

    @ti.kernel
    def fill():
        for i in p:
            p[i].pos = ti.Vector([1.0, 2.0, 3.0]) * i
            p[i].mass = i * 0.5

    fill()
    d = p.to_numpy()
    return d["pos"], d["mass"], p[3].mass, p.mass.to_numpy()


def struct_field_by_dictionary(ti):
    s = ti.Struct.field({"a": ti.i32, "v": ti.types.vector(2, ti.f32)}, shape=(2, 2))

    @ti.kernel
    def fill():
        for i, j in s:
            s[i, j].a = i + j
            s[i, j].v = [i, j]

    fill()
    return s.a.to_numpy(), s.v.to_numpy()


def fields_builder(ti):
    fb = ti.FieldsBuilder()
    x = ti.field(ti.f32)
    fb.dense(ti.ij, (3, 4)).place(x)
    tree = fb.finalize()

    @ti.kernel
    def fill():
        for i, j in x:
            x[i, j] = i - j

    fill()
    found = x.to_numpy()
    tree.destroy()
    fb2 = ti.FieldsBuilder()
    y = ti.field(ti.f32)
    fb2.dense(ti.i, 5).place(y)
    tree2 = fb2.finalize()

    @ti.kernel
    def fill2():
        for i in y:
            y[i] = i

    fill2()
    found2 = y.to_numpy()
    tree2.destroy()
    return found, found2


def atomics(ti):
    x = ti.field(ti.i32, shape=4)

    @ti.kernel
    def go() -> ti.i32:
        old = 0
        for _i in range(1):
            old = ti.atomic_add(x[0], 5)
            ti.atomic_max(x[1], 7)
            ti.atomic_min(x[2], -3)
            ti.atomic_sub(x[3], 2)
            ti.atomic_or(x[1], 8)
            ti.atomic_xor(x[2], 1)
        return old

    return go(), x.to_numpy()


def parent_and_shape(ti):
    x = ti.field(ti.f32)
    ti.root.dense(ti.i, 4).dense(ti.j, 3).place(x)

    @ti.kernel
    def shapes() -> ti.i32:
        return x.shape[0] * 100 + x.shape[1]

    return shapes(), list(x.shape), list(x.parent().shape)


def vector_components(ti):
    v = ti.Vector.field(4, ti.f32, shape=())

    @ti.kernel
    def go():
        v[None].x = 1.0
        v[None].yz = ti.Vector([2.0, 3.0])
        v[None].w = v[None].x + v[None].y

    go()
    return v[None].to_numpy().tolist(), v.n
