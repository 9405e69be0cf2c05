"""What a call of a compiled kernel takes and gives: every dtype by value, as result and as array."""

import array
import platform
import sys
import threading

import numpy as np
import pytest

import metate as mt
from metate import types
from metate.errors import CapacityError, RuntimeTypeError_, RuntimeValueError_

SCALARS = [t for t in types.DTYPES if t.numpy is not None and t is not mt.u1]
Line = types.ndarray(dtype=mt.f32, ndim=1)


def sample(rng, scalar, *shape):
    if scalar.is_float:
        return rng.normal(size=shape).astype(scalar.numpy)
    low, high = scalar.range()
    return rng.integers(low, high, shape, dtype=scalar.numpy, endpoint=True)


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda t: t.name)
def test_scalars_and_vectors_in_and_out(rng, scalar):
    pair, square = types.vector(2, scalar), types.matrix(2, 2, scalar)

    @mt.kernel
    def same(x: scalar) -> scalar:
        return x

    @mt.kernel
    def same_vector(x: pair) -> pair:
        return x

    @mt.kernel
    def same_matrix(x: square) -> square:
        return x

    values = [*sample(rng, scalar, 5)] + ([] if scalar.is_float else [scalar.range()[0], scalar.range()[1], 0])
    for value in values:
        result = same(value)
        assert result == value and type(result) is (float if scalar.is_float else int)
        assert same(value.item() if hasattr(value, "item") else value) == value
    for kernel, shape in ((same_vector, (2,)), (same_matrix, (2, 2))):
        given = sample(rng, scalar, *shape)
        for form in (given, given.tolist()):
            result = kernel(form)
            assert result.dtype == scalar.numpy
            np.testing.assert_array_equal(result, given)
    assert len(same.instances()) == 1


def test_booleans_in_and_out():
    @mt.kernel
    def negated(x: mt.u1) -> mt.u1:
        return not x

    assert negated(False) is True and negated(np.True_) is False and negated(1) is False
    with pytest.raises(RuntimeValueError_, match="argument 'x': expected u1 within its range, got int 2"):
        negated(2)


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda t: t.name)
def test_arrays_of_every_type_are_changed_in_place(rng, scalar):
    @mt.kernel
    def double(x: types.ndarray()):
        for i in range(x.shape[0]):
            x[i] = x[i] + x[i]

    x = sample(rng, scalar, 33)
    with np.errstate(over="ignore"):
        expected = x + x
    double(x)
    np.testing.assert_array_equal(x, expected)


def test_contiguous_and_strided_arrays_have_instances_of_their_own(rng):
    @mt.kernel
    def increment(x: Line):
        for i in range(x.shape[0]):
            x[i] += 1.0

    whole = rng.normal(size=(30, 4)).astype(np.float32)
    before = whole.copy()
    for _ in range(2):
        increment(whole[0])
        increment(whole[1:, 2])
        increment(whole[1:, 3][::-1])
    before[0] += 2
    before[1:, 2:] += 2
    np.testing.assert_allclose(whole, before, rtol=1e-6)
    assert sorted((i.signature, i.hits) for i in increment.instances()) == [
        ("increment(x: f32[:] strided)", 4),
        ("increment(x: f32[:])", 2),
    ]


def test_buffers_are_given_back():
    @mt.kernel
    def increment(x: Line):
        for i in range(x.shape[0]):
            x[i] += 1.0

    data = array.array("f", [1, 2, 3])
    for _ in range(2):
        with memoryview(data) as view:
            increment(view)
        data.append(9)  # fails while somebody holds the buffer
    with pytest.raises(RuntimeTypeError_), memoryview(array.array("d", [1.0])) as view:
        increment(view)
    assert data.tolist() == [3, 4, 5, 10, 9]


def test_numpy_scalars_are_scalars(rng):
    @mt.kernel
    def total(a: mt.f32, b: mt.i64, c: mt.f64) -> mt.f64:
        return a + b + c

    for kind in (np.float16, np.float32, np.float64, np.int8, np.uint64, np.bool_):
        assert total(kind(1), np.int16(2), kind(1)) == 4.0
    assert total(np.array(1.5), np.array(2), True) == 4.5
    for wrong in (np.float32(1), np.complex128(1), None, "1", [1]):
        with pytest.raises(RuntimeTypeError_, match="argument 'b'"):
            total(1, wrong, 1)


def test_annotations_choose_the_instance():
    @mt.kernel
    def first(x: types.ndarray(dtype=mt.f32, ndim=1, contiguous=False)) -> mt.f32:
        return x[0]

    @mt.kernel
    def strict(x: types.ndarray(dtype=mt.f32, ndim=1, contiguous=True)) -> mt.f32:
        return x[0]

    x = np.arange(6, dtype=np.float32)
    for _ in range(3):
        assert first(x) == 0.0 and first(x[::-2]) == 5.0 and strict(x) == 0.0
    assert [i.hits for i in first.instances()] == [6], "one instance takes both"
    with pytest.raises(RuntimeTypeError_, match="row-major"):
        strict(x[::2])


def test_arrays_of_vectors():
    @mt.kernel
    def lengths(x: types.ndarray(dtype=types.vector(3, mt.f32), ndim=1), y: Line):
        for i in range(x.shape[0]):
            y[i] = x[i].norm()

    x, y = np.random.default_rng(1).normal(size=(7, 3)).astype(np.float32), np.zeros(7, np.float32)
    lengths(x, y)
    np.testing.assert_allclose(y, np.linalg.norm(x, axis=1), rtol=1e-5)
    with pytest.raises(RuntimeTypeError_, match="argument 'x'"):
        lengths(np.zeros((7, 4), np.float32), y)


def test_more_arguments_than_a_call_keeps_on_the_stack():
    count = 40
    names = [f"x{k}" for k in range(count)]
    text = "import metate as mt\n@mt.kernel\ndef total({}) -> mt.i64:\n    return {}\n".format(
        ", ".join(f"{n}: mt.i64" for n in names), " + ".join(names)
    )
    from metate.kernel import attach_source

    attach_source("<many arguments>", text)
    scope = {}
    exec(compile(text, "<many arguments>", "exec"), scope)
    assert scope["total"](*range(count)) == sum(range(count))
    with pytest.raises(RuntimeTypeError_, match="argument 'x39'"):
        scope["total"](*range(count - 1), "x")


def test_template_arguments_at_any_position():
    """Those beyond the 64th stay behind too, and nothing else does."""
    count = 70
    text = "import metate as mt\n@mt.kernel\ndef first({}) -> mt.i64:\n    return x0 * 1000 + x{}\n".format(
        ", ".join(f"x{k}: mt.{'template()' if k >= 60 else 'i64'}" for k in range(count)), count - 1
    )
    from metate.kernel import attach_source

    attach_source("<many templates>", text)
    scope = {}
    exec(compile(text, "<many templates>", "exec"), scope)
    for start in (3, 4, 3):
        assert scope["first"](*range(start, start + count)) == start * 1000 + start + count - 1


def test_prints_keep_their_order_and_arrive_before_the_call_returns(capsys):
    @mt.kernel
    def count(n: mt.i32):
        mt.loop_config(serialize=True)
        for i in range(n):
            print("line", i)

    count(500)
    assert capsys.readouterr().out.splitlines() == [f"line {i}" for i in range(500)]


def test_a_failing_stdout_is_the_caller_s_problem(monkeypatch):
    @mt.kernel
    def speak():
        print("hello")

    class Closed:
        def write(self, text):
            raise OSError("closed")

    monkeypatch.setattr(sys, "stdout", Closed())
    with pytest.raises(OSError, match="closed"):
        speak()


def test_one_compilation_for_calls_from_many_threads(rng):
    @mt.kernel
    def scale(x: Line, a: mt.f32):
        for i in range(x.shape[0]):
            x[i] = a * x[i]

    arrays = [rng.normal(size=100).astype(np.float32) for _ in range(6)]
    expected = [a * np.float32(2) for a in arrays]
    threads = [threading.Thread(target=scale, args=(a, 2.0)) for a in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for got, wanted in zip(arrays, expected):
        np.testing.assert_array_equal(got, wanted)
    assert len(scale.instances()) == 1


def test_a_full_pool_raises_and_every_other_write_is_done():
    T = mt.types.SNodeTreeBuilder().pointer(mt.i, 64, name="blocks").dense(mt.i, 4).place(x=mt.i32).build()

    @mt.kernel
    def fill(t: T, done: types.ndarray(dtype=mt.i32, ndim=1)):
        for i in range(256):
            t.x[i] = i + 1
            done[i] = i

    tree, done = T.new({"blocks": 5}), np.full(256, -1, np.int32)
    with pytest.raises(CapacityError, match="level 'blocks'") as raised:
        fill(tree, done)
    assert raised.value.level == "blocks" and raised.value.capacity == 5 and 6 <= raised.value.needed <= 64
    np.testing.assert_array_equal(done, np.arange(256))
    coordinates, values = tree.x.cells()
    np.testing.assert_array_equal(values, coordinates[:, 0] + 1)
    tree.reset()
    fill_one = T.new({"blocks": 64})
    fill(fill_one, done)
    np.testing.assert_array_equal(fill_one.x.to_numpy(), np.arange(1, 257))


def test_init_changes_threads():
    @mt.kernel
    def total(x: Line) -> mt.f32:
        result = 0.0
        for i in range(x.shape[0]):
            result += x[i]
        return result

    from metate import runtime

    x = np.ones(1 << 16, np.float32)
    for threads in (1, 2, 0):
        mt.init(arch=mt.cpu, threads=threads)
        assert runtime.threads() >= 1 and (threads != 1 or runtime.threads() == 1)
        assert total(x) == x.size
    with pytest.raises(RuntimeValueError_, match="threads: expected a number of threads"):
        mt.init(threads=-1)
    with pytest.raises(RuntimeValueError_, match="arch: expected"):
        mt.init(arch="riscv64")
    with pytest.raises(RuntimeValueError_, match="got cpu_max_num_threads as well"):
        mt.init(threads=1, cpu_max_num_threads=1)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names x86-64 CPUs")
def test_init_chooses_the_cpu_that_kernels_are_compiled_for():
    @mt.kernel
    def nothing():
        pass

    try:
        for cpu in ("x86-64-v2", "x86-64"):
            mt.init(cpu=cpu)
            assert f'"{cpu}"' in nothing.stages()["emit"]
    finally:
        mt.init()
    assert "-v2" not in nothing.stages()["emit"]
