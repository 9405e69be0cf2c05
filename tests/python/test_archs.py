"""Archs of other machines than the CPU: what is said where there is none, and what a context on one is.

What needs no machine is tested with a device that only says what it is. Kernels run on `mt.simt`, whose driver every build has.
"""

import numpy as np
import pytest

import metate as mt
from metate import argument_kinds, config, devices, kernel_views
from metate.errors import RuntimeError_, RuntimeTypeError_, RuntimeValueError_, TreeError
from metate_native import _runtime

GPUS = {"cuda": 86, "vulkan": 0}


class FakeDevice:
    """A device that launches nothing."""

    def __init__(self, driver, threads, profile):
        self.driver, self.level, self.threads, self.waits = driver, GPUS.get(driver, 0), threads, 0
        self.name = f"a {driver} device"
        self.profile = profile

    def wait(self):
        self.waits += 1


@pytest.fixture
def machine(monkeypatch):
    """A machine with the drivers that the test puts into the set."""
    there = set()

    def opened(threads=0, profile=False, driver="cpu", beside=None):
        if driver not in there:
            raise RuntimeError_(f"{driver}: this machine has none")
        return FakeDevice(driver, threads, profile)

    monkeypatch.setattr(_runtime, "Device", opened)
    yield there
    monkeypatch.undo()
    mt.reset()


@pytest.mark.parametrize("arch", ["cuda", "vulkan"])
def test_an_arch_that_is_not_there_says_why(machine, arch, capfd):
    mt.init(arch=getattr(mt, arch), random_seed=5)
    expected = f"metate: there is no device for '{arch}': this machine has none: kernels run on this machine's CPU\n"
    assert capfd.readouterr().err == expected
    assert mt.context.current().options == mt.Context(random_seed=5).options
    with pytest.raises(RuntimeValueError_, match=f"arch: there is no device for '{arch}': .* and enable_fallback is False"):
        mt.init(arch=arch, enable_fallback=False)
    with pytest.raises(devices.NoDeviceError, match=f"there is no device for '{arch}': this machine has none"):
        mt.Context(arch=arch)
    assert not devices.is_there(arch) and not getattr(mt._lib.core, f"with_{arch}")()


def test_a_gpu_is_the_first_one_that_is_there(machine, capfd):
    mt.init(arch=mt.gpu)
    expected = "there is no device for 'gpu': cuda: this machine has none; vulkan: this machine has none: kernels run"
    assert expected in capfd.readouterr().err
    machine.add("vulkan")
    mt.init(arch=mt.gpu)
    assert mt.context.current().options.arch == "vulkan"
    machine.add("cuda")
    mt.init(arch=mt.gpu)
    assert mt.context.current().options.arch == "cuda"
    assert devices.is_there("gpu") and mt._lib.core.with_cuda()
    assert capfd.readouterr().err == ""


def test_the_first_of_several_archs(machine, capfd):
    mt.init(arch=[mt.cuda, mt.cpu])
    assert mt.context.current().options.arch == "cpu" and capfd.readouterr().err == ""
    machine.add("vulkan")
    mt.init(arch=[mt.metal, mt.cuda, mt.vulkan, mt.cpu])
    assert mt.context.current().options.arch == "vulkan" and capfd.readouterr().err == ""
    mt.init(arch=[mt.cuda, mt.metal])
    assert capfd.readouterr().err.startswith("metate: there is no device for 'cuda': this machine has none: ")


@pytest.mark.parametrize(("arch", "target"), [("cuda", "cuda:compute_86"), ("vulkan", "vulkan"), ("simt", "simt")])
def test_a_context_of_a_device(machine, arch, target):
    machine.add(arch)
    made = mt.Context(arch=arch, threads=2, profile=True)
    options, device = made.options, made.holdings.device
    assert (options.arch, options.target, options.device_target) == (arch, target, target)
    assert (device.driver, device.threads, device.profile) == (arch, 2, True)
    assert kernel_views.choices_of(options).targets == [target]
    assert repr(made).startswith(f"<context {arch}")
    with made:
        assert config.cfg.arch == arch
        mt.sync()
    assert device.waits == 1
    made.reset()
    assert made.holdings.device is None  # another one is opened when it is needed
    assert mt.Context().options.target == "native"


def test_sanitizers_watch_no_device(machine):
    machine.add("cuda")
    with pytest.raises(RuntimeValueError_, match=r"sanitizer: expected none with mt\.cuda, got 'address'; use mt\.cpu"):
        mt.Context(arch=mt.cuda, sanitizer="address")


def test_waiting_without_a_device():
    with mt.Context() as made:
        mt.sync()
        assert made.holdings.device is None


def test_drivers_are_libraries():
    with pytest.raises(RuntimeError_, match=r"there is no driver 'abacus' here \(libmetate_abacus\.so beside libmetate\)"):
        _runtime.Device(0, False, "abacus")
    device = _runtime.Device(1, False, "simt")
    assert (device.driver, device.level, device.threads) == ("simt", 0, 1) and "simt" in device.name
    device.wait()
    assert _runtime.Device().driver == "cpu"


def test_taichis_module_simt_says_what_is_missing():
    assert mt.simt == "simt"
    with pytest.raises(AttributeError, match="has no attribute 'block': iterations have no thread"):
        _ = mt.simt.block
    assert not hasattr(mt.simt, "warp") and not hasattr(mt.simt, "_private")


# ---- arrays in a device's memory


class OnDevice:
    """An array that claims to lie in a CUDA device's memory."""

    def __init__(self, array):
        self._array = array

    @property
    def __cuda_array_interface__(self):
        place = self._array.ctypes.data, not self._array.flags.writeable
        shown = {"shape": self._array.shape, "typestr": self._array.dtype.str, "data": place, "version": 3}
        return shown if self._array.flags.c_contiguous else {**shown, "strides": self._array.strides}


@mt.kernel
def add_one(x: mt.types.ndarray(dtype=mt.f32, ndim=1)):
    for i in x:
        x[i] += 1


@pytest.mark.parametrize("text", ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"])
def test_arrays_on_a_device_are_described_as_others(text):
    array = np.zeros((4, 6), text)
    for one in (array, array[:, ::2], array.T, array[:0]):
        assert _runtime.describe_array(OnDevice(one)) == _runtime.describe_array(one)
    assert argument_kinds.lies_on_cuda(OnDevice(array)) and not argument_kinds.lies_on_cuda(array)


@pytest.mark.parametrize("thing", [OnDevice(np.zeros(3, ">f4")), OnDevice(np.zeros(3, "c8")), 3, "x", None, object()])
def test_what_is_no_array(thing):
    assert _runtime.describe_array(thing) is None


@pytest.mark.parametrize("arch", ["cpu", "simt"])
def test_arrays_on_a_device_are_refused_elsewhere(arch):
    with mt.Context(arch=arch):
        array = np.zeros(3, np.float32)
        with pytest.raises(RuntimeTypeError_, match=r"argument 'x': .* memory is a CUDA device's: .* arch=mt\.cuda take it"):
            add_one(OnDevice(array))
        add_one(array)
        with pytest.raises(RuntimeTypeError_, match="memory is a CUDA device's"):
            add_one(OnDevice(array))
        assert array.tolist() == [1, 1, 1]


# ---- kernels on a device


@pytest.fixture
def simt():
    with mt.Context(arch=mt.simt) as made:
        yield made


def test_fields_live_on_the_device(simt):
    x, y = mt.field(mt.f32, (4, 5)), mt.Vector.field(3, mt.i32, 7)

    @mt.kernel
    def fill():
        for i, j in x:
            x[i, j] = 10 * i + j
        for i in y:
            y[i] = [i, 2 * i, 3 * i]

    fill()
    expected = 10 * np.arange(4)[:, None] + np.arange(5)
    assert np.array_equal(x.to_numpy(), expected) and np.array_equal(y.to_numpy(), np.outer(np.arange(7), [1, 2, 3]))
    x[1, 2] = 7
    assert x[1, 2] == 7 and x[3, 4] == 34 and y[2].to_list() == [2, 4, 6]
    z = mt.field(mt.f32, (4, 5))
    z.copy_from(x)
    assert np.array_equal(z.to_numpy(), x.to_numpy())
    with pytest.raises(TreeError, match=r"numpy_view: .* it lies on a device"):
        x.numpy_view()


def test_arrays_are_staged(simt, rng):
    @mt.kernel
    def scaled(x: mt.types.ndarray(), y: mt.types.ndarray(), a: mt.f32) -> mt.f32:
        total = 0.0
        for i, j in y:
            y[i, j] += a * x[i, j]
            total += x[i, j]
        return total

    x, y = rng.integers(0, 50, (2, 20, 30)).astype(np.float32)
    for given in (x, x[:, ::-1], x[::-1], np.asfortranarray(x)):
        for result in (y.copy(), np.asfortranarray(y), np.repeat(y, 2, axis=1)[:, ::2]):
            assert scaled(given, result, 2) == x.sum()
            assert np.array_equal(result, y + 2 * given)
    both = x.copy()
    scaled(both, both, 2)
    assert np.array_equal(both, 3 * x)
    ours = mt.ndarray(mt.f32, (20, 30))
    ours.from_numpy(y)
    scaled(x, ours, 1)
    assert np.array_equal(ours.to_numpy(), x + y)


def test_sparse_trees_grow_on_the_device(simt):
    x = mt.field(mt.i32)
    mt.root.pointer(mt.ij, 8).bitmasked(mt.ij, 4).place(x)

    @mt.kernel
    def activate(n: mt.i32):
        for i in range(n):
            x[i, 7 * i % 32] = i

    @mt.kernel
    def double():
        for i, j in x:
            x[i, j] = 2 * x[i, j] + 1

    activate(32)
    double()
    expected = np.zeros((32, 32), int)
    expected[np.arange(32), 7 * np.arange(32) % 32] = 2 * np.arange(32) + 1
    assert np.array_equal(x.to_numpy(), expected)


def test_kernels_say_what_is_wrong(simt):
    @mt.kernel
    def check(x: mt.types.ndarray(dtype=mt.i32, ndim=1)):
        for i in x:
            assert x[i] < 5, "too large"
            x[i] += 1

    with mt.Context(arch=mt.simt, debug=True):
        check(np.arange(5, dtype=np.int32))
        with pytest.raises(mt.AssertionError_, match="too large"):
            check(np.arange(8, dtype=np.int32))


def test_compiled_kernels_are_kept_for_their_arch(tmp_path):
    def run(arch):
        with mt.Context(arch=arch, offline_cache=True, offline_cache_file_path=tmp_path):
            array = np.zeros(3, np.float32)
            add_one(array)
            assert array.tolist() == [1, 1, 1]
            return add_one.instances()[0].cache

    assert [run(arch) for arch in ("cpu", "simt", "cpu", "simt")] == ["compiled and cached"] * 2 + ["loaded"] * 2


def test_reports_are_of_the_device(simt):
    text = str(add_one.report(np.zeros(3, np.float32)))
    assert "simt" in text
