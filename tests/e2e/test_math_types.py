"""The types of metate.math follow the context's default types."""

import numpy as np
import pytest

import metate as ti


@pytest.fixture
def wide():
    with ti.Context(default_fp=ti.f64, default_ip=ti.i64) as context:
        yield context


def test_fields(wide):
    made = [ti.field(one, ()) for one in (ti.math.vec3, ti.math.ivec2, ti.math.uvec4, ti.math.mat2)]
    assert [one.dtype for one in made] == [ti.f64, ti.i64, ti.u64, ti.f64]
    assert ti.math.vec3.field(shape=()).dtype == ti.f64
    assert ti.types.struct(a=ti.math.vec3).members["a"] == ti.types.vector(3, ti.f64)
    assert ti.math.vec3(1).dtype == np.float64 and ti.math.ivec2(2**40).tolist() == [2**40] * 2


def test_kernels(wide):
    @ti.func
    def twice(v: ti.math.vec3):
        return v * 2.0

    @ti.kernel
    def third() -> ti.f64:
        return ti.math.vec3(1.0 / 3.0).x

    @ti.kernel
    def doubled(v: ti.math.vec3, x: ti.types.ndarray(dtype=ti.math.vec2, ndim=1)) -> ti.math.vec3:
        x[0] = ti.math.vec2(0.1, 0.2)
        return twice(v)

    assert third() == 1.0 / 3.0
    x = np.zeros((1, 2))
    assert doubled(ti.math.vec3(0.1, 0.2, 0.3), x).tolist() == [0.2, 0.4, 0.6]
    assert x.tolist() == [[0.1, 0.2]]


def test_a_kernel_in_two_contexts():
    @ti.kernel
    def scaled(v: ti.math.vec2) -> ti.math.vec2:
        return v * 3.0

    for dtype, numpy in ((ti.f32, np.float32), (ti.f64, np.float64), (ti.f32, np.float32)):
        with ti.Context(default_fp=dtype):
            found = scaled(ti.math.vec2(0.1, 0.2))
        assert found.tolist() == (np.array([0.1, 0.2], numpy) * numpy(3)).tolist()


def test_outside_of_other_contexts():
    assert ti.math.vec3 == ti.types.vector(3, ti.f32) and repr(ti.math.mat2) == "matrix(2, 2, f32)"
    assert ti.types.vector(2, ti.i32) == ti.math.ivec2 and ti.math.uvec2.dtype == ti.u32
