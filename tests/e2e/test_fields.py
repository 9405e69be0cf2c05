"""Fields from Python: elements, whole fields to and from arrays, values; against NumPy, for every kind of field."""

import gc
import itertools
import os
import sys
import threading
import types
import weakref

import numpy as np
import pytest
from lent import Lent

import metate as mt

DTYPES = [mt.u1, mt.i8, mt.i16, mt.i32, mt.i64, mt.u8, mt.u16, mt.u32, mt.u64, mt.f16, mt.f32, mt.f64]
ELEMENTS = [mt.f32, mt.types.vector(3, mt.f32), mt.types.matrix(2, 3, mt.f64), mt.types.vector(2, mt.i16)]


def random_array(rng, element, shape):
    """Values of an element type over a shape, exact in that type."""
    scalar = getattr(element, "dtype", element)
    shape = tuple(shape) + tuple(getattr(element, "shape", ()))
    if scalar.is_float:
        return rng.standard_normal(shape).astype(scalar.numpy)
    low, high = scalar.range()
    return rng.integers(low, high, shape, scalar.numpy if scalar is not mt.u1 else np.uint8, endpoint=True).astype(scalar.numpy)


def dense(element, shape, offset=None):
    return mt.field(element, shape, offset=offset)


def column_major(element, shape, offset=None):
    return mt.field(element, shape, order="ijk"[: len(shape)][::-1], offset=offset)


def split(element, shape, offset=None):
    if isinstance(element, mt.types.VectorType):
        return mt.Vector.field(element.n, element.dtype, shape, layout=mt.Layout.SOA, offset=offset)
    if isinstance(element, mt.types.MatrixType):
        return mt.Matrix.field(element.n, element.m, element.dtype, shape, layout=mt.Layout.SOA, offset=offset)
    return mt.field(element, shape, offset=offset)


def shared(element, shape, offset=None):
    """In cells that hold other fields as well, in two levels."""
    before, made, after = mt.field(mt.u8), mt.field(element), mt.Vector.field(2, mt.f64)
    axes = mt.axes(*range(len(shape)))
    outer = mt.root.dense(axes, shape)
    outer.dense(axes, 1).place(before, made, after, offset=offset)
    return made


KINDS = [dense, column_major, split, shared]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("element", ELEMENTS, ids=repr)
@pytest.mark.parametrize("offset", [None, (-3, 5)])
def test_elements_and_arrays_agree(rng, kind, element, offset):
    shape = (int(rng.integers(1, 40)), int(rng.integers(1, 40)))
    x = kind(element, shape, offset)
    first = offset or (0, 0)
    assert x.shape == shape and x.offset == first and len(x) == shape[0]
    assert not x.to_numpy().any()
    given = random_array(rng, element, shape)
    x.from_numpy(given)
    assert np.array_equal(x.to_numpy(), given)
    for _ in range(20):
        at = tuple(rng.integers(0, shape))
        index = tuple(int(k + f) for k, f in zip(at, first))
        assert np.array_equal(x[index], given[at])
        given[at] = random_array(rng, element, ())
        x[index] = given[at]
    assert np.array_equal(x.to_numpy(), given)
    value = random_array(rng, element, ())
    x.fill(value)
    assert np.array_equal(x.to_numpy(), np.broadcast_to(value, given.shape))


@pytest.mark.parametrize("dtype", DTYPES, ids=repr)
def test_every_scalar_type_survives_every_way(rng, dtype):
    x = mt.field(dtype, 17)
    given = random_array(rng, dtype, (17,))
    x.from_numpy(given)
    assert x.to_numpy().dtype == dtype.numpy and np.array_equal(x.to_numpy(), given)
    k = int(rng.integers(17))
    assert x[k] == given[k].item() and type(x[k]) is type(given[k].item())
    x[0] = given[k]
    assert x[0] == given[k]
    x.fill(given[k].item())
    assert np.array_equal(x.to_numpy(), np.full(17, given[k]))


def test_bf16_is_rounded_to_nearest_even(rng):
    x, v = mt.field(mt.bf16, 100), mt.Vector.field(3, mt.bf16, 20)
    given = rng.standard_normal(100).astype(np.float32)
    given[:4] = np.inf, -np.inf, np.nan, 0.0
    x.from_numpy(given)
    expected = np.array([mt.bf16(float(k)) for k in given], np.float32)
    assert np.array_equal(x.to_numpy(), expected, equal_nan=True)
    for k in range(100):
        x[k] = float(given[k])
    assert np.array_equal(x.to_numpy(), expected, equal_nan=True)
    v[7] = given[4:7]
    assert np.array_equal(v[7], expected[4:7]) and v[7].dtype == np.float32


def test_keys_of_every_form():
    x = mt.field(mt.i32, (4, 5))
    for key in [(1, 2), [1, 2], np.array([1, 2]), mt.Vector([1, 2]), (np.int8(1), 2), ([1, 2],), (mt.Vector([1]), 2)]:
        x.fill(0)
        x[key] = 7
        assert x[1, 2] == 7 and x.to_numpy().sum() == 7 and x[key] == 7
    y = mt.field(mt.f64, ())
    y[None] = 2.5
    assert y[None] == y[()] == y[None,] == 2.5 and y.shape == () and y.to_numpy() == 2.5


def test_vectors_write_through(rng):
    v = mt.Vector.field(4, mt.f32, 3)
    v[1][2] = 5
    v[1].x = 1
    v[2].yw = 7, 8
    v[0] = mt.Vector([1, 2, 3, 4])
    v[0].rgb = [9, 9, 9]
    assert np.array_equal(v.to_numpy(), [[9, 9, 9, 4], [1, 0, 5, 0], [0, 7, 0, 8]])
    v[2] += 1
    v[1].fill(3)
    assert np.array_equal(v.to_numpy()[1:], [[3, 3, 3, 3], [1, 8, 1, 9]])
    m = mt.Matrix.field(2, 3, mt.f32, shape=2)
    m[1] = [[1, 2, 3], [4, 5, 6]]
    m[1][1, 2] = 9
    m[1][0][1] = 7
    row = m[1][1]
    row[0] = -1
    assert np.array_equal(m.to_numpy()[1], [[1, 7, 3], [-1, 5, 9]])


def test_a_value_that_was_read_is_a_copy():
    v = mt.Vector.field(2, mt.f32, 3)
    before = v[0]
    v[0] = [1, 2]
    assert np.array_equal(before, [0, 0])
    total = before + 1
    total[0] = 77
    assert np.array_equal(v.to_numpy(), [[1, 2], [0, 0], [0, 0]])


@pytest.mark.parametrize("layout", [mt.Layout.AOS, mt.Layout.SOA])
def test_structs(rng, layout):
    inner = mt.types.struct(a=mt.i32, b=mt.types.vector(2, mt.f32))
    s = mt.Struct.field({"pos": mt.types.vector(3, mt.f64), "mass": mt.f32, "in_": inner}, shape=(3, 4), layout=layout)
    assert s.keys == ["pos", "mass", "in_"] and s.shape == (3, 4)
    s[1, 2].pos = [1, 2, 3]
    s[1, 2].pos.y = 9
    s[1, 2].pos[0] = 4
    s[1, 2].mass = 0.5
    s[1, 2].in_.a = 7
    s[1, 2].in_.b[1] = 8
    element = s[1, 2]
    assert element.pos.tolist() == [4, 9, 3] and element["mass"] == 0.5 and element.in_.b.tolist() == [0, 8]
    s[0, 0] = element
    s[0, 1] = {"pos": [1, 1, 1], "mass": 3, "in_": {"a": 2, "b": [5, 6]}}
    s[0, 2] = mt.Struct(pos=[2, 2, 2], mass=1.0, in_=mt.Struct(a=1, b=[1, 2]))
    arrays = s.to_numpy()
    assert np.array_equal(arrays["pos"][0, :3], [[4, 9, 3], [1, 1, 1], [2, 2, 2]])
    assert arrays["in_"]["a"].sum() == 7 + 7 + 2 + 1 and arrays["in_"]["b"][0, 1].tolist() == [5, 6]
    arrays["pos"] = rng.standard_normal((3, 4, 3))
    s.from_numpy(arrays)
    assert np.array_equal(s.pos.to_numpy(), arrays["pos"]) and np.array_equal(s["pos"][2, 3], arrays["pos"][2, 3])
    copy = mt.Struct.field({"pos": mt.types.vector(3, mt.f64), "mass": mt.f32, "in_": inner}, shape=(3, 4))
    copy.copy_from(s)
    assert np.array_equal(copy.pos.to_numpy(), arrays["pos"]) and copy.in_.a[0, 1] == 2
    copy.fill(2)
    assert (copy.pos.to_numpy() == 2).all() and copy[1, 1].in_.a == 2
    copy.fill({"pos": [1, 2, 3], "mass": 0, "in_": {"a": 5, "b": 1}})
    assert copy[2, 2].pos.tolist() == [1, 2, 3] and copy[2, 2].in_.a == 5


def test_methods_of_a_struct_type():
    @mt.dataclass
    class Ball:
        center: mt.types.vector(2, mt.f32)
        radius: mt.f32

        def area(self):
            return 3 * self.radius**2

    balls = Ball.field(shape=3)
    balls[1] = Ball([1, 2], 2)
    balls[1].radius = 4
    assert balls[1].area() == 48 and balls.radius[1] == 4


def test_a_struct_read_writes_what_is_assigned_and_nothing_else():
    s = mt.Struct.field({"a": mt.i32, "b": mt.i32}, shape=2)
    element = s[0]
    s[0].b = 5
    element.a = 3
    assert s.a[0] == 3 and s.b[0] == 5


@pytest.mark.parametrize("kind", KINDS)
def test_conversions_of_arrays(rng, kind):
    x = kind(mt.types.vector(3, mt.f32), (4, 6))
    given = rng.standard_normal((6, 4, 3))
    x.from_numpy(given.transpose(1, 0, 2))  # strides, f64
    assert np.array_equal(x.to_numpy(), given.transpose(1, 0, 2).astype(np.float32))
    assert x.to_numpy(dtype=np.float64).dtype == np.float64 and x.to_numpy(mt.f16).dtype == np.float16
    assert x.to_numpy(keep_dims=True).shape == (4, 6, 3, 1)
    x.from_numpy(x.to_numpy(keep_dims=True) + 1)
    x.from_numpy(given.transpose(1, 0, 2).tolist())
    frozen = np.ones((4, 6, 3), np.float32)
    frozen.flags.writeable = False
    x.from_numpy(frozen)
    assert (x.to_numpy() == 1).all()
    y = kind(mt.types.vector(3, mt.f64), (4, 6))
    y.from_numpy(given.transpose(1, 0, 2))
    x.copy_from(y)
    assert np.array_equal(x.to_numpy(), given.transpose(1, 0, 2).astype(np.float32))
    same = kind(mt.types.vector(3, mt.f32), (4, 6))
    same.copy_from(x)
    x.fill(0)
    assert np.array_equal(same.to_numpy(), given.transpose(1, 0, 2).astype(np.float32))


def test_arrays_of_other_libraries(rng):
    x = mt.field(mt.f32, (5, 3))
    given = rng.standard_normal((5, 3)).astype(np.float32)
    x.from_numpy(Lent(given))
    assert np.array_equal(x.to_numpy(), given)
    x.from_numpy(memoryview(given * 2))
    assert np.array_equal(x.to_numpy(), given * 2)
    view = Lent(x.numpy_view())
    assert np.array_equal(np.from_dlpack(view), given * 2)


class Tensor:
    """What torch's tensors do: DLPack and NumPy only without a gradient and in the host's memory."""

    def __init__(self, array, state="with gradient on a device"):
        self.array, self.state = array, state

    def detach(self):
        return Tensor(self.array, self.state.replace("with", "without"))

    def cpu(self):
        return Tensor(self.array, self.state.replace("on a device", "here"))

    def to(self, device):
        return Tensor(self.array, f"on {device}")

    def __dlpack__(self, **keywords):
        assert self.state == "without gradient here"
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_tensors_of_torchs_kind(rng, monkeypatch):
    x = mt.Vector.field(2, mt.f32, 7)
    given = rng.standard_normal((7, 2))
    x.from_torch(Tensor(given))
    assert np.array_equal(x.to_numpy(), given.astype(np.float32))
    torch = types.ModuleType("torch")
    torch.from_numpy = lambda array: Tensor(array, "here")
    monkeypatch.setitem(sys.modules, "torch", torch)
    made = x.to_torch(device="gpu")
    assert made.state == "on gpu" and np.array_equal(made.array, given.astype(np.float32)) and x.to_torch().state == "here"


def test_torch(rng):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = mt.Vector.field(2, mt.f32, 7)
    given = torch.tensor(rng.standard_normal((7, 2)), dtype=torch.float64, requires_grad=True)
    x.from_torch(given)
    assert torch.equal(x.to_torch(), given.detach().float())


@pytest.mark.parametrize("kind", [dense, column_major, shared])
@pytest.mark.parametrize("element", ELEMENTS, ids=repr)
def test_views_are_the_memory(rng, kind, element):
    x = kind(element, (6, 5))
    view = x.numpy_view()
    assert view.shape == x.to_numpy().shape and view.flags.writeable
    view[...] = random_array(rng, element, (6, 5))
    assert np.array_equal(x.to_numpy(), view) and np.array_equal(x[3, 2], view[3, 2])
    x[5, 4] = random_array(rng, element, ())
    assert np.array_equal(view[5, 4], x[5, 4])


def test_views_keep_the_memory(rng):
    x = mt.field(mt.f32, 1000)
    x.from_numpy(given := rng.standard_normal(1000).astype(np.float32))
    tree = weakref.ref(x._tree)
    view = x.numpy_view()[100:200]
    del x
    gc.collect()
    assert tree() is not None and np.array_equal(view, given[100:200])
    del view
    assert tree() is None


def test_memory_goes_with_the_last_field():
    x, y = mt.field(mt.f32), mt.field(mt.f32)
    mt.root.dense(mt.i, 10).place(x, y)
    x[3] = 4
    tree = weakref.ref(x._tree)
    level = x.parent()
    del x
    assert y[3] == 0 and tree() is not None
    del y  # no cycles: nothing waits for the collector
    assert tree() is None and level.shape == (10,)


def test_components_as_fields(rng):
    for layout in mt.Layout:
        v = mt.Matrix.field(2, 2, mt.f32, shape=5, layout=layout)
        v.from_numpy(given := rng.standard_normal((5, 2, 2)).astype(np.float32))
        part = v.get_scalar_field(1, 0)
        assert np.array_equal(part.to_numpy(), given[:, 1, 0]) and part[3] == given[3, 1, 0] and part.shape == (5,)
        part[3] = 8
        given[3, 1, 0] = 8
        assert np.array_equal(v.to_numpy(), given)
        part.fill(2)
        given[:, 1, 0] = 2
        assert np.array_equal(v.to_numpy(), given)
        part.from_numpy(np.arange(5))
        assert np.array_equal(v.to_numpy()[:, 1, 0], np.arange(5))


def test_sparse_fields_take_arrays_where_they_are_active(rng):
    x, v = mt.field(mt.f32), mt.Vector.field(2, mt.f32)
    mt.root.pointer(mt.ij, (4, 3)).dense(mt.ij, (2, 5)).place(x, v, offset=(-4, 2))
    assert not x.is_active(0, 3)
    x[0, 3] = 5
    assert x.is_active(0, 3) and x.is_active(1, 6) and not x.is_active(-1, 3) and v.is_active(0, 3)
    given = rng.standard_normal((8, 15)).astype(np.float32)
    x.from_numpy(given)
    expected = np.zeros_like(given)
    expected[4:6, 0:5] = given[4:6, 0:5]
    assert np.array_equal(x.to_numpy(), expected)
    v.fill(3)
    assert v.to_numpy().sum() == 2 * 10 * 3 and np.array_equal(v[0, 3], [3, 3])
    x.activate(-4, 2)
    x.fill(1)
    assert x.to_numpy().sum() == 20
    y = mt.field(mt.f32, (8, 15))
    y.copy_from(x)
    assert np.array_equal(y.to_numpy(), x.to_numpy())


def test_print_shows_the_elements():
    x = mt.field(mt.i32, (2, 2), name="height")
    x[1, 0] = 7
    assert str(x) == "[[0 0]\n [7 0]]" and repr(x) == "<field height of i32, shape (2, 2)>"


def test_values_outside_kernels():
    v, m = mt.Vector([3, 4]), mt.Matrix([[1.0, 2], [3, 4]])
    assert v.norm() == 5 and v.norm_sqr() == 25 and v.dot([1, 1]) == 7 and v.normalized().tolist() == [0.6, 0.8]
    assert (v + 1).tolist() == [4, 5] and (m @ v).tolist() == [11, 25] and m.transpose().tolist() == [[1, 3], [2, 4]]
    assert (v.x, v.yx.tolist(), v[1], m[1, 0], m.n, m.m) == (3, [4, 3], 4, 3.0, 2, 2) and list(v) == [3, 4]
    assert np.allclose(m.inverse() @ m, np.eye(2)) and abs(m.determinant() + 2) < 1e-12 and m.trace() == 5
    assert mt.Vector([1, 0, 0]).cross([0, 1, 0]).tolist() == [0, 0, 1] and v.cross([1, 2]) == 2
    assert v.outer_product([1, 2]).tolist() == [[3, 6], [4, 8]] and v.cast(mt.f32).dtype == np.float32
    v.x = 9
    v[1] += 1
    assert v.to_list() == [9, 5] and type(v.to_numpy()) is np.ndarray
    for name in ("z", "foo"):
        with pytest.raises(AttributeError, match=f"vector of 2 has no component or method '{name}'"):
            getattr(v, name)
        with pytest.raises(AttributeError, match=f"vector of 2 has no component '{name}'"):
            setattr(v, name, 1)


def test_python_values_are_literals_in_kernels():
    gravity, weights = mt.Vector([0, -9.8]), mt.types.vector(2, mt.f64)(1, 2)

    @mt.kernel
    def pull(x: mt.types.vector(2, mt.f32)) -> mt.types.vector(2, mt.f32):
        return x + gravity * 2

    @mt.kernel
    def weigh() -> mt.f64:
        return weights[0] + weights.y

    assert np.array_equal(pull([1, 1]), np.array([1, 1], np.float32) + np.float32(-9.8) * np.array([0, 2], np.float32))
    assert weigh() == 3


def test_threads_meet_at_the_first_use():
    for _ in range(20):
        x = mt.field(mt.i32, 64)
        ready = threading.Barrier(4)

        def write(k, x=x, ready=ready):
            ready.wait()
            for i in range(k, 64, 4):
                x[i] = i

        threads = [threading.Thread(target=write, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert np.array_equal(x.to_numpy(), np.arange(64))


def test_equal_fields_have_equal_placements():
    made = [mt.Vector.field(3, mt.f32, shape=(4, 5), offset=(1, 2), order="ji") for _ in range(3)]
    assert len({x._placement for x in made}) == 1 and len({id(x._placement.tree) for x in made}) == 1
    others = [mt.Vector.field(3, mt.f32, (4, 5), offset=(1, 2)), mt.Vector.field(3, mt.f32, (4, 5), order="ji")]
    assert len({x._placement for x in (*made, *others)}) == 3
    for a, b in itertools.combinations(made, 2):
        assert a._tree is not b._tree


def test_typed_values_are_constants_of_their_type():
    start = mt.types.vector(3, mt.i8)(100, 100, 100)

    @mt.kernel
    def doubled() -> mt.types.vector(3, mt.i8):
        v = start
        return v + start

    assert np.array_equal(doubled(), np.full(3, -56, np.int8))


@pytest.mark.skipif("METATE_TEST_INTERP" in os.environ, reason="the interpreter checks every access")
def test_reading_a_row_outside_meets_no_other_memory():
    """Release kernels check no coordinates; around a dense field there are zeros, then its own cells, not another's."""
    n = 512
    x, total = mt.field(mt.f32, shape=(n, n)), mt.field(mt.f32, shape=n)
    x.fill(1)

    @mt.kernel
    def around():
        for j in range(n):
            total[j] = x[n, j] + x[n + 5, j] + 0 * mt.cast(mt.bit_cast(x[-1, j], mt.i32) & 1, mt.f32)

    around()
    assert (total.to_numpy() == 0).all()
