"""Extents of 2^31 and more, and strides of any kind, in every carrier at every call level; what must be refused is."""

import pathlib
import sys

import numpy as np
import pytest

import metate as mt

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from carrier_ways import OPTIONS, WAYS, Failure

LONG = 2**31 + 100  # bytes of address space, of which a few pages are touched
n = mt.Dim("n", max=2**40, multiple=4)
few = mt.types.ndarray(mt.i64, ndim=1)


@mt.kernel
def mark(x: mt.types.ndarray(mt.u8, shape=(n,), contiguous=True), first: mt.i64, out: few):
    for i in range(first, x.shape[0]):
        x[i] += 1
        x[i - mt.i64(2**31)] = 7
    out[0] = x.shape[0]


@mt.kernel
def sample(x: mt.types.ndarray(mt.i32, shape=(n, 3, None), contiguous=False), out: few):
    for i in range(x.shape[0] - 4, x.shape[0]):
        for k in range(x.shape[2]):
            for j in range(x.shape[1]):
                out[j] += x[i, j, k] * (k + 1) + i % 10


@mt.kernel
def double(x: mt.types.ndarray(mt.i32, ndim=2, contiguous=False)):
    for i, j in x:
        x[i, j] *= 2


KERNELS = {"mark": mark, "sample": sample, "double": double}


@pytest.fixture(scope="module")
def ways(tmp_path_factory):
    made = {}

    def way(name):
        if name not in made:
            module = mt.aot.Module(name="long", **OPTIONS)
            for kernel in KERNELS.values():
                module.add_kernel(kernel)
            made[name] = WAYS[name](module, tmp_path_factory.mktemp(name.replace(" ", "-")), KERNELS, {})
        return made[name]

    return way


@pytest.fixture(scope="module")
def zeros():
    return np.zeros(LONG, np.uint8)


# Direct entries of what is linked take rows without gaps; bare ones, "metate direct", take slots.
takes_strides = pytest.mark.parametrize("name", [name for name in WAYS if name == "metate direct" or not name.endswith("direct")])


@pytest.mark.parametrize("name", WAYS)
def test_elements_beyond_the_31st_bit(ways, zeros, name):
    out = np.zeros(1, np.int64)
    assert ways(name).run("mark", zeros, LONG - 16, out) is None
    assert out[0] == LONG and (zeros[LONG - 16 :] == 1).all() and (zeros[84:100] == 7).all()
    assert not zeros[100:200].any() and not zeros[LONG - 100 : LONG - 16].any()
    zeros[LONG - 16 :] = zeros[84:100] = 0


def strided(array, shape, strides):
    return np.lib.stride_tricks.as_strided(array, shape, [4 * stride for stride in strides])


@takes_strides
def test_strides_of_any_kind(ways, name):
    numbers, out = np.arange(24, dtype=np.int32), np.zeros(3, np.int64)
    arrays = {
        "repeated": strided(numbers, (2**33, 3, 2), (0, 2, 1)),
        "backwards": strided(numbers[8:], (4, 3, 2), (-2, 6, 1)),
        "turned": strided(numbers, (8, 3, 1), (1, 8, 0)),
        "inside out": strided(numbers[23:], (4, 3, 2), (-1, -8, -4)),
    }
    for array in arrays.values():
        out[:] = 0
        assert ways(name).run("sample", array, out) is None
        rest = range(array.shape[0] - 4, array.shape[0])
        wanted = [sum(int(array[i, j, k]) * (k + 1) + i % 10 for i in rest for k in range(array.shape[2])) for j in range(3)]
        assert out.tolist() == wanted


@takes_strides
def test_what_is_written_in_any_order(ways, name):
    numbers = np.arange(24, dtype=np.int32)
    array = strided(numbers[21:], (3, 4), (1, -6))
    wanted = 2 * array.copy()
    assert ways(name).run("double", array) is None
    np.testing.assert_array_equal(array, wanted)


@pytest.mark.parametrize("name", [name for name in WAYS if not name.endswith("direct")])
def test_what_is_refused(ways, zeros, name):
    way, numbers, out = ways(name), np.arange(24, dtype=np.int32), np.zeros(1, np.int64)
    found = way.run("mark", zeros[:-2], LONG - 16, out)
    assert found.kind is ValueError
    assert f"dimension 0 (n): expected 0 to {2**40}, a multiple of 4, got {LONG - 2}" in found.text
    found = way.run("double", strided(numbers, (2, 2**32), (0, 0)))
    assert isinstance(found, Failure) and "dimension 1: expected at most 2147483647, got 4294967296" in found.text
    for strides in ((0, 1), (1, 1), (-1, 2)):
        found = way.run("double", strided(numbers[8:], (3, 4), strides))
        assert isinstance(found, Failure) and "its elements may overlap each other: pass a copy" in found.text
    assert numbers.tolist() == list(range(24))


def test_signatures_and_headers_say_it(tmp_path):
    file = mt.aot.Module(name="long").add_kernel(mark).save(tmp_path / "long.so")
    assert mt.aot.load(file).mark.signature() == f"mark(x: u8[n], first: i64, out: ndarray(i64, 1)), n: 0..{2**40} by 4"
    assert f"#define long_mark_n_MAX {2**40}" in (tmp_path / "long.h").read_text()


def test_default_ip_of_64_bits(tmp_path, zeros):
    @mt.kernel
    def last(x: mt.types.ndarray(mt.u8, ndim=1)) -> mt.i64:
        return x.shape[0] + x[x.shape[0] - 1]

    zeros[-1] = 5
    with mt.Context(default_ip=mt.i64):
        module = mt.aot.Module(name="wide").add_kernel(last)
        files = [module.save(tmp_path / f"wide.{suffix}") for suffix in ("metate", "so")]
    for file in files:
        assert mt.aot.load(file).last(zeros) == LONG + 5
    zeros[-1] = 0
