"""Whole fields to and from arrays: every shape of a box, shares of several workers, cells under bits."""

import numpy as np
import pytest
import seeded

import metate as mt

rng = seeded.generator("transfers")

LARGE = 1 << 19  # f32 elements: several workers' shares


def _random(shape, dtype=np.float32):
    return (rng.random(shape) * 1000).astype(dtype)


def _both_ways(x):
    given = _random(x.to_numpy().shape, x.dtype.numpy)
    x.from_numpy(given)
    np.testing.assert_array_equal(x.to_numpy(), given)
    return given


@pytest.mark.parametrize("shape", [(LARGE,), (LARGE + 13,), (700, 900), (64, 5, 2000), (3, 3)])
@pytest.mark.parametrize("dtype", ["f32", "f64", "u8", "f16"])
def test_dense_fields(shape, dtype):
    x = mt.field(getattr(mt, dtype), shape=shape)
    given = _both_ways(x)
    y = mt.field(x.dtype, shape=shape)
    y.copy_from(x)
    np.testing.assert_array_equal(y.to_numpy(), given)
    at = tuple(n - 1 for n in shape)
    assert x[at] == given[at]


@pytest.mark.parametrize(
    ("shape", "order"),
    [((700, 903), "ji"), ((1024, 512), "ji"), ((40, 70, 330), "kji"), ((33, 80, 90), "jki"), ((80, 33, 190), "kij")],
)
@pytest.mark.parametrize("dtype", ["f32", "f64", "u8"])
def test_other_orders_of_axes(shape, order, dtype):
    x = mt.field(getattr(mt, dtype), shape=shape, order=order)
    given = _both_ways(x)
    for _ in range(50):
        at = tuple(int(rng.integers(n)) for n in shape)
        assert x[at] == given[at]


@pytest.mark.parametrize("layout", ["AOS", "SOA"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("shape", [(LARGE // 4,), (301, 407)])
def test_vectors(layout, n, shape):
    x = mt.Vector.field(n, mt.f32, shape=shape, layout=getattr(mt.Layout, layout))
    given = _both_ways(x)
    at = tuple(k // 2 for k in shape)
    np.testing.assert_array_equal(np.array(x[at]), given[at])
    y = mt.Vector.field(n, mt.f32, shape=shape, layout=getattr(mt.Layout, layout))
    y.copy_from(x)
    np.testing.assert_array_equal(y.to_numpy(), given)


@pytest.mark.parametrize("dtype", ["f32", "bf16", "i64"])
def test_matrices_whose_components_lie_apart(dtype):
    x = mt.Matrix.field(2, 3, getattr(mt, dtype), shape=(130, 77), layout=mt.Layout.SOA)
    given = np.round(_random((130, 77, 2, 3))) % 128
    x.from_numpy(given)
    np.testing.assert_array_equal(x.to_numpy(), given)
    np.testing.assert_array_equal(np.array(x[3, 4]), given[3, 4])


def test_members_side_by_side():
    p, q = mt.field(mt.f32), mt.field(mt.f64)
    mt.root.dense(mt.ij, (512, 600)).place(p, q)
    given = _both_ways(p), _both_ways(q)
    np.testing.assert_array_equal(p.to_numpy(), given[0])
    np.testing.assert_array_equal(q.to_numpy(), given[1])


def test_levels_of_levels():
    x = mt.field(mt.f32)
    mt.root.dense(mt.ij, (64, 40)).dense(mt.j, 16).dense(mt.i, 8).place(x)
    given = _both_ways(x)
    assert x[511, 639] == given[511, 639]
    assert x[8, 17] == given[8, 17]


TREES = {
    "pointer, dense": lambda at: at.pointer(mt.ij, 64).dense(mt.ij, 8),
    "pointer, large dense": lambda at: at.pointer(mt.ij, 2).dense(mt.ij, 256),
    "pointer, transposed dense": lambda at: at.pointer(mt.ij, 32).dense(mt.j, 16).dense(mt.i, 16),
    "pointer, bits": lambda at: at.pointer(mt.ij, 64).bitmasked(mt.ij, 8),
    "pointer, dense, bits of odd rows": lambda at: at.pointer(mt.ij, 16).dense(mt.ij, 2).bitmasked(mt.ij, (16, 15)),
    "pointer, bits, dense": lambda at: at.pointer(mt.ij, 32).bitmasked(mt.ij, 4).dense(mt.ij, (4, 5)),
    "pointer, bits, bits": lambda at: at.pointer(mt.ij, 16).bitmasked(mt.ij, 4).bitmasked(mt.ij, 8),
    "bits": lambda at: at.bitmasked(mt.ij, (500, 513)),
    "dense, bits": lambda at: at.dense(mt.ij, 64).bitmasked(mt.ij, 8),
    "bits, pointer": lambda at: at.bitmasked(mt.ij, 16).pointer(mt.ij, 4).dense(mt.ij, 8),
}


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("share", [0.0, 0.02, 0.6, 1.0])
@pytest.mark.parametrize("vector", [False, True])
def test_sparse_fields(name, share, vector):
    levels = TREES[name]
    x = mt.Vector.field(2, mt.f32) if vector else mt.field(mt.f32)
    levels(mt.root).place(x)
    active = mt.field(mt.i32, shape=x.shape)
    active.from_numpy((rng.random(x.shape) < share).astype(np.int32))

    @mt.kernel
    def activate():
        for i, j in active:
            if active[i, j]:
                mt.activate(x.parent(), [i, j])

    @mt.kernel
    def mark(there: mt.types.ndarray(mt.i32, 2)):
        for i, j in x:
            there[i, j] = 1

    activate()
    there = np.zeros(x.shape, np.int32)
    mark(there)
    given = _random(x.to_numpy().shape)
    x.from_numpy(given)
    mask = there.astype(bool)
    mask = mask[..., None] if vector else mask
    np.testing.assert_array_equal(x.to_numpy(), np.where(mask, given, 0))
    x.fill(2.5)
    np.testing.assert_array_equal(x.to_numpy(), np.where(mask, np.float32(2.5), np.float32(0)) * np.ones_like(given))
    after = np.zeros(x.shape, np.int32)
    mark(after)
    np.testing.assert_array_equal(after, there)


@pytest.mark.parametrize("full", [False, True])
def test_lists(full):
    x = mt.field(mt.f32)
    mt.root.dense(mt.i, 300).dynamic(mt.j, 64, chunk_size=16).place(x)
    lengths = np.full(300, 64) if full else rng.integers(0, 65, 300)

    @mt.kernel
    def grow(lengths: mt.types.ndarray(mt.i64, 1)):
        for i in lengths:
            for j in range(lengths[i]):
                x[i, j] = 1.0

    grow(lengths)
    there = np.arange(64) < lengths[:, None]
    np.testing.assert_array_equal(x.to_numpy(), there)
    given = _random((300, 64))
    x.from_numpy(given)
    np.testing.assert_array_equal(x.to_numpy(), np.where(there, given, 0))


def test_arrays_that_are_no_rows():
    t = mt.field(mt.f32)
    mt.root.pointer(mt.i, 64).dense(mt.i, 4096).place(t)
    t[70000] = 3
    given = _random(2 * t.shape[0])[::2]
    t.from_numpy(given)
    expected = np.zeros(t.shape, np.float32)
    expected[69632:73728] = given[69632:73728]
    np.testing.assert_array_equal(t.to_numpy(), expected)


def test_ndarrays():
    x = mt.ndarray(mt.f32, (LARGE, 3))
    given = _random((LARGE, 3))
    x.from_numpy(given)
    np.testing.assert_array_equal(x.to_numpy(), given)
    y = mt.ndarray(mt.f32, (LARGE, 3))
    y.copy_from(x)
    np.testing.assert_array_equal(y.to_numpy(), given)
    y.from_numpy(given.astype(np.float64).T.copy().T)  # another type, another order
    np.testing.assert_array_equal(y.to_numpy(), given)
    y.copy_from(y)
    np.testing.assert_array_equal(y.to_numpy(), given)
    z = mt.ndarray(mt.i64, (LARGE,))
    values = z.to_numpy()
    z.from_numpy(np.arange(LARGE))
    assert (values == 0).all()
    rows = mt.from_dlpack(z.to_numpy()[::-1]) if hasattr(mt, "from_dlpack") else None
    if rows is not None:
        np.testing.assert_array_equal(rows.to_numpy(), np.arange(LARGE)[::-1])
        rows.from_numpy(np.arange(LARGE))
        np.testing.assert_array_equal(rows.to_numpy(), np.arange(LARGE))


def test_an_array_beyond_the_caches():
    x = mt.field(mt.f32, shape=(3000, 6001))  # written around the caches
    given = _both_ways(x)
    x.fill(4)
    assert (x.to_numpy() == 4).all()
    y = mt.field(mt.f32, shape=(3000, 6001))
    y.from_numpy(given)
    np.testing.assert_array_equal(y.to_numpy(), given)
