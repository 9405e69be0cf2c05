"""mt.ndarray: elements from Python and from kernels, whole arrays, struct arrays, annotations."""

import copy
import pickle

import numpy as np
import pytest

import metate as mt

vec3 = mt.types.vector(3, mt.f32)
mat23 = mt.types.matrix(2, 3, mt.f64)
SCALARS = [t for t in mt.types.DTYPES if t is not mt.bf16]


@pytest.mark.parametrize("dtype", mt.types.DTYPES, ids=str)
def test_scalars_from_python_and_from_kernels(dtype, rng):
    @mt.kernel
    def copy_all(x: mt.types.ndarray(dtype=dtype, ndim=2), y: mt.types.ndarray(dtype=dtype, ndim=2)):
        for i, j in y:
            y[i, j] = x[j, i]

    shape = tuple(map(int, rng.integers(1, 9, 2)))
    x, y = mt.ndarray(dtype, shape), mt.ndarray(dtype, shape[::-1])
    assert x.shape == shape and x.dtype is dtype and x.element_shape == () and not x.to_numpy().any()
    values = rng.integers(0, 2 if dtype is mt.u1 else 100, shape)
    x.from_numpy(values)
    x[0, 0] = 1
    values[0, 0] = 1
    copy_all(x, y)
    np.testing.assert_array_equal(y.to_numpy(), values.T)
    assert y[0, 0] == 1 and type(y[0, 0]) in (int, float, bool)


def test_vectors_write_through(rng):
    x = mt.Vector.ndarray(3, mt.f32, (4, 5))
    assert (x.shape, x.element_shape, x.n, x.m, x.dtype) == ((4, 5), (3,), 3, 1, mt.f32)
    x[1, 2] = [1, 2, 3]
    x[1, 2].y = 7
    x[1, 2][0] += 0.5
    x[3, 4].xz = 8, 9
    x[0, 0] = 4
    want = np.zeros((4, 5, 3), np.float32)
    want[1, 2], want[3, 4], want[0, 0] = [1.5, 7, 3], [8, 0, 9], 4
    np.testing.assert_array_equal(x.to_numpy(), want)
    assert x[1, 2].norm() == pytest.approx(np.linalg.norm(want[1, 2]))


def test_vectors_and_matrices_in_kernels(rng):
    @mt.kernel
    def turn(m: mt.types.ndarray(dtype=mat23, ndim=1), v: mt.types.ndarray(dtype=vec3), w: mt.types.ndarray()):
        for i in m:
            w[i] = m[i] @ v[i]
            v[i].y = i
            v[i][2] *= 2
            m[i][1, 0] = m.shape[0]

    n = int(rng.integers(1, 50))
    m, v, w = mt.Matrix.ndarray(2, 3, mt.f64, n), mt.Vector.ndarray(3, mt.f32, n), mt.Vector.ndarray(2, mt.f64, n)
    a, b = rng.standard_normal((n, 2, 3)), rng.standard_normal((n, 3)).astype(np.float32)
    m.from_numpy(a)
    v.from_numpy(b)
    turn(m, v, w)
    np.testing.assert_allclose(w.to_numpy(), np.einsum("nij,nj->ni", a, b), atol=1e-5)
    b[:, 1], b[:, 2], a[:, 1, 0] = np.arange(n), b[:, 2] * 2, n
    np.testing.assert_array_equal(v.to_numpy(), b)
    np.testing.assert_array_equal(m.to_numpy(), a)


def test_a_kernel_without_types_is_compiled_for_elements():
    @mt.kernel
    def double(x: mt.types.ndarray):
        for I in mt.grouped(x):
            x[I] *= 2

    v, a = mt.Vector.ndarray(3, mt.f32, 4), np.ones((4, 3), np.float32)
    v.fill(1)
    double(v)
    double(a)
    double(v)
    assert (v.to_numpy() == 4).all() and (a == 2).all()
    signatures = [i.signature for i in double.instances()]
    assert signatures == ["double(x: vector(3, f32)[:])", "double(x: f32[:, :])"]


def test_fill_copy_and_whole_arrays(rng):
    x, y = mt.Vector.ndarray(2, mt.i32, (3, 3)), mt.Vector.ndarray(2, mt.f32, (3, 3))
    x.fill(5)
    assert (x.to_numpy() == 5).all()
    x.fill([1, 2])
    y.copy_from(x)
    np.testing.assert_array_equal(y.to_numpy(), np.broadcast_to([1, 2], (3, 3, 2)))
    z = copy.deepcopy(y)
    z[0, 0] = 9
    assert y[0, 0].x == 1 and type(z) is type(y) and repr(z) == "<metate.ndarray of vector(2, f32), shape (3, 3)>"
    back = pickle.loads(pickle.dumps(z))
    np.testing.assert_array_equal(back.to_numpy(), z.to_numpy())
    with pytest.raises(mt.errors.RuntimeValueError_, match=r"from_numpy: expected an array of shape \(3, 3, 2\), got \(3, 3\)"):
        x.from_numpy(np.zeros((3, 3)))
    with pytest.raises(mt.errors.RuntimeValueError_, match="copy_from: expected shape"):
        x.copy_from(mt.ndarray(mt.i32, (3, 3)))
    with pytest.raises(mt.errors.RuntimeValueError_, match="fill: expected a number or an element of shape"):
        x.fill([1, 2, 3])
    with pytest.raises(mt.errors.RuntimeTypeError_, match="copy_from: expected an ndarray"):
        x.copy_from(np.zeros((3, 3)))


def test_bf16_is_rounded_as_kernels_round(rng):
    @mt.kernel
    def store(x: mt.types.ndarray(dtype=mt.bf16, ndim=1), y: mt.types.ndarray(dtype=mt.f32, ndim=1)):
        for i in x:
            x[i] = y[i]

    values = np.concatenate([rng.standard_normal(100), [np.inf, -0.0, 1e-40, 3e38]]).astype(np.float32)
    x, y = mt.ndarray(mt.bf16, len(values)), mt.ndarray(mt.bf16, len(values))
    store(x, values)
    y.from_numpy(values)
    np.testing.assert_array_equal(x.to_numpy(), y.to_numpy())
    y.fill(np.nan)
    assert np.isnan(y.to_numpy()).all() and np.isnan(np.asarray(y)).all()


def test_without_dimensions_and_without_elements():
    @mt.kernel
    def touch(x: mt.types.ndarray(dtype=mt.f32, ndim=0), y: mt.types.ndarray(dtype=mt.i32, ndim=2)):
        x[None] += 1.5
        for i, j in y:
            y[i, j] = 1

    x, y = mt.ndarray(mt.f32, ()), mt.ndarray(mt.i32, (0, 3))
    x[None] = 2
    touch(x, y)
    assert x[None] == 3.5 and x.shape == () and y.to_numpy().shape == (0, 3) and len(y) == 0
    with pytest.raises(TypeError, match="has no length"):
        len(x)


def test_wrong_indices_from_python():
    x = mt.ndarray(mt.f32, (2, 3))
    for index, text in (((2, 0), "index out of range"), ((0, -1), "index out of range"), (0, "expected 2 indices, got 0")):
        with pytest.raises(mt.RuntimeIndexError_, match=text):
            x[index]
        with pytest.raises(mt.RuntimeIndexError_, match=text):
            x[index] = 1
    with pytest.raises(mt.errors.RuntimeTypeError_, match="element"):
        x[0, 0] = "a"
    with pytest.raises(TypeError):
        x["a", "b"]
    key = [0, 0]

    class Clearing:
        def __index__(self):
            key.clear()
            return 1

    key[0] = Clearing()
    assert x._read(key) == 0 and key == []


def test_elements_without_a_field():
    from metate_native import _runtime

    elements = _runtime.Elements.__new__(_runtime.Elements)
    with pytest.raises(mt.errors.RuntimeTypeError_, match="without their field"):
        elements[0]
    with pytest.raises(mt.errors.RuntimeTypeError_, match="without their field"):
        elements[0] = 1


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ((mt.f32, (-1,)), mt.errors.RuntimeValueError_, "expected extents from 0"),
        ((mt.f32, 2.5), mt.errors.RuntimeTypeError_, "expected an integer or a sequence"),
        ((mt.f32, (2, "a")), mt.errors.RuntimeTypeError_, "expected integers"),
        ((mt.f32, (1,) * 13), mt.errors.RuntimeValueError_, "at most 12 dimensions, got 13"),
        (("f33", 2), mt.errors.RuntimeTypeError_, "expected a scalar, vector, matrix or struct type"),
        ((mt.i32, 2, True), mt.errors.RuntimeTypeError_, "needs_grad: expected elements of a float type, got i32"),
        ((mt.f64, (2**30, 2**30, 2**10)), mt.errors.RuntimeValueError_, "no memory"),
    ],
)
def test_wrong_arrays(arguments, kind, text):
    with pytest.raises(kind, match=text):
        mt.ndarray(*arguments)


def test_default_types_and_grad():
    assert mt.ndarray(float, 2).dtype is mt.f32 and mt.ndarray(int, 2).dtype is mt.i32
    x = mt.ndarray(mt.f32, (2, 2), needs_grad=True)
    assert x.grad.shape == (2, 2) and x.grad.grad is None and mt.ndarray(mt.f32, 2).grad is None


S = mt.types.struct(pos=vec3, mass=mt.f64, inner=mt.types.struct(a=mt.i32, on=mt.u1, m=mt.types.matrix(2, 2, mt.f16)))


def test_structs_in_kernels(rng):
    @mt.kernel
    def step(s: mt.types.ndarray(dtype=S, ndim=2), t: mt.types.ndarray()):
        for i, j in s:
            s[i, j].pos += vec3(1, 2, 3) * s[i, j].mass
            s[i, j].pos.y = j
            s[i, j].inner.a += i
            s[i, j].inner.m[1, 0] = 2.5
            t[i, j] = s[i, j]
        for I in mt.grouped(t):
            t[I].inner = S.members["inner"](7, True, mt.Matrix([[1, 2], [3, 4]])) if t[I].inner.a > 2 else t[I].inner

    shape = (4, 3)
    s, t = mt.ndarray(S, shape), mt.ndarray(S, shape)
    pos, mass, a = rng.standard_normal((*shape, 3)).astype(np.float32), rng.integers(1, 9, shape), rng.integers(0, 3, shape)
    s.get_member("pos").from_numpy(pos)
    s.get_member("mass").from_numpy(mass)
    s.get_member("inner").get_member("a").from_numpy(a)
    step(s, t)
    pos = pos + np.float32([1, 2, 3]) * mass[..., None]
    pos[..., 1] = np.arange(3)
    a = a + np.arange(4)[:, None]
    found, other = s.to_numpy(), t.to_numpy()
    np.testing.assert_allclose(found["pos"], pos, rtol=1e-6)
    np.testing.assert_array_equal(found["mass"], mass)
    np.testing.assert_array_equal(found["inner"]["a"], a)
    assert (found["inner"]["m"] == [[0, 0], [2.5, 0]]).all()
    np.testing.assert_array_equal(other["inner"]["a"], np.where(a > 2, 7, a))
    np.testing.assert_array_equal(other["inner"]["on"], a > 2)
    assert [i.may_alias for i in step.instances()] == [False], "members lie between each other, and do not overlap"
    step(s, s)
    assert [i.may_alias for i in step.instances()] == [False, True]


def test_structs_from_python():
    s = mt.ndarray(S, 3)
    s[1] = S(pos=[1, 2, 3], mass=4)
    s[1].mass = 5
    s[1].inner.a = 6
    s[1].pos.x = 7
    s[2] = {"pos": 1, "mass": 2, "inner": {"a": 3, "on": True, "m": 4}}
    assert s[1].mass == 5 and s[1].inner.a == 6 and s[1].pos.tolist() == [7, 2, 3] and s[2].inner.on is True
    memory = np.asarray(s)
    assert memory.dtype.isalignedstruct and memory["inner"]["a"].tolist() == [0, 6, 3]
    other = copy.deepcopy(s)
    s.fill(0)
    assert not s.to_numpy()["pos"].any() and other[1].mass == 5
    s.copy_from(other)
    s.from_numpy({**other.to_numpy(), "mass": np.array([1, 2, 3])})
    assert s[2].mass == 3 and s.keys == ["pos", "mass", "inner"] and len(s) == 3
    assert repr(s).startswith("<metate.ndarray of struct(") and repr(s).endswith("shape (3,)>")
    with pytest.raises(mt.errors.RuntimeTypeError_, match="no member 'x': it has pos, mass, inner"):
        s.get_member("x")
    with pytest.raises(mt.errors.RuntimeTypeError_, match="expected a struct or dict with members"):
        s[0] = {"pos": 1}
    with pytest.raises(mt.errors.RuntimeValueError_, match="from_numpy: expected members pos, mass, inner"):
        s.from_numpy({"pos": 1})


@pytest.mark.parametrize(
    "annotation",
    [
        mt.types.ndarray(dtype=mt.f32, element_dim=1, ndim=2),
        mt.types.ndarray(mt.f32, 2, 1, (3,)),
        mt.types.ndarray(element_shape=(3,), field_dim=2),
        mt.types.ndarray(dtype=vec3, element_dim=1),
        mt.types.ndarray(element_dim=1, needs_grad=False),
        mt.types.NDArray[vec3, 2],
    ],
    ids=repr,
)
def test_spellings_of_elements(annotation, rng):
    @mt.kernel
    def add(x: annotation):
        for i, j in x:
            x[i, j] += mt.math.vec3(i, j, 1)

    x = mt.Vector.ndarray(3, mt.f32, (2, 4))
    y = np.zeros((2, 4, 3), np.float32)
    add(x)
    add(y)
    want = np.stack([*np.indices((2, 4)), np.ones((2, 4))], -1)
    np.testing.assert_array_equal(x.to_numpy(), want)
    np.testing.assert_array_equal(y, want)
    assert len(add.instances()) == 1


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: mt.types.ndarray(mt.f32, 2, field_dim=3), "expected ndim or field_dim"),
        (lambda: mt.types.ndarray(mt.f32, 13), "ndim: expected 0 to 12, got 13"),
        (lambda: mt.types.ndarray(mt.f32, "2"), "ndim: expected an integer"),
        (lambda: mt.types.ndarray(mt.f32, element_dim=3), "element_dim: expected 0 to 2, got 3"),
        (lambda: mt.types.ndarray(vec3, element_shape=(4,)), r"expected element_dim and element_shape of vector\(3, f32\)"),
        (lambda: mt.types.ndarray(mt.f32, element_dim=1, element_shape=(2, 2)), "element_shape: expected 1 extents"),
        (lambda: mt.types.ndarray(mt.f32, needs_grad="x"), "needs_grad: expected True, False or None, got 'x'"),
        (lambda: mt.types.ndarray(mt.f32, boundary="wrap"), "boundary: expected 'unsafe' or 'clamp', got 'wrap'"),
        (lambda: mt.types.ndarray("f33"), "ndarray dtype: expected a scalar, vector, matrix or struct type"),
    ],
)
def test_wrong_annotations(build, text):
    with pytest.raises((TypeError, ValueError), match=text):
        build()


def test_arguments_that_are_not_what_the_annotation_says():
    @mt.kernel
    def k(x: mt.types.ndarray(dtype=vec3, ndim=1)):
        x[0] = vec3(1)

    @mt.kernel
    def s(x: mt.types.ndarray(dtype=S, ndim=1)):
        x[0].mass = 1

    for kernel, argument, text in (
        (k, mt.ndarray(mt.f32, (4, 3)), r"expected an array of vector\(3, f32\), got one of f32"),
        (k, mt.Vector.ndarray(2, mt.f32, 4), r"expected an array of vector\(3, f32\), got one of vector\(2, f32\)"),
        (k, mt.Vector.ndarray(3, mt.f32, (4, 1)), "expected 1 dimensions, got 2"),
        (k, np.zeros((4, 2), np.float32), r"expected last dimensions \(3,\)"),
        (k, np.zeros(3, np.float64), "expected an array of f32, got one of f64"),
        (k, mt.ndarray(S, 2), "got one of struct"),
        (k, 3, "expected an array, got int"),
        (s, mt.ndarray(mt.f32, 2), "expected an array of struct"),
        (s, np.zeros(2, np.float32), "expected an ndarray of struct"),
    ):
        with pytest.raises(mt.errors.RuntimeTypeError_, match=text):
            kernel(argument)


def test_indices_are_clamped_where_asked(rng):
    @mt.kernel
    def blur(x: mt.types.ndarray(dtype=mt.f32, ndim=2, boundary="clamp"), y: mt.types.ndarray(dtype=mt.f32, ndim=2)):
        for i, j in y:
            total = 0.0
            for di, dj in mt.static(mt.ndrange((-2, 3), (-2, 3))):
                total += x[i + di, j + dj]
            y[i, j] = total

    x = rng.integers(0, 100, (7, 5)).astype(np.float32)
    y = np.zeros_like(x)
    blur(x, y)
    padded = np.pad(x, 2, mode="edge")
    want = sum(padded[i : i + 7, j : j + 5] for i in range(5) for j in range(5))
    np.testing.assert_array_equal(y, want)


def test_out_of_range_names_the_member(rng):
    @mt.kernel(debug=True)
    def far(s: mt.types.ndarray(dtype=S, ndim=1), v: mt.types.ndarray(dtype=vec3, ndim=1), at: mt.i32):
        for i in range(1):
            v[at] = vec3(i)
            s[at].inner.a = i

    s, v = mt.ndarray(S, 4), mt.Vector.ndarray(3, mt.f32, 9)
    line = far.source.first_line + 3
    with pytest.raises(mt.RuntimeIndexError_, match=rf":{line}:.*v\[12\] of shape \(9,\)"):
        far(s, v, 12)
    with pytest.raises(mt.RuntimeIndexError_, match=rf":{line + 1}:.*s\.inner\.a\[7\] of shape \(4,\)"):
        far(s, v, 7)
