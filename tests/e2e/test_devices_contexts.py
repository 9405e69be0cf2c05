"""Contexts of devices, mt.simt or METATE_TEST_ARCH: modules are built for them, and those of one arch share their memory."""

import threading

import device_tests
import numpy as np
import pytest

import metate as mt
from metate import devices

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


# ---- memory


OPTIONS = [{}, {"threads": 1}, {"profile": True}, {"debug": True}, {"random_seed": 3}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_fields_go_on_in_another_context(options):
    with mt.Context(arch=ARCH):
        f, pool = mt.field(mt.i32, 4), Pool.new()
        f.from_numpy(np.arange(4, dtype=np.int32))

        @mt.kernel
        def double():
            for i in f:
                f[i] *= 2

        double()
        touch(pool, 9)
    with mt.Context(arch=ARCH, **options):
        double()
        touch(pool, 9)
        assert f.to_numpy().tolist() == [0, 4, 8, 12] and pool.a[8] == 16
        assert pool.stats()["blocks"].used == 3


def test_contexts_of_one_arch_have_profiles_and_threads_of_their_own():
    with mt.Context(arch=ARCH, profile=True, threads=1):
        scale(np.ones(3, np.float32), 2.0)
        assert mt.profiler.query_kernel_profiler_info("scale").counter == 1
        with mt.Context(arch=ARCH, profile=True):
            assert mt.profiler.kernel_profiles() == []
        with mt.Context(arch=ARCH):
            scale(np.ones(3, np.float32), 2.0)
        assert mt.profiler.query_kernel_profiler_info("scale").counter == 1 and mt.runtime.threads() == 1


def test_a_field_keeps_the_memory_of_a_context_that_is_gone():
    context = mt.Context(arch=ARCH)
    with context:
        f = mt.field(mt.i32, 4)
        f.fill(3)
    context.reset()
    del context
    with mt.Context(arch=ARCH):

        @mt.kernel
        def total() -> mt.i32:
            s = 0
            for i in f:
                s += f[i]
            return s

        assert total() == 12


def test_fields_of_the_cpu_are_refused():
    with mt.Context():
        pool = Pool.new()
    with mt.Context(arch=ARCH), pytest.raises(mt.MetateError, match="the tree is bound on another device"):
        touch(pool, 1)


def test_threads_share_a_machine():
    made, ready = [], threading.Barrier(4)

    def make():
        ready.wait()
        with mt.Context(arch=ARCH):
            made.append(Pool.new())
            touch(made[-1], 3)

    workers = [threading.Thread(target=make) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    with mt.Context(arch=ARCH):
        for pool in made:
            touch(pool, 3)
            assert pool.a[2] == 4
    assert len(made) == 4


def test_a_device_that_is_lost_is_not_shared(monkeypatch):
    """What a lost device says when it is waited for, said by one that stands for it."""
    with mt.Context(arch=ARCH) as context:
        pool = Pool.new()
        sound = context.holdings.device
    monkeypatch.setattr(devices, "_works", lambda device: False)
    with mt.Context(arch=ARCH) as apart:
        with pytest.raises(mt.MetateError, match="the tree is bound on another device"):
            touch(pool, 1)
        assert apart.holdings.device is not sound
