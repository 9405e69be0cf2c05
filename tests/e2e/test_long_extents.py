"""Extents of 2^31 and more: memory that nobody has touched (np.zeros), and one element that stands for all (stride 0)."""

import os

import numpy as np
import pytest

import metate as mt
from metate.errors import RuntimeIndexError_, RuntimeValueError_

# What the interpreter can do of it stands here, and is asked for by its name.
pytestmark = [
    pytest.mark.skipif("METATE_TEST_INTERP" in os.environ, reason="two billion iterations are more than an interpreter does"),
    pytest.mark.skipif("METATE_TEST_ARCH" in os.environ, reason="a device is given a copy of two billion elements"),
]
LONG = 2**31 + 100  # bytes of address space; a page here and there is memory
n = mt.Dim("n", max=2**40)
m = mt.Dim("m", max=2**33)
long_bytes = mt.types.ndarray(mt.u8, shape=(n,))
few = mt.types.ndarray(mt.i64, ndim=1)


@pytest.fixture(scope="module")
def zeros():
    return np.zeros(LONG, np.uint8)


@pytest.fixture(params=[mt.cpu, mt.interp], ids=["cpu", "interp"])
def way(request):
    with mt.Context(arch=request.param):
        yield request.param


def test_elements_beyond_the_31st_bit(way, zeros):
    @mt.kernel
    def mark(x: long_bytes, first: mt.i64, out: few):
        for i in range(first, x.shape[0]):
            x[i] += 1
            x[i - mt.i64(2**31)] = 7
            out[i - first] = i
        out[0] = x.shape[0]

    for x in (zeros, zeros[::-1]):
        out = np.zeros(16, np.int64)
        mark(x, LONG - 16, out)
        assert out.tolist() == [LONG, *range(LONG - 15, LONG)]
        assert (x[LONG - 16 :] == 1).all() and (x[84:100] == 7).all() and not x[100:200].any()
        x[LONG - 16 :] = 0
        x[84:100] = 0
    assert len(mark.instances()) <= 2  # with gaps and without


def test_loops_have_variables_of_64_bits(zeros):
    @mt.kernel
    def find(x: long_bytes, out: few):
        for i in x:
            if x[i] != 0:
                mt.atomic_max(out[0], i)
                mt.atomic_add(out[1], i)

    @mt.kernel
    def count(x: long_bytes) -> mt.i64:
        total = mt.i64(0)
        for I in mt.grouped(x):
            total += x[I]
        return total

    zeros[[5, 2**31 - 1, 2**31, LONG - 1]] = 3
    out = np.zeros(2, np.int64)
    find(zeros, out)
    assert out.tolist() == [LONG - 1, 5 + 2**31 - 1 + 2**31 + LONG - 1]
    assert count(zeros) == 12
    zeros[[5, 2**31 - 1, 2**31, LONG - 1]] = 0


def test_two_long_dimensions_of_stride_zero(way):
    @mt.kernel
    def sample(x: mt.types.ndarray(mt.u8, shape=(n, m)), out: few):
        for i in range(x.shape[0] - 2, x.shape[0]):
            for k in range(x.shape[1] - 2, x.shape[1]):
                out[0] += x[i, k] + i % 10 + k % 10
        out[1] = x.shape[0] + x.shape[1]

    x = np.lib.stride_tricks.as_strided(np.array([10], np.uint8), (2**30 + 2**31, 2**31 + 7), (0, 0), writeable=False)
    out = np.zeros(2, np.int64)
    sample(x, out)
    digits = sum(i % 10 + k % 10 for i in range(x.shape[0] - 2, x.shape[0]) for k in range(x.shape[1] - 2, x.shape[1]))
    assert out.tolist() == [40 + digits, sum(x.shape)]


def test_the_lower_half_of_a_long_number_is_another_number(way):
    @mt.kernel
    def halves(x: long_bytes, out: few):
        for _ in range(mt.i32(x.shape[0])):
            mt.atomic_add(out[0], 1)
        for i in range(x.shape[0] - 3, x.shape[0]):
            out[mt.i32(i)] += 10

    out = np.zeros(8, np.int64)
    halves(np.broadcast_to(np.uint8(1), 2**32 + 5), out)
    assert out.tolist() == [5, 0, 10, 10, 10, 0, 0, 0]


def test_all_of_a_long_array_that_is_one_element():
    @mt.kernel
    def total(x: long_bytes) -> mt.i64:
        found = mt.i64(0)
        for i in range(x.shape[0]):
            found += x[i]
        return found

    assert total(np.broadcast_to(np.uint8(3), (LONG,))) == 3 * LONG


def test_default_ip_of_64_bits(zeros):
    with mt.Context(arch=mt.cpu, default_ip=mt.i64):

        @mt.kernel
        def mark(x: mt.types.ndarray(mt.u8, ndim=1), out: few):
            for i in x:
                if i >= 2**31:
                    x[i] = i - 2**31
            out[0] = x.shape[0]

        out = np.zeros(1, np.int64)
        mark(zeros, out)
        assert out[0] == LONG
        np.testing.assert_array_equal(zeros[2**31 :], np.arange(100))
        zeros[2**31 :] = 0


def test_extents_that_are_numbers(zeros):
    @mt.kernel
    def last(x: mt.types.ndarray(mt.u8, shape=(LONG,))) -> mt.i64:
        return x.shape[0] + x[x.shape[0] - 1]

    zeros[-1] = 5
    assert last(zeros) == LONG + 5
    zeros[-1] = 0


def test_what_has_indices_of_32_bits_refuses_them(way, zeros):
    @mt.kernel
    def first(x: mt.types.ndarray(mt.u8, ndim=1)) -> mt.u8:
        return x[0]

    with pytest.raises(
        RuntimeIndexError_, match=r"'x': dimension 0: expected at most 2147483647, got 2147483748.*default_ip=i64"
    ):
        first(zeros)
    assert first(zeros[: 2**31 - 1]) == 0


def test_bounds_are_checked_beyond_the_31st_bit(zeros):
    @mt.kernel
    def first(x: mt.types.ndarray(mt.u8, shape=(mt.Dim("n", min=2**31, max=LONG - 1, multiple=4),))) -> mt.u8:
        return x[0]

    for count in (2**31, LONG - 4):
        assert first(zeros[:count]) == 0
    for count in (2**31 - 4, 2**31 + 2, LONG):
        with pytest.raises(
            RuntimeValueError_, match=r"dimension 0 \(n\): expected 2147483648 to 2147483747, a multiple of 4, got"
        ):
            first(zeros[:count])


def test_debug_mode_names_long_indices(zeros):
    @mt.kernel(debug=True)
    def read(x: long_bytes, at: mt.i64) -> mt.u8:
        return x[at]

    assert read(zeros, LONG - 1) == 0
    for at in (LONG, -1, 2**40):
        with pytest.raises(RuntimeIndexError_, match=rf"x\[{at}\] .*\({LONG},?\)"):
            read(zeros, at)


def test_clamped_indices(zeros):
    @mt.kernel
    def read(x: mt.types.ndarray(mt.u8, shape=(n,), boundary="clamp"), at: mt.i64) -> mt.u8:
        return x[at]

    zeros[0], zeros[-1] = 1, 2
    assert [read(zeros, at) for at in (-1, -(2**40), 0, 1, LONG - 1, LONG, 2**40)] == [1, 1, 1, 0, 2, 2, 2]
    zeros[0], zeros[-1] = 0, 0


def test_strides_that_are_no_multiples_are_refused(way):
    @mt.kernel
    def first(x: mt.types.ndarray(mt.i16, shape=(n,))) -> mt.i16:
        return x[0]

    records = np.zeros(4, np.dtype([("a", "u1"), ("b", "i2")]))
    with pytest.raises((RuntimeValueError_, ValueError), match=r"stride|aligned"):
        first(records["b"])
