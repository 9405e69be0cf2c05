"""Programs that import from the modules that Taichi is made of."""

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


def test_what_is_not_there_says_so():
    with pytest.raises(AttributeError, match=r"module 'metate.lang.impl' has no attribute 'get_runtime'"):
        ti.lang.impl.get_runtime()
    with pytest.raises(ImportError):
        from metate.lang.ops import no_such_name  # noqa: F401
