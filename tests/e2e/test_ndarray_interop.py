"""Memory of others as arguments and as ndarrays, and ndarrays as memory of others: no copies, any strides, who overlaps whom."""

import numpy as np
import pytest
from lent import Lent

import metate as mt

vec2 = mt.types.vector(2, mt.f32)


class LentAsBefore(Lent):
    """Memory that is offered through DLPack before 1.0, as PyTorch 1.13 does: it has no word for read-only."""

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()


@mt.kernel
def scale(x: mt.types.ndarray(dtype=mt.f32, ndim=2), a: mt.f32):
    for i, j in x:
        x[i, j] = x[i, j] * a + i - j


def scaled(x, a):
    i, j = np.indices(x.shape)
    return (x * np.float32(a) + i - j).astype(np.float32)


VIEWS = {
    "plain": lambda x: x,
    "transposed": lambda x: x.T,
    "every other": lambda x: x[::2, 1::3],
    "backwards": lambda x: x[::-1, ::-1],
    "transposed backwards": lambda x: x[::-2].T,
    "one row": lambda x: x[3:4],
    "one column": lambda x: x[:, 2:3],
    "nothing": lambda x: x[2:2],
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("way", ["numpy", "dlpack", "dlpack before 1.0", "ndarray", "ndarray of dlpack", "memoryview"])
def test_strided_memory_in_place(view, way, rng):
    base = rng.integers(-999, 999, (8, 9)).astype(np.float32)
    x = VIEWS[view](base)
    want = base.copy()
    VIEWS[view](want)[...] = scaled(x, 2)
    lend = {
        "numpy": lambda: x,
        "dlpack": lambda: Lent(x),
        "dlpack before 1.0": lambda: LentAsBefore(x),
        "ndarray": lambda: mt.from_dlpack(x),
        "ndarray of dlpack": lambda: mt.from_dlpack(Lent(x)),
        "memoryview": lambda: memoryview(x),
    }[way]
    scale(lend(), 2)
    np.testing.assert_array_equal(base, want)


def test_an_ndarray_is_memory_of_others(rng):
    x = mt.Vector.ndarray(2, mt.f32, (3, 4))
    seen = [np.asarray(x), np.from_dlpack(x), np.array(x, copy=False), np.asarray(memoryview(x)), mt.from_dlpack(x, vec2)]
    assert x.__dlpack_device__() == (1, 0)
    assert x.__array_interface__["data"][0] == seen[0].ctypes.data and seen[0].ctypes.data % 64 == 0
    x[1, 2] = [5, 6]
    for other in seen:
        np.testing.assert_array_equal(np.asarray(other)[1, 2], [5, 6])
    seen[1][2, 3] = [7, 8]
    assert x[2, 3].tolist() == [7, 8] and seen[4][2, 3].tolist() == [7, 8]
    del x
    assert seen[0][2, 3, 1] == 8, "the memory lives while anybody sees it"


def test_elements_of_borrowed_memory(rng):
    base = rng.standard_normal((5, 2, 3)).astype(np.float32)
    x = mt.from_dlpack(base.transpose(0, 2, 1), vec2)
    assert x.shape == (5, 3) and x.element_shape == (2,)
    x[1, 2] = [7, 8]
    x[4, 0].y = 9
    assert base[1, :, 2].tolist() == [7, 8] and base[4, 1, 0] == 9

    @mt.kernel
    def swap(x: mt.types.ndarray(dtype=vec2, ndim=2)):
        for i, j in x:
            x[i, j] = x[i, j].yx

    want = base[:, ::-1].copy()
    swap(x)
    np.testing.assert_array_equal(base, want)


def test_bf16_goes_through_dlpack():
    x = mt.ndarray(mt.bf16, 3)
    x.fill(1.5)
    assert "dltensor" in repr(x.__dlpack__())
    with pytest.raises(BufferError, match="bf16 has no buffer format"):
        memoryview(x)
    assert not hasattr(x, "__array_interface__")


@pytest.mark.parametrize(
    ("source", "dtype", "kind", "text"),
    [
        (np.zeros(3, complex), None, mt.errors.RuntimeTypeError_, "expected an array on the CPU of a type that kernels have"),
        ([1, 2], None, mt.errors.RuntimeTypeError_, "got list"),
        (np.zeros(3), mt.f32, mt.errors.RuntimeTypeError_, "expected an array of f32, got one of f64"),
        (np.zeros((2, 3), np.float32), vec2, mt.errors.RuntimeValueError_, r"expected last dimensions \(2,\)"),
        (np.zeros((1,) * 13, np.float32), None, mt.errors.RuntimeTypeError_, "at most 12 dimensions"),
        (np.zeros(3), mt.types.struct(a=mt.f32), mt.errors.RuntimeTypeError_, "got a struct type"),
    ],
)
def test_memory_that_is_no_array_here(source, dtype, kind, text):
    with pytest.raises(kind, match=text):
        mt.from_dlpack(source, dtype)


def test_read_only_memory(rng):
    values = rng.standard_normal(4).astype(np.float32)
    values.flags.writeable = False
    x = mt.from_dlpack(values)

    @mt.kernel
    def total(x: mt.types.ndarray(dtype=mt.f32, ndim=1)) -> mt.f32:
        s = 0.0
        for i in x:
            s += x[i]
        return s

    @mt.kernel
    def clear(x: mt.types.ndarray(dtype=mt.f32, ndim=1)):
        for i in x:
            x[i] = 0

    assert total(x) == pytest.approx(values.sum(), rel=1e-5)
    with pytest.raises(mt.errors.RuntimeTypeError_, match="read-only"):
        clear(x)
    for change in (lambda: x.fill(1), lambda: x.__setitem__(0, 1)):
        with pytest.raises(mt.errors.RuntimeTypeError_, match="read-only"):
            change()


@pytest.mark.parametrize("lend", [Lent, LentAsBefore])
def test_borrowed_memory_is_writable_where_its_owner_lets_others_write(lend):
    """NumPy's views of what DLPack before 1.0 offers are read-only, and arrays over them were."""
    base = np.zeros((2, 3), np.float32)
    x = mt.from_dlpack(lend(base.T))
    assert not x.is_read_only
    x[2, 1] = 5
    scale(x, 2)
    assert base.tolist() == [[0, 1, 2], [-1, 0, 11]]
    x = mt.from_dlpack(lend(np.ones(4, np.float32)))
    assert [x[k] for k in range(4)] == [1] * 4, "the memory lives while anybody sees it"
    assert mt.from_dlpack(lend(base[:0])).shape == (0, 3)


def test_borrowed_memory_is_read_only_where_its_owner_says_so():
    class Both(bytes):
        """Offers, as JAX's arrays do, DLPack before 1.0, which has no word for that, and a buffer, which has."""

        __dlpack__ = lambda self, stream=None: base.__dlpack__()
        __dlpack_device__ = lambda self: base.__dlpack_device__()

    base = np.zeros(4, np.float32)
    seen = base[:]
    seen.flags.writeable = False
    assert mt.from_dlpack(Lent(seen)).is_read_only and mt.from_dlpack(Both(16)).is_read_only
    with pytest.raises(mt.errors.RuntimeTypeError_, match="Cannot export readonly array"):
        mt.from_dlpack(LentAsBefore(seen))


def test_torch_tensors(rng):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for view in (lambda t: t, lambda t: t.T, lambda t: t[::2, 1:]):
        base = torch.from_numpy(rng.integers(-99, 99, (6, 7)).astype(np.float32))
        want = base.clone()
        view(want)[...] = torch.from_numpy(scaled(view(base).numpy(), 3))
        scale(view(base), 3)
        assert torch.equal(base, want)
    x = mt.from_dlpack(base)
    base[0, 0] = 42
    assert x[0, 0] == 42 and torch.from_dlpack(x)[0, 0] == 42
    copied = x.to_torch()
    x.from_torch(copied * 2)
    assert x[0, 0] == 84 and copied[0, 0] == 42
    halves = torch.ones(3, dtype=torch.bfloat16)
    y = mt.ndarray(mt.bf16, 3)
    y.from_torch(halves)
    assert y.to_numpy().tolist() == [1, 1, 1] and y.to_torch().dtype == torch.bfloat16


@mt.kernel
def move(x: mt.types.ndarray(dtype=mt.u8), y: mt.types.ndarray(dtype=mt.u16)):
    for I in mt.grouped(x):
        x[I] = mt.u8(y[I])


def random_view(rng, memory, dtype):
    """A view of the bytes with two dimensions: strides of any kind, its elements apart from each other."""
    size = dtype.itemsize
    while True:
        shape = rng.integers(1, 5, 2)
        steps = rng.choice([1, 2, 3, 4, 6, 8, 12], 2) * 2 * rng.choice([1, -1], 2)
        reach = (shape - 1) * steps
        low, high = np.minimum(reach, 0).sum(), np.maximum(reach, 0).sum() + size
        outer = int(np.argmax(np.abs(steps)))
        inside = (shape[1 - outer] - 1) * abs(steps[1 - outer]) + size
        apart = (inside <= abs(steps[outer]) or shape[outer] == 1) and abs(steps).min() >= size
        if apart and high - low <= len(memory):
            start = -low + 2 * int(rng.integers(0, (len(memory) - (high - low)) // 2 + 1))
            return np.ndarray(tuple(shape), dtype, memory.data, int(start), tuple(map(int, steps)))


def test_arrays_that_lie_between_each_other_do_not_overlap(rng):
    """Sound for any strides: what is launched as separate shares no byte. Complete for members of structs."""
    memory = np.zeros(96, np.uint8)
    separate = overlapping = interleaved = 0
    for _ in range(150):
        x, y = random_view(rng, memory, np.dtype(np.uint8)), random_view(rng, memory, np.dtype(np.uint16))
        y = y[: x.shape[0], : x.shape[1]]
        x = x[: y.shape[0], : y.shape[1]]
        before = hits_of(move)
        move(x, y)
        grew = {may_alias for may_alias, hits in hits_of(move).items() if hits > before[may_alias]}
        shares = np.shares_memory(x, y)
        assert shares <= (True in grew), (x.__array_interface__, y.__array_interface__)
        overlapping += shares
        separate += grew == {False}
        interleaved += grew == {False} and np.may_share_memory(x, y)
    assert overlapping and separate and interleaved


def hits_of(kernel):
    """Launches of what was compiled for separate arguments, and for overlapping ones."""
    return {kind: sum(i.hits for i in kernel.instances() if i.may_alias == kind) for kind in (False, True)}


def test_members_of_records_are_separate(rng):
    dtype = np.dtype([("a", "u1"), ("b", "<u2"), ("c", "<u2", (3,)), ("d", "u1")], align=bool(rng.integers(0, 2)))
    for shape in ((4,), (3, 5), (1,)):
        memory = np.zeros(shape, dtype)
        memory["b"] = rng.integers(0, 256, shape)
        for name in "ad":
            hits = hits_of(move)[True]
            y = memory["b"]
            if y.ctypes.data % 2:  # packed: a copy stands in for what kernels do not take
                y = y.copy()
            move(memory[name][::-1], y)
            assert hits_of(move)[True] == hits
            np.testing.assert_array_equal(memory[name][::-1], y)
