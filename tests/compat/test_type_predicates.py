"""What programs ask of types."""

import pytest

import metate as ti


def test_predicates():
    assert ti.types.is_integral(ti.i32) and ti.types.is_integral(int) and ti.types.is_integral(ti.u1)
    assert not ti.types.is_integral(ti.f32) and not ti.types.is_integral(float)
    assert ti.types.is_real(ti.f16) and ti.types.is_real(float) and not ti.types.is_real(ti.u8)
    assert ti.types.is_signed(ti.i8) and ti.types.is_signed(int) and not ti.types.is_signed(ti.u8)
    assert ti.types.is_tensor(ti.math.vec3) and ti.types.is_tensor(ti.math.mat2) and not ti.types.is_tensor(ti.f32)
    with pytest.raises(TypeError):
        ti.types.is_signed(ti.f32)


def test_types_by_name():
    primitive = ti.types.primitive_types
    assert primitive.i32 is ti.i32 and primitive.float64 is ti.f64
    assert float in primitive.real_types and int in primitive.integer_types
    assert set(primitive.all_types) == {*primitive.real_types, *primitive.integer_types}
    assert ti.types.compound_types.vector(3, ti.f32) == ti.math.vec3
    assert ti.types.template is ti.template


def test_a_type_as_a_template_argument():
    @ti.kernel
    def cast(dt: ti.template(), x: ti.f32) -> ti.f64:
        return ti.cast(x, dt)

    for dt in ti.types.primitive_types.all_types:
        if dt is not bool and dt is not ti.u1:
            assert cast(dt, 3.5) == (3.5 if ti.types.is_real(dt) else 3)
