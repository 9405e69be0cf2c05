"""Fields, layouts, structs and arrays as programs use them: placements, containers of fields, strides, transfers."""

import numpy as np


def list_of_fields(ti):
    fields = [ti.field(ti.f32, shape=4) for _ in range(3)]

    @ti.kernel
    def go():
        for i in range(4):
            for k in ti.static(range(3)):
                fields[k][i] = k * 10 + i

    go()
    return [f.to_numpy() for f in fields]


def dictionary_of_fields(ti):
    data = {"mass": ti.field(ti.f32, shape=3), "speed": ti.Vector.field(2, ti.f32, shape=3)}

    @ti.kernel
    def go():
        for i in range(3):
            data["mass"][i] = i + 1
            data["speed"][i] = [i, 2 * i]

    go()
    return data["mass"].to_numpy(), data["speed"].to_numpy()


def zipped_fields(ti):
    sources = [ti.field(ti.i32, shape=3) for _ in range(2)]
    targets = [ti.field(ti.i32, shape=3) for _ in range(2)]

    @ti.kernel
    def fill():
        for i in range(3):
            for k, s in ti.static(enumerate(sources)):
                s[i] = i + 10 * k

    @ti.kernel
    def go():
        for i in range(3):
            for s, t in ti.static(zip(sources, targets)):
                t[i] = s[i] * s[i]

    fill()
    go()
    return [t.to_numpy() for t in targets]


def tuple_template(ti):
    a = ti.field(ti.f32, shape=4)
    b = ti.field(ti.f32, shape=4)

    @ti.kernel
    def step(pair: ti.template(), weight: ti.f32):
        for i in pair[0]:
            pair[1][i] = pair[0][i] * weight + i

    a.fill(2)
    step((a, b), 0.5)
    step((b, a), 2)
    return a.to_numpy(), b.to_numpy()


def double_buffer(ti):
    class Pair:
        def __init__(self, one, other):
            self.cur, self.nxt = one, other

        def swap(self):
            self.cur, self.nxt = self.nxt, self.cur

    n = 8
    pair = Pair(ti.field(ti.f32, shape=n), ti.field(ti.f32, shape=n))

    @ti.kernel
    def init(f: ti.template()):
        for i in f:
            f[i] = i * i

    @ti.kernel
    def smooth(source: ti.template(), target: ti.template()):
        for i in source:
            left = ti.max(i - 1, 0)
            right = ti.min(i + 1, n - 1)
            target[i] = (source[left] + source[i] + source[right]) / 3

    init(pair.cur)
    for _ in range(5):
        smooth(pair.cur, pair.nxt)
        pair.swap()
    return pair.cur.to_numpy()


def kernels_in_a_loop(ti):
    x = ti.field(ti.i32, shape=4)
    results = []
    for k in range(3):

        @ti.kernel
        def go():
            for i in x:
                x[i] += ti.static(k + 1) * i

        go()
        results.append(x.to_numpy())
    return results


def nested_layout(ti):
    x = ti.field(ti.f32)
    y = ti.field(ti.f32)
    block = ti.root.dense(ti.ij, (2, 2))
    block.dense(ti.ij, (4, 4)).place(x)
    block.dense(ti.ij, (4, 4)).place(y)

    @ti.kernel
    def go():
        for i, j in x:
            x[i, j] = i * 10 + j
        for i, j in y:
            y[i, j] = x[j, i]

    go()
    return x.to_numpy(), y.to_numpy(), list(x.shape)


def mixed_axes(ti):
    x = ti.field(ti.i32)
    ti.root.dense(ti.i, 3).dense(ti.j, 4).place(x)
    y = ti.field(ti.i32)
    ti.root.dense(ti.j, 4).dense(ti.i, 3).place(y)
    z = ti.field(ti.i32)
    ti.root.dense(ti.ijk, (2, 3, 4)).place(z)

    @ti.kernel
    def go():
        for i, j in x:
            x[i, j] = i * 4 + j
        for i, j in y:
            y[i, j] = i * 4 + j
        for i, j, k in z:
            z[i, j, k] = x[j, k] * (i + 1)

    go()
    return x.to_numpy(), y.to_numpy(), z.to_numpy()


def offsets(ti):
    x = ti.field(ti.i32, shape=(4, 4), offset=(-2, -2))
    v = ti.Vector.field(2, ti.f32, shape=6, offset=-3)

    @ti.kernel
    def go():
        for i, j in x:
            x[i, j] = i * 10 + j
        for i in v:
            v[i] = ti.Vector([i, -i])

    go()
    return x.to_numpy(), v.to_numpy(), x[-2, -2], x[1, 1], v[-3][0]


def sparse_blocks(ti):
    x = ti.field(ti.f32)
    block = ti.root.pointer(ti.ij, (4, 4))
    block.dense(ti.ij, (2, 2)).place(x)
    count = ti.field(ti.i32, shape=())
    total = ti.field(ti.f32, shape=())
    active = ti.field(ti.i32, shape=(4, 4))

    @ti.kernel
    def seed():
        x[0, 0] = 1.5
        x[3, 3] = 2.5
        x[7, 1] = 4

    @ti.kernel
    def measure():
        for i, j in x:
            ti.atomic_add(count[None], 1)
            total[None] += x[i, j]
        for i, j in active:
            active[i, j] = ti.is_active(block, [i, j])

    seed()
    measure()
    return count[None], total[None], active.to_numpy()


def deactivated(ti):
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 8)
    block.dense(ti.i, 4).place(x)
    count = ti.field(ti.i32, shape=())

    @ti.kernel
    def seed():
        for i in range(32):
            if i % 8 < 4:
                x[i] = i

    @ti.kernel
    def drop():
        for i in block:
            if i >= 16:
                ti.deactivate(block, i)

    @ti.kernel
    def measure():
        count[None] = 0
        for i in x:
            count[None] += 1

    seed()
    measure()
    before = count[None]
    block.deactivate_all()
    measure()
    return before, count[None]


def struct_of_vectors(ti):
    particle = ti.types.struct(pos=ti.types.vector(3, ti.f32), vel=ti.types.vector(3, ti.f32), mass=ti.f32, id=ti.i32)
    ps = particle.field(shape=5)

    @ti.kernel
    def init():
        for i in ps:
            ps[i].pos = [i, 0, 1]
            ps[i].vel = ti.Vector([0.0, i, -1.0])
            ps[i].mass = i + 1
            ps[i].id = i * 7

    @ti.kernel
    def step(dt: ti.f32):
        for i in ps:
            p = ps[i]
            ps[i].vel.y -= 9.8 * dt
            ps[i].pos += p.vel * dt
            ps[i].mass *= 2

    init()
    step(0.1)
    arrays = ps.to_numpy()
    return arrays["pos"], arrays["vel"], arrays["mass"], arrays["id"], ps[2].mass


def nested_structs(ti):
    ray = ti.types.struct(ro=ti.math.vec3, rd=ti.math.vec3)
    cell = ti.types.struct(ray=ray, weight=float)
    cells = cell.field(shape=3)

    @ti.kernel
    def go():
        for i in cells:
            r = ray(ro=ti.math.vec3(i, 0, 0), rd=ti.math.vec3(0, 1, i))
            cells[i].ray = r
            cells[i].weight = cells[i].ray.rd.z + r.ro.x

    go()
    return [cells[i].weight for i in range(3)], cells.ray.rd.to_numpy()


def struct_members(ti):
    node = ti.types.struct(value=ti.i32, link=ti.i32)
    nodes = node.field()
    ti.root.dense(ti.i, 6).place(nodes)
    values = nodes.value

    @ti.kernel
    def go() -> ti.i32:
        for i in nodes:
            nodes.value[i] = i * i
            nodes[i].link = (i + 2) % 6
        s = 0
        k = 0
        while k != 4:
            k = nodes[k].link
            s += nodes.value[k]
        return s

    return go(), values.to_numpy(), nodes.link.to_numpy()


def copies_and_fills(ti):
    a = ti.field(ti.f32, shape=(2, 3))
    b = ti.field(ti.f32, shape=(2, 3))
    v = ti.Vector.field(2, ti.i32, shape=3)
    m = ti.Matrix.field(2, 2, ti.f32, shape=2)
    a.fill(2.5)
    b.copy_from(a)
    b[1, 1] = 9
    v.fill(4)
    v[1] = [7, 8]
    m.fill(0.5)
    m[1] = ti.Matrix([[1, 2], [3, 4]])
    return a.to_numpy(), b.to_numpy(), v.to_numpy(), m.to_numpy()


def numpy_in_and_out(ti):
    a = ti.field(ti.f32, shape=(3, 4))
    v = ti.Vector.field(2, ti.f64, shape=(2, 2))
    m = ti.Matrix.field(2, 3, ti.i32, shape=2)
    a.from_numpy(np.arange(12).reshape(3, 4).astype(np.float64))
    v.from_numpy(np.arange(8).reshape(2, 2, 2).astype(np.float32))
    m.from_numpy(np.arange(12).reshape(2, 2, 3).astype(np.int64))
    return a.to_numpy(), v.to_numpy(), m.to_numpy(), a.to_numpy(dtype=np.float64)


def arrays_of_every_kind(ti):
    @ti.kernel
    def scale(a: ti.types.ndarray(), k: ti.f32):
        for I in ti.grouped(a):
            a[I] *= k

    @ti.kernel
    def rows(a: ti.types.ndarray(dtype=ti.f32, ndim=2)) -> ti.f32:
        s = 0.0
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                s += a[i, j] * (i + 1)
        return s

    x = np.arange(6, dtype=np.float32)
    y = np.arange(6, dtype=np.float32).reshape(2, 3)
    scale(x, 2)
    scale(y, 0.5)
    z = ti.ndarray(ti.f32, shape=(2, 3))
    z.from_numpy(y)
    return x, y, rows(y), rows(z), z.to_numpy()


def array_objects(ti):
    a = ti.ndarray(dtype=ti.i32, shape=(4,))
    v = ti.Vector.ndarray(3, ti.f32, shape=(2,))
    m = ti.Matrix.ndarray(2, 2, ti.f32, shape=(2,))

    @ti.kernel
    def go(a: ti.types.ndarray(), v: ti.types.ndarray(), m: ti.types.ndarray()):
        for i in a:
            a[i] = i * i
        for i in v:
            v[i] = [i, 1, 2]
            v[i].z += 5
        for i in m:
            m[i] = ti.Matrix([[i, 1], [2, 3]]) * 2
            m[i][0, 1] = -1

    a.fill(7)
    before = a.to_numpy()
    go(a, v, m)
    a[3] = 99
    return before, a.to_numpy(), v.to_numpy(), m.to_numpy(), a[3], list(a.shape), v[1][2]


def typed_vector_arrays(ti):
    vec3 = ti.types.vector(3, ti.f32)

    @ti.kernel
    def centre(points: ti.types.ndarray(dtype=vec3, ndim=1)) -> vec3:
        s = vec3(0)
        for i in range(points.shape[0]):
            s += points[i]
        return s / points.shape[0]

    points = ti.Vector.ndarray(3, ti.f32, shape=4)
    points.from_numpy(np.arange(12, dtype=np.float32).reshape(4, 3))
    return centre(points).to_numpy()


def many_arguments(ti):
    @ti.kernel
    def go(
        a: ti.i32,
        b: ti.f32,
        c: ti.i64,
        d: ti.f64,
        e: ti.u8,
        f: ti.i32,
        g: ti.i32,
        h: ti.i32,
        i: ti.f32,
        j: ti.f32,
        k: ti.types.ndarray(),
        l: ti.types.vector(3, ti.f32),
        m: ti.types.matrix(2, 2, ti.i32),
        n: ti.template(),
    ) -> ti.f64:
        s = ti.cast(0, ti.f64)
        for q in range(k.shape[0]):
            s += k[q] * n
        return s + a + b + c + d + e + f + g + h + i + j + l.sum() + m.trace()

    return go(
        1, 2.5, 3, 4.5, 5, 6, 7, 8, 9.5, 10.5, np.array([1, 2], dtype=np.int32),
        ti.Vector([1.0, 2.0, 3.0]), ti.Matrix([[1, 2], [3, 4]]), 10,
    )  # fmt: skip


def grouped_stencil(ti):
    n = 6
    a = ti.field(ti.f32, shape=(n, n))
    b = ti.field(ti.f32, shape=(n, n))

    @ti.func
    def sample(f: ti.template(), I):
        J = ti.max(0, ti.min(n - 1, I))
        return f[J]

    @ti.kernel
    def go():
        for I in ti.grouped(a):
            a[I] = I[0] * I[1] + I.sum()
        for I in ti.grouped(b):
            s = 0.0
            for d in ti.static(range(2)):
                e = ti.Vector.unit(2, d)
                s += sample(a, I + e) + sample(a, I - e)
            b[I] = s - 4 * a[I]

    go()
    return b.to_numpy()


def neighbours(ti):
    n = 5
    x = ti.field(ti.i32, shape=(n, n, n))
    y = ti.field(ti.i32, shape=(n, n, n))

    @ti.kernel
    def go():
        for I in ti.grouped(x):
            x[I] = (I[0] * 7 + I[1] * 3 + I[2]) % 5
        for I in ti.grouped(y):
            s = 0
            for D in ti.static(ti.grouped(ti.ndrange((-1, 2), (-1, 2), (-1, 2)))):
                J = I + D
                if all(J >= 0) and all(J < n):
                    s += x[J]
            y[I] = s

    go()
    return y.to_numpy()


def python_scope(ti):
    x = ti.field(ti.f32, shape=3)
    v = ti.Vector.field(3, ti.f32, shape=2)
    s = ti.field(ti.i32, shape=())
    x[0] = 3
    x[1] = x[0] / 2
    x[2] += 4
    v[0] = ti.Vector([1, 2, 3])
    v[1] = [4, 5, 6]
    v[0][1] = 10
    v[1].z = -1
    s[None] = 5
    s[None] += 2
    total = 0.0
    for i in range(3):
        total += x[i]
    w = v[0] + v[1] * 2
    return x.to_numpy(), v.to_numpy(), s[None], total, [w[k] for k in range(3)], v.n, list(v.shape)


def metadata(ti):
    x = ti.field(ti.f32, shape=(2, 3))
    m = ti.Matrix.field(2, 3, ti.i32, shape=4)
    s = ti.field(ti.u8, shape=())
    out = ti.field(ti.i32, shape=6)

    @ti.kernel
    def go():
        out[0] = x.shape[0]
        out[1] = x.shape[1]
        out[2] = m.n
        out[3] = m.m
        out[4] = len(x.shape)
        if ti.static(x.dtype == ti.f32):
            out[5] = 1

    go()
    return list(x.shape), [m.n, m.m], list(s.shape), out.to_numpy(), x.dtype == ti.f32, m.dtype == ti.f32


def late_placement(ti):
    a = ti.field(ti.i32)
    v = ti.Vector.field(2, ti.f32)
    ti.root.dense(ti.i, 4).place(a, v)

    @ti.kernel
    def go():
        for i in a:
            a[i] = i
            v[i] = [i, i + 0.5]

    go()
    late = ti.field(ti.i32, shape=4)

    @ti.kernel
    def more():
        for i in late:
            late[i] = a[i] * 3

    more()
    return a.to_numpy(), v.to_numpy(), late.to_numpy()


def strided_arrays(ti):
    @ti.kernel
    def total(a: ti.types.ndarray(ndim=2)) -> ti.i32:
        s = 0
        for i, j in ti.ndrange(a.shape[0], a.shape[1]):
            s += a[i, j] * (i * 10 + j)
        return s

    base = np.arange(24, dtype=np.int32).reshape(4, 6)
    return total(np.ascontiguousarray(base[::2, ::3])), total(np.ascontiguousarray(base.T)), total(base)


def matrix_field_layouts(ti):
    a = ti.Matrix.field(2, 2, ti.f32, shape=(3,), layout=ti.Layout.SOA)
    b = ti.Matrix.field(2, 2, ti.f32, shape=(3,), layout=ti.Layout.AOS)

    @ti.kernel
    def go():
        for i in a:
            for p, q in ti.static(ti.ndrange(2, 2)):
                a[i][p, q] = i + p * 10 + q
            b[i] = a[i].transpose() @ a[i]

    go()
    return a.to_numpy(), b.to_numpy()


def field_of_indices(ti):
    index = ti.field(ti.i32, shape=5)
    x = ti.field(ti.f32, shape=5)
    y = ti.field(ti.f32, shape=5)

    @ti.kernel
    def go():
        for i in index:
            index[i] = (i * 3 + 1) % 5
            x[i] = i * 0.5
        for i in y:
            y[index[i]] = x[index[index[i]]]

    go()
    return y.to_numpy()


def order_of_axes(ti):
    x = ti.field(ti.i32, shape=(2, 3), order="ij")
    y = ti.field(ti.i32, shape=(2, 3), order="ji")

    @ti.kernel
    def go():
        for i, j in x:
            x[i, j] = i * 3 + j
        for I in ti.grouped(y):
            y[I] = x[I] + 1

    go()
    return x.to_numpy(), y.to_numpy()
