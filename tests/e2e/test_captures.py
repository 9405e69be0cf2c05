"""Fields that kernels close over: elements, loops, shapes, hidden arguments and what becomes of their trees."""

import gc
import re
import weakref

import numpy as np
import pytest

import metate as mt


def filled(rng, dtype, shape, **options):
    """A field with random contents, and these."""
    made = mt.field(dtype, shape=shape, **options)
    array = rng.uniform(-4, 4, shape).astype(np.float32 if dtype == mt.f32 else np.int32)
    made.from_numpy(array)
    return made, array


def test_elements_and_atomics(rng):
    x, a = filled(rng, mt.f32, (5, 7))
    y, b = filled(rng, mt.f32, (5, 7))
    total = mt.field(mt.f32, shape=())

    @mt.kernel
    def go(scale: mt.f32):
        for i, j in x:
            x[i, j] = x[i, j] * scale + y[i, j]
            y[i, j] -= 1.0
            total[None] += 1.0

    go(2.0)
    np.testing.assert_allclose(x.to_numpy(), a * np.float32(2) + b, rtol=1e-6)
    np.testing.assert_allclose(y.to_numpy(), b - 1, rtol=1e-6)
    assert total[None] == 35


def test_loops_over_fields(rng):
    x, a = filled(rng, mt.i32, (4, 6))
    seen = mt.field(mt.i32, shape=(4, 6))

    @mt.kernel
    def grouped():
        for I in mt.grouped(x):
            seen[I] = x[I] + I[0] * 100 + I.y

    @mt.kernel
    def ranges():
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                seen[i, j] += 1

    @mt.kernel
    def boxes():
        for i, j in mt.ndrange(*x.shape):
            seen[i, j] += x.shape[0]

    @mt.kernel
    def unrolled():
        for k in mt.static(range(x.shape[0])):
            seen[k, 0] = mt.static(x.shape[0] * k)

    i, j = np.mgrid[:4, :6]
    grouped()
    np.testing.assert_array_equal(seen.to_numpy(), a + i * 100 + j)
    ranges()
    boxes()
    np.testing.assert_array_equal(seen.to_numpy(), a + i * 100 + j + 5)
    unrolled()
    np.testing.assert_array_equal(seen.to_numpy()[:, 0], np.arange(4) * 4)


@pytest.mark.parametrize("layout", [mt.Layout.AOS, mt.Layout.SOA])
def test_vectors_and_matrices(rng, layout):
    v = mt.Vector.field(3, mt.f32, shape=(4,), layout=layout)
    m = mt.Matrix.field(2, 3, mt.f32, shape=(4,), layout=layout)
    a, b = rng.uniform(-2, 2, (4, 3)).astype(np.float32), rng.uniform(-2, 2, (4, 2, 3)).astype(np.float32)
    v.from_numpy(a)
    m.from_numpy(b)

    @mt.kernel
    def go(k: mt.template()):  # where components lie apart, which one must be known
        for i in v:
            w = m[i] @ v[i]
            v[i].x = w[0]
            v[i][1] += w.y
            v[i][k] -= 2.0
            m[i][1, 2] = v.n + m.m
            m[i] += 1.0
            m[i][0, k] *= 2.0

    go(2)
    w = np.einsum("irc,ic->ir", b, a)
    a[:, 0] = w[:, 0]
    a[:, 1] += w[:, 1]
    a[:, 2] -= 2
    b[:, 1, 2] = 6
    b += 1
    b[:, 0, 2] *= 2
    np.testing.assert_allclose(v.to_numpy(), a, rtol=1e-5)
    np.testing.assert_allclose(m.to_numpy(), b, rtol=1e-5)


def test_offset(rng):
    x = mt.field(mt.i32, shape=(4, 3), offset=(-2, 5))
    a = rng.integers(-9, 9, (4, 3)).astype(np.int32)
    x.from_numpy(a)
    rows = mt.field(mt.i32, shape=(4, 3))

    @mt.kernel
    def go():
        for i, j in x:
            rows[i + 2, j - 5] = 10 * i + j
            x[i, j] += 1
        for I in mt.grouped(x):
            x[I] *= 2
        x[-2, 5] = 77

    go()
    i, j = np.mgrid[-2:2, 5:8]
    np.testing.assert_array_equal(rows.to_numpy(), 10 * i + j)
    expected = (a + 1) * 2
    expected[0, 0] = 77
    np.testing.assert_array_equal(x.to_numpy(), expected)


def test_several_fields_in_a_tree_are_one_argument(rng):
    x, y, z = mt.field(mt.f32), mt.field(mt.i32), mt.Vector.field(2, mt.f32)
    mt.root.dense(mt.i, 8).place(x, y, z)

    @mt.kernel
    def go():
        for i in x:
            x[i] = i
            y[i] = 2 * i
            z[i] = mt.Vector([x[i], y[i]])

    go()
    np.testing.assert_array_equal(z.to_numpy(), np.stack([np.arange(8), 2 * np.arange(8)], 1))
    (instance,) = go.instances()
    assert instance.signature.count("root0") == 1 and "root1" not in instance.signature


def test_struct_fields(rng):
    particle = mt.types.struct(mass=mt.f32, pos=mt.types.vector(2, mt.f32))
    p = particle.field(shape=(6,))
    a = rng.uniform(0, 1, (6, 2)).astype(np.float32)
    p.pos.from_numpy(a)

    @mt.kernel
    def go():
        for i in p:
            p[i].mass = 2.0 * i
            p[i].pos.x += p[i].mass
            p.pos[i].y = 3.0
            s = p[i]
            s.mass += 1.0
            p[i] = s

    go()
    np.testing.assert_allclose(p.mass.to_numpy(), 2 * np.arange(6) + 1)
    np.testing.assert_allclose(p.pos.to_numpy()[:, 0], a[:, 0] + 2 * np.arange(6), rtol=1e-6)
    np.testing.assert_array_equal(p.pos.to_numpy()[:, 1], np.full(6, 3, np.float32))
    assert re.findall(r'metate.name = "([^"]*)"', go.import_module().text(False)) == ["p"]


def test_sparse_fields_and_levels():
    x = mt.field(mt.f32)
    block = mt.root.pointer(mt.ij, 4)
    block.dense(mt.ij, 4).place(x)
    count = mt.field(mt.i32, shape=())
    cells = mt.field(mt.i32, shape=())

    @mt.kernel
    def fill():
        for i in range(3):
            x[5 * i, 5 * i] = i + 1.0

    @mt.kernel
    def walk():
        for _i, _j in x:
            count[None] += 1
        for _i, _j in block:
            cells[None] += 1

    @mt.kernel
    def ask(i: mt.i32) -> mt.i32:
        return mt.is_active(block, [i, i])

    fill()
    walk()
    assert (count[None], cells[None]) == (48, 3)
    assert [ask(i) for i in (0, 1, 3)] == [1, 1, 0]


def test_parents_of_fields():
    x, y = mt.field(mt.f32), mt.field(mt.i32, shape=4)
    pointers = mt.root.pointer(mt.i, 4)
    pointers.dense(mt.i, 8).place(x)

    @mt.data_oriented
    class Holder:
        def __init__(self):
            self.x = x

        @mt.kernel
        def go(self) -> mt.i32:
            self.x[9] = 1.0
            count = 0
            for i in self.x.parent(2):
                count += 10
                y[i] = self.x.parent().shape[0]
            for i in range(4):
                count += mt.is_active(self.x.parent().parent(), [i])
            return count

    assert Holder().go() == 11
    np.testing.assert_array_equal(y.to_numpy(), [0, 32, 0, 0])
    assert Holder.go.instances()[0].signature.startswith("go(self: test_parents")


def test_functions_use_fields(rng):
    x, a = filled(rng, mt.f32, (8,))

    @mt.func
    def double(i):
        x[i] *= 2.0
        return x[i]

    @mt.func
    def through(f: mt.template(), i):
        return f[i] + double(i)

    @mt.kernel
    def go() -> mt.f32:
        s = 0.0
        for i in range(8):
            s += through(x, i)
        return s

    assert go() == pytest.approx(float((a + 2 * a).sum()), rel=1e-5, abs=1e-4)
    np.testing.assert_allclose(x.to_numpy(), 2 * a, rtol=1e-6)


def test_objects_from_outside():
    @mt.data_oriented
    class Table:
        def __init__(self):
            self.scale = 3
            self.rows = {"a": mt.field(mt.i32, shape=4), "b": [mt.field(mt.i32, shape=4)]}

        @mt.func
        def put(self, i):
            self.rows["b"][0][i] = self.rows["a"][i] * self.scale

    table = Table()

    @mt.kernel
    def go():
        for i in table.rows["a"]:
            table.rows["a"][i] += i
            table.put(i)

    go()
    table.scale = 5  # read when it was compiled, as all that is global
    go()
    np.testing.assert_array_equal(table.rows["b"][0].to_numpy(), 6 * np.arange(4))
    assert len(go.instances()) == 1


def test_a_list_of_fields(rng):
    fields = [mt.field(mt.i32, shape=4) for _ in range(3)]

    @mt.kernel
    def go():
        for i in range(4):
            for k, f in mt.static(enumerate(fields)):
                f[i] = 10 * k + i
            fields[1][i] += 100

    go()
    for k, f in enumerate(fields):
        np.testing.assert_array_equal(f.to_numpy(), 10 * k + np.arange(4) + 100 * (k == 1))


def test_results_and_hidden_arguments(rng):
    x, a = filled(rng, mt.f32, (9,))

    @mt.kernel
    def total(scale: mt.f32) -> mt.f32:
        s = 0.0
        for i in x:
            s += x[i] * scale
        return s

    assert total(3.0) == pytest.approx(float(a.sum() * 3), rel=1e-4, abs=1e-3)
    text = total.import_module().text(False)
    assert re.findall(r'metate.name = "([^"]*)"', text) == ["scale", "x", "return"]


def test_many_fields_in_one_kernel():
    fields = [mt.field(mt.i32, shape=3) for _ in range(40)]

    @mt.kernel
    def go(a: mt.i32, b: mt.f32):
        for k in mt.static(range(40)):
            for i in fields[k]:
                fields[k][i] += k + a + i

    go(1, 2.0)
    go(2, 0.5)
    for k, f in enumerate(fields):
        np.testing.assert_array_equal(f.to_numpy(), 2 * k + 3 + 2 * np.arange(3))
    assert go.instances()[0].hits == 2


def test_a_field_and_an_argument_may_be_one_tree():
    x = mt.field(mt.i32, shape=8)
    x.fill(1)

    @mt.kernel
    def shifted(t: mt.template()):
        for i in range(7):
            t[i] = x[i] + 1

    y = mt.field(mt.i32, shape=8)
    shifted(y)
    shifted(x)
    np.testing.assert_array_equal(y.to_numpy()[:7], np.full(7, 2))
    assert len(shifted.instances()) == 2  # fields that share a tree are compiled for
    assert "share a tree" in shifted.instances()[1].reason


def test_a_field_is_placed_again():
    builder, x = mt.FieldsBuilder(), mt.field(mt.i32)
    builder.dense(mt.i, 4).place(x)
    tree = builder.finalize()

    @mt.kernel
    def fill(v: mt.i32):
        for i in x:
            x[i] = v + i

    @mt.kernel
    def unrelated(v: mt.i32) -> mt.i32:
        return v + 1

    fill(3)
    assert unrelated(1) == 2
    np.testing.assert_array_equal(x.to_numpy(), [3, 4, 5, 6])
    tree.destroy()
    with pytest.raises(mt.CompilationError, match=r"test_captures.py:\d+:\d+: .*was destroyed with its tree; place it again"):
        fill(1)
    again = mt.FieldsBuilder()
    again.dense(mt.i, 4).place(x)
    fill(5)
    np.testing.assert_array_equal(x.to_numpy(), [5, 6, 7, 8])
    again.finalize().destroy()
    third = mt.FieldsBuilder()
    third.dense(mt.i, 6).place(x)
    fill(7)
    np.testing.assert_array_equal(x.to_numpy(), 7 + np.arange(6))
    assert [one.hits for one in fill.instances()] == [2, 1]
    assert unrelated(2) == 3 and len(unrelated.instances()) == 1


def test_a_destroyed_tree_is_given_back():
    builder, x = mt.FieldsBuilder(), mt.field(mt.i32)
    builder.dense(mt.i, 4).place(x)
    tree = builder.finalize()

    @mt.kernel
    def fill():
        for i in x:
            x[i] = i

    fill()
    memory = weakref.ref(x._tree)
    tree.destroy()
    gc.collect()
    assert memory() is None


def test_one_kernel_in_several_contexts():
    x = mt.field(mt.i32, shape=4)

    @mt.kernel
    def add(v: mt.i32):
        for i in x:
            x[i] += v

    add(1)
    with mt.Context(threads=1, opt_level=0):
        add(10)
        assert len(add.instances()) == 1
    with mt.Context(mt.interp):
        add(100)
    add(1000)
    np.testing.assert_array_equal(x.to_numpy(), np.full(4, 1111))
    assert [one.hits for one in add.instances()] == [2]


def test_globals_are_read_when_compiled():
    scale = 2
    x = mt.field(mt.i32, shape=2)

    @mt.kernel
    def go():
        for i in x:
            x[i] = scale

    go()
    scale = 3
    go()
    np.testing.assert_array_equal(x.to_numpy(), [2, 2])


def test_wrong_uses_are_shown_at_their_line():
    x = mt.field(mt.f32, shape=(4, 4))
    loose = mt.field(mt.f32)

    @mt.kernel
    def indices():
        x[1] = 2.0

    @mt.kernel
    def whole():
        x = 3  # noqa: F841
        loose[0] = 1.0

    @mt.kernel
    def attribute() -> mt.f32:
        return x.size

    @mt.kernel
    def inner():
        for _ in range(4):
            for _i, _j in x:
                pass

    @mt.kernel
    def assigned():
        x[0, 0] = x

    for kernel, text in (
        (indices, r"wrong number of indices: expected 2 indices for field 'x' of shape \(4, 4\), got 1"),
        (whole, "has no place: give it a shape"),
        (attribute, "field 'x' has no attribute 'size'"),
        (inner, "must be the outermost one"),
        (assigned, "expected a value, got field 'x'"),
    ):
        with pytest.raises(mt.CompilationError, match=rf"test_captures.py:\d+:\d+: .*{text}"):
            kernel()
