"""Contexts of devices, mt.simt or METATE_TEST_ARCH: modules are built for them."""

import device_tests
import numpy as np
import pytest

import metate as mt

ARCH = device_tests.ARCH or mt.simt
Pool = mt.types.SNodeTreeBuilder().pointer(mt.i, 64, name="blocks").dense(mt.i, 4).place(a=mt.i32).build()


@mt.kernel
def scale(x: mt.types.ndarray(dtype=mt.f32, ndim=1), by: mt.f32):
    for i in x:
        x[i] *= by


@mt.kernel
def touch(pool: Pool, n: mt.i32):
    for i in range(n):
        pool.a[i] += i


# ---- modules


def test_a_module_is_for_the_device_of_its_context(tmp_path):
    with mt.Context(arch=ARCH) as context:
        module = mt.aot.Module().add_kernel(scale).add_kernel(touch)
        assert module.targets == (context.options.device_target,) != ("native",)
        loaded = mt.aot.load(module.save(tmp_path / "m.metate"))
        x, pool = np.ones(9, np.float32), Pool.new()
        loaded.scale(x, 3.0)
        loaded.touch(pool, 6)
        assert x.tolist() == [3.0] * 9 and pool.stats()["blocks"].used == 2
    with mt.Context(), pytest.raises(mt.MetateError, match="module 'm' has no variant that this machine can run"):
        mt.aot.load(tmp_path / "m.metate")


def test_a_module_keeps_the_target_of_the_context_that_it_was_made_in():
    with mt.Context(arch=ARCH) as context:
        module = mt.aot.Module()
        with mt.Context():
            assert mt.aot.Module().targets == ("native",)
            assert module.targets == (context.options.device_target,)
    assert device_tests.ARCH or mt.aot.Module().targets == ("native",)


@pytest.mark.parametrize("asked", [{"targets": ["x86-64-v2"]}, {"targets": "x86-64-v2"}, {"arch": mt.x64}])
def test_targets_that_are_asked_for_win(asked):
    with mt.Context(arch=ARCH):
        assert mt.aot.Module(**asked).targets in (("x86-64-v2",), (mt.x64,))


def test_objects_are_for_the_cpu(tmp_path):
    with mt.Context(arch=ARCH):
        file = mt.aot.Module().add_kernel(scale).save(tmp_path / "m.o")
        assert file.read_bytes()[:4] == b"\x7fELF" and "m_scale" in file.with_suffix(".h").read_text()
        with pytest.raises(mt.CompilationError, match="a linker takes objects of CPUs"):
            mt.aot.Module(targets=["simt"]).add_kernel(scale).save(tmp_path / "n.o")
