"""Capabilities on a device, mt.simt or METATE_TEST_ARCH: what docs/coverage.md names for pairs without tests elsewhere."""

import textwrap

import device_tests
import numpy as np
import pytest

import metate as mt

ARCH = device_tests.ARCH or mt.simt
array = mt.types.ndarray


@mt.real_func
def clamped(x: mt.f32, low: mt.f32, high: mt.f32) -> mt.f32:
    if x < low:
        return low
    if x > high:
        return high
    return x


@mt.real_func
def put(out: array(mt.f32, 1), i: mt.i32, value: mt.f32):
    out[i] = clamped(value, -1.0, 1.0)


@mt.real_func
def factorial(n: mt.i32) -> mt.i32:
    if n < 2:
        return 1
    return n * factorial(n - 1)


def test_functions_are_called(rng):
    @mt.kernel
    def run(x: array(mt.f32, 1), out: array(mt.f32, 1)):
        for i in x:
            put(out, i, 2 * x[i])

    x = rng.standard_normal(1000).astype(np.float32)
    out = np.zeros_like(x)
    with mt.Context(arch=ARCH):
        run(x, out)
    np.testing.assert_array_equal(out, np.clip(2 * x, -1, 1))


def test_functions_that_call_themselves_are_refused():
    @mt.kernel
    def run(x: array(mt.i32, 1)):
        for i in x:
            x[i] = factorial(i)

    with mt.Context(arch=ARCH), pytest.raises(mt.MetateError, match="a function that calls itself does not run on this target"):
        run(np.zeros(4, np.int32))


@pytest.mark.parametrize("dtype", [mt.f32, mt.i32, mt.u64])
def test_random_numbers_are_the_cpus(dtype):
    @mt.kernel
    def draw(x: array(dtype, 2)):
        for i in range(x.shape[0]):
            for k in range(x.shape[1]):
                x[i, k] = mt.random(dtype)

    found = []
    for arch in (mt.cpu, ARCH):
        with mt.Context(arch=arch, random_seed=9):
            x = mt.ndarray(dtype, (500, 3))
            draw(x)
            draw(x)
            found.append(x.to_numpy())
    np.testing.assert_array_equal(*found)
    assert len(np.unique(found[0])) > 1400


PROGRAM = """
    field = mt.field(mt.i32, shape=64)

    @mt.kernel
    def fill(a: mt.i32):
        for i in field:
            field[i] = a * i

    def main():
        fill(3)
        return field.to_numpy(), [one.cache for one in fill.instances()]
"""


def test_a_second_start_takes_the_code_from_the_cache(tmp_path):
    name, states = str(tmp_path / "program.py"), []
    text = textwrap.dedent(PROGRAM)
    for arch in (ARCH, mt.cpu, ARCH):
        mt.attach_source(name, text)
        with mt.Context(arch=arch, offline_cache=True, offline_cache_file_path=tmp_path / "cache"):
            names = {"mt": mt, "__name__": "program"}
            exec(compile(text, name, "exec"), names)
            values, state = names["main"]()
        np.testing.assert_array_equal(values, 3 * np.arange(64))
        states += state
    assert states == ["compiled and cached", "compiled and cached", "loaded"]


def test_a_kernel_that_does_nothing(tmp_path):
    @mt.kernel
    def nothing(x: array(mt.f32, 1), n: mt.i32):
        pass

    x = np.ones(3, np.float32)
    with mt.Context(arch=ARCH, reports=True):
        nothing(x, 2)
        module = mt.aot.Module()
        module.add_kernel(nothing)
        mt.aot.load(module.save(tmp_path / "nothing.metate")).nothing(x, 2)
    assert x.tolist() == [1, 1, 1]


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_sanitizers_are_refused(sanitizer):
    with pytest.raises(
        mt.errors.RuntimeValueError_, match=f"sanitizer: expected none with mt.{ARCH}, got '{sanitizer}'; use mt.cpu"
    ):
        mt.Context(arch=ARCH, sanitizer=sanitizer)


@pytest.mark.parametrize("dtype", [mt.i32, mt.f32, mt.u64])
def test_algorithms_give_what_numpy_gives(dtype, rng):
    x = rng.integers(0, 1000, 5000).astype(dtype.numpy)
    with mt.Context(arch=ARCH):
        keys, places = x.copy(), np.arange(len(x), dtype=np.int32)
        mt.algorithms.parallel_sort(keys, places)
        sums = x.copy()
        mt.algorithms.PrefixSumExecutor(len(x)).run(sums)
    np.testing.assert_array_equal(places, np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(keys, np.sort(x))
    np.testing.assert_array_equal(sums, np.cumsum(x, dtype=x.dtype))


def test_gradients_are_those_of_the_formula(rng):
    values = rng.standard_normal(300).astype(np.float32)
    with mt.Context(arch=ARCH):
        x, loss = mt.field(mt.f32, 300, needs_grad=True), mt.field(mt.f32, (), needs_grad=True)

        @mt.kernel
        def compute():
            for i in x:
                loss[None] += x[i] ** 3 / 2

        x.from_numpy(values)
        with mt.ad.Tape(loss):
            compute()
        found, total = x.grad.to_numpy(), loss[None]
    np.testing.assert_allclose(found, 1.5 * values**2, rtol=1e-5)
    np.testing.assert_allclose(total, (values.astype(float) ** 3 / 2).sum(), rtol=1e-3)
