"""Programs that import from the modules that Taichi is made of."""

import os

import pytest

import metate as ti


def test_names_from_taichis_modules():
    from metate.lang.matrix import Matrix, MatrixField
    from metate.lang.ops import atomic_add, sqrt

    assert sqrt is ti.sqrt and atomic_add is ti.atomic_add
    assert Matrix is ti.Matrix and MatrixField is ti.MatrixField
    assert ti.lang.MatrixField is ti.MatrixField and ti.lang.matrix.Vector is ti.Vector
    assert ti.lang.exception.TaichiSyntaxError is ti.TaichiSyntaxError


def test_names_from_there_in_kernels():
    from metate.lang.ops import sqrt

    @ti.kernel
    def run(x: ti.f32) -> ti.f32:
        return sqrt(x) + ti.lang.ops.max(x, 3.0)

    assert run(4.0) == 6.0


def test_the_options_in_force():
    with ti.Context(default_fp=ti.f64, threads=2, random_seed=5):
        cfg = ti.lang.impl.current_cfg()
        assert cfg is ti.cfg
        assert (cfg.default_fp, cfg.default_ip, cfg.cpu_max_num_threads, cfg.random_seed) == (ti.f64, ti.i32, 2, 5)
        assert "default_fp=f64" in repr(cfg)
        with ti.Context(default_ip=ti.i64):
            assert (cfg.default_fp, cfg.default_ip) == (ti.f32, ti.i64)
        with pytest.raises(AttributeError, match="cfg: no option 'default_fs'; there are arch, cpu, threads, "):
            _ = cfg.default_fs
        with pytest.raises(TypeError, match=r"cfg\.debug: options never change"):
            cfg.debug = True
    if "METATE_TEST_INTERP" not in os.environ:
        assert cfg.arch == ti.cpu
        with ti.Context(ti.interp):
            assert cfg.arch == ti.interp


def test_what_is_not_there_says_so():
    with pytest.raises(AttributeError, match=r"module 'metate.lang.impl' has no attribute 'get_runtime'"):
        ti.lang.impl.get_runtime()
    with pytest.raises(ImportError):
        from metate.lang.ops import no_such_name  # noqa: F401
