"""Modules from Python with the compiler absent, and the dispatcher's matching of arguments.

The module is the runtime tests' own (tests/support): hand-written kernels, no compiler involved.
"""

import gc
import io
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest
from lent import Lent

import metate as mt
import metate_native
from metate import runtime, types
from metate.errors import (
    AssertionError_,
    CapacityError,
    RuntimeError_,
    RuntimeIOError_,
    RuntimeLookupError_,
    RuntimeTypeError_,
    RuntimeValueError_,
)
from metate.loaded import load
from metate_native import _runtime

MODULE = pathlib.Path(metate_native.__file__).resolve().parents[2] / "tests" / "support" / "test.metate"


@pytest.fixture(scope="module")
def module():
    return load(MODULE)


def test_names_signatures_and_types(module):
    assert list(module.types) == ["ab_aos", "ab_soa"]
    assert module.run1.signature() == "run1(f: ab_aos)"
    assert module.total.signature() == "total(x: ndarray(f64, 1)) -> f64"
    assert module.echo.signature().startswith("echo(v: vector(3, f32), m: matrix(2, 2, f64), c: i8, on: u1, out: ")
    s, b = types.Struct({"a": mt.f32, "b": types.vector(3, mt.f32)}), types.SNodeTreeBuilder()
    assert module.ab_aos == b.pointer(mt.ij, 3).dense(mt.ij, 5).place(s).build()
    assert module.ab_aos.members["b"].shape == (15, 15)
    with pytest.raises(AttributeError, match=r"no kernel or type 'run2'; its kernels: empty, fill"):
        module.run2  # noqa: B018
    with pytest.raises(RuntimeLookupError_, match=r"no kernel or type 'run2'"):
        module["run2"]


def expected_fill(scale):
    i, j = np.indices((15, 15))
    return np.where((i + j) % 7 == 0, np.float32(scale) * (15 * i + j).astype(np.float32), np.float32(0))


def test_two_instances_through_one_kernel(module, rng):
    scales = rng.integers(1, 1000, 2).tolist()
    trees = [module.ab_aos.new() for _ in scales]
    for tree, scale in zip(trees, scales):
        module.fill(tree, scale)
    for tree, scale in zip(trees, scales):
        np.testing.assert_array_equal(tree.a.to_numpy(), expected_fill(scale))
    target = module.ab_soa.new()
    module.copy(trees[0], target)
    np.testing.assert_array_equal(target.a.to_numpy(), expected_fill(scales[0]))
    np.testing.assert_array_equal(target.b.to_numpy(), trees[0].b.to_numpy())
    assert module.fill._dispatcher.instances[0][1] >= 2 and len(module.fill._dispatcher.instances) == 1


def test_keywords(module):
    tree = module.ab_aos.new()
    module.fill(scale=2, f=tree)
    np.testing.assert_array_equal(tree.a.to_numpy(), expected_fill(2))
    with pytest.raises(RuntimeTypeError_, match=r"argument 'scale' is missing"):
        module.fill(f=tree)
    with pytest.raises(RuntimeTypeError_, match=r"expected arguments f, scale, got 'size' as well"):
        module.fill(tree, scale=1, size=2)


def test_prints_go_to_sys_stdout(module, capsys, monkeypatch):
    tree = module.ab_aos.new()
    module.fill(tree, 1.0)
    module.run1(tree)
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines) == sorted(set(lines)) and len(lines) == tree.a.cells()[1].size
    a = tree.a.to_numpy()
    for i, j in ((0, 0), (7, 7), (14, 0)):
        values = ", ".join(repr(float(v)) for v in a[i, j] * np.float32([1, 2, 3]))
        assert f"I= [{i}, {j}]  a*b= [{values}]" in lines
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    module.run1(tree)
    assert sys.stdout.getvalue().splitlines() == lines, "whatever stands for stdout gets them"
    monkeypatch.setattr(sys, "stdout", None)
    module.run1(tree)


def test_values_by_value(module, rng):
    v, m = rng.normal(size=3).astype(np.float32), rng.normal(size=(2, 2))
    for given in ((v, m), (v.tolist(), m.tolist()), (tuple(v), [tuple(row) for row in m])):
        out = np.zeros(9)
        module.echo(*given, -7, True, out)
        np.testing.assert_array_equal(out, [*v, *m.ravel(), -7, 1])
    out = np.zeros(9)
    module.echo([1, 2, 3], np.eye(2, dtype=np.int64), np.int8(-128), np.bool_(False), out)
    np.testing.assert_array_equal(out, [1, 2, 3, 1, 0, 0, 1, -128, 0])


def test_results(module, rng):
    x = rng.normal(size=50)
    assert module.total(x) == sum(x.tolist()) and isinstance(module.total(x), float)
    assert module.total(x[::-3]) == sum(x[::-3].tolist())
    assert module.total(np.zeros(0)) == 0.0


def test_arrays_in_place_and_strided(module, rng):
    x, whole = rng.normal(size=20).astype(np.float32), rng.normal(size=(20, 3)).astype(np.float32)
    before = whole.copy()
    module.axpy(x, whole[:, 1], 2)
    np.testing.assert_array_equal(whole[:, 1], before[:, 1] + np.float32(2) * x)
    np.testing.assert_array_equal(whole[:, ::2], before[:, ::2])
    module.axpy(memoryview(x), bytearray(80) and np.zeros(20, np.float32), 1.0)


def test_dlpack(module, rng):
    x, y = rng.normal(size=8).astype(np.float32), np.zeros(8, np.float32)
    module.axpy(Lent(x), Lent(y), 1.0)
    np.testing.assert_array_equal(y, x)
    with pytest.raises(RuntimeTypeError_, match=r"argument 'y': expected an array of f32 .* got an array of i32"):
        module.axpy(x, Lent(y.astype(np.int32)), 1.0)
    y.flags.writeable = False
    before = y.copy()
    with pytest.raises(RuntimeError, match=r"argument 'y'.*read-only"):
        module.axpy(x, Lent(y), 1.0)
    np.testing.assert_array_equal(y, before)


F32 = np.zeros(4, np.float32)


def frozen():
    array = np.zeros(4, np.float32)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("name", "arguments", "error", "text"),
    [
        ("axpy", (F32, F32), RuntimeTypeError_, "kernel 'axpy': expected 3 arguments, got 2"),
        ("axpy", (F32.astype(np.float64), F32, 1.0), RuntimeTypeError_, "argument 'x': .* got an array of f64 .* \\(4\\)"),
        ("axpy", (F32[None], F32, 1.0), RuntimeTypeError_, "argument 'x': .* shape \\(1, 4\\)"),
        ("axpy", (F32, frozen(), 1.0), RuntimeTypeError_, "argument 'y': expected .* that may be written, got .* read-only"),
        ("axpy", ([1.0], F32, 1.0), RuntimeTypeError_, "argument 'x': .* got list"),
        ("axpy", (F32, F32, "1"), RuntimeTypeError_, "argument 's': expected f32, got str '1'"),
        ("axpy", (F32, F32, 1j), RuntimeTypeError_, "argument 's': expected f32, got complex"),
        ("axpy", (F32.astype(">f4"), F32.copy(), 1.0), RuntimeTypeError_, "argument 'x'"),
        ("axpy", (np.zeros(17, np.uint8)[1:].view(np.float32), F32, 1.0), RuntimeTypeError_, "not aligned"),
        ("fail_with", (1.0,), RuntimeTypeError_, "argument 'code': expected i32, got float 1.0"),
        ("fail_with", (1 << 32,), RuntimeValueError_, "argument 'code': expected i32 within its range, got int 4294967296"),
        ("echo", ([1, 2], np.eye(2), 0, 0, np.zeros(9)), RuntimeTypeError_, "argument 'v': expected vector.3, f32., got list"),
        ("echo", ([1, 2, 3], np.eye(2), 256, 0, np.zeros(9)), RuntimeValueError_, "argument 'c': expected i8 within its range"),
        ("echo", ([1, 2, 3], np.eye(2), 0, 2, np.zeros(9)), RuntimeValueError_, "argument 'on': expected u1 within its range"),
        ("echo", ([1, 2, 3], np.eye(2), 0, 0, np.zeros(8)), RuntimeValueError_, "'out': dimension 0: expected 9, got 8"),
        ("echo", ([1, 2, 3], np.eye(2), 0, 0, np.zeros(18)[::2]), RuntimeTypeError_, "argument 'out': .* row-major array"),
        ("fill", (F32, 1.0), RuntimeTypeError_, "argument 'f': expected a tree of type 'ab_aos': .* got an array of f32"),
    ],
)  # fmt: skip
def test_wrong_arguments_name_argument_expected_and_got(module, name, arguments, error, text):
    with pytest.raises(error, match=text):
        module.kernels[name](*arguments)


def test_trees_of_another_type_and_unbound_trees(module):
    with pytest.raises(RuntimeTypeError_, match=r"argument 'f': expected a tree of type 'ab_aos': .* got a tree of type "):
        module.fill(module.ab_soa.new(), 1.0)
    tree = module.ab_aos.new()
    tree.unbind()
    with pytest.raises(RuntimeTypeError_, match=r"got a tree that is unbound"):
        module.fill(tree, 1.0)


def test_a_written_argument_may_not_overlap_another(module):
    x = np.zeros(8, np.float32)
    with pytest.raises(RuntimeValueError_, match=r"overlap"):
        module.axpy(x[:4], x[2:6], 1.0)
    module.axpy(x[:4], x[4:], 1.0)


def test_asserts_name_their_line(module):
    module.check_positive(np.array([1, 2], np.int32))
    with pytest.raises(AssertionError_, match=r"kernels.py:34.*x must be positive") as raised:
        module.check_positive(np.array([1, 0], np.int32))
    assert isinstance(raised.value, AssertionError) and raised.value.status == 14


def test_exhaustion_from_a_kernel(module):
    tree = module.ab_aos.new({"pointer0": 2})
    with pytest.raises(CapacityError) as raised:
        module.fill(tree, 1.0)
    assert raised.value.level == "pointer0" and raised.value.capacity == 2 and 3 <= raised.value.needed <= 9
    tree.reset()
    assert tree.stats()["pointer0"].used == 0


def test_statuses_become_exceptions(module):
    module.fail_with(0)
    with pytest.raises(KeyboardInterrupt):
        module.fail_with(18)
    with pytest.raises(RuntimeError_) as raised:
        module.fail_with(19)
    assert raised.value.status == 19


def test_damaged_absent_and_foreign_files(tmp_path, rng):
    with pytest.raises(RuntimeIOError_) as raised:
        load(tmp_path / "absent.metate")
    assert isinstance(raised.value, OSError)
    data = bytearray(MODULE.read_bytes())
    data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    (tmp_path / "module.metate").write_bytes(data)
    with pytest.raises(RuntimeError_):
        load(tmp_path)
    (tmp_path / "module.metate").write_bytes(MODULE.read_bytes())
    assert load(tmp_path).kernels["total"](np.ones(3)) == 3.0


def test_kernels_and_trees_outlive_their_module(rng):
    module = load(MODULE)
    fill, type_ = module.fill, module.ab_aos
    del module
    gc.collect()
    tree = type_.new()
    fill(tree, 3)
    np.testing.assert_array_equal(tree.a.to_numpy(), expected_fill(3))


def test_launches_from_many_threads(module):
    total, problems = np.ones(2000), []

    def work():
        for _ in range(200):
            if module.total(total) != 2000.0:
                problems.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


ABSENT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "metate_native._compiler":
            raise ImportError("the compiler is absent")

sys.meta_path.insert(0, Absent())
import numpy as np
import metate as mt
module = mt.aot.load(sys.argv[1])
tree = module.ab_aos.new()
module.fill(tree, 1.0)
assert tree.a[14, 14] == 224.0 and module.total(np.ones(5)) == 5.0
try:
    import metate_native._compiler
except ImportError:
    print("absent")
assert "metate_native._compiler" not in sys.modules
"""


def test_a_process_without_the_compiler():
    done = subprocess.run([sys.executable, "-c", ABSENT, str(MODULE)], capture_output=True, text=True, timeout=60)
    assert done.stdout == "absent\n" and done.returncode == 0, done.stderr


class Chooser:
    """Stands for the compiler: hands out kernels of the test module, and counts how often it is asked."""

    def __init__(self, module, names):
        self.kernels = {kernel.name: kernel for kernel in _runtime.Module.open_file(runtime.device(), str(MODULE)).kernels}
        self.names = list(names)
        self.asked = []

    def __call__(self, arguments):
        self.asked.append(arguments)
        return self.kernels[self.names.pop(0)]


def test_dispatcher_asks_once_for_each_kind_of_arguments(module):
    chooser = Chooser(module, ["total", "check_positive", "fail_with"])
    dispatch = _runtime.Dispatcher(chooser)
    doubles, integers = np.ones(3), np.ones(3, np.int32)
    for _ in range(3):
        assert dispatch(doubles) == 3.0
        assert dispatch(integers) is None
        assert dispatch(0) is None
    assert len(chooser.asked) == 3 and chooser.asked[0][0] is doubles
    assert [(kernel.name, hits) for kernel, hits in dispatch.instances] == [("total", 3), ("check_positive", 3), ("fail_with", 3)]
    dispatch.clear()
    assert dispatch.instances == []


def test_dispatcher_passes_errors_on_and_stays_usable(module):
    chooser = Chooser(module, ["total", "total"])
    dispatch = _runtime.Dispatcher(chooser)
    with pytest.raises(RuntimeTypeError_, match=r"argument 'x': expected an array of f64"):
        dispatch("text")
    assert dispatch(np.ones(2)) == 2.0
    with pytest.raises(IndexError):  # the chooser's own: it has no third kernel
        dispatch("text"), dispatch("text")
    with pytest.raises(TypeError, match=r"positional arguments only"):
        dispatch(x=1)
    with pytest.raises(RuntimeTypeError_, match=r"expected a Kernel, got int 3"):
        _runtime.Dispatcher(lambda arguments: 3)(1)
    with pytest.raises(TypeError, match=r"expected a callable or None"):
        _runtime.Dispatcher(3)
    with pytest.raises(RuntimeError_, match=r"it has no kernel"):
        _runtime.Dispatcher()()


def test_dispatcher_is_collected_in_a_cycle():
    class Owner:
        def __init__(self):
            self.dispatch = _runtime.Dispatcher(self.slow)

        def slow(self, arguments):
            raise AssertionError("the test never calls it")

    import weakref

    owner = Owner()
    alive = weakref.ref(owner)
    del owner
    gc.collect()
    assert alive() is None


def test_an_argument_that_clears_the_dispatcher_while_it_is_read(module):
    dispatch = _runtime.Dispatcher()
    for name in ("fail_with", "total"):
        dispatch.add(module.kernels[name]._kernel)

    class Zero:
        def __index__(self):
            dispatch.clear()
            gc.collect()
            return 0

    assert dispatch(0) is None
    assert dispatch(Zero()) is None and dispatch.instances == []


def test_arguments_that_change_others_while_they_are_converted(module):
    """Python code of one argument may empty a list or unbind a tree that was looked at before."""

    items = [1, 2, 3]

    class Clears:
        def __index__(self):
            items.clear()
            return 1

    items[0] = Clears()
    module.echo(items, np.eye(2), 0, 0, np.zeros(9))
    tree = module.types["ab_aos"].new()

    class Unbinds:
        def __float__(self):
            tree.unbind()
            return 1.0

    with pytest.raises(Exception, match=r"unbound|tree is NULL|not bound"):
        module.fill(tree, Unbinds())
