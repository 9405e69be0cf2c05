"""Random reads of numbers that lie side by side (Emit/Windows.cpp): right, and nothing else is read."""

import ctypes
import mmap

import numpy as np
import pytest

import metate as mt
from metate import types

f32, i32 = mt.f32, mt.i32
DTYPES = {"f32": (f32, np.float32), "i32": (i32, np.int32), "f64": (mt.f64, np.float64), "u64": (mt.u64, np.uint64)}


def guarded(size, begins):
    """Bytes that begin where a page that must not be read ends, or that end where one begins."""
    page = mmap.PAGESIZE
    whole = -(-size // page) * page
    memory = mmap.mmap(-1, whole + 2 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    for at in (address, address + page + whole):
        assert protect(ctypes.c_void_p(at), ctypes.c_size_t(page), 0) == 0
    first = page if begins else page + whole - size
    return np.frombuffer(memory, np.uint8, size, first)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("width", [2, 3, 4, 5, 7, 9])
def test_vectors_at_random_places(rng, name, width):
    dtype, numpy = DTYPES[name]
    vector = types.vector(width, dtype)

    @mt.kernel
    def read(at: types.ndarray(i32, 1), v: types.ndarray(vector, 1), out: types.ndarray(dtype, 1)):
        for k in at:
            total = v[at[k]][0]
            for d in mt.static(range(1, width)):
                total = total * 3 + v[at[k]][d]
            out[k] = total

    for n, m in ((1000, 37), (333, 2), (65, 1)):
        v = rng.integers(0, 9, (m, width)).astype(numpy)
        at = rng.integers(0, m, n, np.int32)
        expected = v[at][:, 0]
        for d in range(1, width):
            expected = expected * numpy(3) + v[at][:, d]
        for begins in (True, False):
            held = guarded(v.nbytes, begins).view(numpy).reshape(v.shape)
            held[...] = v
            out = np.zeros(n, numpy)
            read(at, held, out)
            np.testing.assert_array_equal(out, expected)


def test_neighbours_of_a_place(rng):
    """The cells around a particle, as weights ask for them: rows of nine numbers, in two dimensions."""

    @mt.kernel
    def gather(x: types.ndarray(types.vector(2, f32), 1), g: types.ndarray(types.vector(3, f32), 2), out: types.ndarray(f32, 2)):
        for p in x:
            base = mt.cast(x[p], i32)
            total = mt.Vector([0.0, 0.0, 0.0])
            for i, j in mt.static(mt.ndrange(3, 3)):
                total += (1 + 3 * i + j) * g[base[0] + i, base[1] + j]
            for d in mt.static(range(3)):
                out[p, d] = total[d]

    for n, shape in ((1000, (40, 50)), (77, (3, 3))):
        x = (rng.random((n, 2)) * (np.array(shape) - 2)).astype(np.float32)
        at, g = x.astype(int), rng.integers(0, 100, (*shape, 3)).astype(np.float32)
        expected = sum((1 + 3 * i + j) * g[at[:, 0] + i, at[:, 1] + j] for i in range(3) for j in range(3))
        for begins in (True, False):
            held = guarded(g.nbytes, begins).view(np.float32).reshape(g.shape)
            held[...] = g
            out = np.zeros((n, 3), np.float32)
            gather(x, held, out)
            np.testing.assert_array_equal(out, expected)


def test_members_of_structs_and_fields(rng):
    n, m = 500, 61
    cell = types.struct(a=f32, skipped=i32, b=types.vector(2, f32), c=i32)
    cells, at, out = cell.field(shape=m), mt.field(i32, n), mt.field(f32, n)
    given = {"a": rng.random(m, np.float32), "skipped": np.zeros(m, np.int32), "b": rng.random((m, 2), np.float32)}
    given["c"] = rng.integers(0, 9, m, np.int32)
    cells.from_numpy(given)
    places = rng.integers(0, m, n, np.int32)
    at.from_numpy(places)

    @mt.kernel
    def read():
        for k in at:
            one = cells[at[k]]
            out[k] = one.a + one.b[0] - one.b[1] + one.c

    read()
    expected = given["a"] + given["b"][:, 0] - given["b"][:, 1] + given["c"].astype(np.float32)
    np.testing.assert_allclose(out.to_numpy(), expected[places], rtol=1e-6)


def test_what_is_written_between_two_reads_is_read(rng):
    n = 256

    @mt.kernel
    def read(at: types.ndarray(i32, 1), v: types.ndarray(f32, 2), out: types.ndarray(f32, 1)):
        for k in at:
            first = v[at[k], 0]
            v[at[k], 1] = first + 1
            out[k] = first + v[at[k], 1]

    at = rng.permutation(n).astype(np.int32)
    v, out = rng.integers(0, 99, (n, 2)).astype(np.float32), np.zeros(n, np.float32)
    expected = 2 * v[at, 0] + 1
    read(at, v, out)
    np.testing.assert_array_equal(out, expected)


def test_the_code_has_no_gathers():
    @mt.kernel
    def read(at: types.ndarray(i32, 1), v: types.ndarray(types.vector(3, f32), 1), out: types.ndarray(f32, 1)):
        for k in at:
            out[k] = v[at[k]].sum()

    given = np.zeros(100, np.int32), np.zeros((9, 3), np.float32), np.zeros(100, np.float32)
    told = read.report(*given, target="x86-64-v4")
    words = [one.text.split()[0] for function in told.code for one in function.instructions]
    assert "windows of up to 16 bytes, 1 of them in place of 3 gathers" in str(told)
    assert "vaddps" in words and not [word for word in words if word.startswith("vgather")]
